// Package controller is the decisions of the Kafka controller of the ZooKeeper era: which broker leads which partition, and who has to be
// told. It is pure: an event goes in, a [Plan] comes out, and the driver (engine/kafka/controllerdriver) carries it out.
//
// [State] is what Kafka calls the controller context: a copy of what the znodes say. Every method first changes the copy as if all writes
// of its plan had already succeeded. That is sound because of one rule of the driver: when a write fails, the broker stops being the
// controller and throws the State away; the next controller, perhaps on the same broker, reads the znodes again.
//
// The rules it keeps, whatever happens (controller_test.go checks them on random histories):
//
//   - A leader epoch has at most one leader. Every election and every removal of a replica by the controller raises the epoch.
//   - Leader epochs and partition epochs (znode versions) only grow, and they are different things: a change of the ISR that the leader asks
//     for raises the partition epoch alone.
//   - The last member of an ISR is never removed: it is the only one that is known to hold every committed record.
//   - A leader is in the ISR; unless unclean election is on, it was in the ISR before.
//
// Source: Apache Kafka 3.9 (KafkaController, PartitionStateMachine, ReplicaStateMachine, TopicDeletionManager); KIP-101, KIP-455, KIP-497.
package controller

import (
	"cmp"
	"maps"
	"slices"

	"twinlog/engine/kafka/metadata"
)

// NoLeader is the leader of a partition that has none.
const NoLeader = metadata.NoLeader

// Partition names a partition of a topic.
type Partition struct {
	Topic string
	Index int32
}

func comparePartitions(a, b Partition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Index, b.Index))
}

// Broker is a registered broker: the contents of its znode under /brokers/ids.
type Broker struct {
	ID int32
	// Epoch is the znode's czxid. The same id with another epoch is a broker that restarted.
	Epoch     int64
	Rack      string
	Endpoints []metadata.Endpoint
}

// Leadership is the state znode of a partition.
type Leadership struct {
	Leader      int32 // NoLeader: none
	LeaderEpoch int32
	ISR         []int32
	// Recovering: the leader came from an unclean election and has not yet confirmed that it recovered (KIP-704).
	Recovering bool
	// ControllerEpoch is the epoch of the controller that wrote the znode.
	ControllerEpoch int32
	// PartitionEpoch is the znode's version.
	PartitionEpoch int32
}

// Assignment is the replicas of a partition, preferred leader first. Adding and Removing are set while the partition is being reassigned.
type Assignment struct {
	Replicas []int32
	Adding   []int32
	Removing []int32
}

// Reassigning says whether the partition is on its way to other brokers.
func (a Assignment) Reassigning() bool { return len(a.Adding) > 0 || len(a.Removing) > 0 }

// PartitionSnapshot is a partition as it was read from its znodes.
type PartitionSnapshot struct {
	Assignment Assignment
	// Leadership is nil for a partition without a state znode: no leader was ever elected.
	Leadership *Leadership
	// HasZnode says whether /brokers/topics/T/partitions/P is there.
	HasZnode bool
}

// TopicSnapshot is a topic as it was read from its znodes.
type TopicSnapshot struct {
	Name string
	ID   metadata.TopicID
	// UncleanElection is the topic's effective unclean.leader.election.enable.
	UncleanElection bool
	// Config is the topic's own configuration, for the trace.
	Config     map[string]string
	Partitions map[int32]PartitionSnapshot
	// HasPartitionsZnode says whether /brokers/topics/T/partitions is there.
	HasPartitionsZnode bool
}

// Settings are the broker configurations that the controller obeys.
type Settings struct {
	// DeleteTopics is delete.topic.enable.
	DeleteTopics bool
	// ImbalancePercentage is leader.imbalance.per.broker.percentage.
	ImbalancePercentage int
}

// State is the controller's copy of the cluster. One goroutine owns it.
type State struct {
	id       int32 // this broker
	epoch    int32 // this controller's epoch
	settings Settings

	brokers      map[int32]Broker // registered, those that are shutting down included
	shuttingDown map[int32]bool
	// introduced are the brokers that were sent all their partitions by this controller (or soon will be, in order).
	introduced map[int32]bool
	topics     map[string]*topic
	names      map[metadata.TopicID]string
}

type topic struct {
	name            string
	id              metadata.TopicID
	uncleanElection bool
	partitions      map[int32]*partition
	hasZnode        bool // /brokers/topics/T/partitions
	deletion        deletion
}

