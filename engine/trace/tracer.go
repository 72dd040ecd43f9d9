package trace

import (
	"sync"
	"sync/atomic"
	"time"
)

// Tracer records the events of one node. Emit never blocks and is safe from any goroutine; a nil Tracer discards.
//
// Memory is bounded: at most capacity records wait to be drained, and what comes then is counted instead ([RecordsDropped]). Hot
// events are folded before that; see folder.
type Tracer struct {
	*buffer
	silent atomic.Bool
}

// buffer is what all lives of a node record into.
type buffer struct {
	run  string
	node string

	mu      sync.Mutex
	seq     uint64
	pending []Record // at most limit
	dropped int64
	limit   int
	folder  folder

	frames frames // with a lock of its own
}

// NewTracer returns the tracer of one node. Capacity bounds the records that wait to be drained.
func NewTracer(run, node string, capacity int) *Tracer {
	return &Tracer{buffer: &buffer{run: run, node: node, limit: capacity}}
}

// Life returns a tracer for one life of the node, from its start to its end: it records into the same sequence until it is silenced.
func (t *Tracer) Life() *Tracer {
	if t == nil {
		return nil
	}
	return &Tracer{buffer: t.buffer}
}

// Silence discards everything from now on: a crashed node says nothing more, although its goroutines may take a moment to end.
func (t *Tracer) Silence() {
	if t != nil {
		t.silent.Store(true)
	}
}

// Node is the name of the node that the tracer records.
func (t *Tracer) Node() string {
	if t == nil {
		return ""
	}
	return t.node
}

// Run is the run that the tracer records.
func (t *Tracer) Run() string {
	if t == nil {
		return ""
	}
	return t.run
}

// Emit records an event and returns its name, so that a later event can give it as cause.
func (t *Tracer) Emit(event Event) Ref { return t.EmitCaused(Ref{}, event) }

// EmitCaused records an event that another one led to. The Ref is zero when the event was dropped.
func (t *Tracer) EmitCaused(cause Ref, event Event) Ref {
	if t == nil {
		return Ref{}
	}
	ref, _ := t.emit(cause, event)
	return ref
}

// emit also tells whether the event got a record of its own: it was neither dropped nor merged into another one.
func (t *Tracer) emit(cause Ref, event Event) (ref Ref, fresh bool) {
	hot, isHot := event.(Hot)
	kind := event.Kind()
	at := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.silent.Load() {
		return Ref{}, false
	}
	if !isHot {
		if gauge, isGauge := event.(Gauge); isGauge {
			t.folder.sealFlow(gauge.follows())
		} else {
			t.folder.seal()
		}
		ref = t.record(cause, kind, at, event)
		return ref, ref.Seq != 0
	}
	f := t.folder.flowOf(hot, kind, at)
	if f == nil {
		ref = t.record(cause, kind, at, event)
		return ref, ref.Seq != 0
	}
	if f.open {
		into := &t.pending[f.index]
		into.Data = into.Data.(Hot).Merge(event)
		return Ref{Node: t.node, Seq: into.Seq}, false
	}
	ref = t.record(cause, kind, at, event)
	if ref.Seq != 0 {
		t.folder.openAt(f, len(t.pending)-1)
	}
	return ref, ref.Seq != 0
}

// record appends to the bounded buffer, under the lock.
func (b *buffer) record(cause Ref, kind string, at time.Time, event Event) Ref {
	if len(b.pending) >= b.limit {
		b.dropped++
		return Ref{}
	}
	b.seq++
	b.pending = append(b.pending, Record{Run: b.run, Node: b.node, Seq: b.seq, At: at, Cause: cause, Kind: kind, Data: event})
	return Ref{Node: b.node, Seq: b.seq}
}

// Drain takes what was recorded since the last call, oldest first, and appends it to records.
func (t *Tracer) Drain(records []Record) []Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.folder.seal()
	records = append(records, t.pending...)
	clear(t.pending) // the events belong to the reader now
	t.pending = t.pending[:0]
	if t.dropped > 0 {
		t.seq++
		event := RecordsDropped{Count: t.dropped}
		records = append(records, Record{Run: t.run, Node: t.node, Seq: t.seq, At: time.Now(), Kind: event.Kind(), Data: event})
		t.dropped = 0
	}
	return records
}
