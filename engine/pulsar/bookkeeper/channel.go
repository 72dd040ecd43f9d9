package bookkeeper

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"twinlog/engine/fabric"
	"twinlog/engine/pulsar/bookkeeper/wire"
	"twinlog/engine/trace"
)

var (
	errTimeout = errors.New("no answer in time")
	errBusy    = errors.New("too many bytes wait to be sent")
	errStopped = errors.New("the BookKeeper client is stopping")
)

const (
	dialTimeout    = 3 * time.Second
	sweepInterval  = 250 * time.Millisecond
	channelBytes   = 128 << 20 // bytes that wait to be sent to one bookie
	writeChunk     = 256 << 10
	firstBuffer    = 8 << 10 // an idle connection costs little
	readBufferSize = 32 << 10
)

// call is a request under way. Done is called once, on a goroutine of the channel; it must not wait.
type call struct {
	request  *wire.Request
	timeout  time.Duration
	done     func(*wire.Response, error)
	deadline time.Time
}

// callKey matches an answer to its request: by transaction in version 3, by what it is about in version 2.
type callKey struct {
	operation     wire.Operation
	txn           uint64
	ledger, entry int64
}

func keyOf(version int, operation wire.Operation, txn uint64, ledger, entry int64) callKey {
	if version == wire.Version3 {
		return callKey{operation: operation, txn: txn}
	}
	return callKey{operation: operation, ledger: ledger, entry: entry}
}

// channel is the client's way to one bookie: at most one connection, opened when there is something to send. When the connection
// fails, everything under way fails at once.
type channel struct {
	client *Client
	bookie string

	mu      sync.Mutex
	queue   []*call
	queued  int64 // bytes in queue
	pending map[callKey][]*call
	txn     uint64
	stopped bool

	filled chan struct{} // one token: the queue is not empty
}

func newChannel(client *Client, bookie string) *channel {
	return &channel{client: client, bookie: bookie, pending: make(map[callKey][]*call), filled: make(chan struct{}, 1)}
}

func (c *channel) send(request *wire.Request, timeout time.Duration, done func(*wire.Response, error)) {
	request.Version = c.client.config.Version
	if err := c.enqueue(&call{request: request, timeout: timeout, done: done, deadline: time.Now().Add(timeout)}); err != nil {
		done(nil, c.failure(err))
	}
}

func (c *channel) enqueue(pending *call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.stopped:
		return errStopped
	case c.queued > channelBytes:
		return errBusy
	}
	c.txn++
	pending.request.Txn = c.txn
	c.queue = append(c.queue, pending)
	c.queued += int64(len(pending.request.Body))
	select {
	case c.filled <- struct{}{}:
	default:
	}
	return nil
}

func (c *channel) failure(err error) error { return fmt.Errorf("bookie %s: %w", c.bookie, err) }

// run serves the channel until ctx ends.
func (c *channel) run(ctx context.Context) {
	defer c.failAll(errStopped, true)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.filled:
		}
		conn, err := c.dial(ctx)
		if err == nil {
			c.client.trust(c.bookie)
			err = c.converse(ctx, conn)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			c.client.suspect(c.bookie)
			c.client.logger.Info("connection to bookie failed", "bookie", c.bookie, "error", err)
		}
		c.failAll(err, false)
	}
}

func (c *channel) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, min(dialTimeout, c.client.config.AddTimeout))
	defer cancel()
	return c.client.config.Network.Dial(ctx, c.bookie)
}

// converse sends what is queued and takes answers until the connection fails or ctx ends.
func (c *channel) converse(ctx context.Context, conn net.Conn) error {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	defer conn.Close()
	peer := &peer{channel: c, conn: conn, name: trace.Connection(conn.LocalAddr(), conn.RemoteAddr()), node: c.client.nodeOf(c.bookie, conn)}
	var loops sync.WaitGroup
	loops.Go(func() { cancel(peer.readAnswers()) })
	loops.Go(func() { cancel(c.sweep(ctx)) })
	cancel(peer.writeRequests(ctx))
	conn.Close()
	loops.Wait()
	return context.Cause(ctx)
}

// takeQueue moves the queue to pending and returns it: an answer may come as soon as a request is written.
func (c *channel) takeQueue(empty []*call) []*call {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.queue
	c.queue = empty[:0]
	c.queued = 0
	for _, pending := range calls {
		r := pending.request
		key := keyOf(r.Version, r.Operation, r.Txn, r.Ledger, r.Entry)
		c.pending[key] = append(c.pending[key], pending)
	}
	return calls
}

// answered finds and removes the call that a response answers.
func (c *channel) answered(r *wire.Response) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := keyOf(r.Version, r.Operation, r.Txn, r.Ledger, r.Entry)
	calls := c.pending[key]
	switch len(calls) {
	case 0:
		return nil
	case 1:
		delete(c.pending, key)
	default:
		c.pending[key] = calls[1:]
	}
	return calls[0]
}

