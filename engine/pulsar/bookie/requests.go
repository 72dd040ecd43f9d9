package bookie

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"twinlog/engine/pulsar/bookkeeper/wire"
)

// dispatch begins a request; false: the bookie or the connection is stopping.
func (c *connection) dispatch(ctx context.Context, r *wire.Request) bool {
	switch r.Operation {
	case wire.AddEntry:
		return c.addEntry(ctx, r)
	case wire.WriteLAC, wire.ForceLedger:
		return c.journaled(ctx, r, func(status wire.Status) { c.respond(r.Answer(status)) })
	case wire.ReadEntry:
		switch {
		case r.Fence:
			return c.fence(ctx, r)
		case r.PreviousLAC != wire.NoLAC:
			return c.longPoll(ctx, r)
		}
		return c.reads.put(r, 1, ctx.Done())
	case wire.ReadLAC, wire.GetBookieInfo:
		return c.reads.put(r, 1, ctx.Done())
	case wire.Auth:
		// There is nothing to prove; the answer names the plugin that was asked for, so that the client goes on.
		answer := r.Answer(wire.OK)
		answer.AuthPlugin = r.AuthPlugin
		c.respond(answer)
		return true
	}
	c.respond(r.Answer(wire.BadRequest))
	return true
}

// journaled submits an operation to the journal.
func (c *connection) journaled(ctx context.Context, r *wire.Request, done func(wire.Status)) bool {
	if r.Operation != wire.ForceLedger && len(r.MasterKey) != wire.MasterKeySize {
		c.respond(r.Answer(wire.Unauthorized))
		return true
	}
	return c.bookie.journal.submit(operation{request: r, done: done}, ctx.Done())
}

// addEntry stores an entry. The ids in the entry itself must be the request's: they are what is kept.
func (c *connection) addEntry(ctx context.Context, r *wire.Request) bool {
	if len(r.Body) < 16 || r.Entry < 0 || r.Ledger < 0 || int64(binary.BigEndian.Uint64(r.Body)) != r.Ledger ||
		int64(binary.BigEndian.Uint64(r.Body[8:])) != r.Entry {
		c.respond(r.Answer(wire.BadRequest))
		return true
	}
	return c.journaled(ctx, r, func(status wire.Status) {
		r.Body = nil // the journal has it
		c.respond(r.Answer(status))
	})
}

// fence makes the fence durable, and only then reads.
func (c *connection) fence(ctx context.Context, r *wire.Request) bool {
	return c.journaled(ctx, r, func(status wire.Status) {
		if status != wire.OK {
			c.respond(r.Answer(status))
			return
		}
		c.reads.push(r, 1)
	})
}

// longPoll waits until the ledger's LAC is beyond the one that the client has, then reads.
func (c *connection) longPoll(ctx context.Context, r *wire.Request) bool {
	select {
	case c.polls <- struct{}{}:
	default:
		c.respond(r.Answer(wire.TooManyRequests))
		return true
	}
	c.waiting.Go(func() {
		defer func() { <-c.polls }()
		limit := min(max(time.Duration(r.TimeoutMS)*time.Millisecond, 0), time.Minute)
		wait, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		c.bookie.storage.awaitLAC(wait, r.Ledger, r.PreviousLAC)
		c.reads.put(r, 1, ctx.Done())
	})
	return true
}

// doReads answers what needs the storage, in order.
func (c *connection) doReads(ctx context.Context) error {
	var spare []*wire.Request
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.reads.filled:
		}
		requests := c.reads.takeAll(spare)
		for _, r := range requests {
			response := c.read(r)
			c.reads.release(1)
			if !c.responses.put(response, int64(len(response.Body))+64, ctx.Done()) {
				return nil
			}
		}
		clear(requests)
		spare = requests
	}
}

func (c *connection) read(r *wire.Request) *wire.Response {
	switch r.Operation {
	case wire.ReadLAC:
		return c.readLAC(r)
	case wire.GetBookieInfo:
		answer := r.Answer(wire.OK)
		answer.TotalDisk = c.bookie.config.DiskBytes
		if !c.bookie.space.isFull() {
			answer.FreeDisk = max(0, c.bookie.config.DiskBytes-c.bookie.storage.size())
		}
		return answer
	}
	return c.readEntry(r)
}

// readEntry reads an entry, or the ledger's last one. The difference between "no such ledger" and "no such entry" matters: see
// ledger.Recovery.
func (c *connection) readEntry(r *wire.Request) *wire.Response {
	storage := c.bookie.storage
	answer := r.Answer(wire.OK)
	entry := r.Entry
	var err error
	if entry == wire.LastEntry {
		entry, err = storage.lastEntry(r.Ledger)
	}
	if err == nil {
		answer.Body, err = storage.read(r.Ledger, entry)
	}
	if entry < 0 && err == nil {
		answer.Body, err = nil, errNoEntry // records about the ledger are not for readers
	}
	if r.Piggyback || r.PreviousLAC != wire.NoLAC {
		lac, lacErr := storage.lastAddConfirmed(r.Ledger)
		if answer.MaxLAC = lac; err == nil {
			err = lacErr
		}
	}
	answer.Status = c.status(r, err)
	return answer
}

func (c *connection) readLAC(r *wire.Request) *wire.Response {
	storage := c.bookie.storage
	answer := r.Answer(wire.OK)
	if explicit, err := storage.read(r.Ledger, explicitLACEntry); err == nil {
		answer.ExplicitLAC = explicit[16:]
	}
	last, err := storage.lastEntry(r.Ledger)
	if err == nil {
		answer.Body, err = storage.read(r.Ledger, last)
	}
	if errors.Is(err, errNoEntry) && answer.ExplicitLAC != nil {
		err = nil
	}
	answer.Status = c.status(r, err)
	return answer
}

func (c *connection) status(r *wire.Request, err error) wire.Status {
	switch {
	case err == nil:
		return wire.OK
	case errors.Is(err, errNoLedger):
		return wire.NoLedger
	case errors.Is(err, errNoEntry):
		return wire.NoEntry
	}
	c.bookie.damage.cannotRead(r.Ledger, r.Entry, err)
	return wire.IOError
}
