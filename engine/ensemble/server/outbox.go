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
	slots   int // that the answers in pending give back
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

// add appends frames by calling write; false when too much waits already. Slots are those of the request that is answered, given back
// once the answer is written.
func (o *outbox) add(slots int, write func(buffer []byte) []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || len(o.pending) > maxOutbox {
		return false
	}
	o.pending = write(o.pending)
	o.slots += slots
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
// how many slots are free again.
func (o *outbox) run(conn net.Conn, stop <-chan struct{}, written func(slots int)) {
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
		bytes, slots, last := o.pending, o.slots, o.last
		o.pending, o.slots = spare[:0], 0
		o.mu.Unlock()
		if len(bytes) > 0 {
			if err := writeWithin(conn, bytes, clientStallLimit); err != nil {
				return
			}
			written(slots)
		}
		if last {
			return
		}
		if spare = bytes; cap(spare) > 1<<20 {
			spare = nil // one long answer must not keep its memory for good
		}
	}
}
