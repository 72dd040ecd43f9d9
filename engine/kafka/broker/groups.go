package broker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/kafka/groupcoordinator"
)

// newGroups returns the coordinator of the groups whose partition of __consumer_offsets this broker leads.
func (b *Broker) newGroups() (*groupcoordinator.Coordinator, error) {
	return groupcoordinator.New(groupcoordinator.Config{
		BrokerID: b.config.BrokerID, Log: offsetsLog{b}, Metadata: b.metadata.Load, Tracer: b.config.Tracer, Logger: b.logger,
		CreateOffsetsTopic:    func() { b.driver.CreateMissingTopics(b.wantedOffsetsTopic()) },
		OffsetsPartitions:     int32(b.rules.BrokerNumber("offsets.topic.num.partitions")),
		MinSessionTimeout:     b.rules.BrokerDuration("group.min.session.timeout.ms"),
		MaxSessionTimeout:     b.rules.BrokerDuration("group.max.session.timeout.ms"),
		InitialRebalanceDelay: positive(b.rules.BrokerDuration("group.initial.rebalance.delay.ms")),
		OffsetsRetention:      time.Duration(b.rules.BrokerNumber("offsets.retention.minutes")) * time.Minute,
	})
}

// positive turns a duration of 0 into "none" for settings in which 0 means the default.
func positive(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// coordinate tells the coordinator about a change of leadership; leader -1: the replica was stopped. Only __consumer_offsets matters to it.
func (b *Broker) coordinate(topic string, index, leader, leaderEpoch int32) {
	switch {
	case topic != offsetsTopic:
	case leader == b.config.BrokerID:
		b.groups.BecameLeader(index, leaderEpoch)
	default:
		b.groups.BecameFollower(index, leaderEpoch)
	}
}

// offsetsLog is the group coordinator's way to the replicas of __consumer_offsets.
type offsetsLog struct{ broker *Broker }

// Append implements [groupcoordinator.Log] as a Produce request with acks=all.
func (l offsetsLog) Append(index, leaderEpoch int32, batch []byte, timeout time.Duration, committed func(error)) {
	p := l.broker.replicas.find(offsetsTopic, index)
	if p == nil {
		committed(kerr.NotLeaderForPartition)
		return
	}
	header, err := records.ParseHeader(batch)
	if err != nil {
		committed(err)
		return
	}
	if int64(len(batch)) > int64(p.topic.Load().MaxMessageBytes) {
		committed(kerr.MessageTooLarge)
		return
	}
	posted := p.post(func() {
		// A coordinator that has not heard of the newest election may not write: another one may have written since.
		if p.view.Load().LeaderEpoch != leaderEpoch {
			committed(kerr.NotLeaderForPartition)
			return
		}
		result := p.appendAsLeader(batch, header, -1)
		if result.err != nil {
			committed(result.err)
			return
		}
		part := &producePart{partition: p, result: result}
		l.broker.purgatory.Watch(&coordinatorAppend{part, committed, timeout}, timeout, produceKey(p.name))
	})
	if !posted {
		committed(kerr.NotLeaderForPartition)
	}
}

// coordinatorAppend waits in the purgatory until all replicas in sync have the coordinator's records.
type coordinatorAppend struct {
	part      *producePart
	committed func(error)
	timeout   time.Duration
}

// Ready implements reactor.Operation.
func (a *coordinatorAppend) Ready() bool {
	done, _ := a.part.replicated()
	return done
}

// Complete implements reactor.Operation.
func (a *coordinatorAppend) Complete(bool) {
	switch done, err := a.part.replicated(); {
	case !done:
		a.committed(kerr.RequestTimedOut)
	case err != nil:
		a.committed(err)
	default:
		a.committed(nil)
	}
}

// Read implements [groupcoordinator.Log].
func (l offsetsLog) Read(index int32, offset int64, maxBytes int) ([]byte, error) {
	p := l.broker.replicas.find(offsetsTopic, index)
	if p == nil {
		return nil, kerr.NotLeaderForPartition
	}
	section, err := p.view.Load().records.Read(offset, maxBytes)
	if err != nil {
		p.cannotRead(offset, err)
		return nil, err
	}
	defer section.Close()
	return section.ReadAll()
}

// Bounds implements [groupcoordinator.Log].
func (l offsetsLog) Bounds(index int32) (start, end int64, err error) {
	p := l.broker.replicas.find(offsetsTopic, index)
	if p == nil {
		return 0, 0, kerr.NotLeaderForPartition
	}
	view := p.view.Load()
	return view.LogStart, view.LEO, nil
}

var (
	_ reactor.Operation    = (*coordinatorAppend)(nil)
	_ groupcoordinator.Log = offsetsLog{}
)
