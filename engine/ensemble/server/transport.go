package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"twinlog/engine/fabric"
	"twinlog/engine/trace"
)

const (
	// peerQueue bounds what waits to be sent to one server. What does not fit is dropped: Raft and the command streams send again.
	peerQueue = 4096
	// peerBytes is when a batch of frames is written out.
	peerBytes = 256 << 10
	// maxPeerConnections bounds the connections that other servers opened.
	maxPeerConnections = 256

	redialFirst    = 10 * time.Millisecond
	redialLast     = 300 * time.Millisecond
	peerStallLimit = 10 * time.Second
	helloDeadline  = 5 * time.Second
)

// peerEvents is what a transport tells the owner.
type peerEvents struct {
	// Connected: frames to the server go out from now on.
	connected func(to int32)
	// Disconnected: the connection to the server ended; refused tells that nobody listens there.
	disconnected func(to int32, refused bool)
	// Hello: another server opened a connection to this one, or has news about itself.
	hello   func(hello)
	join    func(join)
	welcome func(welcome)
	raft    func(*raftpb.Message)
	// Command: another server has a command for the leader.
	command func([]byte)
	touched func([]int64)
	// Snapshot: the sending of a snapshot ended.
	snapshotSent func(to uint64, failed bool)
}

// transport connects a server with the others.
type transport struct {
	config   *Config
	log      *slog.Logger
	events   peerEvents
	self     atomic.Pointer[hello]         // what this server says about itself
	snapshot func() (*snapshotFile, error) // the newest one on disk
	tasks    *sync.WaitGroup
	ctx      context.Context

	mu    sync.Mutex
	peers map[int32]*peer

	accepted atomic.Int64
}

// peer is one other server.
type peer struct {
	transport *transport
	server    int32
	address   string
	queue     chan outgoing
	connected atomic.Bool
	dropped   atomic.Int64
	stop      context.CancelFunc
}

// outgoing is one of: a frame that is ready, or a Raft message to be encoded.
type outgoing struct {
	kind    byte
	payload []byte
	message *raftpb.Message
}

// connect sets the servers to be connected with, by peer address. This server itself is left out.
func (t *transport) connect(addresses map[int32]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx.Err() != nil {
		return
	}
	for server, p := range t.peers {
		if addresses[server] != p.address {
			p.stop()
			delete(t.peers, server)
		}
	}
	for server, address := range addresses {
		if server == int32(t.config.ID) || t.peers[server] != nil {
			continue
		}
		ctx, stop := context.WithCancel(t.ctx)
		p := &peer{transport: t, server: server, address: address, queue: make(chan outgoing, peerQueue), stop: stop}
		t.peers[server] = p
		t.tasks.Go(func() { p.run(ctx) })
	}
}

// send queues something for a server; false when it was dropped.
func (t *transport) send(to int32, out outgoing) bool {
	t.mu.Lock()
	p := t.peers[to]
	t.mu.Unlock()
	return p != nil && p.send(out)
}

func (p *peer) send(out outgoing) bool {
	if !p.connected.Load() {
		return false
	}
	select {
	case p.queue <- out:
		return true
	default:
		p.dropped.Add(1)
		return false
	}
}

// introduce sets what this server says about itself, and says it to all that it is connected with.
func (t *transport) introduce(self hello) {
	t.self.Store(&self)
	t.mu.Lock()
	peers := slices.Collect(maps.Values(t.peers))
	t.mu.Unlock()
	for _, p := range peers {
		p.send(outgoing{kind: frameHello, payload: self.toServer(p.server)})
	}
}

// connectedTo lists the servers that frames go out to.
func (t *transport) connectedTo() []int32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var servers []int32
	for server, p := range t.peers {
		if p.connected.Load() {
			servers = append(servers, server)
		}
	}
	return servers
}

func (p *peer) run(ctx context.Context) {
	defer p.stop()
	wait := redialFirst
	for ctx.Err() == nil {
		dialled, err := p.transport.config.Network.Dial(ctx, p.address)
		if err == nil {
			wait = redialFirst
			err = p.serve(ctx, dialled)
		} else {
			p.transport.events.disconnected(p.server, true)
		}
		if ctx.Err() != nil {
			return
		}
		p.transport.log.Debug("connection to a peer ended", "peer", p.transport.config.name(p.server), "error", err)
		select {
		case <-time.After(wait + rand.N(wait)):
			wait = min(2*wait, redialLast)
		case <-ctx.Done():
		}
	}
}

