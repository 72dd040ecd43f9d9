package fabric

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	memoryBacklog   = 128
	firstMemoryPort = 10000 // for listeners on port 0
	firstDialPort   = 40000
)

// NewMemory returns a fabric without the operating system: streams are buffers, addresses are names in a table. It works in a
// testing/synctest bubble: all waits are durable.
func NewMemory() *Fabric {
	return newFabric(&memoryTransport{listeners: map[string]*memoryListener{}, nextPort: firstMemoryPort, nextDialPort: firstDialPort})
}

type memoryTransport struct {
	mu           sync.Mutex
	listeners    map[string]*memoryListener
	nextPort     int
	nextDialPort int
}

// memoryAddress resolves what a TCP address would be: "localhost" and all-address hosts are 127.0.0.1, other names stay names.
func memoryAddress(address string) (host string, port int, err error) {
	host, portName, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	if port, err = strconv.Atoi(portName); err != nil {
		return "", 0, err
	}
	switch host {
	case "", "localhost", "0.0.0.0", "::":
		host = "127.0.0.1"
	}
	return host, port, nil
}

type namedAddr string

func (namedAddr) Network() string  { return "tcp" }
func (a namedAddr) String() string { return string(a) }

func memoryAddr(host string, port int) net.Addr {
	if ip := net.ParseIP(host); ip != nil {
		return &net.TCPAddr{IP: ip, Port: port}
	}
	return namedAddr(net.JoinHostPort(host, strconv.Itoa(port)))
}

func (t *memoryTransport) listen(address string) (net.Listener, error) {
	host, port, err := memoryAddress(address)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Err: err}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if port == 0 {
		port = t.nextPort
		t.nextPort++
	}
	addr := memoryAddr(host, port)
	if t.listeners[addr.String()] != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Addr: addr, Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}
	}
	l := &memoryListener{transport: t, addr: addr, backlog: make(chan *memoryConn, memoryBacklog), closed: make(chan struct{})}
	t.listeners[addr.String()] = l
	return l, nil
}

func (t *memoryTransport) dial(ctx context.Context, address string) (net.Conn, error) {
	host, port, err := memoryAddress(address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	addr := memoryAddr(host, port)
	if err := ctx.Err(); err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: addr, Err: err}
	}
	t.mu.Lock()
	l := t.listeners[addr.String()]
	local := memoryAddr("127.0.0.1", t.nextDialPort)
	t.nextDialPort++
	t.mu.Unlock()
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: addr, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	if l == nil {
		return nil, refused
	}
	there, back := newStream(), newStream()
	near := &memoryConn{local: local, remote: addr, in: back, out: there}
	far := &memoryConn{local: addr, remote: local, in: there, out: back}
	near.init()
	far.init()
	select {
	case l.backlog <- far:
		return near, nil
	case <-l.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: addr, Err: fmt.Errorf("the backlog is full: %w", ctx.Err())}
	}
}

type memoryListener struct {
	transport *memoryTransport
	addr      net.Addr
	backlog   chan *memoryConn
	once      sync.Once
	closed    chan struct{}
}

func (l *memoryListener) Addr() net.Addr { return l.addr }

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
	default:
		select {
		case c := <-l.backlog:
			return c, nil
		case <-l.closed:
		}
	}
	return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.addr, Err: net.ErrClosed}
}

func (l *memoryListener) Close() error {
	err := net.ErrClosed
	l.once.Do(func() {
		err = nil
		l.transport.mu.Lock()
		delete(l.transport.listeners, l.addr.String())
		l.transport.mu.Unlock()
		close(l.closed)
		for {
			select {
			case c := <-l.backlog:
				c.reset()
			default:
				return
			}
		}
	})
	return err
}

// memoryConn is one end of a connection: two streams, crossed over at the other end.
type memoryConn struct {
	local, remote               net.Addr
	in, out                     *stream
	readDeadline, writeDeadline *deadline
}

func (c *memoryConn) init() { c.readDeadline, c.writeDeadline = newDeadline(), newDeadline() }

func (c *memoryConn) LocalAddr() net.Addr  { return c.local }
func (c *memoryConn) RemoteAddr() net.Addr { return c.remote }

func (c *memoryConn) Read(p []byte) (int, error) {
	n, err := c.in.read(p, c.readDeadline)
	return n, c.wrap("read", err)
}

func (c *memoryConn) Write(p []byte) (int, error) {
	n, err := c.out.write(p, c.writeDeadline)
	return n, c.wrap("write", err)
}

func (c *memoryConn) Close() error {
	c.out.end()
	c.in.abandon()
	return nil
}

func (c *memoryConn) reset() {
	c.out.breakOff()
	c.in.breakOff()
}

func (c *memoryConn) SetDeadline(at time.Time) error {
	c.readDeadline.set(at)
	c.writeDeadline.set(at)
	return nil
}

func (c *memoryConn) SetReadDeadline(at time.Time) error {
	c.readDeadline.set(at)
	return nil
}

func (c *memoryConn) SetWriteDeadline(at time.Time) error {
	c.writeDeadline.set(at)
	return nil
}
