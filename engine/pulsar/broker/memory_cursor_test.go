package broker

import (
	"context"
	"maps"
	"slices"
	"sync"

	"twinlog/engine/pulsar/managedledger"
)

// memoryCursor is guarded by its own mutex.
type memoryCursor struct {
	log     *memoryLog
	name    string
	durable bool

	mu      sync.Mutex
	marked  managedledger.Position
	deleted map[managedledger.Position]bool
	sets    map[managedledger.Position][]int64
}

func (c *memoryCursor) reset(initial managedledger.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.deleted)
	clear(c.sets)
	switch initial {
	case managedledger.Earliest:
		c.marked = c.log.First()
	case managedledger.Latest:
		c.marked = c.log.LastConfirmed()
	default:
		c.marked = c.log.Previous(initial)
	}
}

func (c *memoryCursor) Name() string  { return c.name }
func (c *memoryCursor) Durable() bool { return c.durable }

func (c *memoryCursor) MarkDeleted() managedledger.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.marked
}

func (c *memoryCursor) MarkDelete(p managedledger.Position, _ map[string]int64, done func(error)) {
	c.mu.Lock()
	if p.Compare(c.marked) > 0 {
		c.marked = p
		c.advance()
	}
	c.mu.Unlock()
	if done != nil {
		done(nil)
	}
}

func (c *memoryCursor) advance() {
	for {
		next := c.log.Next(c.marked)
		if !c.deleted[next] {
			return
		}
		delete(c.deleted, next)
		c.marked = next
	}
}

func (c *memoryCursor) Delete(positions []managedledger.Position, done func(error)) {
	c.mu.Lock()
	for _, p := range positions {
		if p.Compare(c.marked) > 0 {
			c.deleted[p] = true
		}
		delete(c.sets, p)
	}
	c.advance()
	c.mu.Unlock()
	if done != nil {
		done(nil)
	}
}

func (c *memoryCursor) DeleteBatch(p managedledger.Position, ackSet []int64, done func(error)) bool {
	c.mu.Lock()
	merged := slices.Clone(ackSet)
	left := int64(0)
	for i := range merged {
		if known, there := c.sets[p]; there && i < len(known) {
			merged[i] &= known[i]
		}
		left |= merged[i]
	}
	c.sets[p] = merged
	c.mu.Unlock()
	if left == 0 {
		c.Delete([]managedledger.Position{p}, done)
		return true
	}
	if done != nil {
		done(nil)
	}
	return false
}

func (c *memoryCursor) AckSet(p managedledger.Position) []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sets[p]
}

func (c *memoryCursor) IsDeleted(p managedledger.Position) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return p.Compare(c.marked) <= 0 || c.deleted[p]
}

func (c *memoryCursor) Read(_ context.Context, from managedledger.Position, maxEntries int, _ int64) ([]managedledger.Entry, managedledger.Position, error) {
	var found []managedledger.Entry
	next := from
	for _, entry := range c.log.all() {
		if entry.Position.Compare(from) < 0 {
			continue
		}
		if len(found) == maxEntries {
			break
		}
		if !c.IsDeleted(entry.Position) {
			found = append(found, entry)
		}
		next = managedledger.Position{Ledger: entry.Position.Ledger, Entry: entry.Position.Entry + 1}
	}
	return found, next, nil
}

func (c *memoryCursor) Backlog() int64 {
	n := int64(0)
	for _, entry := range c.log.all() {
		if !c.IsDeleted(entry.Position) {
			n++
		}
	}
	return n
}

func (c *memoryCursor) BacklogBytes() int64 {
	n := int64(0)
	for _, entry := range c.log.all() {
		if !c.IsDeleted(entry.Position) {
			n += int64(len(entry.Data))
		}
	}
	return n
}

func (c *memoryCursor) Reset(_ context.Context, p managedledger.Position) error {
	c.reset(p)
	return nil
}

func (c *memoryCursor) Skip(_ context.Context, n int64) error {
	for ; n > 0; n-- {
		c.MarkDelete(c.log.Next(c.MarkDeleted()), nil, nil)
	}
	return nil
}

func (c *memoryCursor) ClearBacklog(context.Context) error {
	c.MarkDelete(c.log.LastConfirmed(), nil, nil)
	return nil
}

func (c *memoryCursor) DeletedRanges() []managedledger.Range { return nil }

func (c *memoryCursor) DeletedAhead(most int) (ranges []managedledger.Range, entries int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range slices.SortedFunc(maps.Keys(c.deleted), managedledger.Position.Compare) {
		if p.Compare(c.marked) <= 0 {
			continue
		}
		entries++
		if last := len(ranges) - 1; last >= 0 && ranges[last].Last == (managedledger.Position{Ledger: p.Ledger, Entry: p.Entry - 1}) {
			ranges[last].Last = p
		} else if len(ranges) < most {
			ranges = append(ranges, managedledger.Range{First: p, Last: p})
		}
	}
	return ranges, entries
}

func (c *memoryCursor) CursorProperties() map[string]string { return nil }

func (c *memoryCursor) SetCursorProperties(context.Context, map[string]string) error { return nil }

func (c *memoryCursor) CursorLedger() int64 { return -1 }

func (c *memoryCursor) Close(context.Context) error { return nil }