// serve writes the queue to a connection until one of them ends.
func (p *peer) serve(ctx context.Context, conn net.Conn) error {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	ended := make(chan struct{})
	p.transport.tasks.Go(func() { // the other server sends nothing over this connection: a read tells when it has ended
		defer close(ended)
		var one [1]byte
		_, _ = conn.Read(one[:])
	})
	defer func() { _ = conn.Close(); <-ended }()

	introduced := p.transport.self.Load()
	frames := appendPeerFrame(nil, frameHello, introduced.toServer(p.server))
	if err := writeWithin(conn, frames, peerStallLimit); err != nil {
		return err
	}
	p.discardQueue()
	p.connected.Store(true)
	if latest := p.transport.self.Load(); latest != introduced {
		p.send(outgoing{kind: frameHello, payload: latest.toServer(p.server)})
	}
	p.transport.events.connected(p.server)
	defer func() {
		p.connected.Store(false)
		p.transport.events.disconnected(p.server, false)
	}()
	connection := trace.Connection(conn.LocalAddr(), conn.RemoteAddr())
	var sent int64
	for {
		frames = frames[:0]
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return errors.New("the other server closed it")
		case out := <-p.queue:
			frames = p.encode(frames, out, connection, &sent)
		}
		for more := true; more && len(frames) < peerBytes; {
			select {
			case out := <-p.queue:
				frames = p.encode(frames, out, connection, &sent)
			default:
				more = false
			}
		}
		if err := writeWithin(conn, frames, peerStallLimit); err != nil {
			return err
		}
	}
}

// discardQueue drops what was queued for the connection before.
func (p *peer) discardQueue() {
	for {
		select {
		case <-p.queue:
		default:
			return
		}
	}
}

func (p *peer) encode(frames []byte, out outgoing, connection string, sent *int64) []byte {
	kind, payload := out.kind, out.payload
	if out.message != nil {
		encoded, err := proto.Marshal(out.message)
		if err != nil {
			p.transport.log.Error("encoding a Raft message", "error", err)
			return frames
		}
		kind, payload = frameRaft, encoded
	}
	*sent++
	if message, told := describe(p.transport.config, out.message, int64(len(payload))); told {
		message.Exchange = trace.Exchange{Connection: connection, Correlation: *sent}
		p.transport.config.Tracer.Emit(trace.MessageSent{Message: message})
	}
	return appendPeerFrame(frames, kind, payload)
}

func writeWithin(conn net.Conn, bytes []byte, limit time.Duration) error {
	if err := conn.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	_, err := conn.Write(bytes)
	return err
}

// accept takes the connections of other servers until the listener ends.
func (t *transport) accept(listener net.Listener) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			if t.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil // the server ends, or its network was taken away
			}
			return fmt.Errorf("accepting a peer's connection on %s: %w", listener.Addr(), err)
		}
		if t.accepted.Add(1) > maxPeerConnections {
			t.accepted.Add(-1)
			t.log.Warn("too many connections of peers", "limit", maxPeerConnections)
			_ = conn.Close()
			continue
		}
		t.tasks.Go(func() {
			defer t.accepted.Add(-1)
			defer conn.Close()
			stop := context.AfterFunc(t.ctx, func() { _ = conn.Close() })
			defer stop()
			if err := t.receive(conn); err != nil && t.ctx.Err() == nil {
				t.log.Debug("a peer's connection ended", "peer", peerNode(conn), "error", err)
			}
		})
	}
}

