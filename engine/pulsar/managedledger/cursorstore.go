package managedledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/ledger"
)

const (
	// cursorLedgerEntries: a cursor's ledger is replaced after so many positions.
	cursorLedgerEntries = 50_000
	// cursorBandwidth bounds the bytes a second that one cursor writes, so that one with many gaps does not fill the bookies.
	cursorBandwidth = 8 << 20
	cursorRetry     = time.Second
)

// cursorStore is where a cursor's positions go. One goroutine at a time uses it.
type cursorStore struct {
	writer  *bookkeeper.Writer // of the cursor's ledger; nil until the first write after opening
	written int
	stored  int64 // the ledger that the znode names, -1: none
	version int32 // of the znode
}

// storeSoon is called with mu held, when there is something to store.
func (c *Cursor) storeSoon(done func(error)) {
	if done != nil {
		c.waiting = append(c.waiting, done)
		c.hurry()
	}
	c.startWriting()
}

// hurry wakes the goroutine that writes, if it waits for more changes.
func (c *Cursor) hurry() {
	select {
	case c.urgent <- struct{}{}:
	default:
	}
}

// startWriting is called with mu held.
func (c *Cursor) startWriting() {
	if c.writing == nil {
		c.writing = make(chan struct{})
		go c.writePositions(c.ledger.factory.ctx, c.writing)
	}
}

// writePositions stores the newest state until there is nothing newer.
func (c *Cursor) writePositions(ctx context.Context, ended chan struct{}) {
	defer close(ended)
	var pause time.Duration
	for {
		if !sleep(ctx, pause, nil) || !sleep(ctx, c.patience(), c.urgent) {
			c.stopWriting(fmt.Errorf("cursor %s: %w", c.name, ErrClosed))
			return
		}
		next, more := c.newest()
		if !more {
			return
		}
		size, err := c.writeState(ctx, &next)
		for _, done := range next.waiting {
			done(err)
		}
		switch {
		case errors.Is(err, ErrFenced):
			c.stopWriting(err)
			return
		case err != nil:
			c.ledger.logger.Warn("cursor cannot be stored", "managed ledger", c.ledger.name, "cursor", c.name, "error", err)
			pause = cursorRetry
			c.mu.Lock()
			c.dirty = true
			c.mu.Unlock()
		default:
			pause = time.Duration(size) * time.Second / cursorBandwidth
		}
	}
}

// patience is how long a change may wait for others that are stored with it.
func (c *Cursor) patience() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) > 0 || c.closed || !c.dirty {
		return 0
	}
	return c.ledger.factory.config.CursorFlush
}

// sleep ends early when woken; false: ctx has ended.
func sleep(ctx context.Context, pause time.Duration, woken <-chan struct{}) bool {
	if pause <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-woken:
	}
	return true
}

// nextState is what the next write stores, and who waits for it.
type nextState struct {
	acknowledged
	waiting []func(error)
	rewrite bool
}

// newest takes the state that is to be stored. No more: the goroutine has to end; the next change starts another one, and Close takes
// care of what waits then.
func (c *Cursor) newest() (next nextState, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.dirty || c.closed {
		c.writing = nil
		return nextState{}, false
	}
	next = nextState{acknowledged: c.state.clone(), waiting: c.waiting, rewrite: c.rewrite}
	c.waiting, c.dirty, c.rewrite = nil, false, false
	return next, true
}

// stopWriting gives up: the cursor is somebody else's, or the broker is stopping.
func (c *Cursor) stopWriting(err error) {
	c.mu.Lock()
	c.closed, c.writing = true, nil
	waiting := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	for _, done := range waiting {
		done(err)
	}
}

// writeState stores a state in the cursor's ledger, in a new one when there is none or it is worn out or has failed.
func (c *Cursor) writeState(ctx context.Context, next *nextState) (size int, err error) {
	value, err := proto.Marshal(next.positionInfo())
	if err != nil {
		return 0, fmt.Errorf("cursor %s: %w", c.name, err)
	}
	if c.store.writer != nil && c.store.written < cursorLedgerEntries {
		err := c.append(ctx, value)
		if err == nil && next.rewrite {
			err = c.writeZnode(cursorInfo{ledger: c.store.writer.ID(), state: next.acknowledged})
		}
		if err == nil {
			return len(value), nil
		}
		if errors.Is(err, ledger.ErrFenced) || errors.Is(err, ErrFenced) {
			return 0, fmt.Errorf("cursor %s: %w (%v)", c.name, ErrFenced, err)
		}
	}
	return len(value), c.replaceLedger(ctx, &next.acknowledged, value)
}

