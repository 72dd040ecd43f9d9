// Package metadata is what Kafka-mode keeps in the ensemble and what its brokers know about the cluster: the znode paths and payloads
// of Apache Kafka 3.9 in ZooKeeper mode, and the Snapshot that UpdateMetadata requests from the controller build up in every broker.
//
// The package is pure: no goroutine, lock or connection. Payloads hold the keys, types and versions that Apache Kafka writes (a
// timestamp is a string, empty maps are written), so that what a student reads with zkCli is what a real cluster shows.
package metadata
