package managedledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Cursor is what a subscription has acknowledged: everything up to and including the mark-delete position, single entries after it,
// and single messages of batches.
//
// Acknowledgements count at once in memory. They are stored in the cursor's ledger, one write at a time, each holding the newest
// state; done (which may be nil) is called when a write that includes the call is on disk. Without a done the write may wait up to
// Config.CursorFlush: after a crash the messages concerned are delivered again.
type Cursor struct {
	ledger  *ManagedLedger
	name    string
	durable bool
	urgent  chan struct{} // one token: somebody waits for a write

	mu         sync.Mutex
	state      acknowledged
	properties map[string]string
	active     time.Time
	dirty      bool          // the state is newer than what was stored last
	waiting    []func(error) // callers whose change is in the next write
	writing    chan struct{} // closed when the goroutine that writes has ended; nil when there is none
	rewrite    bool          // the znode has to be written with the next position
	closed     bool
	cursorID   int64 // ledger of the positions, for Stats; -1: the znode

	store cursorStore // of the goroutine that writes
}

// Name is the subscription's name; its znode's name is url-escaped.
func (c *Cursor) Name() string { return c.name }

// Durable tells whether the cursor is stored.
func (c *Cursor) Durable() bool { return c.durable }

// MarkDeleted is the mark-delete position: it and everything before it is acknowledged.
func (c *Cursor) MarkDeleted() Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.markDelete
}

// MarkDelete acknowledges everything up to and including p (cumulative acknowledgement). Properties replace those stored with the
// position; nil keeps them. A p at or before the mark-delete position changes nothing and succeeds. ErrInvalidPosition, ErrClosed.
func (c *Cursor) MarkDelete(p Position, properties map[string]int64, done func(error)) {
	c.change(done, func() (bool, error) {
		if err := c.checkWritten(p); err != nil {
			return false, err
		}
		moved := c.state.markDeleted(p, c.ledger.Next)
		if properties != nil {
			c.state.properties = maps.Clone(properties)
		}
		return moved || properties != nil, nil
	})
}

// Delete acknowledges single entries; the mark-delete position follows when they close a gap. ErrInvalidPosition, ErrClosed.
func (c *Cursor) Delete(positions []Position, done func(error)) {
	c.change(done, func() (bool, error) {
		changed := false
		for _, p := range positions {
			if err := c.checkWritten(p); err != nil {
				return changed, err
			}
			changed = c.state.delete(p) || changed
		}
		if changed {
			c.state.advance(c.ledger.Next)
		}
		return changed, nil
	})
}

// DeleteBatch acknowledges single messages of the batch at p. AckSet is Pulsar's: bit i of word i/64 is 1 while message i is NOT
// acknowledged; it is merged by AND with what is known. Complete tells that no message of the batch is left: the entry is then deleted.
func (c *Cursor) DeleteBatch(p Position, ackSet []int64, done func(error)) (complete bool) {
	c.change(done, func() (bool, error) {
		if err := c.checkWritten(p); err != nil {
			return false, err
		}
		if c.state.has(p) {
			return false, nil
		}
		if complete = c.state.deleteBatch(p, ackSet); complete {
			c.state.delete(p)
			c.state.advance(c.ledger.Next)
		}
		return true, nil
	})
	return complete
}

// checkWritten refuses positions that no entry has yet.
func (c *Cursor) checkWritten(p Position) error {
	if last := c.ledger.LastConfirmed(); p.Entry >= 0 && p.Compare(last) > 0 {
		return fmt.Errorf("cursor %s: %v is after the last entry %v: %w", c.name, p, last, ErrInvalidPosition)
	}
	return nil
}

// change changes the state under mu and has it stored.
func (c *Cursor) change(done func(error), apply func() (changed bool, err error)) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		if done != nil {
			done(fmt.Errorf("cursor %s: %w", c.name, ErrClosed))
		}
		return
	}
	before := c.state.markDelete
	changed, err := apply()
	after := c.state.markDelete
	c.active = time.Now()
	if changed {
		c.dirty = true
	}
	wait := err == nil && c.durable && c.dirty
	if wait {
		c.storeSoon(done)
	}
	c.mu.Unlock()
	if !wait && done != nil {
		done(err)
	}
	if c.durable && before != after && c.ledger.Next(before).Ledger != c.ledger.Next(after).Ledger {
		c.ledger.requestTrim()
	}
}

// AckSet is what is still unacknowledged of the batch at p, nil when nothing of it is acknowledged singly.
func (c *Cursor) AckSet(p Position) []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.state.batches[p])
}

// IsDeleted tells whether the entry at p is acknowledged.
func (c *Cursor) IsDeleted(p Position) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.has(p)
}

