package fabric

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// chunkBytes is how much of a stream is delayed as one piece.
	chunkBytes = 16 << 10
	// queueBytes bounds what one direction of a connection holds back, as a socket's buffer does.
	queueBytes = 256 << 10
)

var errInterrupted = errors.New("interrupted")

// chunk is a piece of a stream on its way over a link. A chunk with an error is the last one: the end of the stream.
type chunk struct {
	data    []byte
	err     error
	arrived time.Time // at the near end of the link

	// Kept by link.schedule.
	scheduled  bool
	generation uint64
	due        time.Time
}

// queue holds back one direction of a connection while its link has a rule. One goroutine takes from it; several may add.
type queue struct {
	running atomic.Bool // a pump works on the queue: what follows must go through it too

	mu     sync.Mutex
	chunks []*chunk
	bytes  int
	err    error         // of the pump; refuses further adding
	wake   chan struct{} // closed and replaced whenever the queue changes
}

func newQueue() *queue { return &queue{wake: make(chan struct{})} }

func (q *queue) signal() {
	close(q.wake)
	q.wake = make(chan struct{})
}

// add waits for room. Start says that the caller must start the pump.
func (q *queue) add(c *chunk, closed, expired <-chan struct{}) (start bool, err error) {
	for {
		q.mu.Lock()
		if q.err != nil {
			defer q.mu.Unlock()
			return false, q.err
		}
		if q.bytes < queueBytes {
			q.chunks = append(q.chunks, c)
			q.bytes += len(c.data)
			q.signal()
			start = !q.running.Load()
			q.running.Store(true)
			q.mu.Unlock()
			return start, nil
		}
		wake := q.wake
		q.mu.Unlock()
		select {
		case <-wake:
		case <-closed:
			return false, errInterrupted
		case <-expired:
			return false, os.ErrDeadlineExceeded
		}
	}
}

// head waits for the oldest chunk and leaves it in the queue.
func (q *queue) head(closed, expired <-chan struct{}) (*chunk, error) {
	for {
		q.mu.Lock()
		if len(q.chunks) > 0 {
			c := q.chunks[0]
			q.mu.Unlock()
			return c, nil
		}
		wake := q.wake
		q.mu.Unlock()
		select {
		case <-wake:
		case <-closed:
			return nil, errInterrupted
		case <-expired:
			return nil, os.ErrDeadlineExceeded
		}
	}
}

// headOrFinish is head for a pump that ends when there is nothing left to do.
func (q *queue) headOrFinish() *chunk {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.chunks) == 0 {
		q.running.Store(false)
		return nil
	}
	return q.chunks[0]
}

// drop removes n bytes of the head, or all of it.
func (q *queue) drop(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.chunks[0]
	c.data = c.data[n:]
	q.bytes -= n
	if len(c.data) == 0 && c.err == nil {
		q.chunks[0] = nil
		q.chunks = q.chunks[1:]
	}
	q.signal()
}

// finish adds a chunk for which there is always room: the last one. It is refused after fail.
func (q *queue) finish(c *chunk) (start, accepted bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil {
		return false, false
	}
	q.chunks = append(q.chunks, c)
	q.bytes += len(c.data)
	q.signal()
	start = !q.running.Load()
	q.running.Store(true)
	return start, true
}

// fail refuses everything from now on and forgets what is held.
func (q *queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
	q.chunks, q.bytes = nil, 0
	q.signal()
}
