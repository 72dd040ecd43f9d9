package trace

import (
	"sync"
	"time"
)

// Tracer records the events of one node. Emit never blocks and is safe from any goroutine; a nil Tracer discards.
type Tracer struct {
	run  string
	node string

	mu      sync.Mutex
	seq     uint64
	pending []Record // bounded by capacity
	dropped int64
	limit   int
}

// NewTracer returns the tracer of one node. Capacity bounds the records that wait to be drained.
func NewTracer(run, node string, capacity int) *Tracer {
	return &Tracer{run: run, node: node, limit: capacity}
}

// Node is the name of the node that the tracer records.
func (t *Tracer) Node() string {
	if t == nil {
		return ""
	}
	return t.node
}

// Emit records an event and returns its name, so that a later event can give it as cause.
func (t *Tracer) Emit(event Event) Ref { return t.EmitCaused(Ref{}, event) }

// EmitCaused records an event that another one led to.
func (t *Tracer) EmitCaused(cause Ref, event Event) Ref {
	if t == nil {
		return Ref{}
	}
	at := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.pending) >= t.limit {
		t.dropped++
		return Ref{}
	}
	t.seq++
	t.pending = append(t.pending, Record{Run: t.run, Node: t.node, Seq: t.seq, At: at, Cause: cause, Kind: event.Kind(), Data: event})
	return Ref{Node: t.node, Seq: t.seq}
}

// Drain takes what was recorded since the last call, oldest first, and appends it to records.
func (t *Tracer) Drain(records []Record) []Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	records = append(records, t.pending...)
	t.pending = t.pending[:0]
	if t.dropped > 0 {
		t.seq++
		event := RecordsDropped{Count: t.dropped}
		records = append(records, Record{Run: t.run, Node: t.node, Seq: t.seq, At: time.Now(), Kind: event.Kind(), Data: event})
		t.dropped = 0
	}
	return records
}
