// Package workload runs the classroom's demo producers and consumers. They are ordinary client programs: franz-go on the Kafka side,
// pulsar-client-go on the Pulsar side, speaking the public protocols over TCP to the addresses that any client would use. Nothing
// that they do needs more rights than a student's own program has, and they live through a broker's death as such a program does: by
// the client library's reconnecting.
package workload