func (c *Cursor) append(ctx context.Context, value []byte) error {
	answer := make(chan error, 1)
	c.store.writer.Append(value, func(_ int64, err error) { answer <- err })
	select {
	case err := <-answer:
		c.store.written++
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// replaceLedger begins a new ledger with the newest position and then makes the znode name it: at any time the znode names a ledger
// with a position in it, or holds a position itself.
func (c *Cursor) replaceLedger(ctx context.Context, state *acknowledged, value []byte) error {
	writer, err := c.ledger.createLedger(c.name)
	if err != nil {
		return fmt.Errorf("cursor %s: %w: %w", c.name, ErrStorage, err)
	}
	old := c.store
	c.store.writer, c.store.written = writer, 0
	if err = c.append(ctx, value); err == nil {
		err = c.writeZnode(cursorInfo{ledger: writer.ID(), state: *state})
	}
	if err != nil {
		c.store.writer, c.store.written = old.writer, old.written
		c.ledger.discard(writer)
		return fmt.Errorf("cursor %s: %w", c.name, err)
	}
	c.forgetLedger(old)
	return nil
}

// forgetLedger closes and deletes a ledger that the znode names no more.
func (c *Cursor) forgetLedger(old cursorStore) {
	if old.writer != nil {
		c.ledger.discard(old.writer)
	}
	if old.stored >= 0 && (old.writer == nil || old.writer.ID() != old.stored) {
		if err := c.ledger.factory.deleteLedgers([]int64{old.stored}); err != nil {
			c.ledger.logger.Info("old cursor ledger could not be deleted", "ledger", old.stored, "error", err)
		}
	}
}

// writeZnode stores where the positions are, or the position itself.
func (c *Cursor) writeZnode(i cursorInfo) error {
	c.mu.Lock()
	i.properties, i.active = maps.Clone(c.properties), c.active.UnixMilli()
	c.mu.Unlock()
	value, err := i.encode()
	if err != nil {
		return err
	}
	version, err := writeValue(c.ledger.factory.config.Store, c.ledger.cursorPath(c.name), value, c.store.version)
	if err != nil {
		return err
	}
	c.store.version, c.store.stored = version, i.ledger
	c.mu.Lock()
	c.cursorID = i.ledger
	c.mu.Unlock()
	return nil
}

// close ends the cursor. With keep its position is stored: in the znode when it fits, so that the next owner needs no recovery.
func (c *Cursor) close(ctx context.Context, keep bool) error {
	c.mu.Lock()
	already := c.closed
	c.closed = true
	writing := c.writing
	c.hurry()
	c.mu.Unlock()
	if writing != nil {
		<-writing
	}
	c.mu.Lock()
	last := nextState{acknowledged: c.state.clone(), waiting: c.waiting, rewrite: c.rewrite}
	dirty := c.dirty
	c.waiting = nil
	c.mu.Unlock()
	var err error
	switch {
	case c.durable && !already:
		err = c.storeLast(ctx, &last, keep, dirty)
	case c.store.writer != nil: // it had failed: only its goroutine is left
		_ = c.store.writer.Close(ctx)
	}
	for _, done := range last.waiting {
		done(err)
	}
	return err
}

func (c *Cursor) storeLast(ctx context.Context, state *nextState, keep, dirty bool) error {
	old := c.store
	changed := dirty || old.writer != nil
	switch {
	case keep && changed && len(state.ranges) <= maxZnodeRanges && len(state.batches) <= maxZnodeRanges:
		if err := c.writeZnode(cursorInfo{ledger: -1, state: state.acknowledged}); err != nil {
			return fmt.Errorf("close cursor %s: %w", c.name, err)
		}
		c.forgetLedger(old)
		return nil
	case keep && dirty:
		if _, err := c.writeState(ctx, state); err != nil {
			return fmt.Errorf("close cursor %s: %w", c.name, err)
		}
	}
	if c.store.writer != nil {
		if err := c.store.writer.Close(ctx); err != nil && keep && !errors.Is(err, bookkeeper.ErrClosed) {
			return fmt.Errorf("close cursor %s: %w: %w", c.name, ErrStorage, err)
		}
	}
	return nil
}
