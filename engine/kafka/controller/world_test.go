package controller

import (
	"slices"
	"testing"

	"twinlog/engine/kafka/metadata"
)

// znodes is the part of the ensemble that the controller writes. Applying a plan checks every rule that a write must keep.
type znodes struct {
	t       fataler
	topics  map[string]map[int32][]int32
	parents map[string]bool
	states  map[Partition]Leadership
	// moving holds the adding and removing replicas.
	moving map[Partition]Assignment
	// unclean says whether unclean elections are allowed for the topic.
	unclean  map[string]bool
	deletion map[string]bool
	leaders  map[Partition]map[int32]int32 // by leader epoch
	deleted  []string
}

type fataler interface {
	Fatalf(format string, args ...any)
	Helper()
}

func newZnodes(t fataler) *znodes {
	return &znodes{
		t: t, topics: map[string]map[int32][]int32{}, parents: map[string]bool{}, states: map[Partition]Leadership{},
		moving:  map[Partition]Assignment{},
		unclean: map[string]bool{}, deletion: map[string]bool{}, leaders: map[Partition]map[int32]int32{},
	}
}

func (z *znodes) apply(plan Plan) {
	z.t.Helper()
	for _, write := range plan.Writes {
		switch write := write.(type) {
		case CreatePartitionsParent:
			z.create(metadata.PartitionsPath(write.Topic))
		case CreatePartition:
			if !z.parents[metadata.PartitionsPath(write.Partition.Topic)] {
				z.t.Fatalf("%v is created before its parent", write)
			}
			z.create(metadata.PartitionPath(write.Partition.Topic, write.Partition.Index))
		case CreateLeadership:
			if _, exists := z.states[write.Partition]; exists {
				z.t.Fatalf("the state of %v is created twice", write.Partition)
			}
			if !z.parents[metadata.PartitionPath(write.Partition.Topic, write.Partition.Index)] {
				z.t.Fatalf("the state of %v is created before its parent", write.Partition)
			}
			if write.Leadership.LeaderEpoch != 0 || write.Leadership.PartitionEpoch != 0 {
				z.t.Fatalf("%v starts at %+v", write.Partition, write.Leadership)
			}
			z.set(write.Partition, write.Leadership)
		case SetLeadership:
			z.checkChange(write)
			z.set(write.Partition, write.Leadership)
		case SetAssignment:
			z.topics[write.Partition.Topic][write.Partition.Index] = write.Assignment.Replicas
			z.moving[write.Partition] = write.Assignment
		case DeleteTopic:
			z.remove(write)
		case ForgetDeletion:
			delete(z.deletion, write.Topic)
		default:
			z.t.Fatalf("unexpected write %#v", write)
		}
	}
}

func (z *znodes) create(path string) {
	if z.parents[path] {
		z.t.Fatalf("%s is created twice", path)
	}
	z.parents[path] = true
}

func (z *znodes) remove(write DeleteTopic) {
	for index := range z.topics[write.Topic] {
		name := Partition{write.Topic, index}
		_, hasState := z.states[name]
		if hasState != write.HasState[index] || z.parents[metadata.PartitionPath(write.Topic, index)] != slices.Contains(write.Partitions, index) {
			z.t.Fatalf("%+v does not fit the znodes of %v", write, name)
		}
		delete(z.states, name)
		delete(z.moving, name)
		delete(z.parents, metadata.PartitionPath(write.Topic, index))
		delete(z.leaders, name)
	}
	if z.parents[metadata.PartitionsPath(write.Topic)] != write.HasPartitionsZnode {
		z.t.Fatalf("%+v is wrong about the parent znode", write)
	}
	delete(z.parents, metadata.PartitionsPath(write.Topic))
	delete(z.topics, write.Topic)
	delete(z.deletion, write.Topic)
	z.deleted = append(z.deleted, write.Topic)
}

