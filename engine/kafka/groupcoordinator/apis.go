package groupcoordinator

import (
	"unicode/utf16"

	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
)

// APIs are the requests that the coordinator serves, in the versions of Apache Kafka 3.9.
func (c *Coordinator) APIs() []reactor.API {
	return []reactor.API{
		{Key: kmsg.OffsetCommit, Max: 9, Handle: c.handleOffsetCommit},
		{Key: kmsg.OffsetFetch, Max: 9, Handle: c.handleOffsetFetch},
		{Key: kmsg.FindCoordinator, Max: 6, Handle: c.handleFindCoordinator},
		{Key: kmsg.JoinGroup, Max: 9, Handle: c.handleJoinGroup},
		{Key: kmsg.Heartbeat, Max: 4, Handle: c.handleHeartbeat},
		{Key: kmsg.LeaveGroup, Max: 5, Handle: c.handleLeaveGroup},
		{Key: kmsg.SyncGroup, Max: 5, Handle: c.handleSyncGroup},
		{Key: kmsg.DescribeGroups, Max: 5, Handle: c.handleDescribeGroups},
		{Key: kmsg.ListGroups, Max: 5, Handle: c.handleListGroups},
		{Key: kmsg.DeleteGroups, Max: 2, Handle: c.handleDeleteGroups},
		{Key: kmsg.OffsetDelete, Max: 0, Handle: c.handleOffsetDelete},
	}
}

// partitionOf is the partition of [OffsetsTopic] that a group belongs to.
func (c *Coordinator) partitionOf(id string) int32 {
	count := c.config.OffsetsPartitions
	if topic, known := c.config.Metadata().Topic(OffsetsTopic); known && len(topic.Partitions) > 0 {
		count = int32(len(topic.Partitions))
	}
	return (javaHash(id) & 0x7fffffff) % count
}

// javaHash is Java's String.hashCode: h = 31*h + c over the UTF-16 code units, wrapping at 32 bits.
func javaHash(text string) int32 {
	var hash int32
	for _, unit := range utf16.Encode([]rune(text)) {
		hash = 31*hash + int32(unit)
	}
	return hash
}

func stringOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// nullable is the protocol's form of a text that may be missing.
func nullable(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
