package fabric

import (
	"bytes"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Conn is a connection of a node. As long as no link rule concerns it, reads and writes go straight to the socket. From the first read
// under a rule on, a pump goroutine reads ahead into a queue, out of which each chunk becomes readable when the link lets it. Writes under
// a rule go into a queue that a pump writes out, until the rule is gone and the queue is empty.
type Conn struct {
	inner net.Conn
	tcp   *net.TCPConn // nil in memory
	view  *View

	// dialledKey is our entry in the fabric's dialled connections; empty for an accepted connection.
	dialledKey string
	identity   atomic.Pointer[identity]

	in, out atomic.Pointer[half]
	closed  chan struct{} // closed by Close and abort
	aborted chan struct{} // closed when nothing more may be sent, not even what is queued
	once    sync.Once

	mu              sync.Mutex
	readAt, writeAt time.Time   // the deadlines, for the queues
	unwatch         func() bool // after a Close that left something to the pump: stops watching for Sever
}

// identity is what is known about the other end, with the links that this end shapes; nil links are not ours to shape.
type identity struct {
	peer    string
	out, in *link
}

// half is one direction under a rule.
type half struct {
	*queue
	deadline *deadline
}

func newConn(v *View, inner net.Conn) *Conn {
	c := &Conn{inner: inner, view: v, closed: make(chan struct{}), aborted: make(chan struct{})}
	c.tcp, _ = inner.(*net.TCPConn)
	return c
}

func (c *Conn) identify(peer string, out, in *link) {
	c.identity.Store(&identity{peer: peer, out: out, in: in})
}

// recognise finds out who dialled an accepted connection. Unless bytes have arrived, the dialler may not have entered itself yet: then
// only a positive answer is kept.
func (c *Conn) recognise(bytesArrived bool) *identity {
	if id := c.identity.Load(); id != nil {
		return id
	}
	if node := c.view.fabric.seeDialled(dialledKey(c.inner.RemoteAddr(), c.inner.LocalAddr())); node != "" {
		c.identify(node, nil, nil)
	} else if node := c.view.fabric.nodeElsewhere(c.inner.RemoteAddr()); node != "" {
		out, in := c.view.linksTo(node, false)
		c.identify(node, out, in)
	} else if bytesArrived {
		out, in := c.view.linksTo(Client, false)
		c.identify(Client, out, in)
	}
	return c.identity.Load()
}

// PeerNode implements [PeerNamer].
func (c *Conn) PeerNode() string {
	if id := c.recognise(false); id != nil {
		return id.peer
	}
	return Client
}

func (c *Conn) outLink() *link {
	if id := c.identity.Load(); id != nil {
		return id.out
	}
	return nil
}

func (c *Conn) inLink() *link {
	if id := c.identity.Load(); id != nil {
		return id.in
	}
	return nil
}

func (l *link) isActive() bool { return l != nil && l.active.Load() }

// fault gives an error its meaning: after Close and Sever the socket's own error says nothing.
func (c *Conn) fault(op string, err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-c.closed:
		return c.closedError(op)
	default:
		return err
	}
}

