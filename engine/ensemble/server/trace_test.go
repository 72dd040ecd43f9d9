package server_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/trace"
)

// TestTheTraceTellsIt: one change, as every server records it, with the messages that brought it there.
func TestTheTraceTellsIt(t *testing.T) {
	e := newEnsemble(t, 3, nil)
	e.start(1, 2, 3)
	e.awaitReady(1, 2, 3)
	leader := e.leader()
	follower := leader%3 + 1
	conn, _ := e.connect(4*time.Second, follower)
	_, _, created, err := conn.ExistsW("/traced")
	if err != nil {
		t.Fatal(err)
	}
	must[string](t)(conn.Create("/traced", []byte("data"), zk.FlagEphemeral, everybody))
	expect(t, created, zk.EventNodeCreated, "/traced")
	_, stat, err := conn.Get("/traced")
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	for id := 1; id <= 3; id++ {
		c := e.raw(id)
		c.must(t, 9, pathRecord("/")) // everything before is applied here
	}
	records := map[int][]trace.Record{}
	sent := map[trace.Exchange]trace.Message{}
	for id := 1; id <= 3; id++ {
		records[id] = e.running[id].tracer.Drain(nil)
		for _, r := range records[id] {
			if event, ok := r.Data.(trace.MessageSent); ok && event.Protocol == "raft" {
				sent[event.Exchange] = event.Message
			}
		}
	}
	paired := 0
	for id := 1; id <= 3; id++ {
		var change, gone, committed, followed int
		var written, known uint64
		for _, r := range records[id] {
			switch event := r.Data.(type) {
			case trace.ZnodeCreated:
				if event.Path == "/traced" && event.Zxid == stat.Czxid && event.Mode == "ephemeral" && event.Data == "data" && event.Session != "" {
					change++
				}
			case trace.ZnodeDeleted:
				if event.Path == "/traced" && event.Session != "" {
					gone++
				}
			case trace.EnsembleLogAppended:
				written = event.LastIndex
			case trace.EnsembleCommitAdvanced:
				committed++
				known = event.Index
			case trace.EnsembleRoleChanged:
				if event.Leader == e.name(leader) {
					followed++
				}
			case trace.MessageReceived:
				// Under load the tracer folds messages of one kind into one record, at either end.
				twin, found := sent[event.Exchange]
				if found && event.Folded.Events() == 1 && twin.Folded.Events() == 1 {
					paired++
					if twin != event.Message {
						t.Errorf("server %d received %+v, sent was %+v", id, event.Message, twin)
					}
				}
			}
		}
		if written == 0 || written < known {
			t.Errorf("server %d wrote up to %d and committed up to %d", id, written, known)
		}
		if change != 1 || gone != 1 || committed == 0 || followed == 0 {
			t.Errorf("server %d: created %d, deleted %d, commits %d, leader %d times", id, change, gone, committed, followed)
		}
	}
	if paired == 0 {
		t.Error("no message between servers is recorded at both ends")
	}
	kinds := map[string]int{}
	for _, r := range records[follower] {
		kinds[r.Kind]++
	}
	for _, kind := range []string{
		"ensemble.sessionCreated", "ensemble.sessionConnected", "ensemble.sessionEnded", "ensemble.watchSet", "ensemble.watchFired",
		"message.received", "message.sent",
	} {
		if kinds[kind] == 0 {
			t.Errorf("the client's server recorded no %s: %v", kind, kinds)
		}
	}
}

func (e *ensemble) name(id int) string { return e.running[id].tracer.Node() }