// failAll fails everything that is under way or queued.
func (c *channel) failAll(err error, stop bool) {
	c.mu.Lock()
	calls := c.queue
	for _, pending := range c.pending {
		calls = append(calls, pending...)
	}
	c.queue, c.queued = nil, 0
	clear(c.pending)
	c.stopped = c.stopped || stop
	c.mu.Unlock()
	if err == nil {
		err = errors.New("connection closed")
	}
	for _, pending := range calls {
		pending.done(nil, c.failure(err))
	}
}

// sweep fails the calls whose time is up. Their bookie may be frozen, so it is suspect.
func (c *channel) sweep(ctx context.Context) error {
	ticker := time.NewTicker(sweepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			for _, late := range c.late(now) {
				c.client.suspect(c.bookie)
				late.done(nil, c.failure(fmt.Errorf("%v: %w (%v)", late.request.Operation, errTimeout, late.timeout)))
			}
		}
	}
}

func (c *channel) late(now time.Time) (late []*call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, calls := range c.pending {
		kept := calls[:0]
		for _, pending := range calls {
			if now.After(pending.deadline) {
				late = append(late, pending)
			} else {
				kept = append(kept, pending)
			}
		}
		if len(kept) == 0 {
			delete(c.pending, key)
		} else {
			c.pending[key] = kept
		}
	}
	return late
}

// peer is one connection of a channel.
type peer struct {
	channel *channel
	conn    net.Conn
	name    string // for the trace
	node    string
}

func (p *peer) writeRequests(ctx context.Context) error {
	var spare []*call
	buffer := make([]byte, 0, firstBuffer)
	for {
		calls := p.channel.takeQueue(spare)
		for i, pending := range calls {
			start := len(buffer)
			var err error
			if buffer, err = wire.AppendRequest(buffer, pending.request); err != nil {
				return err
			}
			p.traceSent(pending.request, buffer[start:])
			if len(buffer) >= writeChunk || i == len(calls)-1 {
				if err := p.write(buffer); err != nil {
					return err
				}
				buffer = buffer[:0]
			}
		}
		if cap(buffer) > 4*writeChunk {
			buffer = make([]byte, 0, firstBuffer)
		}
		clear(calls)
		spare = calls
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.channel.filled:
		}
	}
}

// write gives a frozen bookie as long as an add: then the connection is given up.
func (p *peer) write(frames []byte) error {
	if err := p.conn.SetWriteDeadline(time.Now().Add(p.channel.client.config.AddTimeout)); err != nil {
		return err
	}
	_, err := p.conn.Write(frames)
	return err
}

func (p *peer) readAnswers() error {
	reader := bufio.NewReaderSize(p.conn, readBufferSize)
	for {
		packet, err := wire.ReadPacket(reader)
		if err != nil {
			return err
		}
		response, err := wire.DecodeResponse(packet)
		if err != nil {
			return err
		}
		p.traceReceived(response, packet)
		if answered := p.channel.answered(response); answered != nil {
			answered.done(response, nil)
		}
	}
}

func (p *peer) traceSent(r *wire.Request, frame []byte) {
	client := p.channel.client
	if client.tracer == nil {
		return
	}
	client.tracer.EmitMessage(trace.Ref{}, trace.MessageSent{Message: trace.Message{
		Exchange: trace.Exchange{Connection: p.name, Correlation: r.Correlation()},
		From:     client.node, To: p.node, Protocol: "bookkeeper", Name: r.Operation.String(), Bytes: int64(len(frame)),
		Subject: subject(r.Ledger), Offset: r.Entry, Count: 1,
	}}, trace.Frame{Head: frame})
}

func (p *peer) traceReceived(r *wire.Response, packet []byte) {
	client := p.channel.client
	if client.tracer == nil {
		return
	}
	client.tracer.EmitMessage(trace.Ref{}, trace.MessageReceived{Message: trace.Message{
		Exchange: trace.Exchange{Connection: p.name, Correlation: r.Correlation(), Response: true},
		From:     p.node, To: client.node, Protocol: "bookkeeper", Name: r.Operation.String(), Bytes: int64(len(packet) + 4),
		Subject: subject(r.Ledger), Offset: r.Entry, Count: 1,
	}}, trace.Frame{Head: binary.BigEndian.AppendUint32(make([]byte, 0, 4), uint32(len(packet))), Body: packet})
}

// nodeOf is a bookie's node name, as far as it is known.
func (c *Client) nodeOf(bookie string, conn net.Conn) string {
	if c.config.NodeOf != nil {
		return c.config.NodeOf(bookie)
	}
	if namer, ok := conn.(fabric.PeerNamer); ok && namer.PeerNode() != fabric.Client {
		return namer.PeerNode()
	}
	return bookie
}
