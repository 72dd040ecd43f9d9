package fabric

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// maxOrphans bounds the connections that a cut link keeps for their peers' sake; more are reset at once.
const maxOrphans = 1024

// link is one direction between two nodes, shared by all connections between them: they share its bandwidth too.
type link struct {
	active atomic.Bool // the rule is not the healthy one: the only thing that the fast path looks at

	mu         sync.Mutex
	rule       Link
	generation uint64        // counts the rules set
	changed    chan struct{} // closed when the next rule is set
	free       time.Time     // when the last byte so far has left, under BytesPerSecond
	orphans    []func()      // resets of connections that were closed while the link was cut
}

func newLink() *link { return &link{changed: make(chan struct{})} }

func (l *link) set(rule Link) {
	l.mu.Lock()
	l.rule = rule
	l.active.Store(rule != Link{})
	l.generation++
	close(l.changed)
	l.changed = make(chan struct{})
	l.free = time.Time{}
	var orphans []func()
	if !rule.Cut {
		orphans, l.orphans = l.orphans, nil
	}
	l.mu.Unlock()
	for _, reset := range orphans {
		reset()
	}
}

func (l *link) current() Link {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rule
}

func (l *link) watch() (Link, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rule, l.changed
}

// adopt takes over a connection that was closed or reset by its owner while the link is cut. The peer must not learn of it before the
// link heals, as no segment of a real TCP would reach it. Adopt reports whether the link is cut and has room.
func (l *link) adopt(reset func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.rule.Cut || len(l.orphans) >= maxOrphans {
		return false
	}
	l.orphans = append(l.orphans, reset)
	return true
}

// schedule says when a chunk has arrived at the other end under the current rule, and when to ask again; cut means never. A chunk keeps
// its place when it is asked about twice under the same rule.
func (l *link) schedule(c *chunk) (due time.Time, cut bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rule.Cut {
		return time.Time{}, true, l.changed
	}
	if !c.scheduled || c.generation != l.generation {
		c.scheduled, c.generation = true, l.generation
		c.due = c.arrived
		if l.rule.BytesPerSecond > 0 {
			if l.free.Before(c.arrived) {
				l.free = c.arrived
			}
			l.free = l.free.Add(time.Duration(float64(len(c.data)) / float64(l.rule.BytesPerSecond) * float64(time.Second)))
			c.due = l.free
		}
		c.due = c.due.Add(l.rule.Delay)
		if l.rule.Jitter > 0 {
			c.due = c.due.Add(rand.N(l.rule.Jitter))
		}
	}
	return c.due, false, l.changed
}

// await returns nil when the chunk has arrived, errInterrupted when one of the two channels closed first.
func (l *link) await(c *chunk, closed, expired <-chan struct{}) error {
	for {
		due, cut, changed := l.schedule(c)
		var timer *time.Timer
		var arrived <-chan time.Time
		if !cut {
			wait := time.Until(due)
			if wait <= 0 {
				return nil
			}
			timer = time.NewTimer(wait)
			arrived = timer.C
		}
		var err error
		select {
		case <-arrived:
			return nil
		case <-changed:
		case <-closed:
			err = errInterrupted
		case <-expired:
			err = errInterrupted
		}
		if timer != nil {
			timer.Stop()
		}
		if err != nil {
			return err
		}
	}
}

// awaitHandshake waits for a connection attempt to cross the link and back. It fails when done closes.
func awaitHandshake(there, back *link, done, severed <-chan struct{}) error {
	start := time.Now()
	for _, l := range []*link{there, back} {
		if l == nil {
			continue
		}
		segment := &chunk{arrived: start}
		if err := l.await(segment, done, severed); err != nil {
			return err
		}
		if segment.due.After(start) {
			start = segment.due
		}
	}
	return nil
}
