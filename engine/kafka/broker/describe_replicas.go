package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/replica"
)

// handleDescribeLogDirs tells how large the replicas on this broker are. There is one log directory, listed also when it is empty.
func (b *Broker) handleDescribeLogDirs(r *reactor.Request) {
	body := r.Body.(*kmsg.DescribeLogDirsRequest)
	response := kmsg.NewPtrDescribeLogDirsResponse()
	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.Dir = b.logDir()
	for _, p := range b.replicas.all() {
		if body.Topics != nil && !asksFor(body.Topics, p) {
			continue
		}
		view := p.view.Load()
		entry := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		entry.Partition, entry.Size = p.name.Partition, view.records.Size()
		entry.OffsetLag = max(0, view.HighWatermark-view.LEO)
		last := len(dir.Topics) - 1
		if last < 0 || dir.Topics[last].Topic != p.name.Topic {
			topic := kmsg.NewDescribeLogDirsResponseDirTopic()
			topic.Topic = p.name.Topic
			dir.Topics = append(dir.Topics, topic)
			last++
		}
		dir.Topics[last].Partitions = append(dir.Topics[last].Partitions, entry)
	}
	response.Dirs = append(response.Dirs, dir)
	r.Respond(response)
}

// logDir is the name by which the log directory is known: the node's disk is a directory that only it sees.
func (b *Broker) logDir() string {
	for _, entry := range b.topicConfigs.broker() {
		if entry.Definition.Name == "log.dirs" {
			return entry.Value
		}
	}
	return "."
}

func asksFor(topics []kmsg.DescribeLogDirsRequestTopic, p *partition) bool {
	return slices.ContainsFunc(topics, func(topic kmsg.DescribeLogDirsRequestTopic) bool {
		return topic.Topic == p.name.Topic && slices.Contains(topic.Partitions, p.name.Partition)
	})
}

// handleDescribeProducers lists the idempotent producers of partitions that this broker leads.
func (b *Broker) handleDescribeProducers(r *reactor.Request) {
	body := r.Body.(*kmsg.DescribeProducersRequest)
	response := kmsg.NewPtrDescribeProducersResponse()
	pending := newCountdown(func() { r.Respond(response) })
	for _, topic := range body.Topics {
		answer := kmsg.NewDescribeProducersResponseTopic()
		answer.Topic = topic.Topic
		answer.Partitions = make([]kmsg.DescribeProducersResponseTopicPartition, len(topic.Partitions))
		for i, number := range topic.Partitions {
			entry := &answer.Partitions[i]
			*entry = kmsg.NewDescribeProducersResponseTopicPartition()
			entry.Partition = number
			p := b.replicas.find(topic.Topic, number)
			switch {
			case p == nil:
				entry.ErrorCode = b.missing(topic.Topic, number).Code
			case p.view.Load().Role != replica.RoleLeader:
				entry.ErrorCode = kerr.NotLeaderForPartition.Code
			default:
				pending.add()
				if !p.post(func() { entry.ActiveProducers = activeProducers(p.log.Producers().States()); pending.done() }) {
					entry.ErrorCode = kerr.NotLeaderForPartition.Code
					pending.done()
				}
			}
		}
		response.Topics = append(response.Topics, answer)
	}
	pending.done()
}

func activeProducers(states []replica.ProducerState) (active []kmsg.DescribeProducersResponseTopicPartitionActiveProducer) {
	for _, state := range states {
		entry := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
		entry.ProducerID, entry.ProducerEpoch, entry.LastSequence = state.ID, int32(state.Epoch), state.LastSequence()
		entry.LastTimestamp, entry.CoordinatorEpoch, entry.CurrentTxnStartOffset = state.Written.UnixMilli(), -1, -1
		active = append(active, entry)
	}
	return active
}
