// Package clienttrace records the messages between a node and the ensemble at the node's end. The ZooKeeper client is a library that
// knows nothing of the trace, so this package reads along on its connections: frames are found by their lengths, and an answer gets the
// name of the request with the same xid. The ensemble records its end itself, under the same names.
package clienttrace

import (
	"context"
	"encoding/binary"
	"net"
	"sync"

	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/fabric"
	"twinlog/engine/trace"
)

// Network returns the network with connections to the servers (host:port) read along. With no tracer it is the network itself.
func Network(inner fabric.Network, servers []string, tracer *trace.Tracer) fabric.Network {
	if tracer == nil || len(servers) == 0 {
		return inner
	}
	n := &network{Network: inner, servers: map[string]bool{}, tracer: tracer}
	for _, address := range servers {
		n.servers[address] = true
	}
	return n
}

type network struct {
	fabric.Network
	servers map[string]bool
	tracer  *trace.Tracer
}

func (n *network) Dial(ctx context.Context, address string) (net.Conn, error) {
	dialled, err := n.Network.Dial(ctx, address)
	if err != nil || !n.servers[address] {
		return dialled, err
	}
	namer, named := dialled.(fabric.PeerNamer)
	if !named || namer.PeerNode() == "" || namer.PeerNode() == fabric.Client {
		return dialled, nil // a ZooKeeper that is no node of ours
	}
	return &conn{
		Conn: dialled, tracer: n.tracer, node: n.Node(), server: namer.PeerNode(),
		name: trace.Connection(dialled.LocalAddr(), dialled.RemoteAddr()), pending: map[int32]request{},
	}, nil
}

// maxPending bounds the requests whose answers are awaited; answers to others are not recorded.
const maxPending = 1024

// conn is a connection of the client's. One goroutine writes, one reads.
type conn struct {
	net.Conn
	tracer             *trace.Tracer
	node, server, name string
	requests, answers  frames

	mu      sync.Mutex
	pending map[int32]request // without an answer, by xid
}

type request struct {
	op      protocol.Op
	message trace.Message
}

// frameOf is a frame for the trace; begin is what follows its length.
func frameOf(op protocol.Op, begin []byte, size int64) trace.Frame {
	return trace.Frame{Kind: int16(op), Head: binary.BigEndian.AppendUint32(make([]byte, 0, 4), uint32(size-4)), Body: begin}
}

// Write records the requests that end in these bytes, and writes them.
func (c *conn) Write(bytes []byte) (int, error) {
	c.requests.read(bytes, c.sent)
	return c.Conn.Write(bytes)
}

// Read reads, and records the answers that end in what was read.
func (c *conn) Read(bytes []byte) (int, error) {
	n, err := c.Conn.Read(bytes)
	c.answers.read(bytes[:n], c.received)
	return n, err
}

// PeerNode is the server's node.
func (c *conn) PeerNode() string { return c.server }

func (c *conn) sent(begin []byte, size int64) {
	header, body, err := protocol.DecodeHeader(begin)
	if err != nil || header.Op == protocol.OpPing {
		return
	}
	message := trace.Message{
		Exchange: trace.Exchange{Connection: c.name, Correlation: int64(header.Xid)},
		From:     c.node, To: c.server, Protocol: "zookeeper", Name: header.Op.String(), Bytes: size, Offset: -1,
		Subject: protocol.Subject(header.Op, body),
	}
	c.mu.Lock()
	if len(c.pending) < maxPending {
		c.pending[header.Xid] = request{header.Op, message}
	}
	c.mu.Unlock()
	c.tracer.EmitMessage(trace.Ref{}, trace.MessageSent{Message: message}, frameOf(header.Op, begin, size))
}

// received takes an answer; a ping's and a watch event have no request that was recorded.
func (c *conn) received(begin []byte, size int64) {
	if len(begin) < 4 {
		return
	}
	xid := int32(binary.BigEndian.Uint32(begin))
	c.mu.Lock()
	asked, found := c.pending[xid]
	delete(c.pending, xid)
	c.mu.Unlock()
	if !found {
		return
	}
	message := asked.message
	message.Exchange.Response = true
	message.From, message.To, message.Bytes = message.To, message.From, size
	c.tracer.EmitMessage(trace.Ref{}, trace.MessageReceived{Message: message}, frameOf(asked.op, begin, size))
}

// frames finds the frames in one direction of a connection, however they are cut into reads and writes. The first one, about the session
// as a whole, has no header and is left out.
type frames struct {
	begin   []byte // of the frame that is being read, its length included
	missing int64  // bytes of the frame that are still to come and not kept
	size    int64  // of the frame, its length included
	first   bool   // has been seen
}

// keptBytes is how much of a frame is kept: enough for its header and a path.
const keptBytes = 4 << 10

// read goes on with bytes and calls whole with the beginning of each frame that ends in them, without its length, and with its size.
func (f *frames) read(bytes []byte, whole func(begin []byte, size int64)) {
	for len(bytes) > 0 {
		if len(f.begin) < 4 {
			n := min(4-len(f.begin), len(bytes))
			f.begin, bytes = append(f.begin, bytes[:n]...), bytes[n:]
			if len(f.begin) < 4 {
				return
			}
			f.missing = int64(binary.BigEndian.Uint32(f.begin))
			f.size = 4 + f.missing
		}
		n := min(f.missing, int64(len(bytes)))
		if room := int64(4 + keptBytes - len(f.begin)); room > 0 {
			f.begin = append(f.begin, bytes[:min(n, room)]...)
		}
		bytes = bytes[n:]
		if f.missing -= n; f.missing > 0 {
			return
		}
		if f.first {
			whole(f.begin[4:], f.size)
		}
		f.first, f.begin = true, f.begin[:0]
	}
}
