package ledger_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"twinlog/engine/pulsar/ledger"
)

func segmented(state ledger.State, last int64, segments ...ledger.Segment) ledger.Metadata {
	return ledger.Metadata{Ensemble: 3, WriteQuorum: 2, AckQuorum: 2, State: state, LastEntry: last, Segments: segments}
}

func TestLacks(t *testing.T) {
	segment := func(first int64, bookies ...string) ledger.Segment {
		return ledger.Segment{FirstEntry: first, Bookies: bookies}
	}
	type lack struct {
		first, last int64
		open        bool
		missing     []int
	}
	for name, c := range map[string]struct {
		metadata ledger.Metadata
		lost     []string
		want     []lack
	}{
		"none":               {segmented(ledger.Closed, 9, segment(0, "a", "b", "c")), []string{"d"}, nil},
		"closed":             {segmented(ledger.Closed, 9, segment(0, "a", "b", "c")), []string{"b"}, []lack{{0, 9, false, []int{1}}}},
		"two of one":         {segmented(ledger.Closed, 9, segment(0, "a", "b", "c")), []string{"c", "a"}, []lack{{0, 9, false, []int{0, 2}}}},
		"open":               {segmented(ledger.Open, -1, segment(0, "a", "b", "c")), []string{"a"}, []lack{{0, -1, true, []int{0}}}},
		"being recovered":    {segmented(ledger.InRecovery, -1, segment(0, "a", "b", "c")), []string{"a"}, []lack{{0, -1, true, []int{0}}}},
		"left by its writer": {segmented(ledger.Open, -1, segment(0, "a", "b", "c"), segment(5, "a", "d", "c")), []string{"b"}, []lack{{0, 4, false, []int{1}}}},
		"both":               {segmented(ledger.Open, -1, segment(0, "a", "b", "c"), segment(5, "a", "d", "c")), []string{"a"}, []lack{{0, 4, false, []int{0}}, {5, -1, true, []int{0}}}},
		"empty":              {segmented(ledger.Closed, -1, segment(0, "a", "b", "c")), []string{"a"}, nil},
		"empty end":          {segmented(ledger.Closed, 4, segment(0, "a", "b", "c"), segment(5, "a", "d", "c")), []string{"d", "b"}, []lack{{0, 4, false, []int{1}}}},
		"end within":         {segmented(ledger.Closed, 3, segment(0, "a", "b", "c"), segment(5, "a", "d", "c")), []string{"b"}, []lack{{0, 3, false, []int{1}}}},
	} {
		var got []lack
		for _, l := range c.metadata.Lacks(func(bookie string) bool { return slices.Contains(c.lost, bookie) }) {
			got = append(got, lack{l.FirstEntry, l.LastEntry, l.Open, l.Missing})
		}
		if !slices.EqualFunc(got, c.want, func(a, b lack) bool {
			return a.first == b.first && a.last == b.last && a.open == b.open && slices.Equal(a.missing, b.missing)
		}) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestWithReplicated(t *testing.T) {
	old, moved, tail := []string{"a", "b", "c"}, []string{"a", "d", "c"}, []string{"e", "b", "c"}
	open := segmented(ledger.Open, -1, ledger.Segment{FirstEntry: 0, Bookies: old}, ledger.Segment{FirstEntry: 5, Bookies: tail})
	changed, ok := open.WithReplicated(0, old, moved)
	if !ok || !slices.Equal(changed.Segments[0].Bookies, moved) || !slices.Equal(changed.Segments[1].Bookies, tail) || !slices.Equal(open.Segments[0].Bookies, old) {
		t.Errorf("got %+v, %v; before it was %+v", changed, ok, open)
	}
	if again, ok := changed.WithReplicated(0, old, moved); !ok || !slices.Equal(again.Segments[0].Bookies, moved) {
		t.Errorf("twice is not once: %+v, %v", again, ok)
	}
	if _, ok := changed.WithReplicated(0, old, []string{"x", "b", "c"}); ok {
		t.Error("somebody else's change was undone")
	}
	if _, ok := open.WithReplicated(5, tail, moved); ok {
		t.Error("the ensemble was taken away from a writer")
	}
	if _, ok := open.WithReplicated(3, old, moved); ok {
		t.Error("a fragment that is not there was changed")
	}
	closed := open.WithClosed(9, 90)
	if got, ok := closed.WithReplicated(5, tail, moved); !ok || !slices.Equal(got.Segments[1].Bookies, moved) {
		t.Errorf("the last fragment of a closed ledger: %+v, %v", got, ok)
	}
}

// Whatever is lost: when what Holders says is copied to what Replace says, every entry is on a write quorum of bookies that are there.
func TestReplicationBringsBackEveryCopy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		available := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		ensemble := rapid.IntRange(1, 4).Draw(t, "ensemble")
		writeQuorum := rapid.IntRange(1, ensemble).Draw(t, "write quorum")
		m := ledger.Metadata{
			Ensemble: ensemble, WriteQuorum: writeQuorum, AckQuorum: 1, State: ledger.Closed, LastEntry: rapid.Int64Range(0, 40).Draw(t, "last"),
			Segments: []ledger.Segment{{Bookies: available[:ensemble]}},
		}
		lost := rapid.SliceOfNDistinct(rapid.SampledFrom(available), 0, 4, rapid.ID).Draw(t, "lost")
		isLost := func(bookie string) bool { return slices.Contains(lost, bookie) }
		stored := map[int64][]string{}
		for entry := range m.LastEntry + 1 {
			for _, index := range ledger.WriteSet(entry, ensemble, writeQuorum) {
				stored[entry] = append(stored[entry], m.Segments[0].Bookies[index])
			}
		}
		for _, lack := range m.Lacks(isLost) {
			there := slices.DeleteFunc(slices.Clone(available), isLost)
			after, err := lack.Replace(there, func(string) bool { return false }, func(n int) int { return n - 1 })
			if err != nil {
				t.Fatal(err)
			}
			for entry := range m.LastEntry + 1 {
				for _, index := range lack.Holders(entry, writeQuorum) {
					stored[entry] = append(stored[entry], after[index])
				}
			}
			var ok bool
			if m, ok = m.WithReplicated(lack.FirstEntry, lack.Bookies, after); !ok {
				t.Fatal("the fragment is not what it was")
			}
		}
		if lacks := m.Lacks(isLost); len(lacks) > 0 {
			t.Fatalf("still lacking: %+v", lacks)
		}
		bookies := m.Segments[0].Bookies
		if sorted := slices.Compact(slices.Sorted(slices.Values(bookies))); len(sorted) != ensemble {
			t.Fatalf("a bookie is twice in %v", bookies)
		}
		for entry := range m.LastEntry + 1 {
			for _, index := range ledger.WriteSet(entry, ensemble, writeQuorum) {
				if !slices.Contains(stored[entry], bookies[index]) {
					t.Fatalf("entry %d is not on %s, only on %v", entry, bookies[index], stored[entry])
				}
			}
		}
	})
}

func TestGrace(t *testing.T) {
	begun := time.UnixMilli(0)
	at := func(seconds int) time.Time { return begun.Add(time.Duration(seconds) * time.Second) }
	first := ledger.Lack{Fragment: ledger.Fragment{FirstEntry: 3, Bookies: []string{"a", "b"}, Open: true}}
	second := ledger.Lack{Fragment: ledger.Fragment{FirstEntry: 3, Bookies: []string{"a", "c"}, Open: true}}
	var grace ledger.Grace
	for _, step := range []struct {
		lack ledger.Lack
		now  int
		want int
	}{{first, 0, 30}, {first, 20, 30}, {second, 25, 55}, {second, 50, 55}, {first, 60, 90}} {
		if got := grace.Ends(step.lack, at(step.now), 30*time.Second); !got.Equal(at(step.want)) {
			t.Errorf("at %d s: the grace ends at %v", step.now, got.Sub(begun))
		}
	}
}
