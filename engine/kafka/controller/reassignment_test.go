package controller

import (
	"slices"
	"testing"
)

// six makes brokers 1 to 6 with a partition on 1 2 3.
func six(t *testing.T) *world {
	w := start(t, []int32{1, 2, 3})
	w.do(w.state.BrokersChanged(brokers(1, 2, 3, 4, 5, 6)))
	return w
}

func (w *world) reassign(replicas ...int32) Plan {
	w.t.Helper()
	outcomes, plan := w.state.Reassign([]Reassignment{{t0, replicas}})
	if outcomes[0].Outcome != OK {
		w.t.Fatalf("outcome %v", outcomes)
	}
	return w.do(plan)
}

func (w *world) inSync(ids ...int32) Plan {
	w.t.Helper()
	now := w.states[t0]
	proposal := ISRProposal{Partition: t0, LeaderEpoch: now.LeaderEpoch, PartitionEpoch: now.PartitionEpoch}
	for _, id := range ids {
		proposal.ISR = append(proposal.ISR, ISRMember{id, -1})
	}
	decisions, _, plan := w.state.AlterPartition(now.Leader, int64(now.Leader)*100, []ISRProposal{proposal})
	if decisions[0].Outcome != OK {
		w.t.Fatalf("decision %+v", decisions)
	}
	return w.do(plan)
}

func (w *world) assigned(replicas, adding, removing []int32) {
	w.t.Helper()
	got := w.moving[t0]
	if !slices.Equal(got.Replicas, replicas) || !slices.Equal(got.Adding, adding) || !slices.Equal(got.Removing, removing) {
		w.t.Fatalf("the znode says %+v, want replicas %v, adding %v, removing %v", got, replicas, adding, removing)
	}
}

func TestReassignment(t *testing.T) {
	w := six(t)
	plan := w.reassign(4, 5, 6)
	w.assigned([]int32{4, 5, 6, 1, 2, 3}, []int32{4, 5, 6}, []int32{1, 2, 3})
	w.expect(0, 1, 1, 1, 2, 3) // the epoch rises, the ISR stays
	for _, id := range []int32{4, 5, 6} {
		roles := toBroker[LeaderAndISR](plan, id)
		if len(roles) != 1 || !roles[0].Partitions[0].IsNew || !slices.Equal(roles[0].Partitions[0].Adding, []int32{4, 5, 6}) {
			t.Errorf("broker %d is told %+v, want a new replica", id, roles)
		}
	}
	w.inSync(1, 2, 3, 4, 5)
	w.assigned([]int32{4, 5, 6, 1, 2, 3}, []int32{4, 5, 6}, []int32{1, 2, 3}) // 6 is missing
	plan = w.inSync(1, 2, 3, 4, 5, 6)
	w.assigned([]int32{4, 5, 6}, nil, nil)
	w.expect(0, 4, 5, 4, 5, 6) // one election, three removals from the ISR
	for _, id := range []int32{1, 2, 3} {
		stops := toBroker[StopReplica](plan, id)
		if len(stops) != 2 || stops[0].Partitions[0].Delete || !stops[1].Partitions[0].Delete {
			t.Errorf("broker %d is told %+v, want to stop, then to delete", id, stops)
		}
	}
	metadata := toBroker[UpdateMetadata](plan, 2)
	if last := metadata[len(metadata)-1].Partitions; len(last) != 1 || !slices.Equal(last[0].Replicas, []int32{4, 5, 6}) {
		t.Errorf("in the end brokers are told %+v", last)
	}
	if left := w.state.Reassignments(nil); len(left) != 0 {
		t.Errorf("still reassigning: %v", left)
	}
}

func TestReassignmentThatKeepsTheLeader(t *testing.T) {
	w := six(t)
	w.reassign(1, 4)
	w.inSync(1, 2, 3, 4)
	w.assigned([]int32{1, 4}, nil, nil)
	if got := w.states[t0]; got.Leader != 1 || !slices.Equal(got.ISR, []int32{1, 4}) {
		t.Errorf("the state is %+v", got)
	}
}

