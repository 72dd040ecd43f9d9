package autorecovery

import (
	"slices"
	"time"
)

// absences knows since when bookies are away. It is a plain value with rules; the auditor owns it.
type absences struct {
	since map[string]time.Time
	up    map[string]bool
}

// observe takes the bookies that are there now. Those that were there before, and those that belong to the cluster, are away when they are
// not.
func (a *absences) observe(up map[string]bool, members []string, now time.Time) {
	if a.since == nil {
		a.since = make(map[string]time.Time)
	}
	for bookie := range a.up {
		if !up[bookie] {
			a.miss(bookie, now)
		}
	}
	a.up = up
	for _, bookie := range members {
		if !up[bookie] {
			a.miss(bookie, now)
		}
	}
	for bookie := range a.since {
		if up[bookie] {
			delete(a.since, bookie)
		}
	}
}

// miss: somebody counts on the bookie, and it is not there.
func (a *absences) miss(bookie string, now time.Time) {
	if _, known := a.since[bookie]; !known {
		a.since[bookie] = now
	}
}

// lost tells the bookies that have been away for the whole delay, sorted, and when the next one will have been: the zero time when none.
func (a *absences) lost(now time.Time, delay time.Duration) (lost []string, next time.Time) {
	for bookie, since := range a.since {
		due := since.Add(delay)
		switch {
		case !due.After(now):
			lost = append(lost, bookie)
		case next.IsZero() || due.Before(next):
			next = due
		}
	}
	slices.Sort(lost)
	return lost, next
}
