package groupcoordinator

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/sentence"
)

// Describe says in words what a record of __consumer_offsets holds.
func Describe(r records.Record) sentence.Sentence {
	if len(r.Key) < 2 {
		return sentence.Of("keyOfBytes", "a key of {count} {count|byte|bytes}", len(r.Key))
	}
	switch version := int16(binary.BigEndian.Uint16(r.Key)); version {
	case 0, 1:
		var key kmsg.OffsetCommitKey
		if err := key.ReadFrom(r.Key); err != nil {
			return sentence.Of("notAnOffsetKey", "an offset's key: {why}", err)
		}
		return sentence.Of("offsetOfGroup", `group "{group}", {topic}-{partition}: {what}`, key.Group, key.Topic, strconv.Itoa(int(key.Partition)), describeOffset(r.Value))
	case groupKeyVersion:
		var key kmsg.GroupMetadataKey
		if err := key.ReadFrom(r.Key); err != nil {
			return sentence.Of("notAGroupKey", "a group's key: {why}", err)
		}
		return sentence.Of("stateOfGroup", `group "{group}": {what}`, key.Group, describeGroup(r.Value))
	default:
		return sentence.Of("keyOfVersion", "a key of version {version}, which is not known", int(version))
	}
}

func describeOffset(value []byte) sentence.Sentence {
	if value == nil {
		return sentence.Of("offsetDeleted", "the committed offset is deleted (tombstone)")
	}
	offset, err := readOffset(value)
	if err != nil {
		return sentence.Of("notReadable", "{why}", err)
	}
	committed, at := strconv.FormatInt(offset.Offset, 10), offset.CommittedAt.UTC().Format(time.TimeOnly)
	epoch := "–"
	if offset.LeaderEpoch >= 0 {
		epoch = strconv.Itoa(int(offset.LeaderEpoch))
	}
	if offset.Metadata != "" {
		return sentence.Of("offsetCommittedWith", `committed offset {offset}, leader epoch {epoch}, metadata "{metadata}", at {at}`, committed, epoch, offset.Metadata, at)
	}
	return sentence.Of("offsetCommitted", "committed offset {offset}, leader epoch {epoch}, at {at}", committed, epoch, at)
}

func describeGroup(value []byte) sentence.Sentence {
	if value == nil {
		return sentence.Of("groupIsDeleted", "the group is deleted (tombstone)")
	}
	metadata, err := readGroup(slices.Clone(value))
	if err != nil {
		return sentence.Of("notReadable", "{why}", err)
	}
	generation := strconv.Itoa(int(metadata.Generation))
	if len(metadata.Members) == 0 {
		return sentence.Of("groupOfNobody", "generation {generation}, no members", generation)
	}
	var members []string
	for _, member := range metadata.Members {
		members = append(members, fmt.Sprintf("%s (client id %q)", member.ID, member.ClientID))
	}
	return sentence.Of("groupOfMembers", `generation {generation}, assignor "{assignor}", leader {leader}, members: {members}`,
		generation, metadata.Protocol, metadata.Leader, members)
}
