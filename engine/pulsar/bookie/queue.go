package bookie

import "sync"

// queue hands items from many producers to one consumer, in order. It is bounded by weight: a producer waits while the queue holds
// limit or more.
type queue[T any] struct {
	mu     sync.Mutex
	items  []T
	weight int64
	limit  int64
	closed bool

	filled chan struct{} // one token: there may be items
	space  chan struct{} // closed and replaced when room is made for waiting producers
}

func newQueue[T any](limit int64) *queue[T] {
	return &queue[T]{limit: limit, filled: make(chan struct{}, 1), space: make(chan struct{})}
}

// put waits for room. It returns false when the queue is closed or done ends first.
func (q *queue[T]) put(item T, weight int64, done <-chan struct{}) bool {
	for {
		q.mu.Lock()
		if q.closed {
			q.mu.Unlock()
			return false
		}
		if q.weight < q.limit {
			q.add(item, weight)
			q.mu.Unlock()
			return true
		}
		space := q.space
		q.mu.Unlock()
		select {
		case <-space:
		case <-done:
			return false
		}
	}
}

// putUnless is put that does not wait any longer once hurry is closed: the item goes in all the same.
func (q *queue[T]) putUnless(item T, weight int64, hurry, done <-chan struct{}) bool {
	for {
		q.mu.Lock()
		room, closed, space := q.weight < q.limit, q.closed, q.space
		q.mu.Unlock()
		if room || closed {
			return q.push(item, weight) // only one producer does this: the room is still there
		}
		select {
		case <-space:
		case <-hurry:
			return q.push(item, weight)
		case <-done:
			return false
		}
	}
}

// weigh counts weight that has no item here.
func (q *queue[T]) weigh(weight int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.weight += weight
}

// push is put without waiting: for items whose number is bounded elsewhere.
func (q *queue[T]) push(item T, weight int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.add(item, weight)
	return true
}

func (q *queue[T]) add(item T, weight int64) {
	q.items = append(q.items, item)
	q.weight += weight
	select {
	case q.filled <- struct{}{}:
	default:
	}
}

// awaitRoom waits until put would not wait. It returns false when the queue is closed or done ends first.
func (q *queue[T]) awaitRoom(done <-chan struct{}) bool {
	for {
		q.mu.Lock()
		room, closed, space := q.weight < q.limit, q.closed, q.space
		q.mu.Unlock()
		switch {
		case closed:
			return false
		case room:
			return true
		}
		select {
		case <-space:
		case <-done:
			return false
		}
	}
}

// takeAll takes what is there, in exchange for an empty slice to be filled next. The weight stays counted until release.
func (q *queue[T]) takeAll(empty []T) []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	q.items = empty[:0]
	return items
}

// release makes room: items of that weight are done.
func (q *queue[T]) release(weight int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	full := q.weight >= q.limit
	q.weight -= weight
	if full && q.weight < q.limit {
		close(q.space)
		q.space = make(chan struct{})
	}
}

// close refuses further items and returns those that nobody took.
func (q *queue[T]) close() []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil
	}
	q.closed = true
	close(q.space)
	q.space = make(chan struct{})
	items := q.items
	q.items = nil
	return items
}
