package server

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"twinlog/engine/commitlog"
	"twinlog/engine/disk"
)

// storage is what a server keeps on its disk: promises, the Raft log, snapshots of the tree. Raft itself reads from memory, which
// mirrors the log since the last snapshot; the log is read at a start only.
//
// Work is queued by the owner and done by one goroutine, run; while that has nothing to do the owner itself does what writes nothing
// (settle). What Raft wants to be told or sent after a write is handed on when the write is durable, never before.
type storage struct {
	disk     disk.Disk
	log      *commitlog.Log
	promises *promiseFile
	raftID   uint64
	memory   *raft.MemoryStorage
	// keptEntries stay in the log behind a snapshot.
	keptEntries uint64
	// memberChanges are the indexes of the log's entries that change the members, from the first on that is not promised to be committed.
	memberChanges []uint64
	committed     uint64 // the log has all up to this index, durable, and it is committed

	mu    sync.Mutex
	queue []storageJob // bounded by Raft: by what may be uncommitted and in flight
	wake  chan struct{}
}

// storageJob is one of: a MsgStorageAppend of Raft's, or a snapshot that this server took and that is on disk already.
type storageJob struct {
	append   *raftpb.Message
	snapshot *snapshotFile
	// droppedSegments is what came of a snapshot: files of the log that were removed.
	droppedSegments int
}

const (
	storageDirectory = "raft"
	logDirectory     = storageDirectory + "/log"
	// logAhead is how far the log is filled with zeros ahead of its end: every append waits for a sync.
	logAhead = 1 << 20
)

// recovered is what a server finds on its disk.
type recovered struct {
	blank    bool  // nothing: this server has never taken part
	nonce    int64 // of the blank disk
	snapshot *snapshotFile
}

// openStorage reads what is on disk. The memory that Raft reads is filled; when the disk is blank, the caller founds or joins.
func openStorage(d disk.Disk, segmentBytes int64, keptEntries uint64) (*storage, recovered, error) {
	var found recovered
	if err := d.MkdirAll(logDirectory); err != nil {
		return nil, found, fmt.Errorf("creating the Raft log's directory: %w", err)
	}
	for _, dir := range []string{".", storageDirectory} {
		if err := d.SyncDir(dir); err != nil {
			return nil, found, fmt.Errorf("making the Raft log's directory durable: %w", err)
		}
	}
	if err := removeUnfinished(d); err != nil {
		return nil, found, err
	}
	promises, promised, err := openPromises(d, storageDirectory)
	if err != nil {
		return nil, found, err
	}
	s := &storage{disk: d, promises: promises, memory: raft.NewMemoryStorage(), keptEntries: keptEntries, wake: make(chan struct{}, 1)}
	if found.snapshot, err = newestSnapshot(d); err == nil {
		s.log, err = commitlog.Open(d, logDirectory, EntryFraming{}, commitlog.Config{SegmentBytes: segmentBytes, Preallocate: logAhead})
	}
	if err != nil {
		_ = promises.close()
		return nil, found, err
	}
	if !promised {
		found.blank, found.snapshot = true, nil
		if found.nonce, err = blankNonce(d); err != nil {
			s.abandon()
			return nil, found, err
		}
		return s, found, nil
	}
	if err := forgetNonce(d); err != nil {
		s.abandon()
		return nil, found, err
	}
	s.raftID = promises.last.raftID
	if found.snapshot == nil { // it joined, and the leader's snapshot has not come yet
		last := promises.last
		err = s.memory.SetHardState(&raftpb.HardState{Term: new(last.term), Vote: new(last.vote)})
	} else {
		err = s.fillMemory(found.snapshot)
	}
	if err != nil {
		s.abandon()
		return nil, found, err
	}
	return s, found, nil
}

// found begins a server's part in an ensemble, with a first snapshot that is the same on every founder. It is durable when found
// returns: the promises last, because they tell that the rest is there.
func (s *storage) found(id uint64, first *snapshotFile) error {
	if err := first.write(s.disk); err != nil {
		return err
	}
	if err := s.log.ResetTo(int64(first.index()) + 1); err != nil {
		return fmt.Errorf("beginning the Raft log: %w", err)
	}
	if err := s.promises.save(promise{raftID: id, term: first.metadata.GetTerm(), commit: first.index()}); err != nil {
		return err
	}
	s.raftID = id
	if err := forgetNonce(s.disk); err != nil {
		return err
	}
	return s.fillMemory(first)
}

