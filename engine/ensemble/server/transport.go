package server

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"twinlog/engine/fabric"
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
	dialLimit      = 5 * time.Second
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
	hello func(hello)
	// Join: a server with nothing on its disk says so, itself or through another one.
	join    func(from int32, asked join)
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
	redial    chan struct{} // asks for a new connection
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
		p := &peer{transport: t, server: server, address: address, queue: make(chan outgoing, peerQueue), stop: stop, redial: make(chan struct{}, 1)}
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

// redial gives a server's connection up and opens another one. After a break in the network, TCP itself may take minutes to try again.
func (t *transport) redial(server int32) {
	t.mu.Lock()
	p := t.peers[server]
	t.mu.Unlock()
	if p != nil {
		select {
		case p.redial <- struct{}{}:
		default:
		}
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
