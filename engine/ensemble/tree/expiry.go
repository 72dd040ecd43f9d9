package tree

import (
	"maps"
	"slices"
)

// Expiry is the leader's clock of every session. Deadlines are rounded up to whole ticks, so that thousands of sessions are a few
// buckets. It counts milliseconds of the leader's own running time, not of the wall clock: while the leader stands still, nobody
// expires.
type Expiry struct {
	tickMS    int64
	nowMS     int64
	deadlines map[int64]int64
	buckets   map[int64]map[int64]struct{} // by deadline, a multiple of tickMS
}

// NewExpiry has no sessions.
func NewExpiry(tickMS int64) *Expiry {
	return &Expiry{tickMS: tickMS, deadlines: map[int64]int64{}, buckets: map[int64]map[int64]struct{}{}}
}

// Touch gives a session its full timeout from now.
func (e *Expiry) Touch(id int64, timeoutMS int32) {
	deadline := ((e.nowMS+int64(timeoutMS))/e.tickMS + 1) * e.tickMS
	if e.deadlines[id] == deadline {
		return
	}
	e.Forget(id)
	e.deadlines[id] = deadline
	if e.buckets[deadline] == nil {
		e.buckets[deadline] = map[int64]struct{}{}
	}
	e.buckets[deadline][id] = struct{}{}
}

// Forget stops a session's clock.
func (e *Expiry) Forget(id int64) {
	deadline, found := e.deadlines[id]
	if !found {
		return
	}
	delete(e.deadlines, id)
	delete(e.buckets[deadline], id)
	if len(e.buckets[deadline]) == 0 {
		delete(e.buckets, deadline)
	}
}

// Advance lets time pass and returns the sessions whose time is over, sorted, and forgets them.
func (e *Expiry) Advance(elapsedMS int64) []int64 {
	before := e.nowMS
	e.nowMS += elapsedMS
	var expired []int64
	for deadline := (before/e.tickMS + 1) * e.tickMS; deadline <= e.nowMS; deadline += e.tickMS {
		expired = append(expired, slices.Sorted(maps.Keys(e.buckets[deadline]))...)
		for id := range e.buckets[deadline] {
			delete(e.deadlines, id)
		}
		delete(e.buckets, deadline)
	}
	return expired
}
