package broker

import (
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/replica"
)

// countdown calls a function when all parts of a request are done. It begins with one part: the starting of the others.
type countdown struct {
	left atomic.Int32
	then func()
}

func newCountdown(then func()) *countdown {
	c := &countdown{then: then}
	c.left.Store(1)
	return c
}

func (c *countdown) add() { c.left.Add(1) }

func (c *countdown) done() {
	if c.left.Add(-1) == 0 {
		c.then()
	}
}

// handleDeleteRecords advances the start of logs. Followers learn the new start with their next fetch.
func (b *Broker) handleDeleteRecords(r *reactor.Request) {
	body := r.Body.(*kmsg.DeleteRecordsRequest)
	response := kmsg.NewPtrDeleteRecordsResponse()
	pending := newCountdown(func() { r.Respond(response) })
	for _, topic := range body.Topics {
		answer := kmsg.NewDeleteRecordsResponseTopic()
		answer.Topic = topic.Topic
		answer.Partitions = make([]kmsg.DeleteRecordsResponseTopicPartition, len(topic.Partitions))
		for i, asked := range topic.Partitions {
			entry := &answer.Partitions[i]
			*entry = kmsg.NewDeleteRecordsResponseTopicPartition()
			entry.Partition, entry.LowWatermark = asked.Partition, -1
			p := b.replicas.find(topic.Topic, asked.Partition)
			if p == nil {
				entry.ErrorCode = b.missing(topic.Topic, asked.Partition).Code
				continue
			}
			pending.add()
			posted := p.post(func() {
				low, err := p.deleteRecords(asked.Offset)
				entry.LowWatermark, entry.ErrorCode = low, code(err)
				pending.done()
			})
			if !posted {
				entry.ErrorCode = kerr.NotLeaderForPartition.Code
				pending.done()
			}
		}
		response.Topics = append(response.Topics, answer)
	}
	pending.done()
}

// deleteRecords deletes what lies before an offset; -1 means all that consumers can see.
func (p *partition) deleteRecords(before int64) (low int64, err *kerr.Error) {
	view := p.view.Load()
	if before == -1 {
		before = view.HighWatermark
	}
	switch {
	case view.Role != replica.RoleLeader:
		return -1, kerr.NotLeaderForPartition
	case !p.settings.DeletesOld:
		return -1, kerr.PolicyViolation
	case before < 0 || before > view.HighWatermark:
		return -1, kerr.OffsetOutOfRange
	}
	if p.advanceLogStart(before) != nil {
		return -1, kerr.KafkaStorageError
	}
	return p.log.Start(), nil
}
