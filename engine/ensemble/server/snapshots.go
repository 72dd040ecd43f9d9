package server

import (
	"slices"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"twinlog/engine/trace"
)

// snapshots decides when the tree is written down, so that the log can be cut.
type snapshots struct {
	last    uint64 // index of the last one
	bytes   int64  // of entries applied since
	running bool
	forced  bool
}

// snapshotBytes: a snapshot is also due when the entries since the last one have so many bytes and the tree is not much larger.
const snapshotBytes = 32 << 20

func (o *owner) tickSnapshots() {
	// A large tree is written down less often: writing it costs as much as many entries.
	entries := max(o.config.SnapshotEntries, uint64(o.tree.Len()))
	due := o.snapshots.forced || o.applied-o.snapshots.last >= entries ||
		(o.snapshots.bytes >= snapshotBytes && o.snapshots.bytes >= o.tree.Bytes())
	if !due || o.snapshots.running {
		return
	}
	o.snapshots.running, o.snapshots.forced = true, false
	o.snapshots.last, o.snapshots.bytes = o.applied, 0
	metadata := &raftpb.SnapshotMetadata{
		Index: new(o.applied), Term: new(o.appliedTerm), ConfState: proto.Clone(o.members).(*raftpb.ConfState),
	}
	taken := o.tree.Snapshot()
	o.server.tasks.Go(func() {
		err := writeSnapshot(o.config.Disk, metadata, taken.Pieces(snapshotPiece))
		if err == nil {
			err = removeOldSnapshots(o.config.Disk, metadata.GetIndex())
		}
		if err != nil {
			o.server.post(failureEvent{err})
			return
		}
		o.server.post(snapshotWrittenEvent{&snapshotFile{metadata: metadata}})
	})
}

// snapshotWrittenEvent: a snapshot that this server took is on disk, and the log before it may go.
type snapshotWrittenEvent struct{ snapshot *snapshotFile }

func (e snapshotWrittenEvent) happen(o *owner) { o.store(storageJob{snapshot: e.snapshot}) }

// failureEvent: something beside the owner failed, and the server with it.
type failureEvent struct{ err error }

func (e failureEvent) happen(o *owner) { o.fail(e.err) }

// traceTree records a tree that came from a snapshot, as if it had just come to be: who watches this server sees all of it.
func (o *owner) traceTree() {
	if o.tracer == nil {
		return
	}
	for _, each := range o.tree.Sessions() {
		o.tracer.Emit(trace.SessionCreated{Session: sessionName(each.ID), TimeoutMS: int64(each.TimeoutMS), Zxid: o.tree.Zxid()})
	}
	for created := range o.tree.All() {
		traceChange(o.tracer, trace.Ref{}, created.Zxid, created.Changes[0], 0)
	}
}

func sorted(ids []uint64) []uint64 {
	slices.Sort(ids)
	return ids
}
