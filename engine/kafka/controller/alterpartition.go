package controller

import (
	"slices"

	"twinlog/engine/trace"
)

// Outcome is what the controller says about one partition of a request. The driver turns it into the protocol's error code.
type Outcome int

// The outcomes, named as the Kafka errors that they become.
const (
	OK Outcome = iota
	NotController
	StaleBrokerEpoch
	UnknownTopicOrPartition
	UnknownTopicID
	FencedLeaderEpoch
	InvalidUpdateVersion
	IneligibleReplica
	InvalidRequest
	BrokerNotAvailable
	ElectionNotNeeded
	PreferredLeaderNotAvailable
	EligibleLeadersNotAvailable
	TopicBeingDeleted
	NoReassignmentInProgress
	InvalidReplicaAssignment
)

// ISRMember is a replica that a leader wants in the ISR.
type ISRMember struct {
	Broker int32
	// Epoch is the broker's as the leader knows it from its fetches; -1 when the request is too old to say.
	Epoch int64
}

// ISRProposal is a leader's wish for the ISR of a partition, based on the epochs that it knows (KIP-497).
type ISRProposal struct {
	Partition      Partition
	LeaderEpoch    int32
	PartitionEpoch int32
	ISR            []ISRMember
	Recovering     bool
}

// ISRDecision answers a proposal. Leadership is what counts now when the outcome is OK.
type ISRDecision struct {
	Partition  Partition
	Outcome    Outcome
	Leadership Leadership
}

// AlterPartition decides on the wishes of a leader. A leader that was fenced, or that has not heard of the latest change, is refused: its
// wish was based on what is no longer so. The leader epoch stays as it is: the leader is the same, and nobody has to truncate.
func (s *State) AlterPartition(broker int32, brokerEpoch int64, proposals []ISRProposal) ([]ISRDecision, Outcome, Plan) {
	var plan Plan
	if known, registered := s.brokers[broker]; !registered || known.Epoch != brokerEpoch {
		return nil, StaleBrokerEpoch, plan
	}
	decisions := make([]ISRDecision, 0, len(proposals))
	var changed []*partition
	b := s.newBatch(&plan)
	for _, proposal := range proposals {
		decision := ISRDecision{Partition: proposal.Partition}
		p := s.find(proposal.Partition)
		var changes bool
		decision.Outcome, changes = s.judge(broker, p, proposal)
		if changes {
			next := *p.leadership
			next.ISR, next.Recovering = proposal.brokers(), proposal.Recovering
			s.write(&plan, p, next, trace.ReasonISRChanged)
			b.updateMetadata(s.liveIDs(), p)
			changed = append(changed, p)
		}
		if decision.Outcome == OK {
			decision.Leadership = *p.leadership
			decision.Leadership.ISR = slices.Clone(p.leadership.ISR)
		}
		decisions = append(decisions, decision)
	}
	b.flush()
	for _, p := range changed { // that may have been what a reassignment waited for
		if p.assignment.Reassigning() && s.targetInSync(p) {
			s.reassign(&plan, p)
		}
	}
	return decisions, OK, plan
}

// judge compares a proposal with the truth. The order of the checks is Kafka's: clients act differently on each answer.
func (s *State) judge(broker int32, p *partition, proposal ISRProposal) (outcome Outcome, changes bool) {
	if p == nil || p.leadership == nil {
		return UnknownTopicOrPartition, false
	}
	now := p.leadership
	isr := proposal.brokers()
	switch {
	case proposal.LeaderEpoch > now.LeaderEpoch || proposal.PartitionEpoch > now.PartitionEpoch:
		// The leader has heard from a newer controller than this one.
		return NotController, false
	case proposal.LeaderEpoch < now.LeaderEpoch:
		return FencedLeaderEpoch, false
	case broker != now.Leader:
		return InvalidRequest, false
	case slices.Equal(isr, now.ISR) && proposal.Recovering == now.Recovering:
		// The answer to an earlier try was lost on its way: the wish is already fulfilled.
		return OK, false
	case proposal.PartitionEpoch < now.PartitionEpoch:
		return InvalidUpdateVersion, false
	case !s.wellFormed(broker, p, proposal, isr):
		return InvalidRequest, false
	}
	for _, member := range proposal.ISR {
		known, registered := s.brokers[member.Broker]
		leaving := s.shuttingDown[member.Broker] || p.offlineReplicas[member.Broker]
		// A replica that is gone, is leaving, or restarted since the leader saw it caught up may not (any more) be in sync.
		if !registered || leaving && member.Broker != broker || member.Epoch != -1 && member.Epoch != known.Epoch {
			return IneligibleReplica, false
		}
	}
	return OK, true
}

func (s *State) wellFormed(leader int32, p *partition, proposal ISRProposal, isr []int32) bool {
	for i, member := range isr {
		if !slices.Contains(p.assignment.Replicas, member) || slices.Contains(isr[:i], member) {
			return false
		}
	}
	if !slices.Contains(isr, leader) {
		return false // this refuses the empty ISR too
	}
	// Recovery ends and does not begin by a leader's wish, and before its end the leader is alone.
	return !proposal.Recovering || p.leadership.Recovering && len(isr) == 1
}

func (p ISRProposal) brokers() []int32 {
	ids := make([]int32, 0, len(p.ISR))
	for _, member := range p.ISR {
		ids = append(ids, member.Broker)
	}
	return ids
}
