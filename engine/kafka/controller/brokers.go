package controller

import "slices"

// BrokersChanged compares the registered brokers with those known and deals with each difference. A broker that is registered with another
// epoch than before restarted faster than anybody noticed: that is a failure followed by a start.
func (s *State) BrokersChanged(registered []Broker) Plan {
	var plan Plan
	var started, bounced, changed []Broker
	for _, broker := range registered {
		known, isKnown := s.brokers[broker.ID]
		switch {
		case !isKnown:
			started = append(started, broker)
		case known.Epoch != broker.Epoch:
			bounced = append(bounced, broker)
		case known.Rack != broker.Rack || !slices.Equal(known.Endpoints, broker.Endpoints):
			changed = append(changed, broker)
		}
	}
	var dead []Broker
	for _, known := range s.Brokers() {
		if !slices.ContainsFunc(registered, func(broker Broker) bool { return broker.ID == known.ID }) {
			dead = append(dead, known)
		}
	}
	s.brokersStarted(&plan, started)
	s.brokersFailed(&plan, bounced)
	s.brokersStarted(&plan, bounced)
	s.brokersFailed(&plan, dead)
	s.brokersChanged(&plan, changed)
	s.resumeReassignments(&plan, s.targetInSync)
	return plan
}

// brokersStarted gives brokers work. Leadership does not move back to them: that is for the preferred election.
func (s *State) brokersStarted(plan *Plan, started []Broker) {
	if len(started) == 0 {
		return
	}
	olderBrokers := s.liveIDs()
	isNew := map[int32]bool{}
	var newIDs []int32
	for _, broker := range started {
		s.brokers[broker.ID] = broker
		isNew[broker.ID] = true
		newIDs = append(newIDs, broker.ID)
	}
	slices.Sort(newIDs)
	for _, p := range s.all() {
		for _, id := range newIDs {
			delete(p.offlineReplicas, id)
		}
	}
	b := s.newBatch(plan)
	b.updateMetadata(olderBrokers)
	b.updateMetadata(newIDs, s.all()...)
	b.flush()
	// What is being deleted is not brought back; its replicas on these brokers can now be deleted.
	s.replicasToOnline(plan, s.replicas(func(r replica) bool {
		return isNew[r.broker] && r.state() != DeletionStarted && r.state() != DeletionSuccessful
	}))
	s.electWhereNeeded(plan)
	s.resumeReassignments(plan, func(p *partition) bool {
		return slices.ContainsFunc(newIDs, func(id int32) bool { return slices.Contains(p.assignment.target(), id) })
	})
	s.makeEligible(s.replicas(func(r replica) bool { return isNew[r.broker] }))
	s.resumeDeletions(plan)
}

// brokersFailed takes brokers out and finds leaders for what they led.
func (s *State) brokersFailed(plan *Plan, failed []Broker) {
	if len(failed) == 0 {
		return
	}
	isDead := map[int32]bool{}
	for _, broker := range failed {
		delete(s.brokers, broker.ID)
		delete(s.shuttingDown, broker.ID)
		delete(s.introduced, broker.ID)
		isDead[broker.ID] = true
	}
	s.replicasBecameOffline(plan, s.replicas(func(r replica) bool { return isDead[r.broker] }))
}

func (s *State) replicasBecameOffline(plan *Plan, offline []replica) {
	var stopped, beingDeleted []replica
	for _, r := range offline {
		if s.BeingDeleted(r.name.Topic) {
			beingDeleted = append(beingDeleted, r)
		} else {
			stopped = append(stopped, r)
		}
	}
	lost := s.where(func(p *partition) bool {
		return p.leadership != nil && p.state == OnlinePartition && !s.BeingDeleted(p.name.Topic) &&
			!s.onlineOrLeaving(p, p.leadership.Leader)
	})
	for _, p := range lost {
		p.move(OfflinePartition)
	}
	s.electWhereNeeded(plan)
	s.replicasToOffline(plan, stopped)
	s.deletionFailed(plan, beingDeleted)
	if len(lost) == 0 { // else every broker was already told
		s.tellBrokersAboutEachOther(plan, s.liveIDs())
	}
}

func (s *State) brokersChanged(plan *Plan, changed []Broker) {
	if len(changed) == 0 {
		return
	}
	for _, broker := range changed {
		s.brokers[broker.ID] = broker
	}
	s.tellBrokersAboutEachOther(plan, s.liveIDs())
}
