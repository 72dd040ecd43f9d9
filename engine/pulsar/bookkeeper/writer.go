package bookkeeper

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/bookkeeper/wire"
	"twinlog/engine/pulsar/ledger"
	"twinlog/engine/trace"
)

// ErrClosed: the ledger was closed by its own writer.
var ErrClosed = errors.New("ledger is closed")

// CreateOptions say how a new ledger is kept.
type CreateOptions struct {
	Ensemble    int
	WriteQuorum int
	AckQuorum   int
	Digest      ledger.Digest // default CRC32C
	Password    []byte
	// Custom is kept in the metadata. Pulsar's keys "pulsar/managed-ledger" and "pulsar/cursor" also name the ledger in the trace.
	Custom map[string][]byte
}

// Writer appends to one ledger. Its goroutine owns the state.
type Writer struct {
	client    *Client
	id        int64
	masterKey []byte
	sealer    *ledger.Sealer
	recovery  bool // adds are recovery's, and ensemble changes are kept to ourselves until the ledger is closed
	mailbox   *mailbox[writerEvent]
	ended     chan struct{}

	metadata  atomic.Pointer[metadata.Versioned] // written by the owner
	confirmed atomic.Int64                       // the LAC; written by the owner

	// Of the owner alone.
	rules           *ledger.Writer
	waiting         []waitingAdd // entries LAC+1 …, in order
	length          int64        // up to the last entry added
	confirmedLength int64        // up to the LAC
	sends           []ledger.Send
	closing         []chan error
	closed          bool
}

// waitingAdd is an entry that is not acknowledged yet.
type waitingAdd struct {
	sealed []byte
	length int64 // of the ledger, this entry included
	done   func(entry int64, err error)
}

// writerEvent is one of: an add, an answer, the end of an ensemble change, the news that autorecovery moved copies, a wish to close.
type writerEvent struct {
	kind    writerEventKind
	payload []byte
	sealed  []byte // instead of a payload: recovery's
	done    func(entry int64, err error)
	send    ledger.Send
	outcome ledger.Outcome
	changed *metadata.Versioned
	err     error
	closed  chan error
}

type writerEventKind int

const (
	eventAdd writerEventKind = iota
	eventAnswer
	eventChanged
	eventMoved
	eventClose
)

// CreateLedger makes a new ledger on bookies that are available now.
func (c *Client) CreateLedger(options CreateOptions) (*Writer, error) {
	if options.Digest == 0 {
		options.Digest = ledger.CRC32C
	}
	available, suspect, pick := c.choice()
	ensemble, err := ledger.ChooseEnsemble(options.Ensemble, available, suspect, pick)
	if err != nil {
		return nil, fmt.Errorf("create a ledger: %w", err)
	}
	m := ledger.Metadata{
		Ensemble: options.Ensemble, WriteQuorum: options.WriteQuorum, AckQuorum: options.AckQuorum,
		State: ledger.Open, LastEntry: ledger.NoEntry, Digest: options.Digest, Password: options.Password, Custom: options.Custom,
		Created: time.Now().Truncate(time.Millisecond), Segments: []ledger.Segment{{FirstEntry: 0, Bookies: ensemble}},
	}
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("create a ledger: %w", err)
	}
	id, err := metadata.NewLedgerID(c.config.Store)
	if err != nil {
		return nil, err
	}
	created, err := metadata.CreateLedger(c.config.Store, id, m)
	if err != nil {
		return nil, err
	}
	w, err := c.newWriter(id, created, ledger.NoEntry, 0, false)
	if err != nil {
		return nil, err
	}
	c.tracer.Emit(trace.LedgerOpened{
		Ledger: id, Ensemble: ensemble, WriteQuorum: m.WriteQuorum, AckQuorum: m.AckQuorum,
		ManagedLedger: string(m.Custom["pulsar/managed-ledger"]), Cursor: string(m.Custom["pulsar/cursor"]),
	})
	return w, nil
}

