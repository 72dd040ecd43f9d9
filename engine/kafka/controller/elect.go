package controller

import "slices"

// ElectionType is what an administrator asks for with ElectLeaders.
type ElectionType int

// The election types, numbered as in the protocol (KIP-460).
const (
	PreferredElection ElectionType = iota
	UncleanElection
)

// ElectionOutcome answers for one partition.
type ElectionOutcome struct {
	Partition Partition
	Outcome   Outcome
}

// Elect holds the elections that an administrator asked for. Nil partitions means all partitions; then those that need no election are
// left out of the answer.
func (s *State) Elect(kind ElectionType, partitions []Partition) ([]ElectionOutcome, Plan) {
	var plan Plan
	wholeCluster := partitions == nil
	if wholeCluster {
		for _, p := range s.all() {
			partitions = append(partitions, p.name)
		}
	}
	outcomes := make([]ElectionOutcome, 0, len(partitions))
	b := s.newBatch(&plan)
	for _, name := range partitions {
		outcome := s.electOne(&plan, b, kind, name)
		if !wholeCluster || outcome != ElectionNotNeeded {
			outcomes = append(outcomes, ElectionOutcome{Partition: name, Outcome: outcome})
		}
	}
	b.flush()
	s.resumeReassignments(&plan, s.targetInSync)
	return outcomes, plan
}

func (s *State) electOne(plan *Plan, b *batch, kind ElectionType, name Partition) Outcome {
	p := s.find(name)
	switch {
	case p == nil:
		return UnknownTopicOrPartition
	case s.BeingDeleted(name.Topic):
		return TopicBeingDeleted
	}
	var strategy strategy = preferredStrategy{}
	refusal := PreferredLeaderNotAvailable
	if kind == UncleanElection {
		strategy, refusal = offlineStrategy{demandUnclean: true}, EligibleLeadersNotAvailable
	}
	switch {
	case p.leadership == nil:
		return refusal
	case kind == PreferredElection && p.leadership.Leader == p.assignment.Replicas[0],
		kind == UncleanElection && p.state == OnlinePartition && s.onlineOrLeaving(p, p.leadership.Leader):
		return ElectionNotNeeded
	case len(s.elect(plan, b, []*partition{p}, strategy)) > 0:
		return refusal
	}
	return OK
}

// Rebalance gives leadership back to preferred leaders, for those brokers that lead too few of the partitions that they should lead
// (leader.imbalance.per.broker.percentage).
func (s *State) Rebalance() Plan {
	var plan Plan
	preferredBy := map[int32][]*partition{}
	for _, p := range s.where(func(p *partition) bool { return !s.BeingDeleted(p.name.Topic) && len(p.assignment.Replicas) > 0 }) {
		preferred := p.assignment.Replicas[0]
		preferredBy[preferred] = append(preferredBy[preferred], p)
	}
	b := s.newBatch(&plan)
	for _, broker := range s.liveIDs() {
		elsewhere := slices.DeleteFunc(slices.Clone(preferredBy[broker]), func(p *partition) bool {
			return p.leadership == nil || p.leadership.Leader == broker
		})
		if len(elsewhere)*100 <= s.settings.ImbalancePercentage*len(preferredBy[broker]) {
			continue
		}
		electable := slices.DeleteFunc(elsewhere, func(p *partition) bool { return p.assignment.Reassigning() })
		s.elect(&plan, b, electable, preferredStrategy{})
	}
	b.flush()
	return plan
}

// SetUncleanElection takes the new value of a topic's unclean.leader.election.enable. Turned on, it gives leaders to what has none.
func (s *State) SetUncleanElection(name string, enabled bool) Plan {
	var plan Plan
	topic := s.topics[name]
	if topic == nil || topic.uncleanElection == enabled {
		return plan
	}
	topic.uncleanElection = enabled
	if enabled {
		s.electWhereNeeded(&plan)
		s.resumeReassignments(&plan, s.targetInSync)
	}
	return plan
}
