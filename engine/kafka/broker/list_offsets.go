package broker

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/commitlog"
	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/kafka/replica"
)

// Timestamps that mean a place.
const (
	latestTimestamp        = -1
	earliestTimestamp      = -2
	maxTimestamp           = -3 // the record with the largest timestamp (KIP-734)
	earliestLocalTimestamp = -4 // the same as earliest, without remote storage (KIP-405)
	latestTieredTimestamp  = -5 // none, without remote storage
)

// handleListOffsets finds offsets by time.
func (b *Broker) handleListOffsets(r *reactor.Request) {
	body := r.Body.(*kmsg.ListOffsetsRequest)
	response := kmsg.NewPtrListOffsetsResponse()
	for _, topic := range body.Topics {
		answer := kmsg.NewListOffsetsResponseTopic()
		answer.Topic = topic.Topic
		for _, asked := range topic.Partitions {
			partition := kmsg.NewListOffsetsResponseTopicPartition()
			partition.Partition = asked.Partition
			found, err := b.listOffset(body, topic.Topic, asked)
			partition.ErrorCode = code(err)
			if err == nil {
				partition.Timestamp, partition.Offset, partition.LeaderEpoch = found.timestamp, found.offset, found.leaderEpoch
				partition.OldStyleOffsets = found.oldStyle
			}
			answer.Partitions = append(answer.Partitions, partition)
		}
		response.Topics = append(response.Topics, answer)
	}
	r.Respond(response)
}

// foundOffset is an offset, the timestamp of the record there and the leader epoch that wrote it; -1 for what there is not.
type foundOffset struct {
	timestamp   int64
	offset      int64
	leaderEpoch int32
	oldStyle    []int64 // version 0: segment starts, newest first
}

var nothingFound = foundOffset{timestamp: -1, offset: -1, leaderEpoch: -1}

func (b *Broker) listOffset(body *kmsg.ListOffsetsRequest, topic string, asked kmsg.ListOffsetsRequestTopicPartition) (foundOffset, *kerr.Error) {
	p := b.replicas.find(topic, asked.Partition)
	if p == nil {
		return foundOffset{}, b.missing(topic, asked.Partition)
	}
	view := p.view.Load()
	epoch := asked.CurrentLeaderEpoch
	if body.Version < 4 {
		epoch = -1
	}
	if err := checkEpoch(view, epoch); err != nil {
		return foundOffset{}, err
	}
	if view.Role != replica.RoleLeader {
		return foundOffset{}, kerr.NotLeaderForPartition
	}
	limit := view.HighWatermark
	if body.ReplicaID >= 0 {
		limit = view.LEO
	}
	if body.Version == 0 {
		return foundOffset{oldStyle: segmentStarts(view, limit, asked.Timestamp, int(asked.MaxNumOffsets))}, nil
	}
	// A leader that was just elected may not know yet how far its predecessor's high watermark was; a consumer that saw more must not be
	// told less.
	behind := body.ReplicaID < 0 && limit < epochStart(view)
	switch asked.Timestamp {
	case latestTimestamp:
		if behind {
			if body.Version >= 5 {
				return foundOffset{}, kerr.OffsetNotAvailable
			}
			return foundOffset{}, kerr.LeaderNotAvailable
		}
		return foundOffset{timestamp: -1, offset: limit, leaderEpoch: view.LeaderEpoch}, nil
	case earliestTimestamp, earliestLocalTimestamp:
		return foundOffset{timestamp: -1, offset: view.LogStart, leaderEpoch: epochAt(view, view.LogStart)}, nil
	case latestTieredTimestamp:
		return nothingFound, nil
	}
	found, err := search(view, limit, asked.Timestamp)
	if err != nil {
		return foundOffset{}, p.cannotRead(-1, fmt.Errorf("look up the offset of timestamp %d: %w", asked.Timestamp, err))
	}
	return found, nil
}

// epochStart is where the present leader's epoch began.
func epochStart(view *partitionView) int64 {
	entries := view.epochs.Entries()
	if len(entries) == 0 {
		return 0
	}
	return entries[len(entries)-1].Start
}

// epochAt is the leader epoch that wrote an offset.
func epochAt(view *partitionView, offset int64) int32 {
	epoch := int32(-1)
	for _, entry := range view.epochs.Entries() {
		if entry.Start <= offset {
			epoch = entry.Epoch
		}
	}
	return epoch
}