func (t *transport) receive(conn net.Conn) error {
	reader := bufio.NewReaderSize(conn, 64<<10)
	if err := conn.SetReadDeadline(time.Now().Add(helloDeadline)); err != nil {
		return err
	}
	kind, payload, err := readPeerFrame(reader)
	if err != nil {
		return err
	}
	if kind != frameHello {
		return fmt.Errorf("%w: it begins with kind %d instead of a hello", errPeerFrame, kind)
	}
	from, err := decodeHello(payload)
	if err != nil {
		return err
	}
	if from.to != int32(t.config.ID) {
		return fmt.Errorf("server %d took this server %d for server %d; compare the peers in their configurations", from.server, t.config.ID, from.to)
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	t.events.hello(from)
	connection := trace.Connection(conn.RemoteAddr(), conn.LocalAddr())
	var snapshot *raftpb.Message
	for received := int64(1); ; received++ {
		kind, payload, err := readPeerFrame(reader)
		if err != nil {
			return err
		}
		switch kind {
		case frameRaft, frameSnapshot:
			message := &raftpb.Message{}
			if err := proto.Unmarshal(payload, message); err != nil {
				return fmt.Errorf("%w: %w", errPeerFrame, err)
			}
			if told, worth := describe(t.config, message, int64(len(payload))); worth {
				told.Exchange = trace.Exchange{Connection: connection, Correlation: received}
				t.config.Tracer.Emit(trace.MessageReceived{Message: told})
			}
			if kind == frameSnapshot {
				snapshot = message
			} else {
				t.events.raft(message)
			}
		case frameChunk, frameEnd:
			if snapshot == nil || snapshot.Snapshot == nil || len(snapshot.Snapshot.Data)+len(payload) > maxSnapshot {
				return fmt.Errorf("%w: a piece of a snapshot that it did not begin, or one of more than %d bytes", errPeerFrame, maxSnapshot)
			}
			snapshot.Snapshot.Data = append(snapshot.Snapshot.Data, payload...)
			if kind == frameEnd {
				t.events.raft(snapshot)
				return nil
			}
		case frameCommand:
			t.events.command(payload)
		case frameTouch:
			t.events.touched(decodeTouches(payload))
		default:
			if err := t.receiveIntroduction(kind, payload); err != nil {
				return err
			}
		}
	}
}

func (t *transport) receiveIntroduction(kind byte, payload []byte) error {
	switch kind {
	case frameHello:
		news, err := decodeHello(payload)
		if err != nil {
			return err
		}
		t.events.hello(news)
	case frameJoin:
		asked, err := decodeJoin(payload)
		if err != nil {
			return err
		}
		t.events.join(asked)
	case frameWelcome:
		answer, err := decodeWelcome(payload)
		if err != nil {
			return err
		}
		t.events.welcome(answer)
	default:
		return fmt.Errorf("%w: its kind is %d", errPeerFrame, kind)
	}
	return nil
}

// sendSnapshot streams the newest snapshot on disk over a connection of its own and tells the owner how it ended.
func (t *transport) sendSnapshot(message *raftpb.Message) {
	t.tasks.Go(func() {
		err := t.streamSnapshot(message)
		if err != nil && t.ctx.Err() == nil {
			t.log.Warn("sending a snapshot", "to", t.config.name(serverOf(message.GetTo())), "error", err)
		}
		t.events.snapshotSent(message.GetTo(), err != nil)
	})
}

func (t *transport) streamSnapshot(message *raftpb.Message) error {
	t.mu.Lock()
	p := t.peers[serverOf(message.GetTo())]
	t.mu.Unlock()
	if p == nil {
		return errors.New("the server is no peer")
	}
	snapshot, err := t.snapshot()
	if err != nil {
		return err
	}
	if snapshot.index() < message.GetSnapshot().GetMetadata().GetIndex() {
		return fmt.Errorf("the newest snapshot on disk is at index %d, but Raft wants %d", snapshot.index(), message.GetSnapshot().GetMetadata().GetIndex())
	}
	announced := proto.Clone(message).(*raftpb.Message)
	announced.Snapshot = &raftpb.Snapshot{Metadata: snapshot.metadata}
	payload, err := proto.Marshal(announced)
	if err != nil {
		return err
	}
	conn, err := t.config.Network.Dial(t.ctx, p.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(t.ctx, func() { _ = conn.Close() })
	defer stop()
	frames := appendPeerFrame(nil, frameHello, t.self.Load().toServer(p.server))
	frames = appendPeerFrame(frames, frameSnapshot, payload)
	if told, worth := describe(t.config, announced, int64(len(snapshot.tree))); worth {
		told.Exchange = trace.Exchange{Connection: trace.Connection(conn.LocalAddr(), conn.RemoteAddr()), Correlation: 1}
		t.config.Tracer.Emit(trace.MessageSent{Message: told})
	}
	for rest := snapshot.tree; ; {
		size := min(len(rest), snapshotChunk)
		kind := frameChunk
		if size == len(rest) {
			kind = frameEnd
		}
		frames = appendPeerFrame(frames, kind, rest[:size])
		if err := writeWithin(conn, frames, peerStallLimit); err != nil {
			return err
		}
		if rest, frames = rest[size:], frames[:0]; kind == frameEnd {
			break
		}
	}
	// The other server closes the connection when it has read all; an error before that would come as a reset.
	if err := conn.SetReadDeadline(time.Now().Add(peerStallLimit)); err != nil {
		return err
	}
	var one [1]byte
	_, _ = conn.Read(one[:])
	return nil
}

// peerNode is the node at the other end of a connection.
func peerNode(conn net.Conn) string {
	if namer, ok := conn.(fabric.PeerNamer); ok {
		return namer.PeerNode()
	}
	return fabric.Client
}

// addressesOf is the peers of a Config by server.
func addressesOf(peers map[int]string) map[int32]string {
	addresses := make(map[int32]string, len(peers))
	for id, address := range maps.All(peers) {
		addresses[int32(id)] = address
	}
	return addresses
}
