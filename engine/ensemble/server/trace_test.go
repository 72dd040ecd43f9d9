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
		var of told
		for _, r := range records[id] {
			of.note(r, e.name(leader), stat.Czxid)
		}
		if of.written == 0 || of.written < of.known || of.created != 1 || of.deleted != 1 || of.commits == 0 || of.follows == 0 {
			t.Errorf("server %d tells %+v", id, of)
		}
		paired += pairMessages(t, id, records[id], sent)
	}
	if paired == 0 {
		t.Error("no message between servers is recorded at both ends")
	}
	mustTell(t, records[follower],
		"ensemble.sessionCreated", "ensemble.sessionConnected", "ensemble.sessionEnded", "ensemble.watchSet", "ensemble.watchFired",
		"message.received", "message.sent")
}

// told is what a server's records tell of /traced and of the log: how often, and up to which index.
type told struct {
	created, deleted, commits, follows int
	written, known                     uint64
}

func (of *told) note(r trace.Record, leader string, czxid int64) {
	switch event := r.Data.(type) {
	case trace.ZnodeCreated:
		if event.Path == "/traced" && event.Zxid == czxid && event.Mode == "ephemeral" && event.Data == "data" && event.Session != "" {
			of.created++
		}
	case trace.ZnodeDeleted:
		if event.Path == "/traced" && event.Session != "" {
			of.deleted++
		}
	case trace.EnsembleLogAppended:
		of.written = event.LastIndex
	case trace.EnsembleCommitAdvanced:
		of.commits++
		of.known = event.Index
	case trace.EnsembleRoleChanged:
		if event.Leader == leader {
			of.follows++
		}
	}
}

// pairMessages counts the messages of Raft's that a server received and another one recorded as sent; both must tell the same. Under load
// the tracer folds messages of one kind into one record, at either end.
func pairMessages(t *testing.T, id int, records []trace.Record, sent map[trace.Exchange]trace.Message) (paired int) {
	t.Helper()
	for _, r := range records {
		event, isReceived := r.Data.(trace.MessageReceived)
		if !isReceived {
			continue
		}
		twin, found := sent[event.Exchange]
		if !found || event.Folded.Events() != 1 || twin.Folded.Events() != 1 {
			continue
		}
		paired++
		if twin != event.Message {
			t.Errorf("server %d received %+v, sent was %+v", id, event.Message, twin)
		}
	}
	return paired
}

// mustTell: each kind of record is there.
func mustTell(t *testing.T, records []trace.Record, wanted ...string) {
	t.Helper()
	kinds := map[string]int{}
	for _, r := range records {
		kinds[r.Kind]++
	}
	for _, kind := range wanted {
		if kinds[kind] == 0 {
			t.Errorf("no %s is recorded: %v", kind, kinds)
		}
	}
}

func (e *ensemble) name(id int) string { return e.running[id].tracer.Node() }