func (c *Client) newWriter(id int64, m metadata.Versioned, lac, length int64, recovery bool) (*Writer, error) {
	sealer, err := ledger.NewSealer(id, m.Digest, m.Password)
	if err != nil {
		return nil, err
	}
	w := &Writer{
		client: c, id: id, masterKey: ledger.MasterKey(m.Password), sealer: sealer, recovery: recovery,
		mailbox: newMailbox[writerEvent](), ended: make(chan struct{}), rules: ledger.NewWriter(m.Metadata, lac),
		length: length, confirmedLength: length,
	}
	w.metadata.Store(&m)
	w.confirmed.Store(lac)
	if !c.start(w.run) {
		return nil, errStopped
	}
	return w, nil
}

// ID is the ledger's id.
func (w *Writer) ID() int64 { return w.id }

// Metadata is the ledger's metadata as this writer knows it.
func (w *Writer) Metadata() ledger.Metadata { return w.metadata.Load().Metadata }

// LastAddConfirmed is the last entry that is acknowledged.
func (w *Writer) LastAddConfirmed() int64 { return w.confirmed.Load() }

// Append adds an entry and returns at once. Done is called once, in the order of the calls, on the writer's goroutine (by Append itself
// after the writer has ended); it must not wait. The payload must not change until then. How many entries may wait is the caller's business.
//
// After the first error nothing more is acknowledged: ledger.ErrFenced means that somebody else recovers the ledger,
// ledger.ErrNotEnoughBookies that a failed bookie could not be replaced, ErrClosed that Close was called. What was not acknowledged may
// or may not be in the ledger until Close decides.
func (w *Writer) Append(payload []byte, done func(entry int64, err error)) {
	if !w.mailbox.post(writerEvent{kind: eventAdd, payload: payload, done: done}) {
		done(ledger.NoEntry, fmt.Errorf("ledger %d: %w", w.id, ErrClosed))
	}
}

// appendSealed adds an entry that recovery found, as it is. It must be the next one.
func (w *Writer) appendSealed(sealed []byte, done func(entry int64, err error)) {
	if !w.mailbox.post(writerEvent{kind: eventAdd, sealed: sealed, done: done}) {
		done(ledger.NoEntry, fmt.Errorf("ledger %d: %w", w.id, ErrClosed))
	}
}

// Read reads entries up to the last add confirmed.
func (w *Writer) Read(ctx context.Context, first, last int64) ([]Entry, error) {
	if last > w.LastAddConfirmed() {
		return nil, fmt.Errorf("ledger %d: read of entry %d beyond the last add confirmed %d", w.id, last, w.LastAddConfirmed())
	}
	known := w.metadata.Load().Metadata
	entries, err := w.client.readEntries(ctx, w.id, known, w.sealer, first, last)
	if err == nil || ctx.Err() != nil {
		return entries, err
	}
	now, moved := w.client.copiesMoved(w.id, known)
	if !moved {
		return nil, err
	}
	w.mailbox.post(writerEvent{kind: eventMoved, changed: &now})
	return w.client.readEntries(ctx, w.id, now.Metadata, w.sealer, first, last)
}

// Close waits for the adds that are under way and closes the ledger at the last one that is acknowledged. When the writer has failed
// it closes at the last acknowledged entry at once, so that what was not acknowledged is not in the ledger. It returns
// ledger.ErrFenced when somebody else has closed the ledger elsewhere or is recovering it.
func (w *Writer) Close(ctx context.Context) error {
	closed := make(chan error, 1)
	if !w.mailbox.post(writerEvent{kind: eventClose, closed: closed}) {
		return fmt.Errorf("close ledger %d: %w", w.id, ErrClosed)
	}
	select {
	case err := <-closed:
		return err
	case <-w.ended:
		return w.endError(closed)
	case <-ctx.Done():
		return fmt.Errorf("close ledger %d: %w", w.id, ctx.Err())
	}
}

func (w *Writer) endError(closed chan error) error {
	select {
	case err := <-closed:
		return err
	default:
		return fmt.Errorf("close ledger %d: %w", w.id, errStopped)
	}
}

// run owns the writer until it is closed or the client stops.
func (w *Writer) run() {
	defer close(w.ended)
	var spare []writerEvent
	for !w.closed {
		select {
		case <-w.client.ctx.Done():
			w.rules.Stop(errStopped)
			w.settle()
			w.closed = true
			continue
		case <-w.mailbox.filled:
		}
		events := w.mailbox.takeAll(spare)
		for i := range events {
			w.take(&events[i])
		}
		clear(events)
		spare = events
		w.settle()
	}
	for _, event := range w.mailbox.close() {
		switch event.kind {
		case eventAdd:
			event.done(ledger.NoEntry, w.rules.Err())
		case eventClose:
			event.closed <- fmt.Errorf("ledger %d: %w", w.id, ErrClosed)
		}
	}
}

