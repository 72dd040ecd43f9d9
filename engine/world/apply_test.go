package world_test

import (
	"bytes"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"twinlog/engine/trace"
	"twinlog/engine/world"
)

// TestReplicatedChangesCountOnce interleaves the reports of three servers, each in its own order, as their delays may: the tree must
// come out as the one server's reports alone give it.
func TestReplicatedChangesCountOnce(t *testing.T) {
	changes := []trace.Event{
		trace.SessionCreated{Session: "0x1", TimeoutMS: 4000, Zxid: 1},
		trace.ZnodeCreated{Path: "/a", Mode: "persistent", Zxid: 2},
		trace.ZnodeCreated{Path: "/a/e", Mode: "ephemeral", Session: "0x1", Zxid: 3}, // a multi:
		trace.ZnodeChanged{Path: "/a", Data: "x", Bytes: 1, Version: 1, Zxid: 3},
		trace.ZnodeCreated{Path: "/b", Mode: "persistent", Zxid: 3},
		trace.ZnodeDeleted{Path: "/b", Zxid: 4},
		trace.ZnodeCreated{Path: "/b", Mode: "persistent", Data: "again", Bytes: 5, Zxid: 5},
		trace.ZnodeDeleted{Path: "/a/e", Session: "0x1", Zxid: 6},
		trace.SessionEnded{Session: "0x1", Expired: true, Zxid: 6},
	}
	alone := world.New()
	for _, change := range changes {
		alone.Apply(trace.Record{Node: "ensemble-1", Data: change})
	}
	want := marshal(t, alone.Ensemble.Znodes)
	rapid.Check(t, func(t *rapid.T) {
		state := world.New()
		nodes := []string{"ensemble-1", "ensemble-2", "ensemble-3"}
		next := map[string]int{}
		for range len(nodes) * len(changes) {
			var ready []string
			for _, node := range nodes {
				if next[node] < len(changes) {
					ready = append(ready, node)
				}
			}
			node := rapid.SampledFrom(ready).Draw(t, "node")
			state.Apply(trace.Record{Node: node, Data: changes[next[node]]})
			next[node]++
		}
		if got := marshalOrPanic(state.Ensemble.Znodes); !bytes.Equal(got, want) {
			t.Fatalf("\n got  %s\n want %s", got, want)
		}
		if len(state.Ensemble.Sessions) != 0 || state.Ensemble.Applied != alone.Ensemble.Applied {
			t.Fatalf("sessions %v, applied %v", state.Ensemble.Sessions, state.Ensemble.Applied)
		}
	})
}

func TestOlderEpochsChangeNothing(t *testing.T) {
	partition := trace.KafkaPartition{Topic: "t"}
	state := world.New()
	apply(state, "kafka-1",
		trace.KafkaTopicCreated{Topic: "t", TopicID: "A", Replicas: [][]int32{{1, 2}}},
		trace.KafkaPartitionStateChanged{KafkaPartition: partition, Leader: 2, LeaderEpoch: 3, ISR: []int32{2}, Replicas: []int32{1, 2}, PartitionEpoch: 7},
		trace.KafkaControllerElected{Broker: 2, Epoch: 5})
	before := marshal(t, state)
	apply(state, "kafka-1",
		trace.KafkaPartitionStateChanged{KafkaPartition: partition, Leader: 1, LeaderEpoch: 2, ISR: []int32{1, 2}, Replicas: []int32{1, 2}, PartitionEpoch: 6},
		trace.KafkaISRChanged{KafkaPartition: partition, ISR: []int32{1, 2}, PartitionEpoch: 6},
		trace.KafkaControllerElected{Broker: 1, Epoch: 4},
		trace.KafkaControllerResigned{Broker: 1, Epoch: 4})
	if after := marshal(t, state); !bytes.Equal(after, before) {
		t.Errorf("\n got  %s\n want %s", after, before)
	}
	// The same name with another id is another topic, whose epochs begin again.
	apply(state, "kafka-1", trace.KafkaTopicCreated{Topic: "t", TopicID: "B", Replicas: [][]int32{{1}}},
		trace.KafkaPartitionStateChanged{KafkaPartition: partition, Leader: 1, ISR: []int32{1}, Replicas: []int32{1}})
	if got := state.Kafka.Topics["t"].Partitions["0"].Leader; got != 1 {
		t.Errorf("leader of the new topic = %d, want 1", got)
	}
}

