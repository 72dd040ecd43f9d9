package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"twinlog/engine/sentence"
	"twinlog/engine/trace"
	"twinlog/engine/world"
	"twinlog/visualizer/wire"
)

// ErrClosed: the hub has ended.
var ErrClosed = sentence.Error(nil, "hubEnded", "the classroom is about to end")

// Config says where the records come from and how much is kept. What is zero gets the value that is said here.
type Config struct {
	// Drain takes the records of all nodes since the last call, as cluster.Control does.
	Drain func([]trace.Record) []trace.Record
	// Interval between two drains, and so between two frames to a browser; 1/30 s, and not less.
	Interval time.Duration
	// MaxRecords and MaxBytes (packed) bound the window; 1,000,000 and 32 MiB.
	MaxRecords int
	MaxBytes   int
	// CheckpointEvery is how many records lie between two of the states that are kept for who comes late; 10,000.
	CheckpointEvery int
	// MaxNotable and MaxNotableBytes bound the notable records that are kept beyond the window; 2000 and 1 MiB.
	MaxNotable      int
	MaxNotableBytes int
	// MaxSubscribers bounds the browsers at a time; 128.
	MaxSubscribers int
	// Recorder gets every chunk of records as it is sealed, and the last one at the end; nil for none.
	Recorder Recorder
	// Seen is told of every record, in order, with its JSON; it must not keep either, and not wait. Nil: nobody is.
	Seen   func(n uint64, record *trace.Record, text []byte)
	Logger *slog.Logger
}

// Recorder keeps chunks of records beyond the window. It may be slow: what does not fit its queue is left out, and counted.
type Recorder interface {
	Record(chunk Chunk) error
}

func (c *Config) defaults() error {
	if c.Drain == nil {
		return errors.New("hub: Config.Drain is missing")
	}
	c.Interval = max(c.Interval, time.Second/30)
	c.MaxRecords = cmp.Or(c.MaxRecords, 1_000_000)
	c.MaxBytes = cmp.Or(c.MaxBytes, 32<<20)
	c.CheckpointEvery = cmp.Or(c.CheckpointEvery, 10_000)
	c.MaxNotable = cmp.Or(c.MaxNotable, 2000)
	c.MaxNotableBytes = cmp.Or(c.MaxNotableBytes, 1<<20)
	c.MaxSubscribers = cmp.Or(c.MaxSubscribers, 128)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Hub is the gathered trace.
type Hub struct {
	config  Config
	asks    chan func()
	stopped chan struct{}

	// The rest belongs to Run's goroutine.
	ordering    *ordering
	causes      *causes
	follows     *consequences
	state       *world.State
	window      *window
	notables    *notables
	at          time.Time // of the last record
	drained     []trace.Record
	ordered     []trace.Record
	subscribers map[*Subscription]struct{}
	stateText   json.RawMessage // the state's JSON as of stateN
	stateN      uint64
	recording   *recording
	checkpoints []checkpoint // oldest first
}

// causesKept is how many flows of messages are remembered, to find the sending of a message that arrives.
const causesKept = 1 << 12

// sealAfter is how far a recorder may lag behind, in time: what a crash of this process loses of the recorded run.
const sealAfter = 10 * time.Second

// New returns a hub that begins to gather when it runs.
func New(config Config) (*Hub, error) {
	if err := config.defaults(); err != nil {
		return nil, err
	}
	return &Hub{
		config: config, asks: make(chan func()), stopped: make(chan struct{}),
		ordering: newOrdering(), causes: newCauses(causesKept),
		follows: newConsequences(consequencesKept), state: world.New(), window: newWindow(config.MaxRecords, config.MaxBytes),
		notables:    newNotables(config.MaxNotable, config.MaxNotableBytes),
		subscribers: map[*Subscription]struct{}{}, recording: newRecording(config.Recorder, config.Logger),
	}, nil
}

// Run gathers until the context ends; then it takes what is left, ends every subscription and returns.
func (h *Hub) Run(ctx context.Context) error {
	defer close(h.stopped)
	recorded := make(chan struct{})
	go func() {
		defer close(recorded)
		h.recording.run()
	}()
	ticker := time.NewTicker(h.config.Interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ticker.C:
			h.gather()
		case ask := <-h.asks:
			ask()
		case <-ctx.Done():
		}
	}
	h.gather()
	h.gather() // what waited for one more drain
	if len(h.window.open) > 0 {
		h.recording.offer(h.window.seal())
	}
	for subscription := range h.subscribers {
		close(subscription.frames)
	}
	clear(h.subscribers)
	h.recording.close()
	<-recorded
	return nil
}

