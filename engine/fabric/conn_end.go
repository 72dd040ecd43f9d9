package fabric

import (
	"context"
	"io"
	"net"
	"os"
	"time"
)

// sendfileBytes is the largest piece that is handed to the kernel at once, so that a rule set meanwhile is obeyed soon.
const sendfileBytes = 1 << 20

// longAgo is a deadline that ends every call on a socket.
var longAgo = time.Unix(1, 0)

// resetter is a connection in memory that can be reset.
type resetter interface{ reset() }

// TCPConn is the TCP connection underneath, for sendfile and the like; nil when there is none or while a rule, a freeze or held back
// data forbid to go past this Conn. Ask again for each section.
func (c *Conn) TCPConn() *net.TCPConn {
	if c.tcp == nil || !c.straight() {
		return nil
	}
	return c.tcp
}

// ReadFrom implements io.ReaderFrom: sendfile where the source is a file, or an io.LimitedReader over one, and nothing is in the way.
func (c *Conn) ReadFrom(source io.Reader) (int64, error) {
	limited, ok := source.(*io.LimitedReader)
	if !ok {
		return io.Copy(writerOnly{c}, source)
	}
	if _, ok := limited.R.(*os.File); !ok {
		return io.Copy(writerOnly{c}, source)
	}
	var total int64
	for limited.N > 0 {
		tcp := c.TCPConn()
		if tcp == nil {
			n, err := io.Copy(writerOnly{c}, limited)
			return total + n, err
		}
		piece := &io.LimitedReader{R: limited.R, N: min(limited.N, sendfileBytes)}
		n, err := tcp.ReadFrom(piece)
		total += n
		limited.N -= n
		if err != nil {
			return total, c.fault("write", err)
		}
		if n == 0 {
			return total, nil // the file ended before the limit
		}
	}
	return total, nil
}

type writerOnly struct{ io.Writer }

// WriteBuffers writes several buffers, with one system call where nothing is in the way. Like net.Buffers.WriteTo it consumes them.
func (c *Conn) WriteBuffers(buffers *net.Buffers) (int64, error) {
	if tcp := c.TCPConn(); tcp != nil {
		n, err := buffers.WriteTo(tcp)
		return n, c.fault("write", err)
	}
	return buffers.WriteTo(writerOnly{c})
}

// Close implements net.Conn. What was written before goes out first, at the link's pace; over a cut link it is lost, and the peer learns
// of the end when the link heals.
func (c *Conn) Close() error {
	err := c.closedError("close")
	c.once.Do(func() {
		err = nil
		c.leave()
		out := c.outLink()
		h := c.out.Load()
		if !out.isActive() && (h == nil || !h.running.Load()) {
			close(c.aborted)
			err = c.inner.Close()
			return
		}
		if out.adopt(c.resetInner) {
			close(c.aborted)
			c.release()
			return
		}
		_ = c.inner.SetReadDeadline(longAgo)
		h = c.outbound()
		start, accepted := h.finish(&chunk{err: c.closedError("write"), arrived: time.Now()})
		if !accepted {
			close(c.aborted)
			err = c.inner.Close()
			return
		}
		c.mu.Lock()
		c.unwatch = context.AfterFunc(c.view.severed, func() {
			close(c.aborted)
			c.resetInner()
		})
		c.mu.Unlock()
		if start {
			c.startWritePump(h)
		}
	})
	return err
}

// abort resets the connection, as the kernel does for a crashed process.
func (c *Conn) abort() {
	c.once.Do(func() {
		c.leave()
		close(c.aborted)
		if out := c.outLink(); out != nil && out.adopt(c.resetInner) {
			c.release()
			return
		}
		c.resetInner()
	})
}

// leave makes everything that waits on the connection end.
func (c *Conn) leave() {
	c.mu.Lock()
	close(c.closed)
	c.mu.Unlock()
	c.view.forget(c)
	if c.dialledKey != "" {
		c.view.fabric.closeDialled(c.dialledKey)
	}
}

// release ends the socket's readers and writers without telling the peer.
func (c *Conn) release() { _ = c.inner.SetDeadline(longAgo) }

func (c *Conn) resetInner() {
	if r, ok := c.inner.(resetter); ok {
		r.reset()
		return
	}
	if c.tcp != nil {
		_ = c.tcp.SetLinger(0)
	}
	_ = c.inner.Close()
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.inner.LocalAddr() }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.inner.RemoteAddr() }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(at time.Time) error {
	if err := c.SetReadDeadline(at); err != nil {
		return err
	}
	return c.SetWriteDeadline(at)
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(at time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return c.closedError("set")
	}
	c.readAt = at
	if h := c.in.Load(); h != nil {
		h.deadline.set(at)
		return nil
	}
	return c.inner.SetReadDeadline(at)
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(at time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return c.closedError("set")
	}
	c.writeAt = at
	h := c.out.Load()
	if h != nil {
		h.deadline.set(at)
		if h.running.Load() {
			return nil
		}
	}
	return c.inner.SetWriteDeadline(at)
}

func (c *Conn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}