func TestLateLeaderOfAnOldTermIsNotTheLeader(t *testing.T) {
	state := world.New()
	apply(state, "ensemble-1", trace.EnsembleRoleChanged{Term: 1, Role: "leader"})
	apply(state, "ensemble-2", trace.EnsembleRoleChanged{Term: 2, Role: "leader"})
	apply(state, "ensemble-1", trace.EnsembleRoleChanged{Term: 1, Role: "follower"})
	if state.Ensemble.Leader != "ensemble-2" || state.Ensemble.Term != 2 {
		t.Errorf("leader %q of term %d", state.Ensemble.Leader, state.Ensemble.Term)
	}
	apply(state, "ensemble-2", trace.EnsembleRoleChanged{Term: 2, Role: "follower"})
	if state.Ensemble.Leader != "" {
		t.Errorf("leader %q although it stepped down", state.Ensemble.Leader)
	}
}

func TestWatchesFireOnce(t *testing.T) {
	for _, test := range []struct {
		event string
		left  []string
	}{
		{"created", []string{"children", "persistent"}},
		{"dataChanged", []string{"children", "persistent"}},
		{"childrenChanged", []string{"data", "exists", "persistent"}},
		{"deleted", []string{"persistent"}},
	} {
		state := world.New()
		apply(state, "ensemble-1", trace.SessionCreated{Session: "0x1", Zxid: 1})
		for _, watch := range []string{"exists", "persistent", "data", "children", "data"} {
			apply(state, "ensemble-1", trace.WatchSet{Session: "0x1", Path: "/a", Type: watch})
		}
		apply(state, "ensemble-1", trace.WatchFired{Session: "0x1", Path: "/a", Event: test.event})
		if got := state.Ensemble.Sessions["0x1"].Watches["/a"]; !bytes.Equal(marshal(t, got), marshal(t, test.left)) {
			t.Errorf("%s leaves %v, want %v", test.event, got, test.left)
		}
	}
}

func TestWithoutATracedEnsembleRegistrationsEndWithTheirNode(t *testing.T) {
	state := world.New()
	apply(state, "kafka-1", trace.NodeStarted{Role: "kafka", ID: 1}, trace.KafkaBrokerRegistered{Broker: 1},
		trace.KafkaControllerElected{Broker: 1, Epoch: 1}, trace.NodeStopped{Reason: "killed"})
	apply(state, "pulsar-1", trace.NodeStarted{Role: "pulsar", ID: 1}, trace.PulsarBrokerRegistered{Broker: "h:1"},
		trace.PulsarBundleOwned{Namespace: "public/default", Bundle: "r"}, trace.NodeStopped{Reason: "killed"})
	if state.Kafka.Brokers["1"].Registered || state.Kafka.Controller.Broker != -1 {
		t.Errorf("kafka: %+v %+v", state.Kafka.Brokers["1"], state.Kafka.Controller)
	}
	if state.Pulsar.Brokers["pulsar-1"].Registered || state.Pulsar.Bundles["public/default/r"].Owner != "" {
		t.Errorf("pulsar: %+v %+v", state.Pulsar.Brokers["pulsar-1"], state.Pulsar.Bundles["public/default/r"])
	}
}

