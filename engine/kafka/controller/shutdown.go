package controller

// ControlledShutdown moves what a broker leads elsewhere before it leaves, and takes its followers out of their ISRs, so that its departure
// is not noticed by clients. It returns the partitions that the broker still leads, for which nobody else is in sync: the broker asks
// again later. Partitions with one replica cannot be moved and go with it.
func (s *State) ControlledShutdown(id int32, epoch int64) (remaining []Partition, outcome Outcome, plan Plan) {
	broker, registered := s.brokers[id]
	switch {
	case !registered:
		return nil, BrokerNotAvailable, plan
	case epoch != -1 && epoch < broker.Epoch:
		return nil, StaleBrokerEpoch, plan
	}
	s.shuttingDown[id] = true
	var led []*partition
	var followed []replica
	for _, r := range s.replicasOn(id) {
		if len(r.assignment.Replicas) < 2 || r.leadership == nil || s.BeingDeleted(r.name.Topic) {
			continue
		}
		if r.leadership.Leader == id {
			led = append(led, r.partition)
		} else {
			followed = append(followed, r)
		}
	}
	b := s.newBatch(&plan)
	s.elect(&plan, b, led, shutdownStrategy{})
	b.flush()
	s.replicasToOffline(&plan, followed)
	s.resumeReassignments(&plan, s.targetInSync)
	for _, p := range led {
		if p.leadership.Leader == id {
			remaining = append(remaining, p.name)
		}
	}
	return remaining, OK, plan
}
