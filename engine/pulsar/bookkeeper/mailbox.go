package bookkeeper

import "sync"

// mailbox hands events to the goroutine that owns a state. Posting never waits, so that a connection's reader can post to a writer
// that is itself about to use the connection. What is in it is bounded by its posters: answers by the requests under way.
type mailbox[T any] struct {
	mu     sync.Mutex
	events []T
	closed bool
	filled chan struct{} // one token: there may be events
}

func newMailbox[T any]() *mailbox[T] { return &mailbox[T]{filled: make(chan struct{}, 1)} }

// post returns false when the owner has ended.
func (m *mailbox[T]) post(event T) bool {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return false
	}
	m.events = append(m.events, event)
	m.mu.Unlock()
	select {
	case m.filled <- struct{}{}:
	default:
	}
	return true
}

// takeAll takes what is there, in exchange for an empty slice to be filled next.
func (m *mailbox[T]) takeAll(empty []T) []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := m.events
	m.events = empty[:0]
	return events
}

// close refuses further events and returns those that nobody took.
func (m *mailbox[T]) close() []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return m.events
}
