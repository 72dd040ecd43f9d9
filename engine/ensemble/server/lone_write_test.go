package server_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"twinlog/engine/disk"
	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/server"
	"twinlog/engine/ensemble/tree"
	"twinlog/engine/trace"
)

// TestALoneWriteCostsNoMoreThanItMust: each server syncs once, and each follower answers once. The answer of Raft to the news that the write
// is committed is not sent.
func TestALoneWriteCostsNoMoreThanItMust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulation(t, 1)
		defer s.killAll()
		syncs, tracers := map[int]*atomic.Int64{}, map[int]*trace.Tracer{}
		s.adjust = func(config *server.Config) {
			id := config.ID
			syncs[id], tracers[id] = &atomic.Int64{}, trace.NewTracer("test", nodeName(id), 1<<16)
			config.Disk, config.Tracer = syncCounter{config.Disk, syncs[id]}, tracers[id]
			config.LogSegmentBytes, config.SnapshotEntries = 1<<20, 1<<20
		}
		s.found()
		leader := s.leader()
		c, err := s.dial("client", leader, 0, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer c.conn.Close()
		synctest.Wait() // all that comes before is over, and no time passes in which a heartbeat would be sent
		for id := range tracers {
			tracers[id].Drain(nil)
			syncs[id].Store(0)
		}
		const writes = 20
		for i := range writes {
			answer, _, err := c.call(protocol.OpCreate, createBody(fmt.Sprintf("/%d", i), "", 0))
			if err != nil || tree.Error(answer.code) != tree.OK {
				t.Fatalf("write %d: %v, %v", i, tree.Error(answer.code), err)
			}
			synctest.Wait()
		}
		for id := range tracers {
			if n := syncs[id].Load(); n != writes {
				t.Errorf("server %d synced %d times for %d writes", id, n, writes)
			}
			want := writes
			if id == leader {
				want = 0
			}
			if n := appendsAnswered(tracers[id].Drain(nil)); n != want {
				t.Errorf("server %d answered %d times that it has appended, want %d", id, n, want)
			}
		}
	})
}

func appendsAnswered(records []trace.Record) (answers int) {
	for _, r := range records {
		if sent, ok := r.Data.(trace.MessageSent); ok && sent.Name == "AppendEntriesResponse" {
			answers += int(sent.Folded.Events())
		}
	}
	return answers
}

type syncCounter struct {
	disk.Disk
	syncs *atomic.Int64
}

func (d syncCounter) OpenFile(name string, flag int) (disk.File, error) {
	file, err := d.Disk.OpenFile(name, flag)
	if err != nil {
		return nil, err
	}
	return countedFile{file, d.syncs}, nil
}

type countedFile struct {
	disk.File
	syncs *atomic.Int64
}

func (f countedFile) Sync() error {
	f.syncs.Add(1)
	return f.File.Sync()
}
