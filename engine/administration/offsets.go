package administration

import (
	"context"
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/sentence"
)

// OffsetReset says where a consumer group is to go on reading a topic, as kafka-consumer-groups.sh --reset-offsets does.
type OffsetReset struct {
	Topic     string `json:"topic"`
	Partition *int32 `json:"partition"` // none: every partition
	To        string `json:"to"`        // earliest, latest or offset
	Offset    int64  `json:"offset"`    // with "offset": that of the record that is read next
}

// CommittedOffset is what a group has committed for a partition.
type CommittedOffset struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

func (r OffsetReset) check() error {
	switch {
	case r.Topic == "":
		return sentence.Error(ErrInvalid, "resetNeedsTopic", "say of which topic the offsets are to be reset")
	case r.To != "earliest" && r.To != "latest" && r.To != "offset":
		return sentence.Error(ErrInvalid, "resetToWhat", `offsets are reset to earliest, latest or offset, not "{given}"`, r.To)
	case r.To == "offset" && r.Partition == nil:
		return sentence.Error(ErrInvalid, "resetNeedsPartition", "an offset is one of a partition: say of which")
	}
	return nil
}

// ResetOffsets commits offsets for a group that has no members: with members it would be overtaken by what they commit themselves, so the
// coordinator refuses it. What was asked for must be in the log.
func (a *Administrator) ResetOffsets(ctx context.Context, group string, wanted OffsetReset) (committed []CommittedOffset, err error) {
	if err := wanted.check(); err != nil {
		return nil, err
	}
	doing := sentence.Of("resettingOffsets", `resetting the offsets of group "{group}" on the topic "{topic}"`, group, wanted.Topic)
	err = a.withKafka(func(admin *kadm.Client) error {
		starts, err := admin.ListStartOffsets(ctx, wanted.Topic)
		if err != nil {
			return kafkaError(err, "", doing)
		}
		ends, err := admin.ListEndOffsets(ctx, wanted.Topic)
		if err != nil {
			return kafkaError(err, "", doing)
		}
		if committed, err = wanted.targets(starts, ends, doing); err != nil {
			return err
		}
		offsets := kadm.Offsets{}
		for _, target := range committed {
			offsets.AddOffset(target.Topic, target.Partition, target.Offset, -1)
		}
		if err := admin.CommitAllOffsets(ctx, group, offsets); errors.Is(err, kerr.UnknownMemberID) {
			return sentence.Error(ErrConflict, "groupHasMembers", "{doing}: the group has members, which commit themselves. End them first, and wait until they are out", doing)
		} else if err != nil {
			return kafkaError(err, "", doing)
		}
		return nil
	})
	return committed, err
}

// targets are the offsets to be committed, by what a topic's partitions hold.
func (r OffsetReset) targets(starts, ends kadm.ListedOffsets, doing sentence.Sentence) (targets []CommittedOffset, err error) {
	for partition, end := range ends[r.Topic] {
		if r.Partition != nil && *r.Partition != partition {
			continue
		}
		start, known := starts.Lookup(r.Topic, partition)
		if err := errors.Join(start.Err, end.Err); err != nil || !known {
			return nil, kafkaError(err, "", doing)
		}
		target := CommittedOffset{Topic: r.Topic, Partition: partition, Offset: r.Offset}
		switch r.To {
		case "earliest":
			target.Offset = start.Offset
		case "latest":
			target.Offset = end.Offset
		}
		if target.Offset < start.Offset || target.Offset > end.Offset {
			return nil, sentence.Error(ErrInvalid, "offsetNotInLog", "{doing}: offset {offset} is not in the log of partition {partition}, which has {start} to {end}",
				doing, target.Offset, partition, start.Offset, end.Offset)
		}
		targets = append(targets, target)
	}
	if len(targets) == 0 {
		return nil, sentence.Error(ErrNotFound, "nothingToReset", "{doing}: there is no such topic or partition", doing)
	}
	slices.SortFunc(targets, func(a, b CommittedOffset) int { return int(a.Partition - b.Partition) })
	return targets, nil
}
