package broker

import "sync"

// limiter makes those wait who would have too much on its way. One that is let in may exceed the limit by its own size, so that
// nothing is too large to pass.
type limiter struct {
	mu    sync.Mutex
	used  int64
	limit int64
	freed chan struct{} // closed at the next release, while somebody waits
}

func newLimiter(limit int64) *limiter { return &limiter{limit: limit} }

// acquire waits for room. It reports false when done is closed first.
func (l *limiter) acquire(n int64, done <-chan struct{}) bool {
	for {
		l.mu.Lock()
		if l.used < l.limit {
			l.used += n
			l.mu.Unlock()
			return true
		}
		if l.freed == nil {
			l.freed = make(chan struct{})
		}
		freed := l.freed
		l.mu.Unlock()
		select {
		case <-freed:
		case <-done:
			return false
		}
	}
}

func (l *limiter) release(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used -= n
	if l.freed != nil && l.used < l.limit {
		close(l.freed)
		l.freed = nil
	}
}
