package groupcoordinator

import (
	"sync"
	"time"
)

// maxWaiting bounds the requests that wait for the owner's goroutine.
const maxWaiting = 8192

// inbox is what the owner's goroutine has to deal with. Requests from outside meet a bound; what was promised (a record that is committed, a
// change of leadership) is always taken, since it is bounded by what caused it.
type inbox struct {
	signal chan struct{} // holds one

	mu     sync.Mutex
	queue  []func(now time.Time)
	closed bool
}

func newInbox() *inbox { return &inbox{signal: make(chan struct{}, 1)} }

func (i *inbox) offer(do func(now time.Time)) bool { return i.add(do, maxWaiting) }

func (i *inbox) push(do func(now time.Time)) { i.add(do, 0) }

// add returns false when there are limit or more already; 0: no limit.
func (i *inbox) add(do func(now time.Time), limit int) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed || limit > 0 && len(i.queue) >= limit {
		return false
	}
	i.queue = append(i.queue, do)
	select {
	case i.signal <- struct{}{}:
	default:
	}
	return true
}

func (i *inbox) take() []func(now time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	queue := i.queue
	i.queue = nil
	return queue
}

func (i *inbox) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed, i.queue = true, nil
}
