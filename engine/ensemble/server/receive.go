package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"twinlog/engine/trace"
)

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
	from, err := t.receiveHello(conn, reader)
	if err != nil {
		return err
	}
	t.events.hello(from)
	connection := trace.Connection(conn.RemoteAddr(), conn.LocalAddr())
	var snapshot *raftpb.Message
	var announced []byte // the snapshot's first frame
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
			if kind == frameSnapshot { // its tree comes in pieces
				snapshot, announced = message, payload
				continue
			}
			t.traceReceived(message, connection, received, peerFrameHead+int64(len(payload)), kind, payload)
			t.events.raft(message)
		case frameChunk, frameEnd:
			if snapshot == nil || snapshot.Snapshot == nil || len(snapshot.Snapshot.Data)+len(payload) > maxSnapshot {
				return fmt.Errorf("%w: a piece of a snapshot that it did not begin, or one of more than %d bytes", errPeerFrame, maxSnapshot)
			}
			snapshot.Snapshot.Data = append(snapshot.Snapshot.Data, payload...)
			if kind == frameEnd {
				size := int64(len(announced) + len(snapshot.Snapshot.Data))
				t.traceReceived(snapshot, connection, 1, size, frameSnapshot, announced)
				t.events.raft(snapshot)
				return nil
			}
		case frameCommand:
			t.events.command(payload)
		case frameTouch:
			t.events.touched(decodeTouches(payload))
		default:
			if err := t.receiveIntroduction(from.server, kind, payload); err != nil {
				return err
			}
		}
	}
}

// receiveHello reads a connection's first frame, which has to come soon and to be meant for this server.
func (t *transport) receiveHello(conn net.Conn, reader *bufio.Reader) (hello, error) {
	if err := conn.SetReadDeadline(time.Now().Add(helloDeadline)); err != nil {
		return hello{}, err
	}
	kind, payload, err := readPeerFrame(reader)
	if err != nil {
		return hello{}, err
	}
	if kind != frameHello {
		return hello{}, fmt.Errorf("%w: it begins with kind %d instead of a hello", errPeerFrame, kind)
	}
	from, err := decodeHello(payload)
	if err != nil {
		return hello{}, err
	}
	if from.to != int32(t.config.ID) {
		return hello{}, fmt.Errorf("server %d took this server %d for server %d; compare the peers in their configurations", from.server, t.config.ID, from.to)
	}
	return from, conn.SetReadDeadline(time.Time{})
}

// traceReceived records a message of Raft's that is here as a whole.
func (t *transport) traceReceived(message *raftpb.Message, connection string, number, size int64, kind byte, payload []byte) {
	if told, worth := describe(t.config, message, size); worth {
		told.Exchange = trace.Exchange{Connection: connection, Correlation: number}
		t.config.Tracer.EmitMessage(trace.Ref{}, trace.MessageReceived{Message: told}, peerFrame(kind, payload))
	}
}

func (t *transport) receiveIntroduction(from int32, kind byte, payload []byte) error {
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
		t.events.join(from, asked)
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
