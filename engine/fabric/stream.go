package fabric

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// stream is one direction of a connection in memory: a bounded buffer, so that two ends that both write first do not wait for each
// other.
type stream struct {
	mu        sync.Mutex
	buffer    []byte
	ended     bool // the writer closed its end
	abandoned bool // the reader closed its end
	broken    bool // reset by either end
	wake      chan struct{}
}

func newStream() *stream { return &stream{wake: make(chan struct{})} }

// change runs under the lock and wakes everybody who waits.
func (s *stream) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.wake)
	s.wake = make(chan struct{})
}

func (s *stream) end()      { s.change(func() { s.ended = true }) }
func (s *stream) abandon()  { s.change(func() { s.abandoned, s.buffer = true, nil }) }
func (s *stream) breakOff() { s.change(func() { s.broken, s.buffer = true, nil }) }

func (s *stream) read(p []byte, limit *deadline) (int, error) {
	for {
		expired := limit.done()
		if isOver(expired) {
			return 0, os.ErrDeadlineExceeded
		}
		var n int
		var err error
		var wake chan struct{}
		s.mu.Lock()
		switch {
		case s.abandoned:
			err = net.ErrClosed
		case s.broken:
			err = os.NewSyscallError("read", syscall.ECONNRESET)
		case len(p) == 0:
		case len(s.buffer) > 0:
			n = copy(p, s.buffer)
			s.buffer = s.buffer[n:]
			close(s.wake)
			s.wake = make(chan struct{})
		case s.ended:
			err = io.EOF
		default:
			wake = s.wake
		}
		s.mu.Unlock()
		if wake == nil {
			return n, err
		}
		select {
		case <-wake:
		case <-expired:
		}
	}
}

func (s *stream) write(p []byte, limit *deadline) (int, error) {
	written := 0
	for {
		expired := limit.done()
		if isOver(expired) {
			return written, os.ErrDeadlineExceeded
		}
		var err error
		var wake chan struct{}
		s.mu.Lock()
		switch room := queueBytes - len(s.buffer); {
		case s.ended:
			err = net.ErrClosed
		case s.broken:
			err = os.NewSyscallError("write", syscall.ECONNRESET)
		case s.abandoned:
			err = os.NewSyscallError("write", syscall.EPIPE)
		case room > 0 || len(p) == 0:
			n := min(room, len(p))
			s.buffer = append(s.buffer, p[:n]...)
			p = p[n:]
			written += n
			close(s.wake)
			s.wake = make(chan struct{})
		default:
			wake = s.wake
		}
		s.mu.Unlock()
		if err != nil || len(p) == 0 {
			return written, err
		}
		if wake != nil {
			select {
			case <-wake:
			case <-expired:
			}
		}
	}
}

func isOver(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (c *memoryConn) wrap(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}
