// Package dissect takes messages and frames of logs apart into named fields, each with the bytes that it lies in: what a packet
// analyser shows. It is made for looking, not for working: it reads as far as it can, tells why it stopped, and never fails.
//
// Each protocol is read in the way in which it is defined. Kafka and ZooKeeper by a table of fields ([kafka_schema.txt],
// zookeeper_schema.txt), Pulsar, BookKeeper and Raft by walking protobuf's wire format with the descriptors that give fields their names.
package dissect