// TestCloneSharesNothing lets the state go on after each record and looks whether the clone taken before it moved.
func TestCloneSharesNothing(t *testing.T) {
	state := world.New()
	for i, record := range crafted() {
		clone := state.Clone()
		before := marshal(t, state)
		state.Apply(record)
		if after := marshal(t, clone); !bytes.Equal(after, before) {
			t.Fatalf("record %d (%s) moved a clone:\n got  %s\n want %s", i+1, record.Kind, after, before)
		}
	}
}

// TestCloneIsDeep looks for a slice or map that a clone shares.
func TestCloneIsDeep(t *testing.T) {
	state := world.New()
	for _, record := range crafted() {
		state.Apply(record)
		mine := pointers(reflect.ValueOf(state), map[uintptr]bool{})
		for pointer := range pointers(reflect.ValueOf(state.Clone()), map[uintptr]bool{}) {
			if mine[pointer] {
				t.Fatalf("after %s the clone shares memory", record.Kind)
			}
		}
	}
}

// pointers collects where the maps, slices and structs behind a value are.
func pointers(value reflect.Value, found map[uintptr]bool) map[uintptr]bool {
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return found
		}
		found[value.Pointer()] = true
		pointers(value.Elem(), found)
	case reflect.Map:
		found[value.Pointer()] = true
		for _, key := range value.MapKeys() {
			pointers(value.MapIndex(key), found)
		}
	case reflect.Slice:
		if value.Cap() > 0 {
			found[value.Pointer()] = true
		}
		for i := range value.Len() {
			pointers(value.Index(i), found)
		}
	case reflect.Struct:
		for i := range value.NumField() {
			pointers(value.Field(i), found)
		}
	}
	return found
}

func TestOldRegistrationMayEndAfterTheNewOne(t *testing.T) {
	state := world.New()
	apply(state, "kafka-1", trace.KafkaBrokerRegistered{Broker: 1, Epoch: 11}, trace.KafkaBrokerRegistered{Broker: 1, Epoch: 21})
	apply(state, "ensemble-1", trace.ZnodeDeleted{Path: "/brokers/ids/1", Zxid: 20})
	if !state.Kafka.Brokers["1"].Registered {
		t.Error("the end of the old registration ended the new one")
	}
	apply(state, "ensemble-1", trace.ZnodeDeleted{Path: "/brokers/ids/1", Zxid: 30})
	if state.Kafka.Brokers["1"].Registered {
		t.Error("still registered")
	}
}

func TestClosedLedgerStaysAsItIs(t *testing.T) {
	state := world.New()
	apply(state, "pulsar-1", trace.LedgerOpened{Ledger: 4}, trace.LedgerClosed{Ledger: 4, LastEntry: 9},
		trace.LastAddConfirmedAdvanced{Ledger: 4, LastAddConfirmed: 12}, trace.LedgerRecoveryStarted{Ledger: 4}, trace.LedgerOpened{Ledger: 4})
	if ledger := state.Pulsar.Ledgers["4"]; ledger.State != "closed" || ledger.LastAddConfirmed != 9 {
		t.Errorf("%+v", ledger)
	}
}

func TestGroupLivesOnAtItsNewCoordinator(t *testing.T) {
	state := world.New()
	apply(state, "kafka-1", trace.KafkaGroupChanged{Group: "g", State: "Stable", Generation: 3})
	apply(state, "kafka-2", trace.KafkaGroupChanged{Group: "g", State: "Empty", Generation: 3})
	apply(state, "kafka-1", trace.KafkaGroupChanged{Group: "g", State: "Dead"})
	if group := state.Kafka.Groups["g"]; group == nil || group.Coordinator != 2 {
		t.Errorf("%+v", group)
	}
	apply(state, "kafka-2", trace.KafkaGroupChanged{Group: "g", State: "Dead"})
	if len(state.Kafka.Groups) != 0 {
		t.Error("the group is still there")
	}
}

func apply(state *world.State, node string, events ...trace.Event) {
	for _, event := range events {
		state.Apply(trace.Record{Node: node, Kind: event.Kind(), Data: event})
	}
}
