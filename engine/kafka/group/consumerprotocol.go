package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/trace"
)

// consumerProtocol is the protocol type of consumers. What its members send each other is opaque to the coordinator, but for what is shown
// and for which topics are in use.
const consumerProtocol = "consumer"

// assignedPartitions reads an assignment of the consumer protocol; empty when it is something else or cannot be read.
func assignedPartitions(protocolType string, assignment []byte) []trace.KafkaPartition {
	partitions := []trace.KafkaPartition{}
	if protocolType != consumerProtocol || len(assignment) == 0 {
		return partitions
	}
	var read kmsg.ConsumerMemberAssignment
	if err := read.ReadFrom(assignment); err != nil {
		return partitions
	}
	for _, topic := range read.Topics {
		for _, partition := range topic.Partitions {
			partitions = append(partitions, trace.KafkaPartition{Topic: topic.Topic, Partition: partition})
		}
	}
	return partitions
}

// subscribedTopics reads a subscription of the consumer protocol; false when it cannot be read.
func subscribedTopics(subscription []byte) ([]string, bool) {
	var read kmsg.ConsumerMemberMetadata
	if err := read.ReadFrom(subscription); err != nil {
		return nil, false
	}
	return read.Topics, true
}
