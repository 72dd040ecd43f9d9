package controller

import (
	"slices"

	"twinlog/engine/trace"
)

// Reassignment moves a partition to other brokers while it is in use (KIP-455). Its replicas grow first and shrink last, so that at no
// time fewer replicas are in sync than before.
//
//	                       replicas         adding   removing   ISR
//	before                 1 2 3                                1 2 3
//	begun                  4 5 6 1 2 3      4 5 6    1 2 3      1 2 3      phase A: new replicas copy
//	all targets in sync    4 5 6 1 2 3      4 5 6    1 2 3      1 to 6
//	done                   4 5 6                                4 5 6      phase B: leader moves, old replicas are deleted
//
// Everything about it is in the znodes of the topic and the partition, so any later controller can go on with it.
type Reassignment struct {
	Partition Partition
	// Replicas are the target, preferred leader first; nil takes a reassignment that is under way back.
	Replicas []int32
}

// ReassignmentOutcome answers for one partition.
type ReassignmentOutcome struct {
	Partition Partition
	Outcome   Outcome
}

// origin are the replicas as they were before the reassignment, target as they shall be.
func (a Assignment) origin() []int32 {
	return keep(a.Replicas, func(id int32) bool { return !slices.Contains(a.Adding, id) })
}

func (a Assignment) target() []int32 {
	return keep(a.Replicas, func(id int32) bool { return !slices.Contains(a.Removing, id) })
}

// towards is the assignment on the way to a target. The target comes first; the replicas from before stay until it is reached.
func (a Assignment) towards(target []int32) Assignment {
	origin := a.origin()
	isTarget := func(id int32) bool { return slices.Contains(target, id) }
	isOrigin := func(id int32) bool { return slices.Contains(origin, id) }
	next := Assignment{
		Adding:   keep(target, func(id int32) bool { return !isOrigin(id) }),
		Removing: keep(origin, func(id int32) bool { return !isTarget(id) }),
	}
	next.Replicas = append(slices.Clone(target), next.Removing...)
	return next
}

// Reassign begins, changes or takes back reassignments. It answers at once; the work goes on as replicas get in sync.
func (s *State) Reassign(wanted []Reassignment) ([]ReassignmentOutcome, Plan) {
	var plan Plan
	outcomes := make([]ReassignmentOutcome, 0, len(wanted))
	for _, w := range wanted {
		p := s.find(w.Partition)
		next, outcome := s.judgeReassignment(p, w.Replicas)
		if outcome == OK {
			s.setAssignment(&plan, p, next)
			s.reassign(&plan, p)
		}
		outcomes = append(outcomes, ReassignmentOutcome{w.Partition, outcome})
	}
	return outcomes, plan
}

func (s *State) judgeReassignment(p *partition, target []int32) (next Assignment, outcome Outcome) {
	switch {
	case p == nil || s.BeingDeleted(p.name.Topic):
		return next, UnknownTopicOrPartition
	case target == nil && !p.assignment.Reassigning():
		return next, NoReassignmentInProgress
	case target == nil:
		target = p.assignment.origin()
	case len(target) == 0:
		return next, InvalidReplicaAssignment
	}
	for i, id := range target {
		if id < 0 || slices.Contains(target[:i], id) {
			return next, InvalidReplicaAssignment
		}
	}
	next = p.assignment.towards(target)
	if slices.ContainsFunc(next.Adding, func(id int32) bool { return !s.live(id) }) {
		return next, InvalidReplicaAssignment
	}
	// After an unclean election a replica that was only being added may be the only one in sync: without it the records would be gone.
	if p.leadership != nil && !slices.ContainsFunc(p.leadership.ISR, func(id int32) bool { return slices.Contains(next.Replicas, id) }) {
		return next, InvalidReplicaAssignment
	}
	return next, OK
}

// setAssignment changes the replicas of a partition in the znode and in the copy. Replicas that only an earlier reassignment wanted go.
func (s *State) setAssignment(plan *Plan, p *partition, next Assignment) {
	unneeded := keep(p.assignment.Replicas, func(id int32) bool { return !slices.Contains(next.Replicas, id) })
	s.writeAssignment(plan, p, next)
	for _, id := range next.Replicas {
		if _, known := p.replicas[id]; !known {
			p.replicas[id] = NonExistentReplica
		}
	}
	s.dropReplicas(plan, p, unneeded)
}

func (s *State) writeAssignment(plan *Plan, p *partition, next Assignment) {
	p.assignment = next
	plan.Writes = append(plan.Writes, SetAssignment{Partition: p.name, Assignment: Assignment{
		Replicas: slices.Clone(next.Replicas), Adding: slices.Clone(next.Adding), Removing: slices.Clone(next.Removing),
	}})
}

