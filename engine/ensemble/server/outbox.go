package server

import (
	"net"
	"sync"
	"time"
)

// outbox is what waits to be written to one client. The owner appends, one goroutine writes; so events and answers go out in the order
// in which the owner made them.
type outbox struct {
	mu      sync.Mutex
	pending []byte
	replies int // answers in pending
	last    bool
	closed  bool
	wake    chan struct{}
}

// maxOutbox is how much may wait for a client that does not read, in bytes; then its connection is closed. Answers are bounded by the
// requests in flight, so this is for events and for very long answers.
const maxOutbox = 128 << 20

// clientStallLimit is how long one write to a client may take.
const clientStallLimit = 60 * time.Second

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// add appends frames by calling write; false when too much waits already.
func (o *outbox) add(reply bool, write func(buffer []byte) []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || len(o.pending) > maxOutbox {
		return false
	}
	o.pending = write(o.pending)
	if reply {
		o.replies++
	}
	o.signal()
	return true
}

// finish closes the connection once all that was added is written.
func (o *outbox) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = true
	o.signal()
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// run writes to the connection until stop is closed, finish was called or a write fails; then it closes the connection. Written is told
// how many answers went out.
func (o *outbox) run(conn net.Conn, stop <-chan struct{}, written func(answers int)) {
	defer func() {
		o.mu.Lock()
		o.closed, o.pending = true, nil
		o.mu.Unlock()
		_ = conn.Close()
	}()
	var spare []byte
	for {
		select {
		case <-stop:
			return
		case <-o.wake:
		}
		o.mu.Lock()
		bytes, answers, last := o.pending, o.replies, o.last
		o.pending, o.replies = spare[:0], 0
		o.mu.Unlock()
		if len(bytes) > 0 {
			if err := writeWithin(conn, bytes, clientStallLimit); err != nil {
				return
			}
			written(answers)
		}
		if last {
			return
		}
		if spare = bytes; cap(spare) > 1<<20 {
			spare = nil // one long answer must not keep its memory for good
		}
	}
}
