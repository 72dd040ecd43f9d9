package controller

import (
	"reflect"
	"slices"
	"testing"
)

var t0 = Partition{"t", 0}

func TestNewTopicGetsLeaders(t *testing.T) {
	w := &world{znodes: newZnodes(t), state: New(1, 7, testSettings)}
	w.apply(w.state.Start(Snapshot{Brokers: brokers(1, 2, 3)}))
	w.topics["t"] = map[int32][]int32{0: {1, 2, 3}, 1: {9, 2}, 2: {9}}
	plan := w.do(w.state.NewTopics([]TopicSnapshot{w.topic("t")}))
	w.expect(0, 1, 0, 1, 2, 3)
	w.expect(1, 2, 0, 2) // broker 9 is not there
	if _, exists := w.states[Partition{"t", 2}]; exists {
		t.Error("a partition without a live replica got a state")
	}
	if got := w.states[t0].ControllerEpoch; got != 7 {
		t.Errorf("controller epoch %d in the znode, want 7", got)
	}
	roles := toBroker[LeaderAndISR](plan, 2)
	if len(roles) != 1 || len(roles[0].Partitions) != 2 || !roles[0].Partitions[0].IsNew {
		t.Errorf("broker 2 is told %+v, want two new partitions in one request", roles)
	}
	if metadata := toBroker[UpdateMetadata](plan, 3); len(metadata) != 1 || len(metadata[0].Partitions) != 2 {
		t.Errorf("broker 3 is told the metadata %+v, want both partitions that have a leader", metadata)
	}
	plan = w.do(w.state.BrokersChanged(brokers(1, 2, 3, 9)))
	w.expect(2, 9, 0, 9)
	if roles := toBroker[LeaderAndISR](plan, 9); len(roles) != 2 || !roles[0].Full || roles[1].Full {
		t.Errorf("the new broker is told %+v, want first all its replicas, then the partition that it makes possible", roles)
	}
}

func TestBrokerFailure(t *testing.T) {
	w := start(t, []int32{1, 2, 3}, []int32{2, 1}, []int32{1})
	plan := w.do(w.state.BrokersChanged(brokers(2, 3)))
	w.expect(0, 2, 1, 2, 3)
	w.expect(1, 2, 1, 2) // follower lost: the epoch rises all the same
	w.expect(2, NoLeader, 1, 1)
	if got := w.states[Partition{"t", 2}].ISR; !slices.Equal(got, []int32{1}) {
		t.Errorf("the last member left the ISR: %v", got)
	}
	if got := toBroker[StopReplica](plan, 1); got != nil {
		t.Errorf("requests to a dead broker: %v", got)
	}
	w.do(w.state.BrokersChanged(brokers(1, 2, 3)))
	w.expect(0, 2, 1, 2, 3) // leadership does not move back by itself
	w.expect(2, 1, 2, 1)
}

func TestBouncedBrokerIsFailureAndStart(t *testing.T) {
	w := start(t, []int32{1, 2})
	again := brokers(1, 2, 3)
	again[0].Epoch = 555
	plan := w.do(w.state.BrokersChanged(again))
	w.expect(0, 2, 1, 2)
	for _, request := range plan.Requests {
		if to, epoch := request.To(); to == 1 && epoch != 555 {
			t.Errorf("%T for the old incarnation of broker 1", request)
		}
	}
	if roles := toBroker[LeaderAndISR](plan, 1); len(roles) != 1 || roles[0].Partitions[0].Leadership.Leader != 2 {
		t.Errorf("the restarted broker is told %+v, want to follow 2", roles)
	}
}

func TestUncleanElection(t *testing.T) {
	w := start(t, []int32{1, 2})
	w.do(w.state.BrokersChanged(brokers(1, 3)))
	w.expect(0, 1, 1, 1)
	w.do(w.state.BrokersChanged(brokers(2, 3))) // 2 is back, but 1 had the only complete log
	w.expect(0, NoLeader, 2, 1)
	w.unclean["t"] = true
	w.do(w.state.SetUncleanElection("t", true))
	w.expect(0, 2, 3, 2)
	if !w.states[t0].Recovering {
		t.Error("a leader of an unclean election is recovering")
	}
	outcome, _, plan := w.state.AlterPartition(2, 200, []ISRProposal{{Partition: t0, LeaderEpoch: 3, PartitionEpoch: w.states[t0].PartitionEpoch,
		ISR: []ISRMember{{2, 200}}}})
	w.apply(plan)
	if outcome[0].Outcome != OK || w.states[t0].Recovering {
		t.Errorf("recovery confirmed: %+v", outcome)
	}
}

