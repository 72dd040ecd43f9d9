package server

import (
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
)

// TestWhoIsNotHeededDialsTheLeaderAnew: a server hears from its leader, but nothing comes of what it sends, however often.
func TestWhoIsNotHeededDialsTheLeaderAnew(t *testing.T) {
	const leader, next = 2, 3
	connectionTo := func(server int32) *peer {
		connection := &peer{server: server, queue: make(chan outgoing, 100), redial: make(chan struct{}, 1)}
		connection.connected.Store(true)
		return connection
	}
	connection := connectionTo(leader)
	config := &Config{ID: 1, ElectionTimeout: time.Second}
	o := &owner{
		config: config, tree: tree.New(), transport: &transport{config: config, peers: map[int32]*peer{leader: connection, next: connectionTo(next)}},
		consensus: consensus{leader: raftID(leader, 0), members: &raftpb.ConfState{}}, serving: serving{incarnation: 7},
	}
	const tick = 50 * time.Millisecond
	pass := func(long time.Duration) (redialled bool) {
		for range long / tick {
			o.tickStream(tick)
		}
		select {
		case <-connection.redial:
			return true
		default:
			return false
		}
	}
	if pass(time.Minute) {
		t.Error("it has sent nothing, and dials anew")
	}
	o.sendBarrier()
	if pass(o.silenceLimit()) {
		t.Error("it dials anew before the limit")
	}
	if !pass(o.resendAfter()) || len(connection.queue) < 2 {
		t.Errorf("after the limit, with %d frames sent, it does not dial anew", len(connection.queue))
	}
	o.takePending(&tree.Command{Origin: tree.Origin{Server: 1, Incarnation: 7, Sequence: 1}, Operation: &tree.Barrier{}})
	o.submit(pendingCommand{}, func(head protocol.CommandHead) []byte { return protocol.EncodeCommand(head, &tree.Barrier{}) })
	if pass(o.silenceLimit()) {
		t.Error("it was heeded a moment ago, and dials anew")
	}
	connection = o.transport.peers[next]
	o.leader = raftID(next, 0)
	o.leaderKnown()
	if pass(o.silenceLimit()) {
		t.Error("it dials a leader anew that it has hardly known yet")
	}
	if !pass(o.resendAfter()) {
		t.Error("after the limit it does not dial the new leader anew")
	}
}
