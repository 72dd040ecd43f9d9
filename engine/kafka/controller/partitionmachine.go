package controller

import (
	"fmt"
	"slices"

	"twinlog/engine/trace"
)

// PartitionState is where a partition is in its life.
//
//	NonExistent --> New --> Online <--> Offline --> NonExistent
type PartitionState int

// The states of a partition, numbered as in Kafka's metrics.
const (
	NewPartition         PartitionState = iota // assigned, never led
	OnlinePartition                            // has a leader
	OfflinePartition                           // had a leader, which is gone
	NonExistentPartition                       // not yet taken on, or deleted
)

func (s PartitionState) String() string {
	return [...]string{"NewPartition", "OnlinePartition", "OfflinePartition", "NonExistentPartition"}[s]
}

var partitionMayComeFrom = map[PartitionState][]PartitionState{
	NewPartition:         {NonExistentPartition},
	OnlinePartition:      {NewPartition, OnlinePartition, OfflinePartition},
	OfflinePartition:     {NewPartition, OnlinePartition, OfflinePartition},
	NonExistentPartition: {OfflinePartition},
}

// move changes the state of a partition. A move that the machine does not have is a mistake in this package, so it stops the program in
// tests and wherever it happens: an undefined state must not be written to the znodes.
func (p *partition) move(to PartitionState) {
	if !slices.Contains(partitionMayComeFrom[to], p.state) {
		panic(fmt.Sprintf("controller: partition %v cannot go from %v to %v", p.name, p.state, to))
	}
	p.state = to
}

// write replaces the leadership of a partition in the copy and plans the write of its state znode. The epochs are the caller's, except for
// the partition epoch: ZooKeeper raises a znode's version by one at each write.
func (s *State) write(plan *Plan, p *partition, next Leadership, reason trace.Reason) {
	next.ControllerEpoch = s.epoch
	if p.leadership == nil {
		next.PartitionEpoch = 0
		s.createParents(plan, p)
		plan.Writes = append(plan.Writes, CreateLeadership{Partition: p.name, Leadership: next})
	} else {
		next.PartitionEpoch = p.leadership.PartitionEpoch + 1
		plan.Writes = append(plan.Writes, SetLeadership{Partition: p.name, Leadership: next, ExpectedVersion: p.leadership.PartitionEpoch})
	}
	p.leadership = &next
	plan.Events = append(plan.Events, p.stateEvent(reason))
}

// stateEvent is the partition's leadership as the trace tells it. There must be one.
func (p *partition) stateEvent(reason trace.Reason) trace.KafkaPartitionStateChanged {
	now := p.leadership
	return trace.KafkaPartitionStateChanged{
		KafkaPartition: trace.KafkaPartition{Topic: p.name.Topic, Partition: p.name.Index},
		Leader:         now.Leader, LeaderEpoch: now.LeaderEpoch, ISR: slices.Clone(now.ISR), Replicas: slices.Clone(p.assignment.Replicas),
		PartitionEpoch: now.PartitionEpoch, ControllerEpoch: now.ControllerEpoch, Reason: reason,
	}
}

func (s *State) createParents(plan *Plan, p *partition) {
	topic := s.topics[p.name.Topic]
	if !topic.hasZnode {
		topic.hasZnode = true
		plan.Writes = append(plan.Writes, CreatePartitionsParent{Topic: topic.name})
	}
	if !p.hasZnode {
		p.hasZnode = true
		plan.Writes = append(plan.Writes, CreatePartition{Partition: p.name})
	}
}

// initialize gives new partitions their first leader: the first live replica of the assignment; all live replicas are the first ISR. A
// partition without a live replica stays new until a broker comes.
func (s *State) initialize(plan *Plan, b *batch, partitions []*partition) {
	for _, p := range partitions {
		live := keep(p.assignment.Replicas, func(replica int32) bool { return s.online(p, replica) })
		if len(live) == 0 {
			continue
		}
		s.write(plan, p, Leadership{Leader: live[0], LeaderEpoch: 0, ISR: live}, trace.ReasonCreated)
		p.move(OnlinePartition)
		b.leaderAndISR(p, live, true)
	}
}

// elect holds an election for each partition that had a leader before. It returns those for which there was nobody to elect.
func (s *State) elect(plan *Plan, b *batch, partitions []*partition, strategy strategy) (failed []*partition) {
	for _, p := range partitions {
		elected, ok := strategy.choose(s, p)
		if !ok {
			failed = append(failed, p)
			continue
		}
		next := *p.leadership
		next.Leader, next.ISR = elected.leader, elected.isr
		next.LeaderEpoch++
		next.Recovering = elected.recovering
		s.write(plan, p, next, elected.reason)
		p.move(OnlinePartition)
		b.leaderAndISR(p, elected.recipients, false)
	}
	return failed
}

// electWhereNeeded tries to give a leader to every partition that has none and is not on its way out.
func (s *State) electWhereNeeded(plan *Plan) {
	b := s.newBatch(plan)
	needy := func(state PartitionState) []*partition {
		return s.where(func(p *partition) bool { return p.state == state && !s.BeingDeleted(p.name.Topic) })
	}
	s.initialize(plan, b, needy(NewPartition))
	s.elect(plan, b, needy(OfflinePartition), offlineStrategy{})
	b.flush()
}
