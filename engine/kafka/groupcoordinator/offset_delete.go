package groupcoordinator

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/trace"
)

// handleOffsetDelete serves OffsetDelete v0: an administrator removes offsets of topics that no member uses (KIP-496).
func (c *Coordinator) handleOffsetDelete(r *reactor.Request) {
	request := r.Body.(*kmsg.OffsetDeleteRequest)
	codes := map[trace.KafkaPartition]*kerr.Error{}
	respond := func(whole, rest *kerr.Error) { r.Respond(offsetDeleteResponse(request, codes, whole, rest)) }
	refuse := func(err *kerr.Error) { respond(err, nil) }
	c.ask(r, func(now time.Time) {
		g, err := c.find(request.Group)
		if g == nil && err == nil {
			err = kerr.GroupIDNotFound
		}
		if err != nil {
			refuse(err)
			return
		}
		whole, mayDelete := g.CheckOffsetDelete()
		if whole != nil {
			refuse(whole)
			return
		}
		var doomed []trace.KafkaPartition
		snapshot := c.config.Metadata()
		for _, topic := range request.Topics {
			for _, p := range topic.Partitions {
				partition := trace.KafkaPartition{Topic: topic.Topic, Partition: p.Partition}
				if _, known := snapshot.Partition(topic.Topic, p.Partition); !known {
					codes[partition] = kerr.UnknownTopicOrPartition
				} else if !mayDelete(topic.Topic) {
					codes[partition] = kerr.GroupSubscribedToTopic
				} else if _, exists := g.Offset(partition); exists {
					doomed = append(doomed, partition)
				}
			}
		}
		c.forget(g, doomed, now, func(err *kerr.Error) { respond(nil, logError(err)) })
	}, refuse)
}

func offsetDeleteResponse(request *kmsg.OffsetDeleteRequest, codes map[trace.KafkaPartition]*kerr.Error, whole, rest *kerr.Error) kmsg.Response {
	response := kmsg.NewPtrOffsetDeleteResponse()
	response.ErrorCode = code(whole)
	if whole != nil {
		return response
	}
	for _, asked := range request.Topics {
		topic := kmsg.NewOffsetDeleteResponseTopic()
		topic.Topic = asked.Topic
		for _, p := range asked.Partitions {
			partition := kmsg.NewOffsetDeleteResponseTopicPartition()
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
