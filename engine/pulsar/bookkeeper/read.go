package bookkeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/bookkeeper/wire"
	"twinlog/engine/pulsar/ledger"
	"twinlog/engine/trace"
)

// ErrNoEntry: every bookie that should have the entry says that it does not.
var ErrNoEntry = errors.New("no such entry")

// Entry is one entry of a ledger.
type Entry struct {
	Entry   int64
	Payload []byte
	Length  int64 // payload bytes of the ledger up to and including this entry

	sealed []byte // as it lies on a bookie
}

// maxRangeRead bounds the entries of one read.
const maxRangeRead = 1024

// Reader reads a ledger.
type Reader struct {
	client   *Client
	id       int64
	metadata ledger.Metadata // as the ledger was opened
	sealer   *ledger.Sealer
	// copies is the metadata with the bookies that have the entries now: those that were lost were replaced meanwhile.
	copies atomic.Pointer[ledger.Metadata]
}

// OpenOptions say how a ledger is opened.
type OpenOptions struct {
	Password []byte
	// Recover closes the ledger for ever when it is still open: its writer is fenced. Without it an open ledger can be read up to the
	// last entry that is known to be acknowledged.
	Recover bool
}

// OpenLedger opens a ledger for reading. metadata.ErrNoSuchLedger, ledger.ErrUnauthorized, ledger.ErrNotEnoughBookies (recovery has to
// be tried again when more bookies are there).
func (c *Client) OpenLedger(ctx context.Context, id int64, options OpenOptions) (*Reader, error) {
	found, err := metadata.ReadLedger(c.config.Store, id)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(found.Password, options.Password) {
		return nil, fmt.Errorf("ledger %d: %w", id, ledger.ErrUnauthorized)
	}
	c.tracer.Emit(MetadataRead(id, found.Metadata))
	if options.Recover && found.State != ledger.Closed {
		if found, err = c.recover(ctx, id, found); err != nil {
			return nil, err
		}
	}
	sealer, err := ledger.NewSealer(id, found.Digest, found.Password)
	if err != nil {
		return nil, err
	}
	r := &Reader{client: c, id: id, metadata: found.Metadata, sealer: sealer}
	r.copies.Store(&found.Metadata)
	return r, nil
}

// MetadataRead is what a reader tells of the metadata that it found.
func MetadataRead(id int64, m ledger.Metadata) trace.LedgerMetadataRead {
	event := trace.LedgerMetadataRead{Ledger: id, State: "open", WriteQuorum: m.WriteQuorum, AckQuorum: m.AckQuorum, LastEntry: m.LastEntry,
		Length: m.Length, ManagedLedger: string(m.Custom["pulsar/managed-ledger"]), Cursor: string(m.Custom["pulsar/cursor"])}
	switch m.State {
	case ledger.InRecovery:
		event.State = "recovering"
	case ledger.Closed:
		event.State = "closed"
	}
	for _, segment := range m.Segments {
		event.Ensembles = append(event.Ensembles, trace.LedgerEnsemble{FirstEntry: segment.FirstEntry, Bookies: slices.Clone(segment.Bookies)})
	}
	return event
}

// ID is the ledger's id.
func (r *Reader) ID() int64 { return r.id }

// Metadata is the ledger's metadata, as it was when the ledger was opened.
func (r *Reader) Metadata() ledger.Metadata { return r.metadata }

// LastEntry is the last entry of a closed ledger, ledger.NoEntry when it is empty or not closed.
func (r *Reader) LastEntry() int64 { return r.metadata.LastEntry }

// Length is the payload bytes of a closed ledger.
func (r *Reader) Length() int64 { return r.metadata.Length }

// Read reads the entries first to last, at most 1024.
func (r *Reader) Read(ctx context.Context, first, last int64) ([]Entry, error) {
	if r.metadata.State == ledger.Closed && last > r.metadata.LastEntry {
		return nil, fmt.Errorf("ledger %d: read of entry %d beyond the last entry %d: %w", r.id, last, r.metadata.LastEntry, ErrNoEntry)
	}
	known := *r.copies.Load()
	entries, err := r.client.readEntries(ctx, r.id, known, r.sealer, first, last)
	if err == nil || ctx.Err() != nil {
		return entries, err
	}
	now, moved := r.client.copiesMoved(r.id, known)
	if !moved {
		return nil, err
	}
	r.copies.Store(&now.Metadata)
	return r.client.readEntries(ctx, r.id, now.Metadata, r.sealer, first, last)
}

// copiesMoved tells whether a ledger's entries lie on other bookies than is known, which is worth asking when they cannot be read there.
func (c *Client) copiesMoved(id int64, known ledger.Metadata) (metadata.Versioned, bool) {
	now, err := metadata.ReadLedger(c.config.Store, id)
	if err != nil {
		return now, false
	}
	same := slices.EqualFunc(now.Segments, known.Segments, func(a, b ledger.Segment) bool {
		return a.FirstEntry == b.FirstEntry && slices.Equal(a.Bookies, b.Bookies)
	})
	return now, !same
}

