package replica

import (
	"slices"
	"testing"
)

func TestEpochsAssign(t *testing.T) {
	var e Epochs
	for _, step := range []struct {
		epoch   int32
		start   int64
		changed bool
		want    []EpochStart
	}{
		{0, 0, true, []EpochStart{{0, 0}}},
		{0, 5, false, []EpochStart{{0, 0}}}, // later batches of the same epoch
		{2, 10, true, []EpochStart{{0, 0}, {2, 10}}},
		{3, 10, true, []EpochStart{{0, 0}, {3, 10}}}, // epoch 2 wrote nothing
		{1, 20, true, []EpochStart{{0, 0}, {1, 20}}}, // contradicts epoch 3
		{4, 0, true, []EpochStart{{4, 0}}},
		{-1, 30, false, []EpochStart{{4, 0}}},
	} {
		if changed := e.Assign(step.epoch, step.start); changed != step.changed || !slices.Equal(e.Entries(), step.want) {
			t.Fatalf("Assign(%d, %d) = %v, %v; want %v, %v", step.epoch, step.start, changed, e.Entries(), step.changed, step.want)
		}
	}
}

func TestEpochsEndOf(t *testing.T) {
	e := NewEpochs([]EpochStart{{1, 10}, {3, 20}, {5, 30}})
	for _, c := range []struct {
		asked, found int32
		end          int64
	}{
		{5, 5, 40}, {3, 3, 30}, {4, 3, 30}, {2, 1, 20}, {1, 1, 20},
		{0, 0, 10}, // older than all: ends where the first begins
		{6, Undefined, Undefined}, {Undefined, Undefined, Undefined},
	} {
		if found, end := e.EndOf(c.asked, 40); found != c.found || end != c.end {
			t.Errorf("EndOf(%d) = %d, %d; want %d, %d", c.asked, found, end, c.found, c.end)
		}
	}
	var empty Epochs
	if found, end := empty.EndOf(0, 0); found != Undefined || end != Undefined {
		t.Errorf("an empty cache says %d, %d", found, end)
	}
}

func TestEpochsTruncate(t *testing.T) {
	e := NewEpochs([]EpochStart{{1, 10}, {3, 20}, {5, 30}})
	before := e.Entries()
	if !e.TruncateFromEnd(20) || !slices.Equal(e.Entries(), []EpochStart{{1, 10}}) {
		t.Errorf("cut to 20: %v", e.Entries())
	}
	if len(before) != 3 {
		t.Error("a slice that was handed out changed")
	}
	e = NewEpochs(before)
	if !e.TruncateFromStart(25) || !slices.Equal(e.Entries(), []EpochStart{{3, 25}, {5, 30}}) {
		t.Errorf("start 25: %v", e.Entries())
	}
	if e.TruncateFromStart(25) {
		t.Error("the same start twice is no change")
	}
}

// The scenario of KIP-279: a follower that has an epoch that the leader never had needs two rounds.
func TestTruncationPoint(t *testing.T) {
	leader := NewEpochs([]EpochStart{{0, 0}, {4, 10}})
	follower := NewEpochs([]EpochStart{{0, 0}, {1, 6}, {2, 8}})
	end := int64(12)
	var cuts []int64
	for range 5 {
		divergence, diverges, known := leader.Diverges(follower.Latest(), end, 15)
		if !known {
			t.Fatal("the leader cannot tell")
		}
		if !diverges {
			break
		}
		end = follower.TruncationPoint(divergence, end, 3)
		follower.TruncateFromEnd(end)
		cuts = append(cuts, end)
	}
	if !slices.Equal(cuts, []int64{6}) {
		t.Errorf("the follower cut to %v, not to 6, where epoch 0 ends in its log", cuts)
	}
	if point := follower.TruncationPoint(Divergence{Epoch: 3, End: Undefined}, 6, 3); point != 3 {
		t.Errorf("without an answer the high watermark counts, not %d", point)
	}
}
