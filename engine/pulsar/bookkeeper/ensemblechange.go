package bookkeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/ledger"
	"twinlog/engine/trace"
)

const (
	metadataAttempts = 5
	metadataRetry    = 200 * time.Millisecond
)

// change begins an ensemble change: other bookies are chosen and the metadata is written on a goroutine of its own; the result comes
// back as an event.
func (w *Writer) change(change *ledger.Change) {
	if change == nil {
		return
	}
	current := *w.metadata.Load()
	started := w.client.start(func() {
		changed, err := w.client.changeEnsemble(w.client.ctx, w.id, current, *change, w.recovery)
		event := writerEvent{kind: eventChanged, err: err}
		if err == nil {
			event.changed = &changed
		}
		w.mailbox.post(event)
	})
	if !started {
		w.rules.Stop(errStopped)
	}
}

// changedEnsemble takes the result of a change.
func (w *Writer) changedEnsemble(changed *metadata.Versioned, err error) {
	if err != nil {
		w.client.logger.Warn("ledger cannot change its ensemble", "ledger", w.id, "error", err)
		w.rules.Stop(err)
		return
	}
	old := w.metadata.Load().CurrentSegment().Bookies
	w.metadata.Store(changed)
	segment := changed.CurrentSegment()
	if !w.recovery {
		w.client.tracer.Emit(trace.LedgerEnsembleChanged{
			Ledger: w.id, FirstEntry: segment.FirstEntry, Ensemble: segment.Bookies,
			Replaced: slices.DeleteFunc(slices.Clone(old), func(bookie string) bool { return slices.Contains(segment.Bookies, bookie) }),
		})
	}
	sends, next := w.rules.Changed(segment.Bookies, w.sends[:0])
	w.sends = sends
	w.sendAll(sends)
	w.change(next)
}

// copiesMoved takes on metadata in which older fragments are on other bookies. The fragment that is being written is this writer's own
// business: when it differs, a change of its own is under way, or the ledger is somebody else's by now, which the next answer says.
func (w *Writer) copiesMoved(now *metadata.Versioned) {
	known := w.metadata.Load()
	current, own := now.CurrentSegment(), known.CurrentSegment()
	if now.Version > known.Version && current.FirstEntry == own.FirstEntry && slices.Equal(current.Bookies, own.Bookies) {
		w.metadata.Store(now)
	}
}

// changeEnsemble chooses replacements and writes the metadata, unless it is recovery's: what recovery changes it writes when it closes.
func (c *Client) changeEnsemble(ctx context.Context, id int64, current metadata.Versioned, change ledger.Change, local bool) (metadata.Versioned, error) {
	available, suspect, pick := c.choice()
	ensemble, err := ledger.ReplaceFailed(change, available, suspect, pick)
	if err != nil {
		return metadata.Versioned{}, fmt.Errorf("ledger %d: replace bookies from entry %d on: %w", id, change.FirstEntry, err)
	}
	if local {
		current.Metadata = current.WithEnsemble(change.FirstEntry, ensemble)
		return current, nil
	}
	return c.updateMetadata(ctx, id, current, func(m ledger.Metadata) (ledger.Metadata, error) {
		if m.State != ledger.Open {
			return m, fmt.Errorf("ledger %d is %v: %w", id, m.State, ledger.ErrFenced)
		}
		return m.WithEnsemble(change.FirstEntry, ensemble), nil
	})
}

// updateMetadata writes changed metadata by compare and set. When somebody else was faster, or ZooKeeper did not say whether the write
// was done, the metadata is read again and changed again: change must give the same result when it is applied twice.
func (c *Client) updateMetadata(ctx context.Context, id int64, current metadata.Versioned, change func(ledger.Metadata) (ledger.Metadata, error)) (metadata.Versioned, error) {
	for attempt := 1; ; attempt++ {
		changed, err := change(current.Metadata)
		if err != nil {
			return metadata.Versioned{}, err
		}
		written, err := metadata.WriteLedger(c.config.Store, id, changed, current.Version)
		if err == nil {
			return written, nil
		}
		if attempt == metadataAttempts || errors.Is(err, metadata.ErrNoSuchLedger) || errors.Is(err, zk.ErrClosing) {
			return metadata.Versioned{}, err
		}
		if !errors.Is(err, metadata.ErrConflict) {
			select {
			case <-ctx.Done():
				return metadata.Versioned{}, err
			case <-time.After(metadataRetry):
			}
		}
		if read, readErr := metadata.ReadLedger(c.config.Store, id); readErr == nil {
			current = read
		}
	}
}

// closeLedger closes an open ledger at its last entry. A ledger that is already closed at the same entry is well closed.
func (c *Client) closeLedger(id int64, current metadata.Versioned, last, length int64) (metadata.Versioned, error) {
	already := errors.New("closed already")
	var found ledger.Metadata
	closed, err := c.updateMetadata(c.ctx, id, current, func(m ledger.Metadata) (ledger.Metadata, error) {
		switch {
		case m.State == ledger.Closed && m.LastEntry == last:
			found = m
			return m, already
		case m.State != ledger.Open:
			return m, fmt.Errorf("ledger %d is %v: %w", id, m.State, ledger.ErrFenced)
		}
		return m.WithClosed(last, length), nil
	})
	if errors.Is(err, already) {
		return metadata.Versioned{Metadata: found}, nil
	}
	return closed, err
}