// reassign takes the next step of a reassignment, as far as it can go now. It is called when one begins, when the ISR of a partition changed,
// when a broker came, and by a new controller.
func (s *State) reassign(plan *Plan, p *partition) {
	if !p.assignment.Reassigning() || s.targetInSync(p) { // not: only the order is new, or it was taken back
		s.completeReassignment(plan, p)
		return
	}
	// Phase A: every replica learns of the new ones; a higher leader epoch keeps a leader that did not hear of them from changing the ISR.
	s.raiseLeaderEpoch(plan, p, p.assignment.Replicas)
	b := s.newBatch(plan)
	for _, id := range p.assignment.Adding {
		if r := (replica{p, id}); r.state() == NonExistentReplica {
			if p.leadership != nil {
				b.leaderAndISR(p, []int32{id}, true)
			}
			r.move(NewReplica)
		}
	}
	b.flush()
}

func (s *State) targetInSync(p *partition) bool {
	if p.leadership == nil {
		return false
	}
	return !slices.ContainsFunc(p.assignment.target(), func(id int32) bool { return !p.inISR(id) })
}

// completeReassignment is phase B: the new replicas serve, the leadership moves to one of them if it has to, the old ones go.
func (s *State) completeReassignment(plan *Plan, p *partition) {
	var added []replica
	for _, id := range p.assignment.Adding {
		if r := (replica{p, id}); r.state() == NewReplica {
			added = append(added, r)
		}
	}
	s.replicasToOnline(plan, added)
	removed, everybody := p.assignment.Removing, p.assignment.Replicas
	// In memory first: what brokers are told from now on names only the target. The znode follows when the old replicas are out.
	p.assignment = Assignment{Replicas: p.assignment.target()}
	s.settleLeader(plan, p, everybody)
	s.dropReplicas(plan, p, removed)
	s.writeAssignment(plan, p, p.assignment)
	b := s.newBatch(plan)
	b.updateMetadata(s.liveIDs(), p)
	b.flush()
	topic := s.topics[p.name.Topic]
	if topic.deletion.queued && !topic.reassigning() {
		topic.deletion.ineligible = false
		s.resumeDeletion(plan, topic)
	}
}

// settleLeader keeps the leader when it is among the new replicas and serves; else one of them takes over.
func (s *State) settleLeader(plan *Plan, p *partition, recipients []int32) {
	if p.leadership == nil {
		return
	}
	if leader := p.leadership.Leader; slices.Contains(p.assignment.Replicas, leader) && s.online(p, leader) {
		s.raiseLeaderEpoch(plan, p, recipients)
		return
	}
	b := s.newBatch(plan)
	s.elect(plan, b, []*partition{p}, reassignmentStrategy{})
	b.flush()
}

// raiseLeaderEpoch tells replicas about a new assignment under the same leader.
func (s *State) raiseLeaderEpoch(plan *Plan, p *partition, recipients []int32) {
	if p.leadership == nil {
		return
	}
	next := *p.leadership
	next.LeaderEpoch++
	s.write(plan, p, next, trace.ReasonReassigned)
	b := s.newBatch(plan)
	b.leaderAndISR(p, keep(recipients, func(id int32) bool { return s.onlineOrLeaving(p, id) && p.replicas[id] != NonExistentReplica }), false)
	b.flush()
}

// dropReplicas takes replicas out of the ISR and has their files deleted. Nobody waits for the answers: a broker that is away deletes them
// when it comes back and is told all that it has.
func (s *State) dropReplicas(plan *Plan, p *partition, ids []int32) {
	var dropped []replica
	for _, id := range ids {
		if r := (replica{p, id}); r.state() == NonExistentReplica {
			delete(p.replicas, id)
		} else {
			dropped = append(dropped, r)
		}
	}
	s.replicasToOffline(plan, dropped)
	s.replicasToDeletion(plan, dropped)
	for _, r := range dropped {
		r.move(DeletionSuccessful)
		r.move(NonExistentReplica)
		delete(p.offlineReplicas, r.broker)
	}
}

// resumeReassignments goes on with those reassignments for which wanted holds.
func (s *State) resumeReassignments(plan *Plan, wanted func(*partition) bool) {
	for _, p := range s.where(func(p *partition) bool { return p.assignment.Reassigning() && wanted(p) }) {
		s.reassign(plan, p)
	}
}

// Reassignments lists what is being reassigned: of the given partitions, or of all when the list is nil.
func (s *State) Reassignments(partitions []Partition) map[Partition]Assignment {
	found := map[Partition]Assignment{}
	for _, p := range s.where(func(p *partition) bool {
		return p.assignment.Reassigning() && (partitions == nil || slices.Contains(partitions, p.name))
	}) {
		found[p.name] = p.assignment
	}
	return found
}
