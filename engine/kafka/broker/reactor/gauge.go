package reactor

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"twinlog/engine/trace"
)

const (
	// measureEvery is how often the reactor is looked at for the trace.
	measureEvery = 100 * time.Millisecond
	// listedAfter is how long a request waits for replicas before it is listed by itself: every acks=all request waits a little.
	listedAfter = 100 * time.Millisecond
	// listedWaits bounds the waits in a record, and lookedAt those that are looked at for it.
	listedWaits = 12
	lookedAt    = 48
)

// gauge counts what the handlers and the queue are at. It costs a request a few atomic additions.
type gauge struct {
	busy      atomic.Int32 // handlers at work
	busyPeak  atomic.Int32 // most at once since it was measured
	queuePeak atomic.Int32
}

// queued notes how long the queue was when the request had been put in. A handler may have taken it out again: then it did not wait.
func (g *gauge) queued(request *Request, length int) {
	if !request.common && length > 0 {
		raise(&g.queuePeak, int32(length))
	}
}

func (g *gauge) begin(request *Request) {
	if busy := g.busy.Add(1); !request.common {
		raise(&g.busyPeak, busy)
	}
}

func (g *gauge) end() { g.busy.Add(-1) }

func raise(peak *atomic.Int32, to int32) {
	for {
		now := peak.Load()
		if to <= now || peak.CompareAndSwap(now, to) {
			return
		}
	}
}

// measure tells the trace how busy the reactor is, whenever that has changed, until the server stops.
func (s *Server) measure() {
	if s.tracer == nil {
		return
	}
	ticker := time.NewTicker(measureEvery)
	defer ticker.Stop()
	var told trace.KafkaReactorMeasured
	var kept lingering
	for {
		select {
		case <-s.stopping:
			return
		case now := <-ticker.C:
			measured := s.measured(now)
			measured.Waits = kept.with(measured.Waits)
			if !measured.Equal(told) {
				s.tracer.Emit(measured)
				told = measured
			}
		}
	}
}

func (s *Server) measured(now time.Time) trace.KafkaReactorMeasured {
	measured := trace.KafkaReactorMeasured{
		Connections: int(s.connections.Load()), QueueLimit: s.config.QueuedRequests, Handlers: s.config.Handlers,
		Queued: max(len(s.queue), int(s.gauge.queuePeak.Swap(0))),
		Busy:   int(max(s.gauge.busy.Load(), s.gauge.busyPeak.Swap(0))),
	}
	if s.config.Purgatory != nil {
		var peaks [waitKinds]int
		peaks, measured.Waits = s.config.Purgatory.measured(now)
		measured.Produces, measured.Fetches = peaks[WaitsForReplicas], peaks[WaitsForRecords]
		measured.ReplicaFetch, measured.Others = peaks[WaitsToReplicate], peaks[WaitsForCluster]
	}
	return measured
}

// measured tells the most operations of each kind that waited at once since the last call, and the longest waits.
func (p *Purgatory) measured(now time.Time) (peaks [waitKinds]int, waits []trace.KafkaWait) {
	p.mu.Lock()
	peaks, p.peaks = p.peaks, p.kinds
	oldest := make([]*delayed, 0, lookedAt)
	for at := p.oldest.Front(); at != nil && len(oldest) < lookedAt; at = at.Next() {
		oldest = append(oldest, at.Value.(*delayed))
	}
	p.mu.Unlock()
	for _, d := range oldest { // outside the lock: an operation looks at partitions
		kind := d.operation.Waits()
		if kind == WaitsForReplicas && now.Sub(d.since) < listedAfter {
			continue
		}
		wait := d.operation.Describe()
		if kind == WaitsForReplicas || kind == WaitsForCluster {
			wait.Since = d.since
		}
		if waits = append(waits, wait); len(waits) == listedWaits {
			break
		}
	}
	slices.SortStableFunc(waits, byBeginning)
	return peaks, waits
}

// byBeginning puts long waits first, and fetches, of which the beginning says nothing, in the order of their clients.
func byBeginning(a, b trace.KafkaWait) int {
	switch aLong, bLong := !a.Since.IsZero(), !b.Since.IsZero(); {
	case aLong && bLong:
		return a.Since.Compare(b.Since)
	case aLong:
		return -1
	case bLong:
		return 1
	case a.Client != b.Client:
		return strings.Compare(a.Client, b.Client)
	}
	return strings.Compare(a.Partition, b.Partition)
}

// lingering keeps a fetch listed for one more measurement: a client that asks again at once would else come and go in the picture,
// depending on when it is looked at.
type lingering struct{ before []trace.KafkaWait }

func (l *lingering) with(waits []trace.KafkaWait) []trace.KafkaWait {
	merged := slices.Clone(waits)
	for _, wait := range l.before {
		again := func(other trace.KafkaWait) bool { return other.Client == wait.Client && other.API == wait.API }
		if wait.Since.IsZero() && len(merged) < listedWaits && !slices.ContainsFunc(waits, again) {
			merged = append(merged, wait)
		}
	}
	l.before = waits
	slices.SortStableFunc(merged, byBeginning)
	return merged
}
