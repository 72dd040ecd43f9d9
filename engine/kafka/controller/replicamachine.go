package controller

import (
	"fmt"
	"slices"

	"twinlog/engine/trace"
)

// ReplicaState is where a replica is in its life.
//
//	NonExistent --> New --> Online <--> Offline --> DeletionStarted --> DeletionSuccessful --> NonExistent
//	                                       ^             |
//	                                       +-- DeletionIneligible (its broker is dead, or could not delete)
type ReplicaState int

// The states of a replica.
const (
	NewReplica         ReplicaState = iota + 1 // may be told to follow, not yet serving
	OnlineReplica                              // leader or follower on a live broker
	OfflineReplica                             // stopped, or on a dead broker
	DeletionStarted                            // its broker was told to delete it
	DeletionSuccessful                         // its broker answered that it did
	DeletionIneligible                         // it cannot be deleted now
	NonExistentReplica                         // not yet taken on, or deleted
)

func (s ReplicaState) String() string {
	return [...]string{"", "NewReplica", "OnlineReplica", "OfflineReplica", "ReplicaDeletionStarted", "ReplicaDeletionSuccessful",
		"ReplicaDeletionIneligible", "NonExistentReplica"}[s]
}

var replicaMayComeFrom = map[ReplicaState][]ReplicaState{
	NewReplica:         {NonExistentReplica},
	OnlineReplica:      {NewReplica, OnlineReplica, OfflineReplica, DeletionIneligible},
	OfflineReplica:     {NewReplica, OnlineReplica, OfflineReplica, DeletionIneligible},
	DeletionStarted:    {OfflineReplica},
	DeletionSuccessful: {DeletionStarted},
	DeletionIneligible: {OfflineReplica, DeletionStarted},
	NonExistentReplica: {DeletionSuccessful},
}

// replica names a partition's replica by its broker.
type replica struct {
	*partition
	broker int32
}

func (r replica) state() ReplicaState { return r.partition.replicas[r.broker] }

// move changes the state of a replica; like [partition.move] it does not accept a mistake of this package.
func (r replica) move(to ReplicaState) {
	if from := r.state(); !slices.Contains(replicaMayComeFrom[to], from) {
		panic(fmt.Sprintf("controller: replica of %v on broker %d cannot go from %v to %v", r.name, r.broker, from, to))
	}
	if to == NonExistentReplica {
		delete(r.partition.replicas, r.broker)
		r.assignment.Replicas = without(r.assignment.Replicas, r.broker)
		return
	}
	r.partition.replicas[r.broker] = to
}

// replicas lists replicas of every topic, in a fixed order.
func (s *State) replicas(wanted func(replica) bool) []replica {
	var found []replica
	for _, p := range s.all() {
		found = append(found, p.replicasWhere(wanted)...)
	}
	return found
}

func (p *partition) replicasWhere(wanted func(replica) bool) []replica {
	var found []replica
	for _, broker := range p.assignment.Replicas {
		if r := (replica{p, broker}); wanted(r) {
			found = append(found, r)
		}
	}
	return found
}

func (s *State) replicasOn(broker int32) []replica {
	return s.replicas(func(r replica) bool { return r.broker == broker })
}

// replicasToOnline tells live brokers to lead or follow the partitions that have a leader.
func (s *State) replicasToOnline(plan *Plan, replicas []replica) {
	b := s.newBatch(plan)
	for _, r := range replicas {
		if r.state() != NewReplica && r.leadership != nil {
			b.leaderAndISR(r.partition, []int32{r.broker}, false)
		}
		r.move(OnlineReplica)
	}
	b.flush()
}

// replicasToOffline stops replicas and takes them out of their ISR. One that failed is told of its new role instead: see [State.ReplicasFailed].
func (s *State) replicasToOffline(plan *Plan, replicas []replica) {
	b := s.newBatch(plan)
	for _, r := range replicas {
		if !r.offlineReplicas[r.broker] {
			b.stopReplica(r.partition, r.broker, false)
		}
		if r.leadership != nil && !s.BeingDeleted(r.name.Topic) {
			s.removeFromISR(plan, r)
			b.leaderAndISR(r.partition, without(r.assignment.Replicas, r.broker), false)
		}
		r.move(OfflineReplica)
	}
	b.flush()
}

// removeFromISR raises the leader epoch, so that the leader and the followers notice the change. The last member stays: it alone holds
// every committed record, and only its return allows a clean election.
func (s *State) removeFromISR(plan *Plan, r replica) {
	if !r.inISR(r.broker) {
		return
	}
	next := *r.leadership
	if next.Leader == r.broker {
		next.Leader = NoLeader
	}
	if len(next.ISR) > 1 {
		next.ISR = without(next.ISR, r.broker)
	}
	next.LeaderEpoch++
	s.write(plan, r.partition, next, trace.ReasonReplicaOffline)
}

// replicasToDeletion tells brokers to delete replicas that are already offline.
func (s *State) replicasToDeletion(plan *Plan, replicas []replica) {
	b := s.newBatch(plan)
	for _, r := range replicas {
		r.move(DeletionStarted)
		b.stopReplica(r.partition, r.broker, true)
	}
	b.flush()
}