type partition struct {
	name       Partition
	assignment Assignment
	hasZnode   bool
	leadership *Leadership
	state      PartitionState
	replicas   map[int32]ReplicaState
	// offlineReplicas are on live brokers that reported a storage error for them.
	offlineReplicas map[int32]bool
}

// New returns the state of a controller that has just been elected in the given epoch; call [State.Start] with what the znodes say.
func New(id, epoch int32, settings Settings) *State {
	return &State{
		id: id, epoch: epoch, settings: settings,
		brokers: map[int32]Broker{}, shuttingDown: map[int32]bool{}, introduced: map[int32]bool{}, topics: map[string]*topic{},
		names: map[metadata.TopicID]string{},
	}
}

// Epoch is the controller's epoch.
func (s *State) Epoch() int32 { return s.epoch }

// Brokers lists the registered brokers, by id.
func (s *State) Brokers() []Broker {
	return slices.SortedFunc(maps.Values(s.brokers), func(a, b Broker) int { return cmp.Compare(a.ID, b.ID) })
}

// Broker is a registered broker.
func (s *State) Broker(id int32) (Broker, bool) {
	broker, registered := s.brokers[id]
	return broker, registered
}

// HasTopic says whether the controller knows the topic, those that are being deleted included.
func (s *State) HasTopic(name string) bool { return s.topics[name] != nil }

// BeingDeleted says whether the topic is on its way out.
func (s *State) BeingDeleted(name string) bool {
	topic := s.topics[name]
	return topic != nil && topic.deletion.queued
}

// TopicByID finds a topic's name.
func (s *State) TopicByID(id metadata.TopicID) (string, bool) {
	name, known := s.names[id]
	return name, known
}

// Topics lists the topics' names.
func (s *State) Topics() []string { return slices.Sorted(maps.Keys(s.topics)) }

// PartitionCount is the number of partitions of a topic that the controller has taken on; 0 for a topic that it does not know.
func (s *State) PartitionCount(name string) int {
	if topic := s.topics[name]; topic != nil {
		return len(topic.partitions)
	}
	return 0
}

// Leadership is what the state znode of a partition says; false when it has none.
func (s *State) Leadership(name Partition) (Leadership, bool) {
	partition := s.find(name)
	if partition == nil || partition.leadership == nil {
		return Leadership{}, false
	}
	return *partition.leadership, true
}

// Assignment is the replicas of a partition.
func (s *State) Assignment(name Partition) (Assignment, bool) {
	partition := s.find(name)
	if partition == nil {
		return Assignment{}, false
	}
	return partition.assignment, true
}

func (s *State) find(name Partition) *partition {
	if topic := s.topics[name.Topic]; topic != nil {
		return topic.partitions[name.Index]
	}
	return nil
}

// live says whether a broker can be given work: registered and not shutting down.
func (s *State) live(broker int32) bool {
	_, registered := s.brokers[broker]
	return registered && !s.shuttingDown[broker]
}

// online says whether a replica can serve: its broker is live and its files are readable.
func (s *State) online(p *partition, replica int32) bool {
	return s.live(replica) && !p.offlineReplicas[replica]
}

// onlineOrLeaving counts a broker that is shutting down as online: it still answers.
func (s *State) onlineOrLeaving(p *partition, replica int32) bool {
	_, registered := s.brokers[replica]
	return registered && !p.offlineReplicas[replica]
}

// all lists every partition in a fixed order, so that the same events always give the same plan.
func (s *State) all() []*partition {
	return s.where(func(*partition) bool { return true })
}

func (s *State) where(wanted func(*partition) bool) []*partition {
	var found []*partition
	for _, topic := range s.topics {
		for _, partition := range topic.partitions {
			if wanted(partition) {
				found = append(found, partition)
			}
		}
	}
	slices.SortFunc(found, func(a, b *partition) int { return comparePartitions(a.name, b.name) })
	return found
}

func (t *topic) sorted() []*partition {
	return slices.SortedFunc(maps.Values(t.partitions), func(a, b *partition) int { return cmp.Compare(a.name.Index, b.name.Index) })
}

// keep returns the members of ids for which wanted holds, in their order; never the same memory.
func keep(ids []int32, wanted func(int32) bool) []int32 {
	kept := []int32{}
	for _, id := range ids {
		if wanted(id) {
			kept = append(kept, id)
		}
	}
	return kept
}

func without(ids []int32, unwanted int32) []int32 {
	return keep(ids, func(id int32) bool { return id != unwanted })
}
