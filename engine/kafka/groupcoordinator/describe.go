package groupcoordinator

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/records"
)

// Describe says in words what a record of __consumer_offsets holds.
func Describe(r records.Record) string {
	if len(r.Key) < 2 {
		return fmt.Sprintf("a key of %d bytes", len(r.Key))
	}
	switch version := int16(binary.BigEndian.Uint16(r.Key)); version {
	case 0, 1:
		var key kmsg.OffsetCommitKey
		if err := key.ReadFrom(r.Key); err != nil {
			return "an offset's key: " + err.Error()
		}
		return fmt.Sprintf("group %q, %s-%d: %s", key.Group, key.Topic, key.Partition, describeOffset(r.Value))
	case groupKeyVersion:
		var key kmsg.GroupMetadataKey
		if err := key.ReadFrom(r.Key); err != nil {
			return "a group's key: " + err.Error()
		}
		return fmt.Sprintf("group %q: %s", key.Group, describeGroup(r.Value))
	default:
		return fmt.Sprintf("a key of version %d, which is not known", version)
	}
}

func describeOffset(value []byte) string {
	if value == nil {
		return "the committed offset is deleted (tombstone)"
	}
	offset, err := readOffset(value)
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("committed offset %d", offset.Offset)
	if offset.LeaderEpoch >= 0 {
		text += fmt.Sprintf(", leader epoch %d", offset.LeaderEpoch)
	}
	if offset.Metadata != "" {
		text += fmt.Sprintf(", metadata %q", offset.Metadata)
	}
	return text + ", at " + offset.CommittedAt.UTC().Format(time.TimeOnly)
}

func describeGroup(value []byte) string {
	if value == nil {
		return "the group is deleted (tombstone)"
	}
	metadata, err := readGroup(slices.Clone(value))
	if err != nil {
		return err.Error()
	}
	if len(metadata.Members) == 0 {
		return fmt.Sprintf("generation %d, no members", metadata.Generation)
	}
	var members []string
	for _, member := range metadata.Members {
		members = append(members, fmt.Sprintf("%s (client id %q)", member.ID, member.ClientID))
	}
	return fmt.Sprintf("generation %d, assignor %q, leader %s, members: %s", metadata.Generation, metadata.Protocol, metadata.Leader, strings.Join(members, ", "))
}