// gather takes what happened since the last time and sends it on as one frame.
func (h *Hub) gather() {
	until := time.Now()
	h.drained = h.config.Drain(h.drained[:0])
	h.ordering.add(h.drained)
	clear(h.drained)
	h.ordered = h.ordering.release(until, h.ordered[:0])
	if chunk, sealed := h.window.sealOld(until.Add(-sealAfter)); sealed {
		h.recording.offer(chunk)
	}
	if len(h.ordered) == 0 {
		return
	}
	texts := make([][]byte, 0, len(h.ordered))
	for i := range h.ordered {
		texts = append(texts, h.take(&h.ordered[i]))
	}
	clear(h.ordered)
	h.publish(texts)
}

// take gives a record its place and folds it in. It returns the record's JSON.
func (h *Hub) take(record *trace.Record) []byte {
	h.causes.resolve(record)
	h.follows.resolve(record)
	h.state.Apply(*record)
	text, err := json.Marshal(wire.Record{N: h.window.lastN + 1, Record: *record})
	if err != nil {
		panic(fmt.Sprintf("hub: %s holds what JSON cannot: %v", record.Kind, err)) // trace events are plain values
	}
	h.at = record.At
	if chunk, sealed := h.window.add(record.At, text); sealed {
		h.recording.offer(chunk)
	}
	h.notables.take(h.window.lastN, record, text, h.state)
	if h.config.Seen != nil {
		h.config.Seen(h.window.lastN, record, text)
	}
	h.keepCheckpoint()
	return text
}

// do runs ask in the hub's goroutine and waits for it.
func (h *Hub) do(ctx context.Context, ask func()) error {
	done := make(chan struct{})
	select {
	case h.asks <- func() { defer close(done); ask() }:
		<-done
		return nil
	case <-h.stopped:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Settle returns when everything that the nodes recorded before the call is in the state: who has just got a client's answer wants to
// see what led to it.
func (h *Hub) Settle(ctx context.Context) error {
	return h.do(ctx, func() {
		h.gather()
		h.gather() // what waited for one more drain
	})
}

// Snapshot is the state after record n, as JSON.
func (h *Hub) Snapshot(ctx context.Context) (n uint64, state json.RawMessage, err error) {
	err = h.do(ctx, func() { n, state = h.window.lastN, h.stateJSON() })
	return n, state, err
}

// Observe returns a copy of the state and the n of the last record in it.
func (h *Hub) Observe(ctx context.Context) (state *world.State, n uint64, err error) {
	err = h.do(ctx, func() { state, n = h.state.Clone(), h.window.lastN })
	return state, n, err
}

// Records returns at most limit records that follow n, as the JSON of wire.Record, and what the window holds. It fails with ErrGone
// when the first of them has left the window.
func (h *Hub) Records(ctx context.Context, n uint64, limit int) (records []json.RawMessage, bounds wire.Window, err error) {
	var wanted part
	var gone error
	if err := h.do(ctx, func() {
		bounds = h.window.bounds()
		wanted, gone = h.window.after(n, limit)
	}); err != nil {
		return nil, bounds, err
	}
	if gone != nil {
		return nil, bounds, gone
	}
	records, err = wanted.unpack()
	return records, bounds, err
}

// TraceAfter is Records for programs.
func (h *Hub) TraceAfter(ctx context.Context, n uint64, limit int) ([]wire.Record, error) {
	texts, _, err := h.Records(ctx, n, limit)
	if err != nil {
		return nil, err
	}
	records := make([]wire.Record, len(texts))
	for i, text := range texts {
		if err := json.Unmarshal(text, &records[i]); err != nil {
			return nil, fmt.Errorf("hub: reading back record %d: %w", n+1+uint64(i), err)
		}
	}
	return records, nil
}

// stateJSON is the state's JSON, made once for all who ask at the same n.
func (h *Hub) stateJSON() json.RawMessage {
	if h.stateText == nil || h.stateN != h.window.lastN {
		text, err := json.Marshal(h.state)
		if err != nil {
			panic(fmt.Sprintf("hub: the state holds what JSON cannot: %v", err))
		}
		h.stateText, h.stateN = text, h.window.lastN
	}
	return h.stateText
}
