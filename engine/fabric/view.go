package fabric

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
)

// View is one node's network. It is also what a node's owner takes away from it: see Sever and Freeze.
type View struct {
	fabric *Fabric
	node   string
	frozen atomic.Bool

	severed context.Context // ends when the view is severed
	sever   context.CancelFunc

	mu        sync.Mutex
	thawed    chan struct{} // closed by Thaw; nil while not frozen
	conns     map[*Conn]struct{}
	listeners map[*listener]struct{}
}

func newView(f *Fabric, node string) *View {
	v := &View{fabric: f, node: node, conns: map[*Conn]struct{}{}, listeners: map[*listener]struct{}{}}
	v.severed, v.sever = context.WithCancel(context.Background())
	return v
}

// severedError is ErrSevered for one node. It is also a net.ErrClosed, so that accept loops end quietly.
type severedError struct{ node string }

func (e severedError) Error() string   { return e.node + ": " + ErrSevered.Error() }
func (e severedError) Unwrap() []error { return []error{ErrSevered, net.ErrClosed} }

// Node implements [Network].
func (v *View) Node() string { return v.node }

// Sever takes the network away for ever: listeners close, every connection is reset, and whatever is called later fails with
// [ErrSevered]. A connection over a cut link is reset for its peer only when the link heals.
func (v *View) Sever() {
	v.mu.Lock()
	v.sever()
	conns, listeners := v.conns, v.listeners
	v.conns, v.listeners = nil, nil
	v.mu.Unlock()
	for l := range listeners {
		_ = l.Close()
	}
	for c := range conns {
		c.abort()
	}
}

// Freeze makes every call wait until Thaw or Sever, deadlines or not, as it would be for a process that SIGSTOP has stopped. What
// peers send meanwhile waits in the sockets' buffers.
func (v *View) Freeze() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.thawed == nil {
		v.thawed = make(chan struct{})
		v.frozen.Store(true)
	}
}

// Thaw ends Freeze.
func (v *View) Thaw() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.thawed != nil {
		v.frozen.Store(false)
		close(v.thawed)
		v.thawed = nil
	}
}

// passGate waits while the view is frozen. It returns false when closed ended first.
func (v *View) passGate(closed <-chan struct{}) bool {
	for v.frozen.Load() {
		v.mu.Lock()
		thawed := v.thawed
		v.mu.Unlock()
		if thawed == nil {
			return true
		}
		select {
		case <-thawed:
		case <-closed:
			return false
		}
	}
	return true
}

// Listen implements [Network].
func (v *View) Listen(address string) (net.Listener, error) {
	if !v.passGate(v.severed.Done()) || v.severed.Err() != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Err: severedError{v.node}}
	}
	inner, err := v.fabric.transport.listen(address)
	if err != nil {
		return nil, err
	}
	l := &listener{Listener: inner, view: v, closed: make(chan struct{})}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.severed.Err() != nil {
		_ = inner.Close()
		return nil, &net.OpError{Op: "listen", Net: "tcp", Err: severedError{v.node}}
	}
	v.listeners[l] = struct{}{}
	v.fabric.addListener(inner.Addr(), v.node)
	return l, nil
}

// Dial implements [Network]. Over a slow link it takes the time of a round trip; over a cut one, in either direction, it waits for the
// link to heal.
func (v *View) Dial(ctx context.Context, address string) (net.Conn, error) {
	fail := func(err error) (net.Conn, error) {
		if v.severed.Err() != nil {
			err = severedError{v.node}
		} else if ctx.Err() != nil {
			err = fmt.Errorf("%s: %w", address, context.Cause(ctx))
		}
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
	}
	if !v.passGate(v.severed.Done()) || v.severed.Err() != nil {
		return fail(ErrSevered)
	}
	peer, ours := v.fabric.nodeAt(address)
	out, in := v.linksTo(peer, ours)
	if err := awaitHandshake(out, in, ctx.Done(), v.severed.Done()); err != nil {
		return fail(err)
	}
	dialing, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(v.severed, cancel)()
	inner, err := v.fabric.transport.dial(dialing, address)
	if err != nil {
		if v.severed.Err() != nil || ctx.Err() != nil {
			return fail(err)
		}
		return nil, err
	}
	if peer == "" {
		peer, ours = v.fabric.nodeAt(inner.RemoteAddr().String())
		out, in = v.linksTo(peer, ours)
	}
	c := newConn(v, inner)
	c.dialledKey = dialledKey(inner.LocalAddr(), inner.RemoteAddr())
	v.fabric.addDialled(c.dialledKey, v.node)
	if peer == "" {
		peer = Client
	}
	c.identify(peer, out, in)
	if !v.admit(c) {
		return fail(ErrSevered)
	}
	if !v.passGate(c.closed) {
		return fail(ErrSevered)
	}
	return c, nil
}

// linksTo returns the links that this end shapes. A node elsewhere shapes what it writes itself.
func (v *View) linksTo(peer string, ours bool) (out, in *link) {
	switch {
	case peer == "" || peer == Client:
		return v.fabric.link(v.node, Client), v.fabric.link(Client, v.node)
	case ours:
		return v.fabric.link(v.node, peer), v.fabric.link(peer, v.node)
	default:
		return v.fabric.link(v.node, peer), nil
	}
}

// admit takes a connection into the view; when the view is severed it resets the connection instead.
func (v *View) admit(c *Conn) bool {
	v.mu.Lock()
	if v.severed.Err() == nil {
		v.conns[c] = struct{}{}
		v.mu.Unlock()
		return true
	}
	v.mu.Unlock()
	c.abort()
	return false
}

func (v *View) forget(c *Conn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.conns, c)
}

type listener struct {
	net.Listener
	view   *View
	once   sync.Once
	closed chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	inner, err := l.Listener.Accept()
	if err != nil {
		if l.view.severed.Err() != nil && errors.Is(err, net.ErrClosed) {
			err = &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: severedError{l.view.node}}
		}
		return nil, err
	}
	c := newConn(l.view, inner)
	if !l.view.admit(c) {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: severedError{l.view.node}}
	}
	if !l.view.passGate(l.closed) {
		c.abort()
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
	}
	return c, nil
}

func (l *listener) Close() error {
	err := net.ErrClosed
	l.once.Do(func() {
		close(l.closed)
		err = l.Listener.Close()
		l.view.mu.Lock()
		delete(l.view.listeners, l)
		l.view.mu.Unlock()
	})
	return err
}
