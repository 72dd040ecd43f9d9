package groupcoordinator

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/kafka/group"
	"twinlog/engine/trace"
)

// handleOffsetCommit serves OffsetCommit v0 to v9. (In Kafka's ZooKeeper mode v0 still writes below /consumers; here it writes where all
// others do.)
func (c *Coordinator) handleOffsetCommit(r *reactor.Request) {
	request := r.Body.(*kmsg.OffsetCommitRequest)
	codes := map[trace.KafkaPartition]*kerr.Error{}
	respond := func(rest *kerr.Error) { r.Respond(offsetCommitResponse(request, codes, rest)) }
	c.ask(r, func(now time.Time) {
		g, err := c.groupToCommit(request, now)
		if err != nil {
			respond(err)
			return
		}
		offsets := c.readOffsets(request, codes, now)
		if len(offsets) == 0 {
			respond(nil)
			c.after(g, now)
			return
		}
		var list []records.Record
		for _, topic := range request.Topics {
			for _, p := range topic.Partitions {
				partition := trace.KafkaPartition{Topic: topic.Topic, Partition: p.Partition}
				if offset, valid := offsets[partition]; valid {
					list = append(list, offsetRecord(g.ID(), partition, offset, now))
				}
			}
		}
		commit := g.BeginCommit(offsets)
		c.append(g.partition, list, func(err *kerr.Error, now time.Time) {
			g.EndCommit(commit, err == nil)
			c.after(g, now) // told before it is answered: whoever has the answer finds it in the trace
			respond(commitError(err))
		})
		c.after(g, now)
	}, respond)
}

// groupToCommit finds the group and checks that the client may commit to it. A client that does not share partitions with others names a
// group that need not be there.
func (c *Coordinator) groupToCommit(request *kmsg.OffsetCommitRequest, now time.Time) (*member, *kerr.Error) {
	generation := request.Generation
	if request.Version == 0 {
		generation = -1
	}
	g, err := c.find(request.Group)
	switch {
	case err != nil:
		return nil, err
	case g == nil && generation >= 0:
		return nil, kerr.IllegalGeneration
	case g == nil:
		if g, err = c.findOrCreate(request.Group, now); err != nil {
			return nil, err
		}
	}
	return g, g.CheckCommit(request.MemberID, stringOf(request.InstanceID), generation, now)
}

// readOffsets takes the offsets that can be committed and notes why others cannot.
func (c *Coordinator) readOffsets(request *kmsg.OffsetCommitRequest, codes map[trace.KafkaPartition]*kerr.Error, now time.Time) map[trace.KafkaPartition]group.Offset {
	offsets := map[trace.KafkaPartition]group.Offset{}
	snapshot := c.config.Metadata()
	for _, topic := range request.Topics {
		for _, p := range topic.Partitions {
			partition := trace.KafkaPartition{Topic: topic.Topic, Partition: p.Partition}
			offset := group.Offset{Offset: p.Offset, LeaderEpoch: -1, Metadata: stringOf(p.Metadata), CommittedAt: now}
			if _, known := snapshot.Partition(topic.Topic, p.Partition); !known {
				codes[partition] = kerr.UnknownTopicOrPartition
				continue
			}
			if len(offset.Metadata) > c.config.MaxMetadataBytes {
				codes[partition] = kerr.OffsetMetadataTooLarge
				continue
			}
			if request.Version >= 6 {
				offset.LeaderEpoch = p.LeaderEpoch
			}
			if request.Version == 1 && p.Timestamp >= 0 {
				offset.CommittedAt = time.UnixMilli(p.Timestamp)
			}
			if request.Version >= 2 && request.Version <= 4 && request.RetentionTimeMillis >= 0 {
				offset.ExpiresAt = now.Add(time.Duration(request.RetentionTimeMillis) * time.Millisecond)
			}
			offsets[partition] = offset
		}
	}
	return offsets
}

// offsetCommitResponse answers for each partition: with its own error where it has one, and else with that of all the rest.
func offsetCommitResponse(request *kmsg.OffsetCommitRequest, codes map[trace.KafkaPartition]*kerr.Error, rest *kerr.Error) kmsg.Response {
	response := kmsg.NewPtrOffsetCommitResponse()
	for _, asked := range request.Topics {
		topic := kmsg.NewOffsetCommitResponseTopic()
		topic.Topic = asked.Topic
		for _, p := range asked.Partitions {
			partition := kmsg.NewOffsetCommitResponseTopicPartition()
			partition.Partition, partition.ErrorCode = p.Partition, code(rest)
			if own := codes[trace.KafkaPartition{Topic: asked.Topic, Partition: p.Partition}]; own != nil {
				partition.ErrorCode = own.Code
			}
			topic.Partitions = append(topic.Partitions, partition)
		}
		response.Topics = append(response.Topics, topic)
	}
	return response
}