func TestUncleanElectionOnDemand(t *testing.T) {
	w := start(t, []int32{1, 2})
	w.do(w.state.BrokersChanged(brokers(1, 3)))
	w.do(w.state.BrokersChanged(brokers(2, 3)))
	outcomes, plan := w.state.Elect(PreferredElection, []Partition{t0, {"t", 9}})
	w.apply(plan)
	want := []ElectionOutcome{{t0, PreferredLeaderNotAvailable}, {Partition{"t", 9}, UnknownTopicOrPartition}}
	if !reflect.DeepEqual(outcomes, want) {
		t.Errorf("preferred: %v, want %v", outcomes, want)
	}
	w.unclean["t"] = true
	outcomes, plan = w.state.Elect(UncleanElection, []Partition{t0})
	w.apply(plan)
	if outcomes[0].Outcome != OK {
		t.Errorf("unclean: %v", outcomes)
	}
	w.expect(0, 2, 3, 2)
	if outcomes, _ := w.state.Elect(UncleanElection, nil); len(outcomes) != 0 {
		t.Errorf("a second one: %v, want nothing to do", outcomes)
	}
}

func TestPreferredElectionAndRebalance(t *testing.T) {
	setUp := func(t *testing.T) *world {
		w := start(t, []int32{1, 2}, []int32{1, 3}, []int32{2, 1})
		w.do(w.state.BrokersChanged(brokers(2, 3)))
		w.do(w.state.BrokersChanged(brokers(1, 2, 3)))
		for index, follower := range []int32{0: 1, 1: 1, 2: 1} {
			name := Partition{"t", int32(index)}
			now := w.states[name]
			_, _, plan := w.state.AlterPartition(now.Leader, int64(now.Leader)*100, []ISRProposal{{Partition: name, LeaderEpoch: now.LeaderEpoch,
				PartitionEpoch: now.PartitionEpoch, ISR: []ISRMember{{now.Leader, -1}, {follower, -1}}}})
			w.apply(plan)
		}
		w.expect(0, 2, 1, 2, 1)
		return w
	}
	t.Run("on demand", func(t *testing.T) {
		w := setUp(t)
		outcomes, plan := w.state.Elect(PreferredElection, nil)
		w.apply(plan)
		if want := []ElectionOutcome{{t0, OK}, {Partition{"t", 1}, OK}}; !reflect.DeepEqual(outcomes, want) {
			t.Errorf("%v, want %v", outcomes, want)
		}
		w.expect(0, 1, 2, 2, 1)
	})
	t.Run("by imbalance", func(t *testing.T) {
		w := setUp(t)
		w.do(w.state.Rebalance())
		w.expect(0, 1, 2, 2, 1)
		w.expect(1, 1, 2, 3, 1)
		w.expect(2, 2, 1, 2, 1)
		if plan := w.state.Rebalance(); !plan.Empty() {
			t.Errorf("a balanced cluster is rebalanced: %+v", plan)
		}
	})
}

func TestControlledShutdown(t *testing.T) {
	w := start(t, []int32{1, 2, 3}, []int32{2, 1}, []int32{1}, []int32{1, 3})
	// Partition 3: only the leader is in sync.
	_, _, plan := w.state.AlterPartition(1, 100, []ISRProposal{{Partition: Partition{"t", 3}, ISR: []ISRMember{{1, 100}}}})
	w.apply(plan)
	remaining, outcome, plan := w.state.ControlledShutdown(1, 100)
	w.apply(plan)
	if want := []Partition{{"t", 3}}; outcome != OK || !slices.Equal(remaining, want) {
		t.Errorf("outcome %v, still led %v, want %v", outcome, remaining, want)
	}
	w.expect(0, 2, 1, 2, 3)
	w.expect(1, 2, 1, 2)
	w.expect(2, 1, 0, 1) // one replica: goes with the broker
	w.expect(3, 1, 0, 1)
	stopped := toBroker[StopReplica](plan, 1)
	if len(stopped) != 1 || len(stopped[0].Partitions) != 1 || stopped[0].Partitions[0].Partition != (Partition{"t", 1}) || stopped[0].Partitions[0].Delete {
		t.Errorf("broker 1 is told to stop %+v, want the partition that it follows", stopped)
	}
	if _, outcome, _ := w.state.ControlledShutdown(1, 99); outcome != StaleBrokerEpoch {
		t.Errorf("an old incarnation: %v", outcome)
	}
	if _, outcome, _ := w.state.ControlledShutdown(8, 1); outcome != BrokerNotAvailable {
		t.Errorf("an unknown broker: %v", outcome)
	}
	w.do(w.state.BrokersChanged(brokers(2, 3)))
	w.expect(0, 2, 1, 2, 3) // nothing left to do for what was moved
	w.expect(2, NoLeader, 1, 1)
}