// join begins a server's part in an ensemble that exists, with nothing but a Raft id.
func (s *storage) join(id uint64) error {
	if err := s.log.ResetTo(1); err != nil {
		return fmt.Errorf("beginning the Raft log: %w", err)
	}
	s.raftID = id
	if err := s.promises.save(promise{raftID: id}); err != nil {
		return err
	}
	return forgetNonce(s.disk)
}

func (s *storage) fillMemory(snapshot *snapshotFile) error {
	if err := s.memory.ApplySnapshot(&raftpb.Snapshot{Metadata: snapshot.metadata}); err != nil {
		return fmt.Errorf("loading the snapshot at index %d: %w", snapshot.index(), err)
	}
	next := int64(snapshot.index()) + 1
	follows, err := s.logFollows(snapshot)
	if err != nil {
		return err
	}
	if !follows {
		// The snapshot came from the leader and the crash came before the log was emptied for it.
		if err := s.log.ResetTo(next); err != nil {
			return fmt.Errorf("continuing the Raft log behind the snapshot at index %d: %w", snapshot.index(), err)
		}
	}
	for next < s.log.Next() {
		entries, err := s.readEntries(next)
		if err != nil {
			return err
		}
		if len(entries) == 0 || int64(entries[0].GetIndex()) != next {
			return fmt.Errorf("the Raft log has no entry %d; remove the server's directory, so that it joins anew", next)
		}
		if err := s.memory.Append(entries); err != nil {
			return fmt.Errorf("loading Raft entries from index %d: %w", next, err)
		}
		s.noteMemberChanges(entries)
		next = int64(entries[len(entries)-1].GetIndex()) + 1
	}
	last := s.promises.last
	s.committed = min(max(last.commit, snapshot.index()), uint64(s.log.Next()-1))
	return s.memory.SetHardState(&raftpb.HardState{Term: new(max(last.term, snapshot.metadata.GetTerm())), Vote: new(last.vote), Commit: new(s.committed)})
}

// logFollows tells whether the log goes on where a snapshot ends.
func (s *storage) logFollows(snapshot *snapshotFile) (bool, error) {
	last := int64(snapshot.index())
	if s.log.Next() <= last || s.log.Start() > last+1 {
		return false, nil
	}
	if s.log.Start() > last {
		return true, nil
	}
	entries, err := s.readEntries(last)
	return err == nil && len(entries) > 0 && entries[0].GetIndex() == snapshot.index() && entries[0].GetTerm() == snapshot.metadata.GetTerm(), err
}

