package trace

import (
	"context"
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// LatencyMeasured: how long the node took, in about one second, for an operation that clients wait for: from the request's last byte
// to its answer. Only answers without error count. A second without any has no record. A gauge.
type LatencyMeasured struct {
	Operation string `json:"operation"` // produce (Kafka-mode), publish (Pulsar-mode)
	// Buckets tell how many took how long, the fastest first; empty ones are left out. Counts of several nodes may be added up, which
	// percentiles may not.
	Buckets []LatencyBucket `json:"buckets"`
}

// LatencyBucket counts what took at most UpToMicros and more than the bucket before it.
type LatencyBucket struct {
	UpToMicros int64 `json:"upToMicros"`
	Count      int64 `json:"count"`
}

func (LatencyMeasured) Kind() string { return "trace.latencyMeasured" }

func (LatencyMeasured) follows() (kind, flow string) { return "", "" }

const (
	// bucketsPerOctave: a bucket's upper bound is 2^(1/4) times that of the bucket before, so a percentile is at most 19 % too high.
	bucketsPerOctave = 4
	// octaves from 1 µs: the last bucket ends at 134 s, and takes what took longer.
	octaves       = 27
	latencyEvery  = time.Second
	bucketsInAll  = octaves*bucketsPerOctave + 1
	microsPerNano = 1e-3
)

// Latencies counts durations in buckets. Any number of goroutines may observe; on a nil value observing does nothing.
type Latencies struct {
	operation string
	counts    [bucketsInAll]atomic.Int64
}

// NewLatencies returns counters for an operation (see LatencyMeasured).
func NewLatencies(operation string) *Latencies { return &Latencies{operation: operation} }

// Observe counts one duration. It costs one atomic addition.
func (l *Latencies) Observe(took time.Duration) {
	if l != nil {
		l.counts[bucketOf(took)].Add(1)
	}
}

// Run tells the tracer once a second what was counted, until ctx ends.
func (l *Latencies) Run(ctx context.Context, tracer *Tracer) {
	ticker := time.NewTicker(latencyEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if measured := l.take(); len(measured.Buckets) > 0 {
				tracer.Emit(measured)
			}
		}
	}
}

func (l *Latencies) take() LatencyMeasured {
	measured := LatencyMeasured{Operation: l.operation}
	for i := range l.counts {
		if count := l.counts[i].Swap(0); count > 0 {
			measured.Buckets = append(measured.Buckets, LatencyBucket{UpToMicros: bucketBound(i), Count: count})
		}
	}
	return measured
}

// bucketOf is the first bucket whose bound is not below the duration.
func bucketOf(took time.Duration) int {
	micros := float64(took) * microsPerNano
	if micros <= 1 {
		return 0
	}
	// The octave by the highest bit, the quarter by comparison: no logarithm on a path that is taken for every request.
	octave := bits.Len64(uint64(micros)) - 1
	at := octave * bucketsPerOctave
	for at < bucketsInAll-1 && micros > bounds[at] {
		at++
	}
	return min(at, bucketsInAll-1)
}

func bucketBound(bucket int) int64 { return int64(math.Ceil(bounds[bucket])) }

// bounds are the buckets' upper bounds in µs.
var bounds = func() (all [bucketsInAll]float64) {
	for i := range all {
		all[i] = math.Pow(2, float64(i)/bucketsPerOctave)
	}
	return all
}()
