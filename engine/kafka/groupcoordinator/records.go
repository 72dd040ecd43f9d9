package groupcoordinator

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/kafka/group"
	"twinlog/engine/trace"
)

// The records of __consumer_offsets. The first two bytes of a key say what it is:
//
//	key version 0, 1   group, topic, partition   value: offset, leader epoch, metadata, commit time
//	key version 2      group                     value: protocol, generation, leader, members with assignments
//
// A null value is a tombstone: what the key names is gone. The versions written are those of Apache Kafka 3.9.
const (
	offsetKeyVersion   = 1
	groupKeyVersion    = 2
	offsetValueVersion = 3
	// expiringOffsetValueVersion is the only one with an expiry time, for clients that ask for a retention time of their own.
	expiringOffsetValueVersion = 1
	groupValueVersion          = 3
)

func groupKey(id string) []byte {
	key := kmsg.NewGroupMetadataKey()
	key.Version, key.Group = groupKeyVersion, id
	return key.AppendTo(nil)
}

func offsetKey(id string, partition trace.KafkaPartition) []byte {
	key := kmsg.NewOffsetCommitKey()
	key.Version, key.Group, key.Topic, key.Partition = offsetKeyVersion, id, partition.Topic, partition.Partition
	return key.AppendTo(nil)
}

func tombstone(key []byte, now time.Time) records.Record {
	return records.Record{Timestamp: now.UnixMilli(), Key: key}
}

func groupRecord(id string, m group.Metadata, now time.Time) records.Record {
	value := kmsg.NewGroupMetadataValue()
	value.Version, value.ProtocolType, value.Generation, value.CurrentStateTimestamp = groupValueVersion, m.ProtocolType, m.Generation, m.Since.UnixMilli()
	if m.Protocol != "" {
		value.Protocol = &m.Protocol
	}
	if m.Leader != "" {
		value.Leader = &m.Leader
	}
	for _, from := range m.Members {
		member := kmsg.NewGroupMetadataValueMember()
		member.MemberID, member.ClientID, member.ClientHost = from.ID, from.ClientID, from.ClientHost
		if from.InstanceID != "" {
			member.InstanceID = &from.InstanceID
		}
		member.RebalanceTimeoutMillis, member.SessionTimeoutMillis = int32(from.RebalanceTimeout.Milliseconds()), int32(from.SessionTimeout.Milliseconds())
		member.Subscription, member.Assignment = notNil(from.Subscription), notNil(from.Assignment)
		value.Members = append(value.Members, member)
	}
	return records.Record{Timestamp: now.UnixMilli(), Key: groupKey(id), Value: value.AppendTo(nil)}
}

func notNil(bytes []byte) []byte {
	if bytes == nil {
		return []byte{}
	}
	return bytes
}

func readGroup(bytes []byte) (group.Metadata, error) {
	var value kmsg.GroupMetadataValue
	if err := value.ReadFrom(bytes); err != nil {
		return group.Metadata{}, err
	}
	metadata := group.Metadata{ProtocolType: value.ProtocolType, Generation: value.Generation}
	if value.Version >= 2 && value.CurrentStateTimestamp >= 0 {
		metadata.Since = time.UnixMilli(value.CurrentStateTimestamp)
	}
	if value.Protocol != nil {
		metadata.Protocol = *value.Protocol
	}
	if value.Leader != nil {
		metadata.Leader = *value.Leader
	}
	for _, from := range value.Members {
		member := group.MemberMetadata{
			ID: from.MemberID, ClientID: from.ClientID, ClientHost: from.ClientHost, Subscription: from.Subscription, Assignment: from.Assignment,
			RebalanceTimeout: time.Duration(from.RebalanceTimeoutMillis) * time.Millisecond, SessionTimeout: time.Duration(from.SessionTimeoutMillis) * time.Millisecond,
		}
		if from.InstanceID != nil {
			member.InstanceID = *from.InstanceID
		}
		if value.Version == 0 {
			member.RebalanceTimeout = member.SessionTimeout
		}
		metadata.Members = append(metadata.Members, member)
	}
	return metadata, nil
}

func offsetRecord(id string, partition trace.KafkaPartition, offset group.Offset, now time.Time) records.Record {
	value := kmsg.NewOffsetCommitValue()
	value.Version, value.Offset, value.LeaderEpoch, value.Metadata = offsetValueVersion, offset.Offset, offset.LeaderEpoch, offset.Metadata
	value.CommitTimestamp = offset.CommittedAt.UnixMilli()
	if !offset.ExpiresAt.IsZero() {
		value.Version, value.ExpireTimestamp = expiringOffsetValueVersion, offset.ExpiresAt.UnixMilli()
	}
	return records.Record{Timestamp: now.UnixMilli(), Key: offsetKey(id, partition), Value: value.AppendTo(nil)}
}

func readOffset(bytes []byte) (group.Offset, error) {
	value := kmsg.NewOffsetCommitValue()
	if err := value.ReadFrom(bytes); err != nil {
		return group.Offset{}, err
	}
	offset := group.Offset{Offset: value.Offset, LeaderEpoch: -1, Metadata: value.Metadata, CommittedAt: time.UnixMilli(value.CommitTimestamp)}
	if value.Version >= 3 {
		offset.LeaderEpoch = value.LeaderEpoch
	}
	if value.Version == 1 && value.ExpireTimestamp >= 0 {
		offset.ExpiresAt = time.UnixMilli(value.ExpireTimestamp)
	}
	return offset, nil
}
