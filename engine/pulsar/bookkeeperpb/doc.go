// Package bookkeeperpb holds the messages of BookKeeper's protocol and metadata and of Pulsar's managed ledgers, generated from our
// own .proto files. Field numbers and types are Apache's, so that the bytes are; names of packages are ours.
package bookkeeperpb

//go:generate protoc --go_out=. --go_opt=paths=source_relative bookkeeper.proto metadata.proto managedledger.proto
