// Package pulsarpb is the Pulsar binary protocol's commands and metadata, generated from pulsar.proto. The frames around them are in
// engine/pulsar/broker.
package pulsarpb

//go:generate protoc --go_out=. --go_opt=paths=source_relative pulsar.proto
