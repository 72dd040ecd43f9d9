package controller

import (
	"maps"
	"slices"

	"twinlog/engine/trace"
)

// Snapshot is what the znodes said when the broker became the controller.
type Snapshot struct {
	Brokers []Broker
	Topics  []TopicSnapshot
	// Deletions are the children of /admin/delete_topics.
	Deletions []string
}

// Start is the rest of a failover, once the znodes are read. The order matters: brokers must know each other (first request) before they
// are told whom to follow; replicas are told what the znodes already say before elections change it.
func (s *State) Start(snapshot Snapshot) Plan {
	var plan Plan
	for _, broker := range snapshot.Brokers {
		s.brokers[broker.ID] = broker
	}
	for _, topic := range snapshot.Topics {
		s.reportTopic(&plan, s.addTopic(topic), topic.Config, true)
	}
	// Known before the machines start, so that nothing that is on its way out is brought back.
	s.queueDeletions(&plan, snapshot.Deletions)
	s.holdDeletionsWithDeadReplicas()
	s.tellBrokersAboutEachOther(&plan, s.liveIDs())
	s.startReplicas(&plan)
	s.startPartitions(&plan)
	s.resumeReassignments(&plan, func(*partition) bool { return true })
	s.resumeDeletions(&plan)
	return plan
}

func (s *State) liveIDs() []int32 { return slices.Sorted(maps.Keys(s.brokers)) }

func (s *State) tellBrokersAboutEachOther(plan *Plan, brokers []int32) {
	b := s.newBatch(plan)
	b.updateMetadata(brokers)
	b.flush()
}

// reportTopic records a topic that the controller takes on. What it finds at its election is recorded too, for readers of the trace that
// have not seen it come about.
func (s *State) reportTopic(plan *Plan, taken *topic, config map[string]string, found bool) {
	event := trace.KafkaTopicCreated{Topic: taken.name, TopicID: taken.id.String(), Config: config, Found: found}
	for _, p := range taken.sorted() {
		event.Replicas = append(event.Replicas, slices.Clone(p.assignment.Replicas))
	}
	plan.Events = append(plan.Events, event)
	for _, p := range taken.sorted() {
		if p.leadership != nil {
			plan.Events = append(plan.Events, p.stateEvent(trace.ReasonTakenOver))
		}
	}
}

// addTopic takes a topic into the copy; its partitions have no state in the machines yet.
func (s *State) addTopic(snapshot TopicSnapshot) *topic {
	added := &topic{
		name: snapshot.Name, id: snapshot.ID, uncleanElection: snapshot.UncleanElection, hasZnode: snapshot.HasPartitionsZnode,
		partitions: map[int32]*partition{},
	}
	s.topics[added.name] = added
	s.names[added.id] = added.name
	for index, partition := range snapshot.Partitions {
		added.addPartition(index, partition)
	}
	return added
}

func (s *State) forget(name string) {
	if topic := s.topics[name]; s.names[topic.id] == name {
		delete(s.names, topic.id)
	}
	delete(s.topics, name)
}

func (t *topic) addPartition(index int32, snapshot PartitionSnapshot) *partition {
	added := &partition{
		name: Partition{Topic: t.name, Index: index}, assignment: snapshot.Assignment, hasZnode: snapshot.HasZnode,
		leadership: snapshot.Leadership, state: NonExistentPartition, replicas: map[int32]ReplicaState{}, offlineReplicas: map[int32]bool{},
	}
	for _, broker := range added.assignment.Replicas {
		added.replicas[broker] = NonExistentReplica
	}
	t.partitions[index] = added
	return added
}

func (s *State) startReplicas(plan *Plan) {
	online, offline := []replica{}, []replica{}
	for _, r := range s.replicas(func(replica) bool { return true }) {
		if s.online(r.partition, r.broker) {
			r.partition.replicas[r.broker] = OnlineReplica
			online = append(online, r)
		} else {
			// Should the topic be on its way out, its deletion waits for this broker.
			r.partition.replicas[r.broker] = DeletionIneligible
			offline = append(offline, r)
		}
	}
	s.replicasToOnline(plan, online)
	s.replicasToOffline(plan, offline)
}

func (s *State) startPartitions(plan *Plan) {
	for _, p := range s.all() {
		switch {
		case p.leadership == nil:
			p.state = NewPartition
		case s.online(p, p.leadership.Leader):
			p.state = OnlinePartition
		default:
			p.state = OfflinePartition
		}
	}
	s.electWhereNeeded(plan)
}

// NewTopics takes on topics that appeared under /brokers/topics and gives their partitions leaders.
func (s *State) NewTopics(snapshots []TopicSnapshot) Plan {
	var plan Plan
	var created []*partition
	for _, snapshot := range snapshots {
		if s.HasTopic(snapshot.Name) {
			continue
		}
		topic := s.addTopic(snapshot)
		created = append(created, topic.sorted()...)
		s.reportTopic(&plan, topic, snapshot.Config, false)
	}
	s.takeOn(&plan, created)
	return plan
}

// NewPartitions takes on partitions that were added to a topic's znode.
func (s *State) NewPartitions(name string, snapshots map[int32]PartitionSnapshot) Plan {
	var plan Plan
	topic := s.topics[name]
	if topic == nil || topic.deletion.queued {
		return plan
	}
	var created []*partition
	for _, index := range slices.Sorted(maps.Keys(snapshots)) {
		if topic.partitions[index] == nil {
			created = append(created, topic.addPartition(index, snapshots[index]))
		}
	}
	s.takeOn(&plan, created)
	return plan
}

// takeOn brings new partitions and their replicas through the machines. Partitions that already have a state znode (the work of a
// controller that resigned half-way) keep it.
func (s *State) takeOn(plan *Plan, partitions []*partition) {
	var replicas []replica
	for _, p := range partitions {
		p.move(NewPartition)
		for _, broker := range p.assignment.Replicas {
			r := replica{p, broker}
			r.move(NewReplica)
			replicas = append(replicas, r)
		}
	}
	b := s.newBatch(plan)
	var uninitialized, led []*partition
	for _, p := range partitions {
		if p.leadership == nil {
			uninitialized = append(uninitialized, p)
		} else {
			led = append(led, p)
		}
	}
	s.initialize(plan, b, uninitialized)
	for _, p := range s.elect(plan, b, led, offlineStrategy{}) {
		p.move(OfflinePartition)
	}
	b.flush()
	s.replicasToOnline(plan, replicas)
}

// TopicsGone forgets topics whose znode was removed by somebody else.
func (s *State) TopicsGone(present []string) Plan {
	var plan Plan
	for _, name := range s.Topics() {
		if !slices.Contains(present, name) {
			s.forget(name)
			plan.Events = append(plan.Events, trace.KafkaTopicDeleted{Topic: name})
		}
	}
	return plan
}