func TestReassignmentTakenBack(t *testing.T) {
	w := six(t)
	w.reassign(4, 5, 6)
	w.inSync(1, 2, 3, 4)
	w.reassign()
	w.assigned([]int32{1, 2, 3}, nil, nil)
	if got := w.states[t0]; got.Leader != 1 || !slices.Equal(got.ISR, []int32{1, 2, 3}) {
		t.Errorf("the state is %+v", got)
	}
	if outcomes, _ := w.state.Reassign([]Reassignment{{t0, nil}}); outcomes[0].Outcome != NoReassignmentInProgress {
		t.Errorf("again: %v", outcomes)
	}
}

func TestReassignmentReplacedByAnother(t *testing.T) {
	w := six(t)
	w.reassign(4, 5, 6)
	plan := w.reassign(4, 1)
	w.assigned([]int32{4, 1, 2, 3}, []int32{4}, []int32{2, 3})
	if stops := toBroker[StopReplica](plan, 5); len(stops) != 2 {
		t.Errorf("broker 5 is told %+v, want to delete what it began", stops)
	}
	w.inSync(1, 2, 3, 4)
	w.assigned([]int32{4, 1}, nil, nil)
}

func TestReassignmentSurvivesFailoverAndDeadBroker(t *testing.T) {
	w := six(t)
	w.reassign(4, 5)
	w.state = New(2, 2, testSettings)
	w.do(w.state.Start(w.snapshot(brokers(1, 2, 3, 4)))) // 5 died
	if left := w.state.Reassignments(nil); len(left) != 1 {
		t.Fatalf("reassigning: %v", left)
	}
	w.do(w.state.BrokersChanged(brokers(1, 2, 3, 4, 5)))
	w.inSync(1, 2, 3, 4, 5)
	w.assigned([]int32{4, 5}, nil, nil)
}

func TestNewOrderIsReassignedAtOnce(t *testing.T) {
	w := six(t)
	w.reassign(3, 2, 1)
	w.assigned([]int32{3, 2, 1}, nil, nil)
	w.expect(0, 1, 1, 1, 2, 3)
}

func TestReassignmentRefusals(t *testing.T) {
	w := six(t)
	for _, test := range []struct {
		name     string
		wanted   Reassignment
		expected Outcome
	}{
		{"empty", Reassignment{t0, []int32{}}, InvalidReplicaAssignment},
		{"twice the same", Reassignment{t0, []int32{1, 1}}, InvalidReplicaAssignment},
		{"negative", Reassignment{t0, []int32{-1}}, InvalidReplicaAssignment},
		{"dead broker", Reassignment{t0, []int32{1, 9}}, InvalidReplicaAssignment},
		{"unknown partition", Reassignment{Partition{"t", 7}, []int32{1}}, UnknownTopicOrPartition},
		{"nothing to take back", Reassignment{t0, nil}, NoReassignmentInProgress},
	} {
		outcomes, plan := w.state.Reassign([]Reassignment{test.wanted})
		if outcomes[0].Outcome != test.expected || !plan.Empty() {
			t.Errorf("%s: %v, %+v", test.name, outcomes, plan)
		}
	}
	w.reassign(4, 5, 6)
	w.do(w.state.DeleteTopics([]string{"t"}))
	if !w.state.BeingDeleted("t") || len(w.state.Reassignments(nil)) != 1 {
		t.Error("a deletion waits until the reassignment is done")
	}
	w.inSync(1, 2, 3, 4, 5, 6)
	w.do(w.state.ReplicasDeleted(4, []Partition{t0}, nil))
	w.do(w.state.ReplicasDeleted(5, []Partition{t0}, nil))
	w.do(w.state.ReplicasDeleted(6, []Partition{t0}, nil))
	if w.state.HasTopic("t") {
		t.Error("the deletion did not go on")
	}
}
