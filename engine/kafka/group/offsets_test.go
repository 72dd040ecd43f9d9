package group

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

func TestCommitRules(t *testing.T) {
	w := newWorld(t)
	w.wants("without group management", w.group.CheckCommit("", "", -1, w.now), nil)
	w.wants("an empty group has no members", w.group.CheckCommit("x", "", 1, w.now), kerr.UnknownMemberID)
	w, ids := stable(t, "", "i")
	w.wants("member", w.group.CheckCommit(ids[0], "", 1, w.now), nil)
	w.wants("outsider", w.group.CheckCommit("", "", -1, w.now), kerr.UnknownMemberID)
	w.wants("stranger", w.group.CheckCommit("x", "", 1, w.now), kerr.UnknownMemberID)
	w.wants("generation", w.group.CheckCommit(ids[0], "", 2, w.now), kerr.IllegalGeneration)
	w.wants("zombie", w.group.CheckCommit(ids[0], "i", 1, w.now), kerr.FencedInstanceID)
	w.group.Kill(kerr.NotCoordinator, w.now, sentence.Of("test", "test"))
	w.wants("dead", w.group.CheckCommit(ids[0], "", 1, w.now), kerr.CoordinatorNotAvailable)
}

func TestOffsets(t *testing.T) {
	g := New("g", testSettings, began)
	p0, p1 := trace.KafkaPartition{Topic: "t"}, trace.KafkaPartition{Topic: "t", Partition: 1}
	at := func(offset int64) map[trace.KafkaPartition]Offset {
		return map[trace.KafkaPartition]Offset{p0: {Offset: offset, CommittedAt: began}}
	}
	first, second := g.BeginCommit(at(1)), g.BeginCommit(at(2))
	if _, exists := g.Offset(p0); exists || g.Abandoned() {
		t.Error("an offset counts before it is in the log")
	}
	g.EndCommit(second, true)
	g.EndCommit(first, true)
	if got, _ := g.Offset(p0); got.Offset != 2 {
		t.Errorf("offset %d, want that of the later commit", got.Offset)
	}
	failed := g.BeginCommit(map[trace.KafkaPartition]Offset{p1: {Offset: 9}})
	g.EndCommit(failed, false)
	if got := g.Partitions(); !reflect.DeepEqual(got, []trace.KafkaPartition{p0}) {
		t.Errorf("partitions %v", got)
	}
	if got := g.ExpiredOffsets(time.Hour, began.Add(time.Hour-1)); len(got) != 0 {
		t.Errorf("expired too early: %v", got)
	}
	if got := g.ExpiredOffsets(time.Hour, began.Add(time.Hour)); len(got) != 1 {
		t.Errorf("not expired: %v", got)
	}
	g.ForgetOffsets([]trace.KafkaPartition{p0})
	if !g.Abandoned() {
		t.Error("a group without members and offsets is kept")
	}
}

func TestOffsetsOfLiveGroupsStay(t *testing.T) {
	w, ids := stable(t, "")
	subscribed, other := trace.KafkaPartition{Topic: "t"}, trace.KafkaPartition{Topic: "u"}
	for _, p := range []trace.KafkaPartition{subscribed, other} {
		w.group.EndCommit(w.group.BeginCommit(map[trace.KafkaPartition]Offset{p: {CommittedAt: w.now}}), true)
	}
	later := w.now.Add(time.Hour)
	if got := w.group.ExpiredOffsets(time.Hour, later); !reflect.DeepEqual(got, []trace.KafkaPartition{other}) {
		t.Errorf("expired %v, want what nobody subscribes to", got)
	}
	whole, mayDelete := w.group.CheckOffsetDelete()
	if whole != nil || mayDelete("t") || !mayDelete("u") {
		t.Errorf("may delete: %v", whole)
	}
	w.wants("delete", w.group.CheckDelete(), kerr.NonEmptyGroup)
	w.pass(30 * time.Minute)
	w.is(Empty)
	_ = ids
	if got := w.group.ExpiredOffsets(time.Hour, later); !slices.Equal(got, []trace.KafkaPartition(nil)) {
		t.Errorf("expired %v: an empty group's offsets count from when it became empty", got)
	}
	w.wants("delete", w.group.CheckDelete(), nil)
}
