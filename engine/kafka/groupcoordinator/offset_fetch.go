package groupcoordinator

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/group"
	"twinlog/engine/trace"
)

// fetchedOffset is a partition in the answer to OffsetFetch. Offset -1 means that none is committed; that is no error.
type fetchedOffset struct {
	partition trace.KafkaPartition
	offset    group.Offset
}

// handleOffsetFetch serves OffsetFetch v0 to v9; from v8 on a request names many groups (KIP-709).
func (c *Coordinator) handleOffsetFetch(r *reactor.Request) {
	request := r.Body.(*kmsg.OffsetFetchRequest)
	groups := request.Groups
	if r.Version < 8 {
		one := kmsg.NewOffsetFetchRequestGroup()
		one.Group = request.Group
		if request.Topics != nil || r.Version < 2 { // null means all, from v2 on
			one.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
		}
		for _, topic := range request.Topics {
			one.Topics = append(one.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: topic.Topic, Partitions: topic.Partitions})
		}
		groups = []kmsg.OffsetFetchRequestGroup{one}
	}
	answer := func(find func(kmsg.OffsetFetchRequestGroup) ([]fetchedOffset, *kerr.Error)) {
		response := kmsg.NewPtrOffsetFetchResponse()
		for _, asked := range groups {
			offsets, err := find(asked)
			if r.Version >= 8 {
				response.Groups = append(response.Groups, manyGroupsAnswer(asked.Group, offsets, err))
			} else {
				oneGroupAnswer(response, r.Version, asked, offsets, err)
			}
		}
		r.Respond(response)
	}
	c.ask(r, func(time.Time) { answer(c.fetchOffsets) }, func(err *kerr.Error) {
		answer(func(kmsg.OffsetFetchRequestGroup) ([]fetchedOffset, *kerr.Error) { return nil, err })
	})
}

// fetchOffsets answers for every partition that was asked for, in the order of the request; for all that have an offset when none was named.
func (c *Coordinator) fetchOffsets(asked kmsg.OffsetFetchRequestGroup) ([]fetchedOffset, *kerr.Error) {
	g, err := c.find(asked.Group)
	if err != nil {
		return nil, err
	}
	var partitions []trace.KafkaPartition
	if asked.Topics == nil && g != nil {
		partitions = g.Partitions()
	}
	for _, topic := range asked.Topics {
		for _, partition := range topic.Partitions {
			partitions = append(partitions, trace.KafkaPartition{Topic: topic.Topic, Partition: partition})
		}
	}
	fetched := make([]fetchedOffset, 0, len(partitions))
	for _, partition := range partitions {
		result := fetchedOffset{partition, group.Offset{Offset: -1, LeaderEpoch: -1}}
		if g != nil {
			if offset, exists := g.Offset(partition); exists {
				result.offset = offset
			}
		}
		fetched = append(fetched, result)
	}
	return fetched, nil
}

func manyGroupsAnswer(id string, offsets []fetchedOffset, err *kerr.Error) kmsg.OffsetFetchResponseGroup {
	answer := kmsg.NewOffsetFetchResponseGroup()
	answer.Group, answer.ErrorCode = id, code(err)
	for _, from := range offsets {
		if n := len(answer.Topics); n == 0 || answer.Topics[n-1].Topic != from.partition.Topic {
			topic := kmsg.NewOffsetFetchResponseGroupTopic()
			topic.Topic = from.partition.Topic
			answer.Topics = append(answer.Topics, topic)
		}
		p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = from.partition.Partition, from.offset.Offset, from.offset.LeaderEpoch, &from.offset.Metadata
		last := &answer.Topics[len(answer.Topics)-1]
		last.Partitions = append(last.Partitions, p)
	}
	return answer
}

// oneGroupAnswer fills a response of v0 to v7. Before v2 there is no place for an error but at the partitions.
func oneGroupAnswer(response *kmsg.OffsetFetchResponse, version int16, asked kmsg.OffsetFetchRequestGroup, offsets []fetchedOffset, err *kerr.Error) {
	response.ErrorCode = code(err)
	if err != nil && version < 2 {
		for _, topic := range asked.Topics {
			for _, partition := range topic.Partitions {
				offsets = append(offsets, fetchedOffset{trace.KafkaPartition{Topic: topic.Topic, Partition: partition}, group.Offset{Offset: -1, LeaderEpoch: -1}})
			}
		}
	}
	for _, from := range offsets {
		if n := len(response.Topics); n == 0 || response.Topics[n-1].Topic != from.partition.Topic {
			topic := kmsg.NewOffsetFetchResponseTopic()
			topic.Topic = from.partition.Topic
			response.Topics = append(response.Topics, topic)
		}
		p := kmsg.NewOffsetFetchResponseTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = from.partition.Partition, from.offset.Offset, from.offset.LeaderEpoch, &from.offset.Metadata
		p.ErrorCode = code(err)
		last := &response.Topics[len(response.Topics)-1]
		last.Partitions = append(last.Partitions, p)
	}
}
