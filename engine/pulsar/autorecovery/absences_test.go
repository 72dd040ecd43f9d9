package autorecovery

import (
	"slices"
	"testing"
	"time"
)

func TestAbsences(t *testing.T) {
	begun := time.UnixMilli(0)
	at := func(seconds int) time.Time { return begun.Add(time.Duration(seconds) * time.Second) }
	up := func(bookies ...string) map[string]bool {
		set := make(map[string]bool)
		for _, bookie := range bookies {
			set[bookie] = true
		}
		return set
	}
	var a absences
	for _, step := range []struct {
		now     int
		up      map[string]bool
		members []string
		lost    []string
		next    int // -1: never
	}{
		{0, up("a", "b"), []string{"a", "b", "c"}, nil, 10},            // c has been away since before
		{5, up("a"), []string{"a", "b", "c"}, nil, 10},                 // b goes
		{10, up("a"), []string{"a", "b", "c"}, []string{"c"}, 15},      //
		{12, up("a", "b"), []string{"a", "b", "c"}, []string{"c"}, -1}, // and comes back
		{13, up("b"), []string{"b", "c"}, []string{"c"}, 23},           // a goes, and is no member any more: ledgers may name it all the same
		{23, up("b"), []string{"b", "c"}, []string{"a", "c"}, -1},      //
		{24, up("a", "b", "c"), []string{"a", "b", "c"}, nil, -1},      //
		{25, up("b", "c"), []string{"a", "b", "c"}, nil, 35},           // a second absence begins anew
		{35, up("b", "c"), []string{"a", "b", "c"}, []string{"a"}, -1}, //
		{36, up("b", "c"), []string{"a", "b", "c"}, []string{"a"}, -1}, //
		{37, up("b"), []string{"a", "b", "c"}, []string{"a"}, 47},      //
		{60, up("b", "a"), []string{"a", "b", "c"}, []string{"c"}, -1}, //
		{61, up("b", "a", "c"), []string{"a", "b", "c"}, nil, -1},      //
		{62, up("b", "a", "c", "d"), []string{"a", "b", "c"}, nil, -1}, //
		{63, up("b", "a", "c"), []string{"a", "b", "c"}, nil, 73},      // d never was a member
	} {
		a.observe(step.up, step.members, at(step.now))
		lost, next := a.lost(at(step.now), 10*time.Second)
		if !slices.Equal(lost, step.lost) || step.next < 0 && !next.IsZero() || step.next >= 0 && !next.Equal(at(step.next)) {
			t.Errorf("after %d s: lost are %v, the next at %v", step.now, lost, next.Sub(begun))
		}
	}
}
