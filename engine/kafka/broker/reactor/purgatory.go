package reactor

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"

	"twinlog/engine/trace"
)

// Operation is a request that waits in the purgatory.
type Operation interface {
	// Ready tells whether the operation can be completed. It is called often, from any goroutine, several at a time; it must be cheap,
	// change nothing and wait for nothing.
	Ready() bool
	// Complete answers the request. It is called exactly once; expired means that its time ran out before it was ready.
	Complete(expired bool)
	// Waits is what kind of wait it is, and Describe tells about it. Both are for the trace: any goroutine may call them while the
	// operation waits, and once after it has ended.
	Waits() WaitKind
	Describe() trace.KafkaWait
}

// WaitKind is what an operation waits for.
type WaitKind uint8

// The kinds of waits.
const (
	WaitsForReplicas WaitKind = iota // a produce request with acks=all
	WaitsForRecords                  // a consumer's fetch
	WaitsToReplicate                 // a follower's fetch
	WaitsForCluster                  // a topic to be created, metadata to be heard
	waitKinds
)

// Purgatory holds the requests that cannot be answered yet. Each watches the keys that it depends on (a partition, say). Whoever changes
// something calls Wake with its key. Keys are comparable values.
//
// Invariant: an operation that is ready when Wake is called on one of its keys, and was watching by then, is completed. An operation that
// became ready before it was watching is caught by the second look in Watch.
type Purgatory struct {
	mu       sync.Mutex
	watchers map[any]map[*delayed]struct{}
	closed   bool
	waiting  atomic.Int64
	oldest   *list.List // of *delayed, those that wait longest first
	kinds    [waitKinds]int
	peaks    [waitKinds]int // most of a kind since they were measured

	completions chan *delayed
	stop        chan struct{}
	workers     sync.WaitGroup
}

// delayed is an operation in the purgatory.
type delayed struct {
	operation Operation
	keys      []any
	timer     *time.Timer
	since     time.Time
	place     *list.Element // in Purgatory.oldest
	done      atomic.Bool   // set by whoever completes it
}

// NewPurgatory returns an empty purgatory with a few workers that complete what Wake found ready, so that the goroutine that changed a
// partition goes on with its work.
func NewPurgatory(workers int) *Purgatory {
	p := &Purgatory{watchers: map[any]map[*delayed]struct{}{}, oldest: list.New(), completions: make(chan *delayed, 256), stop: make(chan struct{})}
	for range workers {
		p.workers.Go(p.work)
	}
	return p
}

func (p *Purgatory) work() {
	for {
		select {
		case d := <-p.completions:
			d.operation.Complete(false)
		case <-p.stop:
			return
		}
	}
}

// Watch completes the operation at once when it is ready, and else when it gets ready, or at the timeout. It returns how many operations
// wait, this one included; 0 when it was completed at once.
func (p *Purgatory) Watch(operation Operation, timeout time.Duration, keys ...any) int {
	if operation.Ready() {
		operation.Complete(false)
		return 0
	}
	d := &delayed{operation: operation, keys: keys, since: time.Now()}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		operation.Complete(true)
		return 0
	}
	for _, key := range keys {
		if p.watchers[key] == nil {
			p.watchers[key] = map[*delayed]struct{}{}
		}
		p.watchers[key][d] = struct{}{}
	}
	waiting := int(p.waiting.Add(1))
	d.place = p.oldest.PushBack(d)
	kind := operation.Waits()
	p.kinds[kind]++
	p.peaks[kind] = max(p.peaks[kind], p.kinds[kind])
	d.timer = time.AfterFunc(timeout, func() {
		if p.take(d) {
			operation.Complete(true)
		}
	})
	p.mu.Unlock()
	if operation.Ready() && p.take(d) { // it may have become ready between the first look and the watching
		operation.Complete(false)
		return 0
	}
	return waiting
}

// Wake completes the operations that watch the key and are ready now.
func (p *Purgatory) Wake(key any) {
	for _, d := range p.watching(key) {
		if !d.operation.Ready() || !p.take(d) {
			continue
		}
		select {
		case p.completions <- d:
		default: // the workers are busy: complete it here
			d.operation.Complete(false)
		}
	}
}

func (p *Purgatory) watching(key any) []*delayed {
	p.mu.Lock()
	defer p.mu.Unlock()
	set := p.watchers[key]
	if len(set) == 0 {
		return nil
	}
	list := make([]*delayed, 0, len(set))
	for d := range set {
		list = append(list, d)
	}
	return list
}

// take removes an operation; true for the one caller that may complete it.
func (p *Purgatory) take(d *delayed) bool {
	if !d.done.CompareAndSwap(false, true) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, key := range d.keys {
		delete(p.watchers[key], d)
		if len(p.watchers[key]) == 0 {
			delete(p.watchers, key)
		}
	}
	p.waiting.Add(-1)
	p.oldest.Remove(d.place)
	p.kinds[d.operation.Waits()]--
	d.timer.Stop()
	return true
}

// Waiting is how many operations wait.
func (p *Purgatory) Waiting() int { return int(p.waiting.Load()) }

// Close expires all that waits, and everything that comes later at once.
func (p *Purgatory) Close() {
	p.mu.Lock()
	p.closed = true
	all := map[*delayed]struct{}{}
	for _, set := range p.watchers {
		for d := range set {
			all[d] = struct{}{}
		}
	}
	p.mu.Unlock()
	for d := range all {
		if p.take(d) {
			d.operation.Complete(true)
		}
	}
	close(p.stop)
	p.workers.Wait()
	for { // what a Wake handed over and no worker took
		select {
		case d := <-p.completions:
			d.operation.Complete(false)
		default:
			return
		}
	}
}
