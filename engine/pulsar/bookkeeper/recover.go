package bookkeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/bookkeeper/wire"
	"twinlog/engine/pulsar/ledger"
	"twinlog/engine/trace"
)

// recover closes a ledger whose writer is dead, or believed to be. Several clients may do it at once; the first to write the closed
// metadata decides, and the others take what it decided.
func (c *Client) recover(ctx context.Context, id int64, found metadata.Versioned) (metadata.Versioned, error) {
	c.tracer.Emit(trace.LedgerRecoveryStarted{Ledger: id})
	errClosed := errors.New("closed meanwhile")
	inRecovery, err := c.updateMetadata(ctx, id, found, func(m ledger.Metadata) (ledger.Metadata, error) {
		if m.State == ledger.Closed {
			found.Metadata = m
			return m, errClosed
		}
		// Written even when it is in recovery already: it takes the version away from whoever recovers at the same time.
		return m.WithState(ledger.InRecovery), nil
	})
	if errors.Is(err, errClosed) {
		return found, nil
	}
	if err != nil {
		return metadata.Versioned{}, fmt.Errorf("recover ledger %d: %w", id, err)
	}
	last, length, segments, err := c.findEnd(ctx, id, inRecovery)
	if err != nil {
		return metadata.Versioned{}, fmt.Errorf("recover ledger %d: %w", id, err)
	}
	begin := inRecovery.CurrentSegment().FirstEntry
	closed, err := c.updateMetadata(ctx, id, inRecovery, func(m ledger.Metadata) (ledger.Metadata, error) {
		if m.State == ledger.Closed {
			found.Metadata = m
			return m, errClosed
		}
		// What lies before the fragment that was recovered may have been copied to other bookies meanwhile, and is not ours.
		m.Segments = append(segmentsBefore(m, begin), segmentsFrom(segments, begin)...)
		return m.WithClosed(last, length), nil
	})
	if errors.Is(err, errClosed) {
		return found, nil
	}
	if err != nil {
		return metadata.Versioned{}, fmt.Errorf("close ledger %d after recovery: %w", id, err)
	}
	c.tellChanges(id, inRecovery.Metadata, closed.Metadata)
	c.tracer.Emit(trace.LedgerClosed{Ledger: id, LastEntry: closed.LastEntry, Length: closed.Length, Recovered: true})
	return closed, nil
}

// tellChanges says which bookies the recovery has replaced. It kept that to itself until the metadata was written.
func (c *Client) tellChanges(id int64, before, after ledger.Metadata) {
	for _, segment := range after.Segments {
		old := before.SegmentOf(segment.FirstEntry)
		if segment.FirstEntry < before.CurrentSegment().FirstEntry || slices.Equal(old.Bookies, segment.Bookies) {
			continue
		}
		c.tracer.Emit(trace.LedgerEnsembleChanged{
			Ledger: id, FirstEntry: segment.FirstEntry, Ensemble: segment.Bookies,
			Replaced: slices.DeleteFunc(slices.Clone(old.Bookies), func(bookie string) bool { return slices.Contains(segment.Bookies, bookie) }),
		})
	}
}

func segmentsBefore(m ledger.Metadata, first int64) []ledger.Segment {
	return slices.DeleteFunc(slices.Clone(m.Segments), func(one ledger.Segment) bool { return one.FirstEntry >= first })
}

func segmentsFrom(segments []ledger.Segment, first int64) []ledger.Segment {
	return slices.DeleteFunc(slices.Clone(segments), func(one ledger.Segment) bool { return one.FirstEntry < first })
}

// recoveryEvent is an answer to one of recovery's reads, or the end of one of its adds.
type recoveryEvent struct {
	read     ledger.Read
	response *wire.Response
	err      error
	added    bool
}

// recovering is a recovery under way; the goroutine that called OpenLedger owns it.
type recovering struct {
	client    *Client
	id        int64
	metadata  metadata.Versioned
	rules     *ledger.Recovery
	sealer    *ledger.Sealer
	masterKey []byte
	mailbox   *mailbox[recoveryEvent]

	writer   *Writer // writes back what was found; there from the end of the fencing on
	last     int64   // last entry that was found
	found    int     // entries written back
	returned int     // of them, done
	length   int64
}

