package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/fabric"
	"twinlog/engine/pulsar/pulsarpb"
	"twinlog/engine/trace"
)

// protocolVersion is the newest version of the binary protocol that the broker speaks.
const protocolVersion = 21

const (
	// maxRequests bounds the requests of one connection that wait for ZooKeeper, bookies or a topic.
	maxRequests = 256
	// maxPendingSends and maxPendingSendBytes bound the messages of one connection that are not yet stored: then its socket is not
	// read, which slows its producers down.
	maxPendingSends     = 1000
	maxPendingSendBytes = 16 << 20
	// maxAttached bounds the producers and consumers of one connection.
	maxAttached = 10_000
)

// connection is one client connection: a goroutine reads commands and one writes frames. What is attached to it is guarded by mu;
// everything else belongs to the reader.
type connection struct {
	frame trace.Frame // that is being handled; of the goroutine that reads

	broker   *Broker
	conn     net.Conn
	name     string // of the connection, in the trace
	listener string // the advertised listener that lookups answer with, unless they name another one
	remote   string

	out    *outbox
	closed chan struct{}
	once   sync.Once
	cause  error

	received       atomic.Int64 // frames
	handshaken     atomic.Bool
	probing        atomic.Bool // probes is not empty
	pinged         bool        // belongs to the writer, as the next
	receivedAtPing int64

	requests  chan struct{} // a slot for each request that waits
	working   sync.WaitGroup
	sends     *limiter // messages
	sendBytes *limiter

	version       int32
	clientVersion string
	sequence      int64 // numbers messages without a request id, for the trace

	mu        sync.Mutex
	gone      bool
	probes    []chan struct{}
	producers map[uint64]*producer
	consumers map[uint64]*consumer
}

// connectionTable is the connections of a broker.
type connectionTable struct {
	mu     sync.Mutex
	open   map[*connection]struct{}
	limit  int
	closed bool
}

func newConnectionTable(limit int) *connectionTable {
	return &connectionTable{open: map[*connection]struct{}{}, limit: limit}
}

func (t *connectionTable) add(c *connection) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || len(t.open) >= t.limit {
		return false
	}
	t.open[c] = struct{}{}
	return true
}

func (t *connectionTable) remove(c *connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, c)
}

func (t *connectionTable) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open)
}

func (t *connectionTable) closeAll(reason error) {
	t.mu.Lock()
	t.closed = true
	var all []*connection
	for c := range t.open {
		all = append(all, c)
	}
	t.mu.Unlock()
	for _, c := range all {
		c.close(reason)
	}
}

// accept serves one binary port until it is closed.
func (b *Broker) accept(listener net.Listener, listenerName string) error {
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) || b.context.Err() != nil {
			return nil
		}
		if err != nil {
			var temporary net.Error
			if errors.As(err, &temporary) && temporary.Timeout() {
				continue
			}
			return fmt.Errorf("Pulsar port %s: %w", listener.Addr(), err)
		}
		c := &connection{
			broker: b, conn: conn, listener: listenerName,
			name:      trace.Connection(conn.RemoteAddr(), conn.LocalAddr()),
			remote:    conn.RemoteAddr().String(),
			out:       newOutbox(),
			closed:    make(chan struct{}),
			requests:  make(chan struct{}, maxRequests),
			sends:     newLimiter(maxPendingSends),
			sendBytes: newLimiter(maxPendingSendBytes),
			producers: map[uint64]*producer{}, consumers: map[uint64]*consumer{},
		}
		if !b.connections.add(c) {
			b.logger.Warn("connection refused: too many", "limit", b.config.MaxConnections, "client", c.remote)
			conn.Close()
			continue
		}
		b.tasks.Go(c.serve)
	}
}

func (c *connection) serve() {
	defer c.broker.connections.remove(c)
	var writer sync.WaitGroup
	writer.Go(c.runWriter)
	err := c.runReader()
	c.close(err)
	writer.Wait()
	c.detachAll()
	c.working.Wait()
	if c.cause != nil && !errors.Is(c.cause, io.EOF) && !errors.Is(c.cause, net.ErrClosed) {
		c.broker.logger.Debug("client connection closed", "client", c.remote, "error", c.cause)
	}
}

// close ends the connection, from any goroutine; the first reason counts.
func (c *connection) close(reason error) {
	c.once.Do(func() {
		c.cause = reason
		close(c.closed)
		c.out.close(cmpError(reason, net.ErrClosed))
		c.conn.Close()
	})
}

func (c *connection) runReader() error {
	frames := newFrameReader(c.conn, c.broker.config.MaxMessageSize)
	if err := c.handshake(frames); err != nil {
		return err
	}
	for {
		command, payload, size, err := frames.next()
		if err != nil {
			return err
		}
		c.sawLife()
		c.frame = frames.bytes(payload)
		if err := c.handle(command, payload, size); err != nil {
			return err
		}
		if err := c.waitForRoom(); err != nil {
			return err
		}
	}
}

// waitForRoom stops reading requests while the client does not read their answers.
func (c *connection) waitForRoom() error {
	room := make(chan struct{})
	if !c.out.full(func() { close(room) }) {
		return nil
	}
	select {
	case <-room:
		return nil
	case <-c.closed:
		return net.ErrClosed
	}
}

