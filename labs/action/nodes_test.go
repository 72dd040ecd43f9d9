package action

import (
	"context"
	"slices"
	"testing"

	"twinlog/engine/cluster"
	"twinlog/engine/fabric"
	"twinlog/engine/trace"
	"twinlog/engine/world"
	"twinlog/labs/observe"
)

// twoNodes is a classroom of an ensemble server and a broker that was killed.
type twoNodes struct {
	broker string // its state
	did    *[]string
}

func (n *twoNodes) Nodes() []cluster.NodeStatus {
	return []cluster.NodeStatus{{Name: "ensemble-1", State: cluster.StateRunning}, {Name: "kafka-1", State: n.broker}}
}

func (n *twoNodes) Start(_ context.Context, node string) error {
	*n.did = append(*n.did, "start "+node)
	n.broker = cluster.StateRunning
	return nil
}

func (n *twoNodes) Kill(context.Context, string) error        { return nil }
func (n *twoNodes) Stop(context.Context, string) error        { return nil }
func (n *twoNodes) Pause(context.Context, string) error       { return nil }
func (n *twoNodes) Resume(context.Context, string) error      { return nil }
func (n *twoNodes) Links() []cluster.LinkRule                 { return nil }
func (n *twoNodes) SetLink(string, string, fabric.Link) error { return nil }
func (n *twoNodes) EventsAfter(uint64) []observe.Event        { return nil }
func (n *twoNodes) registered() bool                          { return n.broker == cluster.StateRunning }
func (n *twoNodes) partition(leader int32, isr ...int32) *world.KafkaPartition {
	return &world.KafkaPartition{Leader: leader, ISR: isr, Replicas: []int32{1, 2}}
}

func (n *twoNodes) World() (*world.State, uint64) {
	state := world.New()
	state.Ensemble.Leader = "ensemble-1"
	state.Kafka.Controller.Broker = 1
	state.Nodes["kafka-1"] = &world.Node{State: n.broker}
	state.Kafka.Brokers["1"] = &world.KafkaBroker{Node: "kafka-1", Registered: n.registered()}
	state.Kafka.Topics["orders"] = &world.KafkaTopic{Partitions: map[string]*world.KafkaPartition{"0": n.partition(1, 1, 2)}}
	return state, 1
}

func TestConsumersEndAfterTheNodesAreBack(t *testing.T) {
	var did []string
	nodes := &twoNodes{broker: cluster.StateKilled, did: &did}
	runner := NewRunner(Addresses{}, nodes, nodes)
	if err := runner.keep("second", func() { did = append(did, "second leaves") }); err != nil {
		t.Fatal(err)
	}
	if err := runner.Restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"start kafka-1", "second leaves"}; !slices.Equal(did, want) {
		t.Errorf("%q, want %q", did, want)
	}
}

func TestAClassroomIsWholeWhenPreferredLeadersLead(t *testing.T) {
	nodes := &twoNodes{broker: cluster.StateRunning}
	for name, c := range map[string]struct {
		partitions map[string]*world.KafkaPartition
		missing    string
		elsewhere  []trace.KafkaPartition
	}{
		"as it should be": {map[string]*world.KafkaPartition{"0": nodes.partition(1, 1, 2)}, "", nil},
		"one out of sync": {map[string]*world.KafkaPartition{"0": nodes.partition(1, 1)}, "orders-0 has 1 of 2 replicas in sync", nil},
		"another one leads": {map[string]*world.KafkaPartition{"10": nodes.partition(2, 1, 2), "0": nodes.partition(1, 1, 2), "9": nodes.partition(2, 2, 1)}, "",
			[]trace.KafkaPartition{{Topic: "orders", Partition: 9}, {Topic: "orders", Partition: 10}}},
	} {
		state, _ := nodes.World()
		state.Kafka.Topics["orders"].Partitions = c.partitions
		if found := missing(state); found != c.missing {
			t.Errorf("%s: missing %q, want %q", name, found, c.missing)
		}
		if found := ledElsewhere(state); !slices.Equal(found, c.elsewhere) {
			t.Errorf("%s: led elsewhere %v, want %v", name, found, c.elsewhere)
		}
	}
}
