package broker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/metadata"
	"twinlog/engine/kafka/replica"
)

// isrProposals sends the ISR changes of all partitions that this broker leads to the controller: only the controller writes a partition's
// state. What comes up while a request is under way goes with the next one.
type isrProposals struct {
	broker *Broker

	mu      sync.Mutex
	pending map[*partition]replica.Proposal // a newer proposal of a partition replaces an older one
	wake    chan struct{}
}

func newISRProposals(b *Broker) *isrProposals {
	return &isrProposals{broker: b, pending: map[*partition]replica.Proposal{}, wake: make(chan struct{}, 1)}
}

// submit never waits.
func (i *isrProposals) submit(p *partition, proposal replica.Proposal) {
	i.mu.Lock()
	i.pending[p] = proposal
	i.mu.Unlock()
	select {
	case i.wake <- struct{}{}:
	default:
	}
}

func (i *isrProposals) take() map[*partition]replica.Proposal {
	i.mu.Lock()
	defer i.mu.Unlock()
	taken := i.pending
	i.pending = map[*partition]replica.Proposal{}
	return taken
}

// retry puts back what could not be sent, unless there is something newer.
func (i *isrProposals) retry(proposals map[*partition]replica.Proposal) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for p, proposal := range proposals {
		if _, newer := i.pending[p]; !newer {
			i.pending[p] = proposal
		}
	}
}

const alterPartitionBackoff = 50 * time.Millisecond

// run sends until the context ends.
func (i *isrProposals) run(ctx context.Context) {
	for {
		proposals := i.take()
		if len(proposals) == 0 {
			select {
			case <-i.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		if err := i.send(ctx, proposals); err != nil {
			i.broker.logger.Debug("ISR changes wait for the controller", "partitions", len(proposals), "reason", err)
			i.retry(proposals)
			if !pause(ctx, alterPartitionBackoff) {
				return
			}
		}
	}
}

func (i *isrProposals) send(ctx context.Context, proposals map[*partition]replica.Proposal) error {
	ctx, cancel := context.WithTimeout(ctx, i.broker.settings.controllerTimeout)
	defer cancel()
	request := i.request(proposals)
	raw, err := i.broker.askController(ctx, request)
	if err != nil {
		return err
	}
	response := raw.(*kmsg.AlterPartitionResponse)
	if err := kerr.ErrorForCode(response.ErrorCode); err != nil {
		return err
	}
	answered := map[partitionID]kmsg.AlterPartitionResponseTopicPartition{}
	for _, topic := range response.Topics {
		for _, partition := range topic.Partitions {
			answered[partitionID{topic.TopidID, partition.Partition}] = partition
		}
	}
	again := map[*partition]replica.Proposal{}
	for p, proposal := range proposals {
		answer, found := answered[partitionID{p.view.Load().topicID, p.name.Partition}]
		if !found || !i.deliver(p, proposal, answer) {
			again[p] = proposal
		}
	}
	if len(again) > 0 {
		i.retry(again)
		return fmt.Errorf("%d of them were not carried out", len(again))
	}
	return nil
}

// partitionID names a partition by its topic's id.
type partitionID struct {
	topic     metadata.TopicID
	partition int32
}

// deliver passes an answer on; false when the proposal has to be sent again.
func (i *isrProposals) deliver(p *partition, proposal replica.Proposal, answer kmsg.AlterPartitionResponseTopicPartition) bool {
	verdict := replica.AnswerSuperseded
	switch err := kerr.ErrorForCode(answer.ErrorCode); err {
	case nil:
		verdict = replica.AnswerCommitted
	case kerr.OperationNotAttempted, kerr.IneligibleReplica:
		verdict = replica.AnswerRefused
	case kerr.FencedLeaderEpoch, kerr.InvalidUpdateVersion, kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.NotLeaderForPartition:
		p.logger.Info("an ISR change came too late", "isr", proposal.ISR, "reason", err)
	default:
		return false
	}
	if verdict == replica.AnswerCommitted && answer.LeaderEpoch != proposal.LeaderEpoch {
		verdict = replica.AnswerSuperseded
	}
	p.post(func() { p.isrAnswered(proposal, verdict, answer.ISR, answer.PartitionEpoch) })
	return true
}

func (i *isrProposals) request(proposals map[*partition]replica.Proposal) *kmsg.AlterPartitionRequest {
	request := kmsg.NewPtrAlterPartitionRequest()
	request.Version = 3
	request.BrokerID, request.BrokerEpoch = i.broker.config.BrokerID, i.broker.brokerEpoch.Load()
	topics := map[metadata.TopicID]*kmsg.AlterPartitionRequestTopic{}
	for p, proposal := range proposals {
		id := p.view.Load().topicID
		topic := topics[id]
		if topic == nil {
			added := kmsg.NewAlterPartitionRequestTopic()
			topic = &added
			topic.Topic, topic.TopicID = p.name.Topic, id
			topics[id] = topic
		}
		topic.Partitions = append(topic.Partitions, i.partition(p, proposal))
	}
	for _, topic := range topics {
		request.Topics = append(request.Topics, *topic)
	}
	return request
}

func (i *isrProposals) partition(p *partition, proposal replica.Proposal) kmsg.AlterPartitionRequestTopicPartition {
	entry := kmsg.NewAlterPartitionRequestTopicPartition()
	entry.Partition, entry.LeaderEpoch, entry.PartitionEpoch = p.name.Partition, proposal.LeaderEpoch, proposal.PartitionEpoch
	for n, id := range proposal.ISR {
		member := kmsg.NewAlterPartitionRequestTopicPartitionNewEpochISR()
		member.BrokerID, member.BrokerEpoch = id, -1
		if id == i.broker.config.BrokerID {
			member.BrokerEpoch = i.broker.brokerEpoch.Load()
		} else if n < len(proposal.BrokerEpochs) {
			member.BrokerEpoch = proposal.BrokerEpochs[n]
		}
		entry.NewEpochISR = append(entry.NewEpochISR, member)
	}
	return entry
}

// pause waits; false when the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
