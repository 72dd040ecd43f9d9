package observe

import (
	"reflect"
	"testing"

	"twinlog/engine/world"
)

func event(n uint64, node, kind string, data map[string]any) Event {
	return Event{N: n, Node: node, Kind: kind, Data: data}
}

func classroomState() *world.State {
	state := world.New()
	for _, name := range []string{"ensemble-1", "ensemble-2", "ensemble-3"} {
		state.Nodes[name] = &world.Node{Role: "ensemble", State: "running"}
	}
	state.Nodes["kafka-1"] = &world.Node{Role: "kafka", ID: 1, State: "running"}
	state.Kafka.Brokers["1"] = &world.KafkaBroker{Node: "kafka-1"}
	state.Kafka.Controller = world.Controller{Broker: 1, Epoch: 3}
	state.Pulsar.Bookies["host:3181"] = &world.Bookie{Node: "bookie-1"}
	state.Pulsar.Topics["persistent://a/b/t"] = &world.PulsarTopic{Owner: "pulsar-1", Ledgers: []int64{7}}
	state.Ensemble.Leader = "ensemble-2"
	return state
}

func TestADeathTellsWhatTheNodeWasAtThatMoment(t *testing.T) {
	partition := func(leader float64) map[string]any {
		return map[string]any{"topic": "orders", "partition": 0., "leader": leader, "leaderEpoch": 0., "isr": []any{1.}}
	}
	killed := map[string]any{"reason": "killed"}
	deaths := Since(FromState(classroomState()), classroomState(), []Event{
		event(1, "kafka-2", "kafka.partitionStateChanged", partition(1)),
		event(2, "pulsar-1", "bookkeeper.ledgerOpened", map[string]any{"ledger": 7., "managedLedger": "a/b/persistent/t", "ensemble": []any{"host:3181"}}),
		event(3, "kafka-1", "node.stopped", killed),
		event(4, "kafka-2", "kafka.partitionStateChanged", partition(-1)),
		event(5, "kafka-2", "kafka.controllerElected", nil),
		event(6, "kafka-1", "node.stopped", map[string]any{"reason": "stopped"}),
		event(7, "bookie-1", "node.stopped", killed),
		event(8, "ensemble-2", "node.stopped", killed),
		event(9, "ensemble-1", "node.stopped", killed),
		event(10, "ensemble-1", "node.ready", nil),
		event(11, "pulsar-1", "node.stopped", killed),
	}).Deaths
	const topic = "persistent://a/b/t"
	none := []string{}
	want := []Death{
		{N: 3, Node: "kafka-1", Reason: "killed", Controller: true, Leads: []string{"orders-0"}, Owns: none, Stores: none, Majority: true},
		{N: 6, Node: "kafka-1", Reason: "stopped", Leads: none, Owns: none, Stores: none, Majority: true},
		{N: 7, Node: "bookie-1", Reason: "killed", Leads: none, Owns: none, Stores: []string{topic}, Majority: true},
		{N: 8, Node: "ensemble-2", Reason: "killed", EnsembleLeader: true, Leads: none, Owns: none, Stores: none, Majority: true},
		{N: 9, Node: "ensemble-1", Reason: "killed", Leads: none, Owns: none, Stores: none},
		{N: 11, Node: "pulsar-1", Reason: "killed", Leads: none, Owns: []string{topic}, Stores: none, Majority: true},
	}
	for i := range want {
		if i >= len(deaths) || !reflect.DeepEqual(deaths[i], want[i]) {
			t.Fatalf("got  %+v\nwant %+v", deaths, want)
		}
	}
}

func TestAnAcknowledgementTellsWhatStoodBehindIt(t *testing.T) {
	acknowledged := Since(FromState(nil), world.New(), []Event{
		event(1, "kafka-1", "kafka.partitionStateChanged", map[string]any{"topic": "orders", "partition": 0., "leaderEpoch": 4., "isr": []any{1., 2.}}),
		event(2, "kafka-1", "kafka.acknowledged", map[string]any{"topic": "orders", "partition": 0., "acks": -1., "baseOffset": 5., "lastOffset": 9.}),
		event(3, "kafka-1", "kafka.acknowledged", map[string]any{"topic": "orders"}), // a record of another shape is no panic
	}).Acknowledged
	want := Acknowledged{N: 2, Topic: "orders", Acks: -1, Records: 5, InSync: 2, LeaderEpoch: 4}
	if len(acknowledged) != 2 || acknowledged[0] != want {
		t.Errorf("got %+v, want %+v", acknowledged, want)
	}
}

func TestALedgersLifeIsKnownAfterItsDeletion(t *testing.T) {
	ledgers := Since(FromState(nil), classroomState(), []Event{
		event(1, "pulsar-1", "bookkeeper.ledgerOpened", map[string]any{"ledger": 7., "managedLedger": "a/b/persistent/t", "ensemble": []any{"host:3181"}}),
		event(2, "pulsar-1", "bookkeeper.ledgerOpened", map[string]any{"ledger": 8., "managedLedger": "a/b/persistent/t", "cursor": "c", "ensemble": []any{"host:3181"}}),
		event(3, "pulsar-1", "bookkeeper.ensembleChanged", map[string]any{"ledger": 7., "ensemble": []any{"other:3181"}}),
		event(4, "pulsar-2", "bookkeeper.ledgerClosed", map[string]any{"ledger": 7., "lastEntry": 4., "recovered": true}),
		event(5, "pulsar-2", "bookkeeper.ledgerDeleted", map[string]any{"ledger": 7.}),
	}).Ledgers
	want := []LedgerLife{{ID: 7, Topic: "persistent://a/b/t", State: "closed", Ensembles: [][]string{{"bookie-1"}, {"other:3181"}}, Recovered: true, LastEntry: 4}}
	if !reflect.DeepEqual(ledgers, want) {
		t.Errorf("got %+v, want %+v", ledgers, want)
	}
}

func TestWhatIsMissingInTheTraceIsZero(t *testing.T) {
	seen := FromState(nil)
	if seen.Kafka.Controller.Broker != -1 || seen.Kafka.Partitions["no-0"].Exists || seen.Pulsar.Topics["none"].Ledgers != nil {
		t.Errorf("%+v", seen)
	}
}