func TestAlterPartitionFences(t *testing.T) {
	members := func(ids ...int32) []ISRMember {
		var list []ISRMember
		for _, id := range ids {
			list = append(list, ISRMember{id, int64(id) * 100})
		}
		return list
	}
	// The partition: leader 1, leader epoch 0, ISR 1 2 after one shrink, so partition epoch 1; replicas 1 2 3.
	tests := []struct {
		name        string
		broker      int32
		brokerEpoch int64
		proposal    ISRProposal
		whole       Outcome
		want        Outcome
		changes     bool
	}{
		{"expand", 1, 100, ISRProposal{PartitionEpoch: 1, ISR: members(1, 2, 3)}, OK, OK, true},
		{"shrink", 1, 100, ISRProposal{PartitionEpoch: 1, ISR: members(1)}, OK, OK, true},
		{"already so, though the leader does not know", 1, 100, ISRProposal{PartitionEpoch: 0, ISR: members(1, 2)}, OK, OK, false},
		{"old incarnation of the leader", 1, 99, ISRProposal{PartitionEpoch: 1, ISR: members(1)}, StaleBrokerEpoch, OK, false},
		{"unregistered broker", 7, 700, ISRProposal{PartitionEpoch: 1, ISR: members(7)}, StaleBrokerEpoch, OK, false},
		{"stale partition epoch", 1, 100, ISRProposal{PartitionEpoch: 0, ISR: members(1)}, OK, InvalidUpdateVersion, false},
		{"partition epoch from the future", 1, 100, ISRProposal{PartitionEpoch: 2, ISR: members(1)}, OK, NotController, false},
		{"leader epoch from the future", 1, 100, ISRProposal{LeaderEpoch: 1, PartitionEpoch: 1, ISR: members(1)}, OK, NotController, false},
		{"fenced leader", 1, 100, ISRProposal{LeaderEpoch: -1, PartitionEpoch: 1, ISR: members(1)}, OK, FencedLeaderEpoch, false},
		{"not the leader", 2, 200, ISRProposal{PartitionEpoch: 1, ISR: members(2)}, OK, InvalidRequest, false},
		{"empty", 1, 100, ISRProposal{PartitionEpoch: 1}, OK, InvalidRequest, false},
		{"without the leader", 1, 100, ISRProposal{PartitionEpoch: 1, ISR: members(2)}, OK, InvalidRequest, false},
		{"not a replica", 1, 100, ISRProposal{PartitionEpoch: 1, ISR: members(1, 4)}, OK, InvalidRequest, false},
		{"twice the same", 1, 100, ISRProposal{PartitionEpoch: 1, ISR: members(1, 2, 2)}, OK, InvalidRequest, false},
		{"begins recovery", 1, 100, ISRProposal{PartitionEpoch: 1, ISR: members(1), Recovering: true}, OK, InvalidRequest, false},
		{"restarted follower", 1, 100, ISRProposal{PartitionEpoch: 1, ISR: []ISRMember{{1, 100}, {3, 299}}}, OK, IneligibleReplica, false},
		{"epoch not given", 1, 100, ISRProposal{PartitionEpoch: 1, ISR: []ISRMember{{1, -1}, {2, -1}, {3, -1}}}, OK, OK, true},
		{"unknown partition", 1, 100, ISRProposal{Partition: Partition{"u", 0}, ISR: members(1)}, OK, UnknownTopicOrPartition, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := start(t, []int32{1, 2, 3})
			_, _, plan := w.state.AlterPartition(1, 100, []ISRProposal{{Partition: t0, ISR: members(1, 2)}})
			w.apply(plan)
			w.expect(0, 1, 0, 1, 2)
			if test.proposal.Partition == (Partition{}) {
				test.proposal.Partition = t0
			}
			decisions, whole, plan := w.state.AlterPartition(test.broker, test.brokerEpoch, []ISRProposal{test.proposal})
			w.apply(plan)
			if whole != test.whole {
				t.Fatalf("outcome %v, want %v", whole, test.whole)
			}
			if whole == OK && decisions[0].Outcome != test.want {
				t.Errorf("outcome %v, want %v", decisions[0].Outcome, test.want)
			}
			if changed := len(plan.Writes) > 0; changed != test.changes {
				t.Errorf("writes: %v, want %v", changed, test.changes)
			}
			if test.changes && (w.states[t0].PartitionEpoch != 2 || w.states[t0].LeaderEpoch != 0 || decisions[0].Leadership.PartitionEpoch != 2) {
				t.Errorf("the ISR changes the partition epoch alone: %+v", w.states[t0])
			}
		})
	}
}

