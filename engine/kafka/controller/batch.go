package controller

import (
	"maps"
	"slices"

	"twinlog/engine/kafka/metadata"
)

// batch collects what brokers must be told, so that each gets one request of a kind instead of one a partition. Flushing it puts the
// requests into the plan: to each broker first its roles, then the metadata, then the stops.
type batch struct {
	state *State
	plan  *Plan

	roles    map[int32]map[Partition]PartitionRole
	metadata map[int32]map[Partition]PartitionRole // a broker without partitions is still told the live brokers
	stops    map[int32]map[Partition]StoppedReplica
}

func (s *State) newBatch(plan *Plan) *batch {
	return &batch{
		state: s, plan: plan,
		roles:    map[int32]map[Partition]PartitionRole{},
		metadata: map[int32]map[Partition]PartitionRole{},
		stops:    map[int32]map[Partition]StoppedReplica{},
	}
}

func set[V any](byBroker map[int32]map[Partition]V, broker int32, name Partition, value V) {
	if byBroker[broker] == nil {
		byBroker[broker] = map[Partition]V{}
	}
	byBroker[broker][name] = value
}

// role is the partition as it is now. The requests to all brokers share its slices, which nobody changes.
func (b *batch) role(p *partition) PartitionRole {
	role := PartitionRole{
		Partition: p.name, TopicID: b.state.topics[p.name.Topic].id,
		Replicas: slices.Clone(p.assignment.Replicas), Adding: slices.Clone(p.assignment.Adding), Removing: slices.Clone(p.assignment.Removing),
		Offline: keep(p.assignment.Replicas, func(replica int32) bool { return !b.state.onlineOrLeaving(p, replica) }),
	}
	role.Leadership = *p.leadership
	role.Leadership.ISR = slices.Clone(p.leadership.ISR)
	return role
}

// leaderAndISR tells brokers their role in a partition, and every broker the partition's metadata. A replica that failed is told each time:
// outside the ISR it may begin anew, and as the last member of the ISR it may serve what is whole.
func (b *batch) leaderAndISR(p *partition, brokers []int32, isNew bool) {
	role := b.role(p)
	brokers = slices.Clone(brokers)
	for broker := range p.offlineReplicas {
		if slices.Contains(p.assignment.Replicas, broker) && !slices.Contains(brokers, broker) {
			brokers = append(brokers, broker)
		}
	}
	for _, broker := range brokers {
		// A partition that was announced as new within this batch stays new.
		role.IsNew = isNew || b.roles[broker][p.name].IsNew
		set(b.roles, broker, p.name, role)
	}
	for broker := range b.state.brokers {
		b.addMetadata(broker, role)
	}
}

func (b *batch) addMetadata(broker int32, role PartitionRole) {
	role.IsNew = false
	if b.state.BeingDeleted(role.Partition.Topic) {
		role.Leadership.Leader = metadata.LeaderDuringDelete
	}
	set(b.metadata, broker, role.Partition, role)
}

// updateMetadata tells brokers about the live brokers and about partitions. A partition without leadership has nothing to be told.
func (b *batch) updateMetadata(brokers []int32, partitions ...*partition) {
	for _, broker := range brokers {
		if b.metadata[broker] == nil {
			b.metadata[broker] = map[Partition]PartitionRole{}
		}
	}
	for _, p := range partitions {
		if p.leadership == nil {
			continue
		}
		role := b.role(p)
		for _, broker := range brokers {
			b.addMetadata(broker, role)
		}
	}
}

func (b *batch) stopReplica(p *partition, broker int32, deleteFiles bool) {
	stopped := StoppedReplica{Partition: p.name, LeaderEpoch: NoLeaderEpoch, Delete: deleteFiles}
	switch {
	case b.state.BeingDeleted(p.name.Topic):
		stopped.LeaderEpoch = EpochDuringDelete
	case p.leadership != nil:
		stopped.LeaderEpoch = p.leadership.LeaderEpoch
	}
	set(b.stops, broker, p.name, stopped)
}

// flush drops what is meant for brokers that are gone: they will learn everything when they come back.
func (b *batch) flush() {
	for _, broker := range b.state.Brokers() {
		target := Target{Broker: broker.ID, Epoch: broker.Epoch}
		if roles := inOrder(b.roles[broker.ID]); len(roles) > 0 {
			b.plan.Requests = append(b.plan.Requests, LeaderAndISR{
				Target: target, Partitions: roles, LiveLeaders: b.leaders(roles), Full: !b.state.introduced[broker.ID],
			})
			b.state.introduced[broker.ID] = true
		}
		if partitions, told := b.metadata[broker.ID]; told {
			b.plan.Requests = append(b.plan.Requests, UpdateMetadata{
				Target: target, LiveBrokers: b.state.Brokers(), Partitions: inOrder(partitions),
			})
		}
		if stops := inOrder(b.stops[broker.ID]); len(stops) > 0 {
			b.plan.Requests = append(b.plan.Requests, StopReplica{Target: target, Partitions: stops})
		}
	}
	*b = *b.state.newBatch(b.plan)
}

func (b *batch) leaders(roles []PartitionRole) []Broker {
	leads := map[int32]bool{}
	for _, role := range roles {
		leads[role.Leadership.Leader] = true
	}
	return slices.DeleteFunc(b.state.Brokers(), func(broker Broker) bool { return !leads[broker.ID] })
}

func inOrder[V any](byPartition map[Partition]V) []V {
	values := make([]V, 0, len(byPartition))
	for _, name := range slices.SortedFunc(maps.Keys(byPartition), comparePartitions) {
		values = append(values, byPartition[name])
	}
	return values
}