// checkChange holds the safety rules of leader election.
func (z *znodes) checkChange(write SetLeadership) {
	before, after := z.states[write.Partition], write.Leadership
	fail := func(rule string) { z.t.Fatalf("%s: %v went from %+v to %+v", rule, write.Partition, before, after) }
	switch {
	case write.ExpectedVersion != before.PartitionEpoch || after.PartitionEpoch != before.PartitionEpoch+1:
		fail("the partition epoch is the znode's version")
	case after.LeaderEpoch < before.LeaderEpoch:
		fail("leader epochs only grow")
	case after.LeaderEpoch == before.LeaderEpoch && after.Leader != before.Leader:
		fail("an epoch has one leader")
	case len(after.ISR) == 0:
		fail("the ISR is never empty")
	case after.Leader != NoLeader && !slices.Contains(after.ISR, after.Leader):
		fail("the leader is in the ISR")
	case after.Leader != NoLeader && after.Leader != before.Leader && !slices.Contains(before.ISR, after.Leader) && !z.unclean[write.Partition.Topic]:
		fail("a new leader was in the ISR")
	case after.ControllerEpoch < before.ControllerEpoch:
		fail("controller epochs only grow")
	}
}

func (z *znodes) set(name Partition, leadership Leadership) {
	z.states[name] = leadership
	if z.leaders[name] == nil {
		z.leaders[name] = map[int32]int32{}
	}
	if leader, known := z.leaders[name][leadership.LeaderEpoch]; known && leader != leadership.Leader {
		z.t.Fatalf("%v has two leaders in epoch %d: %d and %d", name, leadership.LeaderEpoch, leader, leadership.Leader)
	}
	z.leaders[name][leadership.LeaderEpoch] = leadership.Leader
}

func (z *znodes) snapshot(brokers []Broker) Snapshot {
	snapshot := Snapshot{Brokers: brokers}
	for name := range z.topics {
		snapshot.Topics = append(snapshot.Topics, z.topic(name))
	}
	for name := range z.deletion {
		snapshot.Deletions = append(snapshot.Deletions, name)
	}
	return snapshot
}

func (z *znodes) topic(name string) TopicSnapshot {
	topic := TopicSnapshot{
		Name: name, ID: metadata.TopicID{byte(len(name)), name[len(name)-1]}, UncleanElection: z.unclean[name],
		HasPartitionsZnode: z.parents[metadata.PartitionsPath(name)], Partitions: map[int32]PartitionSnapshot{},
	}
	for index, replicas := range z.topics[name] {
		moving := z.moving[Partition{name, index}]
		assignment := Assignment{Replicas: slices.Clone(replicas), Adding: slices.Clone(moving.Adding), Removing: slices.Clone(moving.Removing)}
		partition := PartitionSnapshot{Assignment: assignment, HasZnode: z.parents[metadata.PartitionPath(name, index)]}
		if state, exists := z.states[Partition{name, index}]; exists {
			state.ISR = slices.Clone(state.ISR)
			partition.Leadership = &state
		}
		topic.Partitions[index] = partition
	}
	return topic
}

func brokers(ids ...int32) []Broker {
	var list []Broker
	for _, id := range ids {
		list = append(list, Broker{ID: id, Epoch: int64(id) * 100})
	}
	return list
}

var testSettings = Settings{DeleteTopics: true, ImbalancePercentage: 10}

// world is a controller with the znodes that it writes.
type world struct {
	*znodes
	state *State
}

// start makes a cluster of brokers 1, 2, 3 with a topic "t" of the given replicas, all in their ISRs.
func start(t *testing.T, partitions ...[]int32) *world {
	t.Helper()
	w := &world{znodes: newZnodes(t), state: New(1, 1, testSettings)}
	w.apply(w.state.Start(Snapshot{Brokers: brokers(1, 2, 3)}))
	w.topics["t"] = map[int32][]int32{}
	for index, replicas := range partitions {
		w.topics["t"][int32(index)] = replicas
	}
	w.apply(w.state.NewTopics([]TopicSnapshot{w.topic("t")}))
	return w
}

func (w *world) do(plan Plan) Plan {
	w.t.Helper()
	w.apply(plan)
	return plan
}

func (w *world) expect(index int32, leader, leaderEpoch int32, isr ...int32) {
	w.t.Helper()
	got := w.states[Partition{"t", index}]
	if got.Leader != leader || got.LeaderEpoch != leaderEpoch || !slices.Equal(got.ISR, isr) {
		w.t.Fatalf("partition %d: leader %d, epoch %d, ISR %v; want leader %d, epoch %d, ISR %v",
			index, got.Leader, got.LeaderEpoch, got.ISR, leader, leaderEpoch, isr)
	}
}

func toBroker[R Request](plan Plan, id int32) []R {
	var found []R
	for _, request := range plan.Requests {
		if request, matches := request.(R); matches {
			if to, _ := Request(request).To(); to == id {
				found = append(found, request)
			}
		}
	}
	return found
}
