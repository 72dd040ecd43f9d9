package broker

import (
	"bufio"
	"errors"
	"net"
	"sync"
	"time"

	"twinlog/engine/pulsar/pulsarpb"
)

const (
	// A consumer whose connection has so many bytes waiting gets no more until half of them are gone; so does the reader of the
	// connection's requests.
	outboxHigh = 4 << 20
	outboxLow  = outboxHigh / 2
	// outboxLimit closes the connection: its client asks for more than it reads.
	outboxLimit = 256 << 20
	// keptFrames is how many frames' room a connection keeps for its next write.
	keptFrames = 128
)

var errSlowClient = errors.New("the client does not read what it asked for")

// outFrame is a frame that waits to be written: its head, and the stored bytes of a message that follow it unchanged.
type outFrame struct {
	head []byte
	body []byte
}

// outbox is a connection's frames on their way to the client. Adding never blocks; a writer goroutine empties it.
type outbox struct {
	mu      sync.Mutex
	frames  []outFrame
	bytes   int
	err     error
	wake    chan struct{} // capacity 1
	drained []func()      // called when the bytes fall below outboxLow; must not block
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// add queues a frame. It reports false once the connection is closed.
func (o *outbox) add(frame outFrame) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return false
	}
	o.frames = append(o.frames, frame)
	o.bytes += len(frame.head) + len(frame.body)
	if o.bytes > outboxLimit {
		o.err = errSlowClient
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return o.err == nil
}

// full tells whether so much waits that senders should pause; if so, resume is called once it has drained.
func (o *outbox) full(resume func()) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bytes < outboxHigh || o.err != nil {
		return false
	}
	o.drained = append(o.drained, resume)
	return true
}

// take returns what waits, and the error that ends the connection.
func (o *outbox) take(frames []outFrame) ([]outFrame, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	taken := o.frames
	o.frames = frames[:0]
	return taken, o.err
}

// written notes that so many bytes left.
func (o *outbox) written(bytes int) {
	o.mu.Lock()
	o.bytes -= bytes
	var resume []func()
	if o.bytes < outboxLow {
		resume, o.drained = o.drained, nil
	}
	o.mu.Unlock()
	for _, call := range resume {
		call()
	}
}

func (o *outbox) close(err error) {
	o.mu.Lock()
	if o.err == nil {
		o.err = err
	}
	o.frames = nil
	o.bytes = 0
	resume := o.drained
	o.drained = nil
	o.mu.Unlock()
	for _, call := range resume {
		call()
	}
}

// runWriter writes the outbox to the socket, and keeps the connection alive: every interval it sends a PING, and closes the
// connection when nothing came since the last one.
func (c *connection) runWriter() {
	keepAlive := time.NewTicker(c.broker.config.KeepAlive)
	defer keepAlive.Stop()
	var frames []outFrame
	for {
		select {
		case <-c.closed:
			return
		case <-keepAlive.C:
			if err := c.checkAlive(); err != nil {
				c.close(err)
				return
			}
		case <-c.out.wake:
			taken, err := c.out.take(frames)
			if err == nil {
				err = c.write(taken)
			}
			if err != nil {
				c.close(err)
				return
			}
			clear(taken)
			frames = nil
			if cap(taken) <= keptFrames {
				frames = taken
			}
		}
	}
}

// writers are buffers that a connection has only while it writes: most connections are idle most of the time.
var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 32<<10) }}

func (c *connection) write(frames []outFrame) error {
	writer := writers.Get().(*bufio.Writer)
	writer.Reset(c.conn)
	defer func() {
		writer.Reset(nil)
		writers.Put(writer)
	}()
	// A client that reads nothing for two keep-alive intervals could not have answered a PING either.
	if err := c.conn.SetWriteDeadline(time.Now().Add(2 * c.broker.config.KeepAlive)); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	const chunk = 64
	for len(frames) > 0 {
		n := min(chunk, len(frames))
		bytes := 0
		for _, frame := range frames[:n] {
			bytes += len(frame.head) + len(frame.body)
			if _, err := writer.Write(frame.head); err != nil {
				return err
			}
			if _, err := writer.Write(frame.body); err != nil {
				return err
			}
		}
		if len(frames) == n {
			if err := writer.Flush(); err != nil {
				return err
			}
		}
		c.out.written(bytes)
		frames = frames[n:]
	}
	return nil
}

var errKeepAlive = errors.New("the client answered no PING")

func (c *connection) checkAlive() error {
	received := c.received.Load()
	if !c.handshaken.Load() {
		return errors.New("the client sent no CONNECT")
	}
	if c.pinged && received == c.receivedAtPing {
		return errKeepAlive
	}
	c.pinged, c.receivedAtPing = true, received
	c.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_PING.Enum(), Ping: &pulsarpb.CommandPing{}})
	return nil
}