func (w *Writer) take(event *writerEvent) {
	switch event.kind {
	case eventAdd:
		w.add(event.payload, event.sealed, event.done)
	case eventAnswer:
		w.change(w.rules.Answer(event.send, event.outcome))
	case eventChanged:
		w.changedEnsemble(event.changed, event.err)
	case eventMoved:
		w.copiesMoved(event.changed)
	case eventClose:
		w.closing = append(w.closing, event.closed)
	}
}

func (w *Writer) add(payload, sealed []byte, done func(int64, error)) {
	if err := w.rules.Err(); err != nil {
		done(ledger.NoEntry, err)
		return
	}
	if len(w.closing) > 0 {
		done(ledger.NoEntry, fmt.Errorf("ledger %d: %w", w.id, ErrClosed))
		return
	}
	var entry int64
	entry, w.sends = w.rules.Add(w.sends[:0])
	w.length += int64(len(payload))
	if sealed == nil {
		sealed = w.sealer.Seal(entry, w.rules.LastAddConfirmed(), w.length, payload)
	}
	w.waiting = append(w.waiting, waitingAdd{sealed: sealed, length: w.length, done: done})
	w.sendAll(w.sends)
}

func (w *Writer) sendAll(sends []ledger.Send) {
	for _, send := range sends {
		sealed := w.waiting[send.Entry-w.confirmed.Load()-1].sealed
		request := &wire.Request{
			Operation: wire.AddEntry, Ledger: w.id, Entry: send.Entry, MasterKey: w.masterKey, Body: sealed, Recovery: w.recovery,
			PreviousLAC: wire.NoLAC,
		}
		w.client.send(send.Bookie, request, w.client.config.AddTimeout, func(response *wire.Response, err error) {
			w.mailbox.post(writerEvent{kind: eventAnswer, send: send, outcome: outcomeOf(response, err), err: err})
		})
	}
}

// settle tells the callers whose entries are acknowledged, or that the writer has failed, and closes when that is wished and possible.
func (w *Writer) settle() {
	if done := w.rules.LastAddConfirmed() - w.confirmed.Load(); done > 0 {
		first := w.confirmed.Load() + 1
		confirmed := w.waiting[:done]
		w.waiting = w.waiting[done:]
		w.confirmedLength = confirmed[done-1].length
		w.confirmed.Store(w.rules.LastAddConfirmed())
		if !w.recovery {
			w.client.tracer.Emit(trace.LastAddConfirmedAdvanced{Ledger: w.id, LastAddConfirmed: w.rules.LastAddConfirmed()})
		}
		for i := range confirmed {
			confirmed[i].done(first+int64(i), nil)
			confirmed[i] = waitingAdd{}
		}
	}
	if err := w.rules.Err(); err != nil {
		failed := w.waiting
		w.waiting = nil
		for _, add := range failed {
			add.done(ledger.NoEntry, err)
		}
	}
	if len(w.closing) > 0 && len(w.waiting) == 0 && !w.rules.Changing() || len(w.closing) > 0 && w.rules.Err() != nil {
		err := w.closeLedger()
		for _, closed := range w.closing {
			closed <- err
		}
		w.closed = true
	}
}

// closeLedger decides the last entry in the metadata. The caller of a recovery's writer does that itself.
func (w *Writer) closeLedger() error {
	err := w.rules.Err()
	w.rules.Stop(fmt.Errorf("ledger %d: %w", w.id, ErrClosed))
	if w.recovery || errors.Is(err, errStopped) {
		return err
	}
	closed, err := w.client.closeLedger(w.id, *w.metadata.Load(), w.confirmed.Load(), w.confirmedLength)
	if err != nil {
		return err
	}
	w.metadata.Store(&closed)
	w.client.tracer.Emit(trace.LedgerClosed{Ledger: w.id, LastEntry: closed.LastEntry, Length: closed.Length})
	return nil
}
