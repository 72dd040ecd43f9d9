package ledger

import (
	"slices"
	"time"
)

// Fragment is a segment with its end: entries that lie on the same bookies.
type Fragment struct {
	FirstEntry int64
	LastEntry  int64    // not known while Open
	Bookies    []string // in striping order
	// Open: the ledger's writer, or whoever recovers the ledger, may still add to it.
	Open bool
}

// Fragments lists the fragments that have entries, and the open one.
func (m Metadata) Fragments() []Fragment {
	var fragments []Fragment
	for i, segment := range m.Segments {
		fragment := Fragment{FirstEntry: segment.FirstEntry, LastEntry: NoEntry, Bookies: segment.Bookies}
		switch {
		case i < len(m.Segments)-1:
			fragment.LastEntry = m.Segments[i+1].FirstEntry - 1
		case m.State == Closed:
			fragment.LastEntry = m.LastEntry
		default:
			fragment.Open = true
		}
		if m.State == Closed {
			fragment.LastEntry = min(fragment.LastEntry, m.LastEntry)
		}
		if fragment.Open || fragment.LastEntry >= fragment.FirstEntry {
			fragments = append(fragments, fragment)
		}
	}
	return fragments
}

// Lack is a fragment that has fewer copies than it should have.
type Lack struct {
	Fragment
	Missing []int // the places in the ensemble whose bookie is lost
}

// Lacks lists the fragments that name a lost bookie.
func (m Metadata) Lacks(lost func(bookie string) bool) []Lack {
	var lacks []Lack
	for _, fragment := range m.Fragments() {
		var missing []int
		for index, bookie := range fragment.Bookies {
			if lost(bookie) {
				missing = append(missing, index)
			}
		}
		if len(missing) > 0 {
			lacks = append(lacks, Lack{Fragment: fragment, Missing: missing})
		}
	}
	return lacks
}

// Lost names the bookies that are missing.
func (l Lack) Lost() []string {
	bookies := make([]string, len(l.Missing))
	for i, index := range l.Missing {
		bookies[i] = l.Bookies[index]
	}
	return bookies
}

// Holders lists which of the missing places should have an entry.
func (l Lack) Holders(entry int64, writeQuorum int) []int {
	set := writeSetOf(entry, len(l.Bookies), writeQuorum)
	var places []int
	for _, index := range l.Missing {
		if set.has(index) {
			places = append(places, index)
		}
	}
	return places
}

// Replace gives a closed fragment its new ensemble: every missing bookie is replaced by one that is available and not in the ensemble
// already. ErrNotEnoughBookies.
func (l Lack) Replace(available []string, suspect func(string) bool, pick func(n int) int) ([]string, error) {
	return ReplaceFailed(Change{FirstEntry: l.FirstEntry, Failed: l.Missing, Ensemble: l.Bookies}, available, suspect, pick)
}

// WithReplicated names the bookies that took the place of lost ones in the fragment that begins at first. It is false when that fragment
// is not what it was: somebody else has changed it. The ensemble of an open fragment is its writer's to change: nobody else knows which
// entries are under way to it.
func (m Metadata) WithReplicated(first int64, before, after []string) (Metadata, bool) {
	for i, segment := range m.Segments {
		if segment.FirstEntry != first {
			continue
		}
		if i == len(m.Segments)-1 && m.State != Closed {
			return m, false
		}
		if slices.Equal(segment.Bookies, after) {
			return m, true
		}
		if !slices.Equal(segment.Bookies, before) {
			return m, false
		}
		m.Segments = slices.Clone(m.Segments)
		m.Segments[i].Bookies = slices.Clone(after)
		return m, true
	}
	return m, false
}

// Grace is the time that the writer of an open ledger has to replace a lost bookie itself, as it does with the next entry that is for that
// bookie. A writer that has not done so by then is dead or has nothing to write: the ledger is fenced and closed, so that it cannot lose
// its last copies unseen. A living writer finds out with its next entry, and begins a new ledger.
type Grace struct {
	fragment Fragment
	since    time.Time
}

// Ends is when the open fragment's grace is over. Another fragment than the last time begins a new one.
func (g *Grace) Ends(open Lack, now time.Time, period time.Duration) time.Time {
	if g.since.IsZero() || g.fragment.FirstEntry != open.FirstEntry || !slices.Equal(g.fragment.Bookies, open.Bookies) {
		g.fragment, g.since = open.Fragment, now
	}
	return g.since.Add(period)
}
