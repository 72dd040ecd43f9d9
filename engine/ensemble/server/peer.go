package server

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/trace"
)

func (p *peer) run(ctx context.Context) {
	defer p.stop()
	wait := redialFirst
	for ctx.Err() == nil {
		dialled, err := p.dial(ctx)
		if err == nil {
			wait = redialFirst
			err = p.serve(ctx, dialled)
		} else {
			p.transport.events.disconnected(p.server, isRefused(err))
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

func (p *peer) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	return p.transport.config.Network.Dial(ctx, p.address)
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
	select {
	case <-p.redial: // meant for the connection before
	default:
	}
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
		case <-p.redial:
			return errors.New("the other server was silent, or nothing came of what it was sent, for too long")
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
	if message, told := describe(p.transport.config, out.message, peerFrameHead+int64(len(payload))); told {
		message.Exchange = trace.Exchange{Connection: connection, Correlation: *sent}
		p.transport.config.Tracer.EmitMessage(trace.Ref{}, trace.MessageSent{Message: message}, peerFrame(kind, payload))
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

// isRefused tells that nobody listens at an address: its process is gone.
func isRefused(err error) bool {
	const refusedOnWindows = syscall.Errno(10061) // WSAECONNREFUSED, which Go's syscall package has no name for
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, refusedOnWindows)
}