// search finds the first record below limit that is not older than a time; for maxTimestamp, the one with the largest.
func search(view *partitionView, limit, timestamp int64) (foundOffset, error) {
	from := view.LogStart
	if timestamp >= 0 {
		offset, found, err := view.records.OffsetForTime(time.UnixMilli(timestamp))
		if errors.Is(err, commitlog.ErrOutOfRange) || err == nil && (!found || offset >= limit) {
			return nothingFound, nil
		}
		if err != nil {
			return foundOffset{}, err
		}
		from = max(from, offset)
	}
	best := nothingFound
	for from < limit {
		section, err := view.records.ReadBelow(from, limit, 1<<20)
		if err != nil {
			return foundOffset{}, err
		}
		bytes, err := section.ReadAll()
		section.Close()
		if err != nil {
			return foundOffset{}, err
		}
		if len(bytes) == 0 {
			break
		}
		done := false
		err = records.Each(bytes, func(h records.Header, batch []byte) error {
			from = h.LastOffset() + 1
			if done || timestamp >= 0 && h.MaxTimestamp < timestamp || timestamp < 0 && h.MaxTimestamp <= best.timestamp {
				return nil
			}
			return records.EachRecord(batch, func(record records.Record) bool {
				if timestamp >= 0 && record.Timestamp >= timestamp || timestamp < 0 && record.Timestamp > best.timestamp {
					best = foundOffset{timestamp: record.Timestamp, offset: record.Offset, leaderEpoch: epochAt(view, record.Offset)}
					done = timestamp >= 0
				}
				return !done
			})
		})
		if err != nil || done {
			return best, err
		}
	}
	return best, nil
}

// segmentStarts is version 0's answer: the starts of segments below a time, newest first, at most so many.
func segmentStarts(view *partitionView, limit, timestamp int64, most int) []int64 {
	var offsets []int64
	add := func(offset int64) {
		if len(offsets) < most {
			offsets = append(offsets, offset)
		}
	}
	switch timestamp {
	case earliestTimestamp:
		add(view.LogStart)
		return offsets
	case latestTimestamp:
		add(limit)
	}
	segments := view.records.Segments()
	for i := len(segments) - 1; i >= 0; i-- {
		if base := max(segments[i].Base, view.LogStart); base < limit && (len(offsets) == 0 || offsets[len(offsets)-1] != base) {
			add(base)
		}
	}
	return offsets
}

// handleOffsetForLeaderEpoch tells where a leader epoch ends, so that a client can find out whether the log was truncated under it (KIP-320).
func (b *Broker) handleOffsetForLeaderEpoch(r *reactor.Request) {
	body := r.Body.(*kmsg.OffsetForLeaderEpochRequest)
	response := kmsg.NewPtrOffsetForLeaderEpochResponse()
	for _, topic := range body.Topics {
		answer := kmsg.NewOffsetForLeaderEpochResponseTopic()
		answer.Topic = topic.Topic
		for _, asked := range topic.Partitions {
			partition := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			partition.Partition, partition.LeaderEpoch, partition.EndOffset = asked.Partition, -1, -1
			epoch, end, err := b.endOfEpoch(body, topic.Topic, asked)
			partition.ErrorCode = code(err)
			if err == nil {
				partition.LeaderEpoch, partition.EndOffset = epoch, end
			}
			answer.Partitions = append(answer.Partitions, partition)
		}
		response.Topics = append(response.Topics, answer)
	}
	r.Respond(response)
}

func (b *Broker) endOfEpoch(body *kmsg.OffsetForLeaderEpochRequest, topic string, asked kmsg.OffsetForLeaderEpochRequestTopicPartition) (int32, int64, *kerr.Error) {
	p := b.replicas.find(topic, asked.Partition)
	if p == nil {
		return 0, 0, b.missing(topic, asked.Partition)
	}
	view := p.view.Load()
	epoch := asked.CurrentLeaderEpoch
	if body.Version < 2 {
		epoch = -1
	}
	if err := checkEpoch(view, epoch); err != nil {
		return 0, 0, err
	}
	if view.Role != replica.RoleLeader {
		return 0, 0, kerr.NotLeaderForPartition
	}
	found, end := view.epochs.EndOf(asked.LeaderEpoch, view.LEO)
	return found, end, nil
}