// entryRead is one entry on its way: bookies of its write set are asked one after the other, the next one when one fails or takes long.
type entryRead struct {
	entry   int64
	place   int      // in the answer
	bookies []string // in the order in which they are asked
	asked   int
	answers int
	absent  int
	done    bool
	failure error
}

type readAnswer struct {
	read     *entryRead
	bookie   string
	response *wire.Response
	err      error
}

// readEntries reads a range.
func (c *Client) readEntries(ctx context.Context, id int64, m ledger.Metadata, sealer *ledger.Sealer, first, last int64) ([]Entry, error) {
	if first < 0 || last < first || last-first >= maxRangeRead {
		return nil, fmt.Errorf("ledger %d: read of entries %d to %d: a range of 1 to %d is possible", id, first, last, maxRangeRead)
	}
	entries, err := c.readEach(ctx, id, m, sealer, int(last-first+1), func(i int) int64 { return first + int64(i) })
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("read ledger %d entries %d to %d: %w", id, first, last, err)
	}
	return entries, err
}

// readEach reads single entries; all are under way at the same time.
func (c *Client) readEach(ctx context.Context, id int64, m ledger.Metadata, sealer *ledger.Sealer, count int, at func(i int) int64) ([]Entry, error) {
	answers := make(chan readAnswer, count*m.WriteQuorum) // every bookie answers once: nobody waits
	reads := make([]*entryRead, count)
	for i := range reads {
		reads[i] = &entryRead{entry: at(i), place: i, bookies: c.readOrder(m, at(i))}
		c.ask(id, reads[i], answers)
	}
	entries := make([]Entry, count)
	impatience := time.NewTicker(c.config.ReadTimeout / 2)
	defer impatience.Stop()
	for open := count; open > 0; {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-impatience.C:
			for _, read := range reads {
				if !read.done && read.asked < len(read.bookies) {
					c.ask(id, read, answers)
				}
			}
		case answer := <-answers:
			finished, err := c.takeAnswer(id, answer, sealer, answers, &entries[answer.read.place])
			if err != nil {
				return nil, err
			}
			if finished {
				open--
			}
		}
	}
	return entries, nil
}

// readOrder is the write set of an entry, bookies that failed lately last.
func (c *Client) readOrder(m ledger.Metadata, entry int64) []string {
	segment := m.SegmentOf(entry)
	var good, bad []string
	for _, index := range ledger.WriteSet(entry, m.Ensemble, m.WriteQuorum) {
		if bookie := segment.Bookies[index]; c.isSuspect(bookie) {
			bad = append(bad, bookie)
		} else {
			good = append(good, bookie)
		}
	}
	return append(good, bad...)
}

// ask asks the next bookie.
func (c *Client) ask(id int64, read *entryRead, answers chan<- readAnswer) {
	bookie := read.bookies[read.asked]
	read.asked++
	request := &wire.Request{Operation: wire.ReadEntry, Ledger: id, Entry: read.entry, PreviousLAC: wire.NoLAC}
	c.send(bookie, request, c.config.ReadTimeout, func(response *wire.Response, err error) {
		answers <- readAnswer{read: read, bookie: bookie, response: response, err: err}
	})
}

// takeAnswer returns true when the entry is there; an error when no bookie is left that could have it.
func (c *Client) takeAnswer(id int64, answer readAnswer, sealer *ledger.Sealer, answers chan<- readAnswer, entry *Entry) (bool, error) {
	read := answer.read
	read.answers++
	if read.done {
		return false, nil
	}
	outcome := outcomeOf(answer.response, answer.err)
	if outcome == ledger.OK {
		header, payload, err := sealer.Unseal(answer.response.Body, read.entry)
		if err == nil {
			*entry = Entry{Entry: read.entry, Payload: payload, Length: header.Length, sealed: answer.response.Body}
			read.done = true
			return true, nil
		}
		answer.err = err
	}
	switch outcome {
	case ledger.NoSuchEntry, ledger.NoSuchLedger:
		read.absent++
	default:
		if !errors.Is(read.failure, errTimeout) { // that one may have it: the most hopeful failure is told
			read.failure = fmt.Errorf("bookie %s: %w", answer.bookie, describe(answer))
		}
	}
	if read.asked < len(read.bookies) {
		c.ask(id, read, answers)
		return false, nil
	}
	if read.answers < read.asked {
		return false, nil
	}
	if read.failure == nil {
		return false, fmt.Errorf("ledger %d entry %d: %w on any of %v", id, read.entry, ErrNoEntry, read.bookies)
	}
	return false, fmt.Errorf("read ledger %d entry %d from %v: %w (%w)", id, read.entry, read.bookies, ledger.ErrNotEnoughBookies, read.failure)
}

func describe(answer readAnswer) error {
	if answer.err != nil {
		return answer.err
	}
	return errors.New(answer.response.Status.String())
}