func TestTopicDeletion(t *testing.T) {
	w := start(t, []int32{1, 2})
	w.deletion["t"] = true
	plan := w.do(w.state.DeleteTopics([]string{"t", "unknown"}))
	for _, id := range []int32{1, 2} {
		stops := toBroker[StopReplica](plan, id)
		if len(stops) != 2 || stops[0].Partitions[0].Delete || !stops[1].Partitions[0].Delete || stops[1].Partitions[0].LeaderEpoch != EpochDuringDelete {
			t.Errorf("broker %d is told %+v, want to stop, then to delete", id, stops)
		}
	}
	told := toBroker[UpdateMetadata](plan, 3)
	if len(told) == 0 || told[0].Partitions[0].Leadership.Leader != -2 {
		t.Errorf("brokers are told %+v, want that the leader is gone for deletion", told)
	}
	w.do(w.state.ReplicasDeleted(1, []Partition{t0}, nil))
	if !w.state.HasTopic("t") {
		t.Fatal("the topic was forgotten before every replica answered")
	}
	w.do(w.state.BrokersChanged(brokers(1, 3))) // 2 dies before it answers
	if !w.state.BeingDeleted("t") {
		t.Fatal("the deletion was forgotten")
	}
	plan = w.do(w.state.BrokersChanged(brokers(1, 2, 3)))
	if stops := toBroker[StopReplica](plan, 2); len(stops) == 0 || !stops[len(stops)-1].Partitions[0].Delete {
		t.Fatalf("the broker that came back is told %+v, want to delete", stops)
	}
	w.do(w.state.ReplicasDeleted(2, []Partition{t0}, nil))
	if w.state.HasTopic("t") || len(w.topics) != 0 {
		t.Error("the topic is still there")
	}
}

func TestDeletionSurvivesFailover(t *testing.T) {
	w := start(t, []int32{1, 2})
	w.deletion["t"] = true
	w.do(w.state.DeleteTopics([]string{"t"}))
	w.state = New(2, 2, testSettings)
	w.do(w.state.Start(w.snapshot(brokers(1, 2))))
	w.do(w.state.ReplicasDeleted(1, []Partition{t0}, nil))
	w.do(w.state.ReplicasDeleted(2, []Partition{t0}, nil))
	if w.state.HasTopic("t") || len(w.topics) != 0 {
		t.Error("the topic is still there")
	}
}

func TestDeletionForbidden(t *testing.T) {
	w := start(t, []int32{1})
	w.state.settings.DeleteTopics = false
	w.deletion["t"] = true
	w.do(w.state.DeleteTopics([]string{"t"}))
	if w.deletion["t"] || w.state.BeingDeleted("t") {
		t.Error("delete.topic.enable=false: the wish is dropped")
	}
}

func TestFailoverTellsBrokersAboutEachOtherFirst(t *testing.T) {
	w := start(t, []int32{1, 2}, []int32{2, 3})
	w.state = New(2, 2, testSettings)
	plan := w.do(w.state.Start(w.snapshot(brokers(2, 3)))) // 1 died with the old controller
	w.expect(0, 2, 2, 2)                                   // once as dead replica, once by election
	for _, id := range []int32{2, 3} {
		var kinds []string
		for _, request := range plan.Requests {
			if to, _ := request.To(); to == id {
				kinds = append(kinds, reflect.TypeOf(request).Name())
			}
		}
		if len(kinds) < 2 || kinds[0] != "UpdateMetadata" || kinds[1] != "LeaderAndISR" {
			t.Errorf("broker %d is told %v", id, kinds)
		}
	}
}

