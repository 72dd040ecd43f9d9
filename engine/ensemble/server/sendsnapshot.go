package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"twinlog/engine/trace"
)

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
	conn, err := p.dial(t.ctx) // Raft sends the server nothing until it is told how this ended: it must end
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(t.ctx, func() { _ = conn.Close() })
	defer stop()
	frames := appendPeerFrame(nil, frameHello, t.self.Load().toServer(p.server))
	frames = appendPeerFrame(frames, frameSnapshot, payload)
	if told, worth := describe(t.config, announced, int64(len(payload)+len(snapshot.tree))); worth {
		told.Exchange = trace.Exchange{Connection: trace.Connection(conn.LocalAddr(), conn.RemoteAddr()), Correlation: 1}
		t.config.Tracer.EmitMessage(trace.Ref{}, trace.MessageSent{Message: told}, peerFrame(frameSnapshot, payload))
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
	// The other server closes the connection when it has read all. Anything else means that it may not have the snapshot.
	if err := conn.SetReadDeadline(time.Now().Add(peerStallLimit)); err != nil {
		return err
	}
	var one [1]byte
	if _, err := conn.Read(one[:]); err != io.EOF {
		return fmt.Errorf("the server did not confirm that it has read the snapshot: %w", err)
	}
	return nil
}