func (c *Conn) closedError(op string) error {
	err := net.ErrClosed
	if c.view.severed.Err() != nil {
		err = severedError{c.view.node}
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	if c.view.frozen.Load() && !c.view.passGate(c.closed) {
		return 0, c.closedError("read")
	}
	if c.in.Load() != nil {
		return c.readHeldBack(p)
	}
	if c.inLink().isActive() {
		c.holdBackReads(nil, nil)
		return c.readHeldBack(p)
	}
	n, err := c.inner.Read(p)
	if n > 0 && c.identity.Load() == nil {
		c.recognise(true)
	}
	if err != nil {
		err = c.fault("read", err)
		if errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
	// The rule may have come while the read waited: then what it brought is under the rule.
	if c.inLink().isActive() {
		c.holdBackReads(p[:n], err)
		return c.readHeldBack(p)
	}
	if c.view.frozen.Load() && !c.view.passGate(c.closed) {
		return 0, c.closedError("read")
	}
	return n, err
}

// holdBackReads puts a pump between the socket and Read, for the rest of the connection's life. Only Read calls it.
func (c *Conn) holdBackReads(first []byte, firstErr error) {
	h := &half{queue: newQueue(), deadline: newDeadline()}
	now := time.Now()
	if len(first) > 0 {
		h.finish(&chunk{data: bytes.Clone(first), arrived: now})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h.deadline.set(c.readAt)
	c.in.Store(h)
	select {
	case <-c.closed: // the socket's deadline is what ends its readers now
		return
	default:
	}
	if firstErr != nil {
		h.finish(&chunk{err: firstErr, arrived: now})
		return
	}
	_ = c.inner.SetReadDeadline(time.Time{})
	go c.pumpReads(h)
}

func (c *Conn) pumpReads(h *half) {
	buffer := make([]byte, chunkBytes)
	for {
		n, err := c.inner.Read(buffer)
		if n > 0 {
			if _, err := h.add(&chunk{data: bytes.Clone(buffer[:n]), arrived: time.Now()}, c.closed, nil); err != nil {
				return
			}
		}
		if err != nil {
			h.finish(&chunk{err: err, arrived: time.Now()})
			return
		}
	}
}

func (c *Conn) readHeldBack(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	h := c.in.Load()
	head, err := h.head(c.closed, h.deadline.done())
	if err == nil {
		err = c.inLink().await(head, c.closed, h.deadline.done())
	}
	if err == nil && !c.view.passGate(c.closed) {
		err = errInterrupted
	}
	if err != nil {
		select {
		case <-c.closed:
			return 0, c.closedError("read")
		default:
			return 0, &net.OpError{Op: "read", Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.ErrDeadlineExceeded}
		}
	}
	if head.err != nil { // it stays the head: the end of a stream is read again and again
		return 0, c.fault("read", head.err)
	}
	n := copy(p, head.data)
	h.drop(n)
	return n, nil
}

// straight says whether writes may go to the socket past the queue.
func (c *Conn) straight() bool {
	if c.view.frozen.Load() || c.outLink().isActive() {
		return false
	}
	h := c.out.Load()
	return h == nil || !h.running.Load()
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	if c.identity.Load() == nil {
		c.recognise(false)
	}
	if c.straight() {
		n, err := c.inner.Write(p)
		return n, c.fault("write", err)
	}
	if !c.view.passGate(c.closed) {
		return 0, c.closedError("write")
	}
	if c.straight() {
		n, err := c.inner.Write(p)
		return n, c.fault("write", err)
	}
	return c.writeHeldBack(p)
}

func (c *Conn) writeHeldBack(p []byte) (int, error) {
	h := c.outbound()
	written := 0
	for written < len(p) {
		select {
		case <-c.closed:
			return written, c.closedError("write")
		default:
		}
		piece := p[written:min(len(p), written+chunkBytes)]
		start, err := h.add(&chunk{data: bytes.Clone(piece), arrived: time.Now()}, c.closed, h.deadline.done())
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				err = &net.OpError{Op: "write", Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
			}
			return written, c.fault("write", err)
		}
		if start {
			c.startWritePump(h)
		}
		written += len(piece)
	}
	return written, nil
}

func (c *Conn) outbound() *half {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.out.Load()
	if h == nil {
		h = &half{queue: newQueue(), deadline: newDeadline()}
		h.deadline.set(c.writeAt)
		c.out.Store(h)
	}
	return h
}

func (c *Conn) startWritePump(h *half) {
	c.mu.Lock()
	_ = c.inner.SetWriteDeadline(time.Time{}) // the queue obeys the deadline, the pump does not
	c.mu.Unlock()
	go c.pumpWrites(h)
}

func (c *Conn) pumpWrites(h *half) {
	for {
		head := h.headOrFinish()
		if head == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			if !h.running.Load() && !c.isClosed() {
				_ = c.inner.SetWriteDeadline(c.writeAt)
			}
			return
		}
		err := c.outLink().await(head, c.aborted, nil)
		if err == nil && head.err == nil {
			_, err = c.inner.Write(head.data)
		}
		if err == nil && head.err == nil {
			h.drop(len(head.data))
			continue
		}
		// The stream ends here: aborted, broken, or closed with everything before the close written.
		if err == nil {
			err = head.err
		}
		h.fail(c.fault("write", err))
		c.endAfterClose()
		return
	}
}

// endAfterClose closes the socket when Close left that to the pump.
func (c *Conn) endAfterClose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unwatch != nil && c.unwatch() {
		close(c.aborted)
		_ = c.inner.Close()
	}
}