// handshake expects CONNECT, and within one keep-alive interval.
func (c *connection) handshake(frames *frameReader) error {
	if err := c.conn.SetReadDeadline(time.Now().Add(c.broker.config.KeepAlive)); err != nil {
		return err
	}
	command, payload, size, err := frames.next()
	if err != nil {
		return err
	}
	c.frame = frames.bytes(payload)
	connect := command.GetConnect()
	if command.GetType() != pulsarpb.BaseCommand_CONNECT || connect == nil {
		return fmt.Errorf("%w: %v before CONNECT", errFrame, command.GetType())
	}
	if err := c.conn.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	c.version = min(connect.GetProtocolVersion(), protocolVersion)
	c.clientVersion = connect.GetClientVersion()
	c.traceReceived(command, size, "", -1, 0, 0)
	c.received.Add(1)
	c.handshaken.Store(true)
	c.send(&pulsarpb.BaseCommand{
		Type: pulsarpb.BaseCommand_CONNECTED.Enum(),
		Connected: &pulsarpb.CommandConnected{
			ServerVersion:   proto.String(ServerVersion),
			ProtocolVersion: proto.Int32(c.version),
			MaxMessageSize:  proto.Int32(int32(c.broker.config.MaxMessageSize)),
			FeatureFlags: &pulsarpb.FeatureFlags{
				SupportsTopicWatchers:                             proto.Bool(false), // a client that sees true uses it at once
				SupportsGetPartitionedMetadataWithoutAutoCreation: proto.Bool(true),
			},
		},
	})
	return nil
}

// send queues a command for the client. It never blocks; after the close of the connection it does nothing.
func (c *connection) send(command *pulsarpb.BaseCommand) { c.sendPayload(command, nil) }

// sendPayload is send of a command with a message, and returns the frame that it made.
func (c *connection) sendPayload(command *pulsarpb.BaseCommand, payload []byte) trace.Frame {
	head, err := frameHead(command, len(payload))
	if err != nil {
		c.close(err)
		return trace.Frame{}
	}
	c.out.add(outFrame{head: head, body: payload})
	return trace.Frame{Head: head, Body: payload}
}

// request runs work that may wait in a goroutine of its own, as long as the connection has a slot for it; ctx ends with the
// broker and when the operation took too long.
func (c *connection) request(work func(ctx context.Context)) error {
	select {
	case c.requests <- struct{}{}:
	case <-c.closed:
		return net.ErrClosed
	}
	c.working.Go(func() {
		defer func() { <-c.requests }()
		ctx, cancel := context.WithTimeout(c.broker.context, c.broker.config.OperationTimeout)
		defer cancel()
		work(ctx)
	})
	return nil
}

// detachAll lets every topic know that its producers and consumers of this connection are gone; a topic that has ended need not know.
func (c *connection) detachAll() {
	c.mu.Lock()
	c.gone = true
	producers, consumers := c.producers, c.consumers
	c.producers, c.consumers = nil, nil
	c.mu.Unlock()
	for _, p := range producers {
		if t := p.topic.Load(); t != nil {
			_ = t.submit(c.broker.context, func() { t.removeProducer(p) })
		}
	}
	for _, attached := range consumers {
		if t := attached.topic.Load(); t != nil {
			_ = t.submit(c.broker.context, func() { t.removeConsumer(attached) })
		}
	}
}

// alive finds out whether the client still answers: it sends a PING and calls back, once, from another goroutine. It is asked when
// somebody else claims a producer's name or an exclusive subscription.
func (c *connection) alive(answer func(bool)) {
	const patience = 3 * time.Second
	select {
	case <-c.closed:
		c.broker.tasks.Go(func() { answer(false) })
		return
	default:
	}
	answered := make(chan struct{})
	c.mu.Lock()
	c.probes = append(c.probes, answered)
	c.mu.Unlock()
	c.probing.Store(true)
	c.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_PING.Enum(), Ping: &pulsarpb.CommandPing{}})
	c.broker.tasks.Go(func() {
		deadline := time.NewTimer(min(patience, c.broker.config.KeepAlive))
		defer deadline.Stop()
		select {
		case <-c.closed:
			answer(false)
		case <-answered:
			answer(true)
		case <-deadline.C:
			c.close(errKeepAlive)
			answer(false)
		}
	})
}

// sawLife: a frame came, so whoever asked for a sign of life has it.
func (c *connection) sawLife() {
	c.received.Add(1)
	if !c.probing.CompareAndSwap(true, false) {
		return
	}
	c.mu.Lock()
	probes := c.probes
	c.probes = nil
	c.mu.Unlock()
	for _, probe := range probes {
		close(probe)
	}
}

// traceReceived records a command that came from the client. It is called by the goroutine that reads, before it reads on.
func (c *connection) traceReceived(command *pulsarpb.BaseCommand, size int, subject string, correlation int64, offset int64, count int) {
	c.broker.tracer.EmitMessage(trace.Ref{}, trace.MessageReceived{Message: c.message(command, size, subject, correlation, offset, count, true)}, c.frame)
}

func (c *connection) traceSent(command *pulsarpb.BaseCommand, frame trace.Frame, subject string, correlation int64, offset int64, count int) {
	size := len(frame.Head) + len(frame.Body)
	c.broker.tracer.EmitMessage(trace.Ref{}, trace.MessageSent{Message: c.message(command, size, subject, correlation, offset, count, false)}, frame)
}

func (c *connection) message(command *pulsarpb.BaseCommand, size int, subject string, correlation, offset int64, count int, fromClient bool) trace.Message {
	peer := fabric.Client
	if named, ok := c.conn.(fabric.PeerNamer); ok {
		peer = named.PeerNode()
	}
	message := trace.Message{
		Exchange: trace.Exchange{Connection: c.name, Correlation: correlation, Response: !fromClient},
		From:     peer, To: c.broker.tracer.Node(),
		Protocol: "pulsar", Name: command.GetType().String(), Bytes: int64(size), Subject: subject, Offset: offset, Count: count,
	}
	if !fromClient {
		message.From, message.To = message.To, message.From
	}
	return message
}
