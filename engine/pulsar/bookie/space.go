package bookie

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"twinlog/engine/trace"
)

// space tells whether the disk has room. The journal and the storage find out that it has none, by a write that fails, and from then on
// the bookie is read-only, as BookKeeper's is: it refuses adds, serves reads, and is registered among those that writers do not choose.
// watchSpace finds out that there is room again.
type space struct {
	mu    sync.Mutex
	full  bool
	ended chan struct{} // closed while the disk is full
	noted chan struct{} // one token: it became full
}

func newSpace() *space { return &space{ended: make(chan struct{}), noted: make(chan struct{}, 1)} }

func (s *space) isFull() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.full
}

// whenFull is closed while the disk is full.
func (s *space) whenFull() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// exhausted: a write failed for want of room.
func (s *space) exhausted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		return
	}
	s.full = true
	close(s.ended)
	s.noted <- struct{}{} // watchSpace took the token of the last time before it ended that
}

func (s *space) regained() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full, s.ended = false, make(chan struct{})
}

// isDiskFull tells that a write failed because there is no room, after which the disk can be trusted as before.
func isDiskFull(err error) bool {
	const diskFullOnWindows, handleDiskFullOnWindows = syscall.Errno(112), syscall.Errno(39)
	if runtime.GOOS == "windows" && (errors.Is(err, diskFullOnWindows) || errors.Is(err, handleDiskFullOnWindows)) {
		return true
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

const (
	probeFile  = "room"
	probeChunk = 256 << 10
	probeFirst = 4 << 10 // what a bookie that has nothing to write tries every now and then
)

// watchSpace changes the bookie's mode: to read-only when the disk has become full, and back when what waits for room has been stored and
// there is more of it. A bookie that nobody writes to looks as well, so that writers do not choose it in vain.
func (b *Bookie) watchSpace(ctx context.Context) error {
	ticker := time.NewTicker(b.config.DiskCheckInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := b.probe(probeFirst, false); isDiskFull(err) {
				b.space.exhausted()
			}
			continue
		case <-b.space.noted:
		}
		b.logger.Warn("the disk is full: the bookie is read-only until there is room", "bookie", b.address)
		b.tracer.Emit(trace.BookieModeChanged{ReadOnly: true, Reason: trace.ReasonDiskFull})
		b.reregister()
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
			if b.storage.tryAgain(); b.storage.blocked.Load() {
				continue
			}
			err := b.probe(b.config.RoomNeeded, true)
			if waiting = err != nil; waiting && !isDiskFull(err) {
				b.logger.Warn("the bookie cannot find out whether its disk has room", "bookie", b.address, "error", err)
			}
		}
		b.space.regained()
		b.logger.Info("there is room on the disk: the bookie takes adds again", "bookie", b.address)
		b.tracer.Emit(trace.BookieModeChanged{Reason: trace.ReasonDiskHasRoom})
		b.reregister()
	}
}

// reregister asks join to register the bookie as what it is now.
func (b *Bookie) reregister() {
	select {
	case b.changedMode <- struct{}{}:
	default:
	}
}

// probe finds out whether so many bytes can be written, and synced.
func (b *Bookie) probe(bytes int64, sync bool) (err error) {
	file, err := b.config.Disk.OpenFile(probeFile, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return fmt.Errorf("look for room: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close(), b.config.Disk.Remove(probeFile)) }()
	chunk := make([]byte, min(probeChunk, bytes))
	for at := int64(0); at < bytes; at += probeChunk {
		if _, err := file.WriteAt(chunk, at); err != nil {
			return fmt.Errorf("look for room: %w", err)
		}
	}
	if !sync {
		return nil
	}
	return file.Sync()
}
