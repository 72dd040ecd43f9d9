package server

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"twinlog/engine/ensemble/jute"
	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
	"twinlog/engine/trace"
)

// A client's requests that have no answer yet take slots: one, and one more for each slotBytes. When there are no more, the next request
// is not handed on, and soon not read.
const (
	maxInFlight = 1024
	slotBytes   = 8 << 10
)

func slotsOf(frame []byte) int { return 1 + len(frame)/slotBytes }

// client is one connection. All fields below the line belong to the owner.
type client struct {
	number int64 // within this run; also its name as a watcher
	conn   net.Conn
	out    *outbox
	slots  chan struct{} // taken by requests in flight
	gone   chan struct{} // closed when the reader has ended
	mute   chan struct{} // closed when the writer has ended

	// ---
	session    int64
	attachment int64
	timeoutMS  int32
	caller     []tree.ID
	queue      []*request // without an answer, in order
	closing    bool
	statistics clientStatistics
	connect    protocol.ConnectRequest
	password   [16]byte
}

type clientStatistics struct {
	received, sent     int64
	lastXid            int32
	lastZxid           int64
	lastOp             protocol.Op
	established        time.Time
	lastAnswer         time.Time
	latency            latency
	answersOutstanding int
}

// request is one that a client waits for.
type request struct {
	header  protocol.Header
	body    []byte
	slots   int
	arrived time.Time
	// waiting: it is in the log and not applied here yet.
	waiting bool
	outcome tree.Outcome
	traced  trace.Message
	cause   trace.Ref
}

// acceptClients takes clients' connections until the listener ends.
func (s *Server) acceptClients(ctx context.Context, listener net.Listener) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil // the server ends, or its network was taken away
			}
			return fmt.Errorf("accepting a client's connection on %s: %w", listener.Addr(), err)
		}
		if s.connections.Add(1) > int64(s.config.MaxConnections) {
			s.connections.Add(-1)
			s.config.Logger.Warn("too many clients", "limit", s.config.MaxConnections)
			_ = conn.Close()
			continue
		}
		s.tasks.Go(func() {
			defer s.connections.Add(-1)
			s.serveClient(ctx, conn)
		})
	}
}

// serveClient reads a connection: a four-letter word, or a session's requests.
func (s *Server) serveClient(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	reader := bufio.NewReaderSize(conn, 16<<10)
	if err := conn.SetReadDeadline(time.Now().Add(helloDeadline)); err != nil {
		return
	}
	first, err := reader.Peek(4)
	if err != nil {
		return
	}
	if isWord(string(first)) {
		s.answerWord(conn, string(first))
		return
	}
	frame, err := readFrame(reader)
	if err != nil {
		return
	}
	connect, err := protocol.DecodeConnectRequest(frame)
	if err != nil {
		s.config.Logger.Debug("a client's first frame", "client", conn.RemoteAddr(), "error", err)
		return
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return
	}
	c := &client{
		number: s.clientNumber.Add(1), conn: conn, out: newOutbox(),
		slots: make(chan struct{}, maxInFlight), gone: make(chan struct{}), mute: make(chan struct{}),
	}
	s.tasks.Go(func() {
		defer close(c.mute)
		c.out.run(conn, c.gone, func(slots int) {
			for range slots {
				<-c.slots
			}
		})
	})
	c.connect = connect
	c.caller = []tree.ID{{Scheme: "ip", ID: remoteIP(conn)}}
	c.slots <- struct{}{} // the answer to connect
	err = nil
	if s.post(connectEvent{c}) {
		err = s.readRequests(c, reader)
	}
	close(c.gone)
	s.post(disconnectEvent{c, err})
}

// readRequests hands requests to the owner until the connection ends.
func (s *Server) readRequests(c *client, reader *bufio.Reader) error {
	connection := trace.Connection(c.conn.RemoteAddr(), c.conn.LocalAddr())
	for {
		frame, err := readFrame(reader)
		if err != nil {
			return err
		}
		header, body, err := protocol.DecodeHeader(frame)
		if err != nil {
			return err
		}
		r := &request{header: header, body: body, slots: slotsOf(frame), arrived: time.Now()}
		if s.config.Tracer != nil && header.Op != protocol.OpPing {
			r.traced = trace.Message{
				Exchange: trace.Exchange{Connection: connection, Correlation: int64(header.Xid)},
				From:     peerNode(c.conn), To: s.config.name(int32(s.config.ID)), Protocol: "zookeeper", Name: header.Op.String(),
				Bytes: int64(4 + len(frame)), Offset: -1, Subject: protocol.Subject(header.Op, body),
			}
			r.cause = s.config.Tracer.EmitMessage(trace.Ref{}, trace.MessageReceived{Message: r.traced}, trace.Frame{
				Kind: int16(header.Op), Head: binary.BigEndian.AppendUint32(make([]byte, 0, 4), uint32(len(frame))), Body: frame,
			})
		}
		for range r.slots {
			select {
			case c.slots <- struct{}{}:
			case <-c.mute:
				return net.ErrClosed
			}
		}
		if !s.post(requestEvent{c, r}) {
			return net.ErrClosed
		}
	}
}

// readFrame reads one frame of a client; it is new memory.
func readFrame(reader *bufio.Reader) ([]byte, error) {
	var header [4]byte
	if _, err := io.ReadFull(reader, header[:]); err != nil {
		return nil, err
	}
	length := int32(binary.BigEndian.Uint32(header[:]))
	if length < 0 || length > jute.MaxFrame {
		return nil, fmt.Errorf("a frame of %d bytes; at most %d are taken", length, jute.MaxFrame)
	}
	frame := make([]byte, length)
	_, err := io.ReadFull(reader, frame)
	return frame, err
}

func remoteIP(conn net.Conn) string {
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		return conn.RemoteAddr().String()
	}
	return host
}
