package controller

import (
	"slices"

	"twinlog/engine/trace"
)

// elected is the outcome of an election.
type elected struct {
	leader     int32
	isr        []int32
	recovering bool
	// recipients are the brokers that are told their role.
	recipients []int32
	reason     trace.Reason
}

// strategy chooses a leader among the replicas of a partition; false when none qualifies. It never changes anything.
//
//	strategy              picks the first replica of the assignment that is    new ISR
//	offline               live and in the ISR                                  ISR without the dead
//	  ... unclean allowed live, when no member of the ISR is                   the leader alone, recovering
//	preferred             (only assignment[0]) live and in the ISR             unchanged
//	controlled shutdown   live, in the ISR and not shutting down               ISR without those that are shutting down
//	reassignment          live and in the ISR, of the target replicas          unchanged
type strategy interface {
	choose(s *State, p *partition) (elected, bool)
}

func (p *partition) inISR(replica int32) bool { return slices.Contains(p.leadership.ISR, replica) }

func first(ids []int32, wanted func(int32) bool) (int32, bool) {
	if i := slices.IndexFunc(ids, wanted); i >= 0 {
		return ids[i], true
	}
	return NoLeader, false
}

// offlineStrategy finds a leader for a partition whose leader is gone. An unclean election loses the committed records that the elected
// replica does not have; it is held only where the topic allows it, or an administrator demands it.
type offlineStrategy struct{ demandUnclean bool }

func (e offlineStrategy) choose(s *State, p *partition) (elected, bool) {
	online := func(replica int32) bool { return s.online(p, replica) }
	live := keep(p.assignment.Replicas, online)
	if leader, found := first(live, p.inISR); found {
		return elected{
			leader: leader, isr: keep(p.leadership.ISR, online), recovering: p.leadership.Recovering,
			recipients: live, reason: trace.ReasonElectionClean,
		}, true
	}
	if len(live) == 0 || !e.demandUnclean && !s.topics[p.name.Topic].uncleanElection {
		return elected{}, false
	}
	return elected{leader: live[0], isr: []int32{live[0]}, recovering: true, recipients: live, reason: trace.ReasonElectionUnclean}, true
}

// preferredStrategy gives the leadership back to the first replica of the assignment.
type preferredStrategy struct{}

func (preferredStrategy) choose(s *State, p *partition) (elected, bool) {
	if len(p.assignment.Replicas) == 0 {
		return elected{}, false
	}
	preferred := p.assignment.Replicas[0]
	if !s.online(p, preferred) || !p.inISR(preferred) {
		return elected{}, false
	}
	return elected{
		leader: preferred, isr: p.leadership.ISR, recovering: p.leadership.Recovering,
		recipients: keep(p.assignment.Replicas, func(replica int32) bool { return s.online(p, replica) }), reason: trace.ReasonElectionPreferred,
	}, true
}

// reassignmentStrategy chooses among the replicas to which a partition was moved.
type reassignmentStrategy struct{}

func (reassignmentStrategy) choose(s *State, p *partition) (elected, bool) {
	live := keep(p.assignment.Replicas, func(replica int32) bool { return s.online(p, replica) })
	leader, found := first(live, p.inISR)
	if !found {
		return elected{}, false
	}
	return elected{leader: leader, isr: p.leadership.ISR, recovering: p.leadership.Recovering, recipients: live, reason: trace.ReasonReassigned}, true
}

// shutdownStrategy moves the leadership off brokers that are about to leave.
type shutdownStrategy struct{}

func (shutdownStrategy) choose(s *State, p *partition) (elected, bool) {
	stays := func(replica int32) bool { return s.online(p, replica) }
	leader, found := first(p.assignment.Replicas, func(replica int32) bool { return stays(replica) && p.inISR(replica) })
	if !found {
		return elected{}, false
	}
	return elected{
		leader: leader, isr: keep(p.leadership.ISR, func(replica int32) bool { return !s.shuttingDown[replica] }), recovering: p.leadership.Recovering,
		recipients: keep(p.assignment.Replicas, func(replica int32) bool { return s.onlineOrLeaving(p, replica) }), reason: trace.ReasonControlledShutdown,
	}, true
}
