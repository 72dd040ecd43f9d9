package bookie

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"

	"twinlog/engine/fabric"
	"twinlog/engine/pulsar/bookkeeper/wire"
	"twinlog/engine/trace"
)

const (
	responseQueue  = 8 << 20 // bytes of answers that a client may leave unread before its requests are left unread too
	readQueue      = 1024    // reads of one connection that wait
	longPolls      = 256     // long polls of one connection
	writeChunk     = 256 << 10
	firstBuffer    = 8 << 10 // an idle connection costs little
	readBufferSize = 32 << 10
)

// connection serves one client. Three goroutines: one reads requests, one does the reads that they ask for (adds go to the journal),
// one writes answers. A client that does not take its answers is not read from any more.
type connection struct {
	bookie    *Bookie
	conn      net.Conn
	name      string // for the trace
	peer      string // node name, known with the first request
	responses *queue[*wire.Response]
	reads     *queue[*wire.Request]
	polls     chan struct{} // one token for each long poll under way
	waiting   sync.WaitGroup
}

func (b *Bookie) serveConnection(ctx context.Context, conn net.Conn) {
	c := &connection{
		bookie: b, conn: conn, name: trace.Connection(conn.RemoteAddr(), conn.LocalAddr()), peer: fabric.Client,
		responses: newQueue[*wire.Response](responseQueue), reads: newQueue[*wire.Request](readQueue), polls: make(chan struct{}, longPolls),
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	defer cancel()
	var loops sync.WaitGroup
	for _, loop := range []func(context.Context) error{c.readRequests, c.doReads, c.writeResponses} {
		loops.Go(func() {
			if err := loop(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
				b.logger.Info("bookie connection ends", "peer", conn.RemoteAddr().String(), "error", err)
			}
			cancel()
		})
	}
	loops.Wait()
	c.responses.close()
	c.reads.close()
	c.waiting.Wait()
}

func (c *connection) readRequests(ctx context.Context) error {
	reader := bufio.NewReaderSize(c.conn, readBufferSize)
	for first := true; ; first = false {
		packet, err := wire.ReadPacket(reader)
		if err != nil {
			return err
		}
		if namer, ok := c.conn.(fabric.PeerNamer); first && ok {
			c.peer = namer.PeerNode()
		}
		request, err := wire.DecodeRequest(packet)
		switch {
		case errors.Is(err, wire.ErrUnknownOperation) && request != nil:
			c.respond(request.Answer(wire.BadRequest))
			continue
		case errors.Is(err, wire.ErrVersion) && request != nil:
			c.respond(request.Answer(wire.BadVersion))
			continue
		case err != nil:
			return err
		}
		c.traceReceived(request, packet)
		if !c.dispatch(ctx, request) || !c.responses.awaitRoom(ctx.Done()) {
			return ctx.Err()
		}
	}
}

// respond queues an answer. It does not wait: requests are not read while too many answers are queued.
func (c *connection) respond(response *wire.Response) {
	c.responses.push(response, int64(len(response.Body))+64)
}

func (c *connection) writeResponses(ctx context.Context) error {
	var spare []*wire.Response
	buffer := make([]byte, 0, firstBuffer)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.responses.filled:
		}
		responses := c.responses.takeAll(spare)
		for i, response := range responses {
			start := len(buffer)
			var err error
			if buffer, err = wire.AppendResponse(buffer, response); err != nil {
				return err
			}
			c.traceSent(response, buffer[start:])
			if len(buffer) >= writeChunk || i == len(responses)-1 {
				if _, err := c.conn.Write(buffer); err != nil {
					return err
				}
				buffer = buffer[:0]
			}
			c.responses.release(int64(len(response.Body)) + 64)
		}
		if cap(buffer) > 4*writeChunk {
			buffer = make([]byte, 0, firstBuffer)
		}
		clear(responses)
		spare = responses
	}
}

func (c *connection) traceReceived(r *wire.Request, packet []byte) {
	if c.bookie.tracer == nil {
		return
	}
	c.bookie.tracer.EmitMessage(trace.Ref{}, trace.MessageReceived{Message: trace.Message{
		Exchange: trace.Exchange{Connection: c.name, Correlation: r.Correlation()},
		From:     c.peer, To: c.bookie.node, Protocol: "bookkeeper", Name: r.Operation.String(), Bytes: int64(len(packet) + 4),
		Subject: subject(r.Ledger), Offset: r.Entry, Count: 1,
	}}, trace.Frame{Head: binary.BigEndian.AppendUint32(make([]byte, 0, 4), uint32(len(packet))), Body: packet})
}

func (c *connection) traceSent(r *wire.Response, frame []byte) {
	if c.bookie.tracer == nil {
		return
	}
	c.bookie.tracer.EmitMessage(trace.Ref{}, trace.MessageSent{Message: trace.Message{
		Exchange: trace.Exchange{Connection: c.name, Correlation: r.Correlation(), Response: true},
		From:     c.bookie.node, To: c.peer, Protocol: "bookkeeper", Name: r.Operation.String(), Bytes: int64(len(frame)),
		Subject: subject(r.Ledger), Offset: r.Entry, Count: 1,
	}}, trace.Frame{Head: frame})
}

func subject(ledger int64) string { return "ledger " + strconv.FormatInt(ledger, 10) }