// Read reads entries that are not acknowledged, from a position on, and returns the position to go on from. When all entries that
// are there are acknowledged it returns none, and next is after them.
func (c *Cursor) Read(ctx context.Context, from Position, maxEntries int, maxBytes int64) (entries []Entry, next Position, err error) {
	for {
		p, most := c.gap(from)
		read, err := c.ledger.ReadEntries(ctx, p, int(min(int64(maxEntries), most)), maxBytes)
		if err != nil || len(read) == 0 {
			return nil, p, err
		}
		next = c.ledger.Next(read[len(read)-1].Position)
		read = slices.DeleteFunc(read, func(e Entry) bool { return c.IsDeleted(e.Position) })
		if len(read) > 0 {
			return read, next, nil
		}
		from = next
	}
}

// gap finds the first position from from on that is not acknowledged, and how many entries follow at most until one that is.
func (c *Cursor) gap(from Position) (p Position, most int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if from.Compare(c.state.markDelete) <= 0 {
		from = c.ledger.Next(c.state.markDelete)
	}
	p = c.ledger.Valid(from)
	for {
		i := c.state.search(p)
		if i == len(c.state.ranges) {
			return p, maxReadEntries
		}
		r := c.state.ranges[i]
		if p.Before(r.First) {
			if r.First.Ledger == p.Ledger {
				return p, r.First.Entry - p.Entry
			}
			return p, maxReadEntries
		}
		p = c.ledger.Next(r.Last)
	}
}

// Backlog is the number of entries that are not acknowledged.
func (c *Cursor) Backlog() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(0, c.ledger.CountEntries(c.state.markDelete, c.ledger.LastConfirmed())-c.state.single)
}

// BacklogBytes estimates their size, by the average entry.
func (c *Cursor) BacklogBytes() int64 {
	stats := c.ledger.Stats()
	return c.Backlog() * stats.Bytes / max(1, stats.Entries)
}

// Reset makes p the first position that is not acknowledged (seek): Earliest, Latest or a position; acknowledgements after it are
// forgotten. It returns when that is stored.
func (c *Cursor) Reset(ctx context.Context, p Position) error {
	return c.await(ctx, func(done func(error)) {
		c.change(done, func() (bool, error) {
			c.state.reset(c.ledger.before(p))
			return true, nil
		})
	})
}

// Skip acknowledges the next n entries that are not acknowledged.
func (c *Cursor) Skip(ctx context.Context, n int64) error {
	if n <= 0 {
		return fmt.Errorf("cursor %s: skip %d entries: %w", c.name, n, ErrInvalidPosition)
	}
	return c.await(ctx, func(done func(error)) {
		c.change(done, func() (bool, error) {
			to := viewed(c.ledger, func(l ledgerList) Position { return c.state.skip(n, l) })
			return c.state.markDeleted(to, c.ledger.Next), nil
		})
	})
}

// ClearBacklog acknowledges everything that is there.
func (c *Cursor) ClearBacklog(ctx context.Context) error {
	return c.await(ctx, func(done func(error)) { c.MarkDelete(c.ledger.LastConfirmed(), nil, done) })
}

func (c *Cursor) await(ctx context.Context, begin func(done func(error))) error {
	answer := make(chan error, 1)
	begin(func(err error) { answer <- err })
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return fmt.Errorf("cursor %s: %w", c.name, ctx.Err())
	}
}

// DeletedRanges lists the entries after the mark-delete position that are acknowledged singly.
func (c *Cursor) DeletedRanges() []Range {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.state.ranges)
}

// DeletedAhead lists the first ranges of DeletedRanges, most at most, and counts the entries of all of them.
func (c *Cursor) DeletedAhead(most int) (ranges []Range, entries int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.state.ranges[:min(most, len(c.state.ranges))]), c.state.single
}

// Properties are the numbers stored with the mark-delete position.
func (c *Cursor) Properties() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.state.properties)
}

// CursorProperties are the subscription's own key-value pairs.
func (c *Cursor) CursorProperties() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.properties)
}

// LastActive is when the cursor last moved or was opened, in Unix milliseconds.
func (c *Cursor) LastActive() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.active.UnixMilli()
}

// CursorLedger is the ledger that holds the cursor's positions, -1 when the znode holds the position itself.
func (c *Cursor) CursorLedger() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cursorID
}

// before is the mark-delete position with which p is the first position to read.
func (m *ManagedLedger) before(p Position) Position {
	switch p {
	case Earliest:
		return m.First()
	case Latest:
		return m.LastConfirmed()
	}
	valid := m.Valid(p)
	return Position{Ledger: valid.Ledger, Entry: valid.Entry - 1}
}