// findEnd finds the last entry and makes sure that everything up to it has its copies.
func (c *Client) findEnd(ctx context.Context, id int64, m metadata.Versioned) (last, length int64, segments []ledger.Segment, err error) {
	sealer, err := ledger.NewSealer(id, m.Digest, m.Password)
	if err != nil {
		return 0, 0, nil, err
	}
	rules, reads := ledger.NewRecovery(m.Metadata)
	r := &recovering{
		client: c, id: id, metadata: m, rules: rules, sealer: sealer, masterKey: ledger.MasterKey(m.Password), mailbox: newMailbox[recoveryEvent](),
	}
	defer func() {
		if r.writer != nil {
			_ = r.writer.Close(context.WithoutCancel(ctx)) // it only ends its goroutine
		}
	}()
	r.sendAll(reads)
	var spare []recoveryEvent
	for !r.finished() {
		select {
		case <-ctx.Done():
			return 0, 0, nil, ctx.Err()
		case <-c.ctx.Done():
			return 0, 0, nil, errStopped
		case <-r.mailbox.filled:
		}
		events := r.mailbox.takeAll(spare)
		for _, event := range events {
			if err := r.take(event); err != nil {
				return 0, 0, nil, err
			}
		}
		spare = events
		if err := r.writeBack(); err != nil {
			return 0, 0, nil, err
		}
	}
	if err := r.findLength(ctx); err != nil {
		return 0, 0, nil, err
	}
	return r.last, r.length, r.writer.Metadata().Segments, nil
}

func (r *recovering) finished() bool { return r.rules.Ended() && r.returned == r.found }

func (r *recovering) sendAll(reads []ledger.Read) {
	for _, read := range reads {
		request := &wire.Request{
			Operation: wire.ReadEntry, Ledger: r.id, Entry: read.Entry, Fence: true, MasterKey: r.masterKey, HighPriority: true,
			PreviousLAC: wire.NoLAC,
		}
		r.client.send(read.Bookie, request, r.client.config.ReadTimeout, func(response *wire.Response, err error) {
			r.mailbox.post(recoveryEvent{read: read, response: response, err: err})
		})
	}
}

func (r *recovering) take(event recoveryEvent) error {
	if event.added {
		r.returned++
		return event.err
	}
	outcome := outcomeOf(event.response, event.err)
	if event.read.Entry != ledger.NoEntry {
		if outcome == ledger.OK {
			if _, _, err := r.sealer.Unseal(event.response.Body, event.read.Entry); err != nil {
				outcome = ledger.Failed // a damaged entry is not proof that there is none
			}
		}
		var sealed []byte
		if outcome == ledger.OK {
			sealed = event.response.Body
		}
		r.rules.EntryAnswer(event.read, outcome, sealed)
		return r.rules.Err()
	}
	var header ledger.EntryHeader
	if outcome == ledger.OK {
		var err error
		if header, err = r.lastHeader(event.response.Body); err != nil {
			outcome = ledger.Failed
		}
	}
	r.sendAll(r.rules.FenceAnswer(event.read, outcome, header))
	return r.rules.Err()
}

// lastHeader is the header of a bookie's last entry, whichever that is.
func (r *recovering) lastHeader(sealed []byte) (ledger.EntryHeader, error) {
	header, err := ledger.ParseEntryHeader(sealed)
	if err == nil {
		header, _, err = r.sealer.Unseal(sealed, header.Entry)
	}
	return header, err
}

// writeBack adds what was found, in order.
func (r *recovering) writeBack() error {
	if r.rules.Fencing() {
		return nil
	}
	if r.writer == nil {
		r.last = r.rules.LastAddConfirmed()
		writer, err := r.client.newWriter(r.id, r.metadata, r.last, 0, true)
		if err != nil {
			return err
		}
		r.writer = writer
	}
	for {
		entry, sealed, reads := r.rules.Found()
		r.sendAll(reads)
		if entry == ledger.NoEntry {
			return r.rules.Err()
		}
		header, _, err := r.sealer.Unseal(sealed, entry)
		if err != nil {
			return err
		}
		r.last, r.length = entry, header.Length
		r.found++
		r.writer.appendSealed(sealed, func(_ int64, err error) {
			r.mailbox.post(recoveryEvent{added: true, err: err})
		})
	}
}

// findLength: when nothing was found after the LAC, the LAC's own entry knows the ledger's length.
func (r *recovering) findLength(ctx context.Context) error {
	if r.found > 0 || r.last == ledger.NoEntry {
		return nil
	}
	entries, err := r.client.readEntries(ctx, r.id, r.metadata.Metadata, r.sealer, r.last, r.last)
	if err != nil {
		return fmt.Errorf("read the last entry: %w", err)
	}
	r.length = entries[0].Length
	return nil
}
