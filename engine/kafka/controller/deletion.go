package controller

import (
	"slices"

	"twinlog/engine/trace"
)

// deletion is how far the removal of a topic has come. A topic is only forgotten when every one of its replicas has answered that its
// files are gone; while a broker with a replica is away, the topic waits.
//
//	queued --> begun: leaders gone, brokers told --> every replica answered --> znodes removed
//	              ^                                        |
//	              +-- a broker is back <-- ineligible <----+ a replica's broker is dead or could not
type deletion struct {
	queued     bool
	begun      bool
	ineligible bool
}

// DeleteTopics queues topics (the children of /admin/delete_topics) and starts what can be started.
func (s *State) DeleteTopics(names []string) Plan {
	var plan Plan
	s.queueDeletions(&plan, names)
	s.resumeDeletions(&plan)
	return plan
}

func (s *State) queueDeletions(plan *Plan, names []string) {
	for _, name := range slices.Sorted(slices.Values(names)) {
		topic := s.topics[name]
		if topic == nil || !s.settings.DeleteTopics {
			plan.Writes = append(plan.Writes, ForgetDeletion{Topic: name})
			continue
		}
		topic.deletion.queued = true
		if topic.reassigning() {
			topic.deletion.ineligible = true
		}
	}
}

func (t *topic) reassigning() bool {
	return slices.ContainsFunc(t.sorted(), func(p *partition) bool { return p.assignment.Reassigning() })
}

// holdDeletionsWithDeadReplicas is for a new controller, which does not know how far the old one came.
func (s *State) holdDeletionsWithDeadReplicas() {
	for _, r := range s.replicas(func(r replica) bool { return !s.onlineOrLeaving(r.partition, r.broker) }) {
		if topic := s.topics[r.name.Topic]; topic.deletion.queued {
			topic.deletion.ineligible = true
		}
	}
}

func (s *State) resumeDeletions(plan *Plan) {
	for _, name := range s.Topics() {
		topic := s.topics[name]
		if topic.deletion.queued {
			s.resumeDeletion(plan, topic)
		}
	}
}

func (s *State) resumeDeletion(plan *Plan, topic *topic) {
	count := map[ReplicaState]int{}
	total := 0
	for _, p := range topic.sorted() {
		for _, state := range p.replicas {
			count[state]++
			total++
		}
	}
	switch {
	case count[DeletionSuccessful] == total:
		s.completeDeletion(plan, topic)
	case count[DeletionStarted] > 0:
		// Answers are on their way.
	case !topic.deletion.ineligible:
		s.beginDeletion(plan, topic)
		s.deleteReplicas(plan, topic)
	}
}

// beginDeletion tells every broker that the topic has no leaders any more, so that clients stop using it.
func (s *State) beginDeletion(plan *Plan, topic *topic) {
	if !topic.deletion.begun {
		topic.deletion.begun = true
		for _, p := range topic.sorted() {
			if p.state != NonExistentPartition {
				p.move(OfflinePartition)
				p.move(NonExistentPartition)
			}
		}
	}
	b := s.newBatch(plan)
	b.updateMetadata(s.liveIDs(), topic.sorted()...)
	b.flush()
}

func (s *State) deleteReplicas(plan *Plan, topic *topic) {
	var dead, todo []replica
	for _, p := range topic.sorted() {
		for _, r := range p.replicasWhere(func(r replica) bool { return r.state() != DeletionSuccessful }) {
			if _, reachable := s.brokers[r.broker]; reachable { // also one that cannot read the files
				todo = append(todo, r)
			} else {
				dead = append(dead, r)
			}
		}
	}
	for _, r := range dead {
		if r.state() != DeletionIneligible {
			r.move(OfflineReplica)
			r.move(DeletionIneligible)
		}
	}
	topic.deletion.ineligible = len(dead) > 0
	s.replicasToOffline(plan, todo)
	s.replicasToDeletion(plan, todo)
}

// ReplicasDeleted takes the answer of a broker to StopReplica requests that asked for deletion: the replicas that are gone and those that
// the broker could not delete.
func (s *State) ReplicasDeleted(broker int32, deleted, failed []Partition) Plan {
	var plan Plan
	for _, name := range deleted {
		if r := (replica{s.find(name), broker}); r.partition != nil && r.state() == DeletionStarted {
			r.move(DeletionSuccessful)
		}
	}
	var notDeleted []replica
	for _, name := range failed {
		if r := (replica{s.find(name), broker}); r.partition != nil && r.state() == DeletionStarted {
			notDeleted = append(notDeleted, r)
		}
	}
	s.deletionFailed(&plan, notDeleted)
	s.resumeDeletions(&plan)
	return plan
}

// deletionFailed holds the deletion of the replicas' topics until a broker comes back.
func (s *State) deletionFailed(plan *Plan, failed []replica) {
	for _, r := range failed {
		switch r.state() {
		case DeletionStarted, OfflineReplica:
			r.move(DeletionIneligible)
		case NewReplica, OnlineReplica:
			r.move(OfflineReplica)
			r.move(DeletionIneligible)
		}
		s.topics[r.name.Topic].deletion.ineligible = true
	}
	if len(failed) > 0 {
		s.resumeDeletions(plan)
	}
}

// makeEligible lets deletions go on for which these replicas (of a broker that came back) were missing.
func (s *State) makeEligible(replicas []replica) {
	for _, r := range replicas {
		if topic := s.topics[r.name.Topic]; topic.deletion.queued && !topic.reassigning() {
			topic.deletion.ineligible = false
		}
	}
}

func (s *State) completeDeletion(plan *Plan, topic *topic) {
	write := DeleteTopic{Topic: topic.name, HasState: map[int32]bool{}, HasPartitionsZnode: topic.hasZnode}
	for _, p := range topic.sorted() {
		if p.hasZnode {
			write.Partitions = append(write.Partitions, p.name.Index)
			write.HasState[p.name.Index] = p.leadership != nil
		}
	}
	plan.Writes = append(plan.Writes, write)
	plan.Events = append(plan.Events, trace.KafkaTopicDeleted{Topic: topic.name})
	s.forget(topic.name)
}