func (s *storage) readEntries(from int64) ([]*raftpb.Entry, error) {
	section, err := s.log.Read(from, 1<<20)
	if err != nil {
		return nil, fmt.Errorf("reading the Raft log from index %d: %w", from, err)
	}
	defer section.Close()
	bytes, err := section.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading the Raft log from index %d: %w", from, err)
	}
	var entries []*raftpb.Entry
	for len(bytes) > 0 {
		var entry *raftpb.Entry
		if entry, bytes, err = DecodeEntry(bytes); err != nil {
			return nil, fmt.Errorf("reading the Raft log from index %d: %w", from, err)
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// enqueue hands a job to run. It never blocks.
func (s *storage) enqueue(job storageJob) {
	s.mu.Lock()
	s.queue = append(s.queue, job)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run does the queued work until ctx ends. Done is called after each batch, with the jobs in order; all of them are durable then.
func (s *storage) run(ctx context.Context, done func([]storageJob)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		}
		// A leader has just woken the writers to its peers, too. They go first: they would wait for this goroutine's processor, which is
		// about to wait for a disk, and a write that a majority must have is as fast as the peers.
		runtime.Gosched()
		s.mu.Lock()
		jobs := s.queue
		s.queue = nil
		s.mu.Unlock()
		if len(jobs) == 0 { // the batch before had them: the storage is the owner's
			continue
		}
		if err := s.do(jobs); err != nil {
			return err
		}
		done(jobs)
	}
}

// do makes a batch of jobs durable with as few syncs as it can: this is the group commit of the ensemble's writes.
func (s *storage) do(jobs []storageJob) error {
	var appended []*raftpb.Entry
	for i, job := range jobs {
		if job.snapshot != nil {
			dropped, err := s.compact(job.snapshot)
			if err != nil {
				return err
			}
			jobs[i].droppedSegments = dropped
			continue
		}
		message := job.append
		if err := s.keepPromise(message); err != nil {
			return err
		}
		if snapshot := message.GetSnapshot(); !raft.IsEmptySnap(snapshot) {
			if err := s.install(snapshot); err != nil {
				return err
			}
			appended = nil
		}
		s.noteMemberChanges(message.GetEntries())
		if err := s.append(message.GetEntries()); err != nil {
			return err
		}
		appended = append(appended, message.GetEntries()...)
	}
	if len(appended) == 0 {
		return s.keepCommitted(jobs)
	}
	if err := s.log.Sync(); err != nil {
		return fmt.Errorf("syncing the Raft log: %w", err)
	}
	for _, job := range jobs {
		if job.append != nil {
			if err := s.memory.Append(job.append.GetEntries()); err != nil {
				return fmt.Errorf("keeping Raft entries: %w", err)
			}
		}
	}
	return s.keepCommitted(jobs)
}

func (s *storage) append(entries []*raftpb.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	first := int64(entries[0].GetIndex())
	if first < s.log.Next() {
		// A new leader replaces what an old one did not get committed.
		if err := s.log.TruncateTo(first); err != nil {
			return fmt.Errorf("cutting the Raft log back to index %d: %w", first, err)
		}
	}
	size := 0
	for _, entry := range entries {
		size += entryHeaderSize + len(entry.GetData())
	}
	frames := make([]byte, 0, size)
	for _, entry := range entries {
		frames = appendEntryFrame(frames, entry)
	}
	if _, err := s.log.Append(frames); err != nil {
		return fmt.Errorf("appending Raft entries from index %d: %w", first, err)
	}
	return nil
}

// compact adopts a snapshot of the tree that is on disk, and drops the log before it.
func (s *storage) compact(snapshot *snapshotFile) (droppedSegments int, err error) {
	if _, err := s.memory.CreateSnapshot(snapshot.index(), snapshot.metadata.GetConfState(), nil); err != nil {
		if err == raft.ErrSnapOutOfDate {
			return 0, nil // a newer one came from the leader meanwhile
		}
		return 0, fmt.Errorf("adopting the snapshot at index %d: %w", snapshot.index(), err)
	}
	if snapshot.index() <= s.keptEntries {
		return 0, nil
	}
	keep := snapshot.index() - s.keptEntries
	if err := s.memory.Compact(keep); err != nil && err != raft.ErrCompacted {
		return 0, fmt.Errorf("dropping Raft entries before index %d: %w", keep, err)
	}
	return s.dropSegments(int64(keep))
}

// dropSegments drops the log's files that have nothing but entries before index keep. To drop a part of a file would free nothing and
// cost several syncs, for which the clients' writes would wait.
func (s *storage) dropSegments(keep int64) (dropped int, err error) {
	segments := s.log.Segments()
	for dropped+1 < len(segments) && segments[dropped+1].Base <= keep {
		dropped++
	}
	if dropped == 0 {
		return 0, nil
	}
	start := segments[dropped].Base
	if err := s.log.DeleteBefore(start); err != nil {
		return 0, fmt.Errorf("dropping the Raft log before index %d: %w", start, err)
	}
	return dropped, nil
}

// install replaces everything by a snapshot that the leader sent.
func (s *storage) install(sent *raftpb.Snapshot) error {
	snapshot := &snapshotFile{metadata: proto.Clone(sent.GetMetadata()).(*raftpb.SnapshotMetadata), tree: sent.GetData()}
	if err := snapshot.write(s.disk); err != nil {
		return err
	}
	s.memberChanges = nil
	if err := s.log.ResetTo(int64(snapshot.index()) + 1); err != nil {
		return fmt.Errorf("emptying the Raft log for the snapshot at index %d: %w", snapshot.index(), err)
	}
	if err := s.memory.ApplySnapshot(&raftpb.Snapshot{Metadata: snapshot.metadata}); err != nil {
		return fmt.Errorf("adopting the leader's snapshot at index %d: %w", snapshot.index(), err)
	}
	return removeOldSnapshots(s.disk, snapshot.index())
}

func (s *storage) close() error {
	err := s.log.Close()
	if closeErr := s.promises.close(); err == nil {
		err = closeErr
	}
	return err
}

func (s *storage) abandon() {
	s.log.Abandon()
	_ = s.promises.close()
}
