package controller

import (
	"slices"

	"twinlog/engine/trace"
)

// Replicas that fail on brokers that live: the broker cannot read their logs, or found that they do not hold what was in them.
//
//	broker                                        controller
//	LeaderAndIsr answered KAFKA_STORAGE_ERROR --> ReplicasFailed: another member of the ISR leads, the replica leaves the ISR
//	                    LeaderAndIsr (new epoch) <--
//	begins anew as a follower, answers well   --> ReplicasRestored: the replica counts as online again
//	fetches what it lacks; the leader asks    --> AlterPartition: it is back in the ISR
//
// Apache Kafka's controller waits for a restart of the broker instead, since all that fails there is a whole log directory.

// ReplicasFailed deals with replicas whose files a live broker cannot read or write any more (KAFKA_STORAGE_ERROR to LeaderAndIsr).
func (s *State) ReplicasFailed(broker int32, partitions []Partition) Plan {
	var plan Plan
	var offline []replica
	for _, name := range partitions {
		p := s.find(name)
		if p == nil || p.offlineReplicas[broker] || !slices.Contains(p.assignment.Replicas, broker) || s.BeingDeleted(name.Topic) {
			continue
		}
		p.offlineReplicas[broker] = true
		offline = append(offline, replica{p, broker})
		if p.leadership != nil && !p.inISR(broker) {
			// Its leader may be about to ask for it: in the next epoch that wish is void. Members of the ISR get a new epoch anyway.
			next := *p.leadership
			next.LeaderEpoch++
			s.write(&plan, p, next, trace.ReasonReplicaOffline)
		}
	}
	if len(offline) > 0 {
		s.replicasBecameOffline(&plan, offline)
		s.resumeReassignments(&plan, s.targetInSync)
	}
	return plan
}

// ReplicasRestored: a broker took on replicas that had failed.
func (s *State) ReplicasRestored(broker int32, partitions []Partition) Plan {
	var plan Plan
	b := s.newBatch(&plan)
	restored := false
	for _, name := range partitions {
		p := s.find(name)
		if p == nil || !p.offlineReplicas[broker] || s.BeingDeleted(name.Topic) {
			continue
		}
		delete(p.offlineReplicas, broker)
		replica{p, broker}.move(OnlineReplica)
		b.updateMetadata(s.liveIDs(), p)
		restored = true
	}
	b.flush()
	if restored {
		s.electWhereNeeded(&plan)
		s.resumeReassignments(&plan, s.targetInSync)
	}
	return plan
}

// CheckReplicas asks a broker about its replicas, by telling it their roles again: it lost a log directory and did not say which replicas
// were on it.
func (s *State) CheckReplicas(broker int32) Plan {
	var plan Plan
	s.replicasToOnline(&plan, s.replicas(func(r replica) bool {
		return r.broker == broker && s.online(r.partition, broker) && r.state() == OnlineReplica
	}))
	return plan
}