func TestStorageFailure(t *testing.T) {
	w := start(t, []int32{1, 2})
	plan := w.do(w.state.ReplicasFailed(1, []Partition{t0, {"t", 5}}))
	w.expect(0, 2, 1, 2)
	if told := toBroker[UpdateMetadata](plan, 3); len(told) == 0 || !slices.Equal(told[0].Partitions[0].Offline, []int32{1}) {
		t.Errorf("brokers are told %+v, want that replica 1 is offline", told)
	}
	// It is told its new role rather than to stop: it may begin anew. Until it says that it did, nobody may count on it.
	if told := toBroker[LeaderAndISR](plan, 1); len(told) == 0 || told[0].Partitions[0].Leadership.LeaderEpoch != 1 || len(toBroker[StopReplica](plan, 1)) > 0 {
		t.Errorf("the failed replica is told %+v", plan.Requests)
	}
	wish := ISRProposal{Partition: t0, LeaderEpoch: 1, PartitionEpoch: 1, ISR: []ISRMember{{2, 200}, {1, 100}}}
	if decisions, _, _ := w.state.AlterPartition(2, 200, []ISRProposal{wish}); decisions[0].Outcome != IneligibleReplica {
		t.Errorf("a failed replica in the ISR: %v", decisions[0].Outcome)
	}
	plan = w.do(w.state.ReplicasRestored(1, []Partition{t0, {"t", 5}}))
	if told := toBroker[UpdateMetadata](plan, 3); len(told) == 0 || len(told[0].Partitions[0].Offline) > 0 {
		t.Errorf("brokers are told %+v, want that replica 1 is back", told)
	}
	if decisions, _, _ := w.state.AlterPartition(2, 200, []ISRProposal{wish}); decisions[0].Outcome != OK {
		t.Errorf("a replica that came back, in the ISR: %v", decisions[0].Outcome)
	}
}

// The last member of an ISR that fails leads nobody any more, and stays the only one that may: when it says that it can after all, it does.
func TestStorageFailureOfTheLastInSync(t *testing.T) {
	w := start(t, []int32{1, 2})
	w.do(w.state.ReplicasFailed(2, []Partition{t0}))
	plan := w.do(w.state.ReplicasFailed(1, []Partition{t0}))
	w.expect(0, NoLeader, 2, 1)
	if told := toBroker[LeaderAndISR](plan, 1); len(told) != 1 || told[0].Partitions[0].Leadership.Leader != NoLeader {
		t.Errorf("it is told %+v", plan.Requests)
	}
	w.do(w.state.ReplicasRestored(1, []Partition{t0}))
	w.expect(0, 1, 3, 1)
}

// A replica outside the ISR fails while its leader may be about to ask for it: the next epoch makes the wish void.
func TestStorageFailureOutsideTheISR(t *testing.T) {
	w := start(t, []int32{1, 2})
	w.do(w.state.ReplicasFailed(2, []Partition{t0}))
	w.do(w.state.ReplicasRestored(2, []Partition{t0}))
	w.expect(0, 1, 1, 1)
	w.do(w.state.ReplicasFailed(2, []Partition{t0}))
	w.expect(0, 1, 2, 1)
}

// What cannot be read can be deleted: only a broker that is away makes a topic wait.
func TestDeletionWithAFailedReplica(t *testing.T) {
	w := start(t, []int32{1})
	w.do(w.state.ReplicasFailed(1, []Partition{t0}))
	w.deletion["t"] = true
	plan := w.do(w.state.DeleteTopics([]string{"t"}))
	if stops := toBroker[StopReplica](plan, 1); len(stops) == 0 || !stops[len(stops)-1].Partitions[0].Delete {
		t.Errorf("the broker is told %+v", plan.Requests)
	}
	w.do(w.state.ReplicasDeleted(1, []Partition{t0}, nil))
	if !slices.Equal(w.deleted, []string{"t"}) {
		t.Errorf("deleted are %v", w.deleted)
	}
}

func TestNewPartitions(t *testing.T) {
	w := start(t, []int32{1, 2})
	w.topics["t"][1] = []int32{2, 3}
	w.do(w.state.NewPartitions("t", w.topic("t").Partitions))
	w.expect(1, 2, 0, 2, 3)
	w.expect(0, 1, 0, 1, 2)
}

func TestImpossibleMoveIsRefused(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a new partition became non-existent")
		}
	}()
	(&partition{state: NewPartition}).move(NonExistentPartition)
}
