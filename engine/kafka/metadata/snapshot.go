package metadata

import (
	"maps"
	"slices"
	"sort"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Broker is a live broker as the controller announced it.
type Broker struct {
	ID        int32
	Rack      string // "" when it has none
	Endpoints []Endpoint
}

// Endpoint finds a listener by name.
func (b Broker) Endpoint(listener string) (Endpoint, bool) {
	return findEndpoint(b.Endpoints, listener)
}

// PartitionInfo is a partition as the controller announced it.
type PartitionInfo struct {
	Partition      int32
	Leader         int32 // NoLeader when there is none
	LeaderEpoch    int32
	PartitionEpoch int32
	Replicas       []int32 // preferred leader first; during a reassignment, old and new ones
	ISR            []int32
	Offline        []int32 // replicas on log directories that failed
}

// TopicInfo is a topic as the controller announced it.
type TopicInfo struct {
	Name       string
	ID         TopicID
	Partitions []PartitionInfo // by number
}

// Partition finds a partition by number.
func (t TopicInfo) Partition(number int32) (PartitionInfo, bool) {
	at, found := slices.BinarySearchFunc(t.Partitions, number, func(p PartitionInfo, n int32) int { return int(p.Partition) - int(n) })
	if !found {
		return PartitionInfo{}, false
	}
	return t.Partitions[at], true
}

// Snapshot is all that a broker knows about the cluster. It never changes: Apply returns the next one, so a reader may keep and use one
// without a lock. The zero Snapshot knows nothing.
type Snapshot struct {
	// ControllerID is NoLeader while the broker has not heard from a controller.
	ControllerID    int32
	ControllerEpoch int32
	brokers         map[int32]Broker
	topics          map[string]TopicInfo
	names           map[TopicID]string
}

// EmptySnapshot is what a broker knows before the first UpdateMetadata.
func EmptySnapshot() *Snapshot { return &Snapshot{ControllerID: NoLeader} }

// Broker finds a live broker.
func (s *Snapshot) Broker(id int32) (Broker, bool) {
	broker, found := s.brokers[id]
	return broker, found
}

// Brokers lists the live brokers by id.
func (s *Snapshot) Brokers() []Broker {
	brokers := slices.Collect(maps.Values(s.brokers))
	SortBrokers(brokers)
	return brokers
}

// Topic finds a topic by name.
func (s *Snapshot) Topic(name string) (TopicInfo, bool) {
	topic, found := s.topics[name]
	return topic, found
}

// TopicByID finds a topic by id.
func (s *Snapshot) TopicByID(id TopicID) (TopicInfo, bool) {
	name, found := s.names[id]
	if !found {
		return TopicInfo{}, false
	}
	return s.Topic(name)
}

// TopicNames lists all topics in order.
func (s *Snapshot) TopicNames() []string { return slices.Sorted(maps.Keys(s.topics)) }

// Partition finds a partition.
func (s *Snapshot) Partition(topic string, partition int32) (PartitionInfo, bool) {
	return s.topics[topic].Partition(partition)
}

// Apply returns the snapshot after an UpdateMetadata request (v5 or later). The live brokers are replaced; partitions are merged, and
// those that are being deleted removed. The caller has checked the controller epoch.
func (s *Snapshot) Apply(request *kmsg.UpdateMetadataRequest) *Snapshot {
	next := &Snapshot{
		ControllerID: request.ControllerID, ControllerEpoch: request.ControllerEpoch,
		brokers: make(map[int32]Broker, len(request.LiveBrokers)),
		topics:  s.topics, names: s.names,
	}
	for i := range request.LiveBrokers {
		broker := brokerFrom(&request.LiveBrokers[i])
		next.brokers[broker.ID] = broker
	}
	if len(request.TopicStates) == 0 {
		return next
	}
	next.topics, next.names = maps.Clone(s.topics), maps.Clone(s.names)
	if next.topics == nil {
		next.topics, next.names = map[string]TopicInfo{}, map[TopicID]string{}
	}
	for i := range request.TopicStates {
		next.applyTopic(&request.TopicStates[i])
	}
	return next
}

func brokerFrom(live *kmsg.UpdateMetadataRequestLiveBroker) Broker {
	broker := Broker{ID: live.ID}
	if live.Rack != nil {
		broker.Rack = *live.Rack
	}
	for _, endpoint := range live.Endpoints {
		broker.Endpoints = append(broker.Endpoints, Endpoint{Listener: endpoint.ListenerName, Host: endpoint.Host, Port: endpoint.Port})
	}
	return broker
}

// applyTopic merges into the maps, which belong to this snapshot alone; the partition slices are copied, for older snapshots hold them.
func (s *Snapshot) applyTopic(state *kmsg.UpdateMetadataRequestTopicState) {
	topic, found := s.topics[state.Topic]
	id := TopicID(state.TopicID)
	if found && id != (TopicID{}) && topic.ID != id { // deleted and created again
		delete(s.names, topic.ID)
		topic = TopicInfo{}
	}
	topic.Name = state.Topic
	if id != (TopicID{}) {
		topic.ID = id
	}
	partitions := make(map[int32]PartitionInfo, len(topic.Partitions)+len(state.PartitionStates))
	for _, partition := range topic.Partitions {
		partitions[partition.Partition] = partition
	}
	for _, p := range state.PartitionStates {
		if p.Leader == LeaderDuringDelete {
			delete(partitions, p.Partition)
			continue
		}
		partitions[p.Partition] = PartitionInfo{
			Partition: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.ZKVersion,
			Replicas: p.Replicas, ISR: p.ISR, Offline: p.OfflineReplicas,
		}
	}
	if len(partitions) == 0 {
		delete(s.topics, state.Topic)
		delete(s.names, topic.ID)
		return
	}
	topic.Partitions = slices.Collect(maps.Values(partitions))
	sort.Slice(topic.Partitions, func(i, j int) bool { return topic.Partitions[i].Partition < topic.Partitions[j].Partition })
	s.topics[state.Topic] = topic
	if topic.ID != (TopicID{}) {
		s.names[topic.ID] = state.Topic
	}
}
