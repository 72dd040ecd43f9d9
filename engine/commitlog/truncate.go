package commitlog

import (
	"errors"
	"fmt"
	"os"
)

// TruncateTo drops every frame that holds an offset at or after next, durably. Afterwards Next is next, or lower where a frame that
// holds both sides of next had to go, or offsets had a gap. ErrOutOfRange: next < Start; use ResetTo.
func (l *Log) TruncateTo(next int64) error {
	l.mu.RLock()
	start, end, err := l.start, l.next, l.usable()
	if local := l.segments[l.movedCount()].base; err == nil && next < local && next >= start {
		err = fmt.Errorf("%w up to offset %d, and only ResetTo drops it", ErrMoved, local)
	}
	l.mu.RUnlock()
	switch {
	case err != nil:
		return fmt.Errorf("truncate %s to %d: %w", l.dir, next, err)
	case next < start:
		return fmt.Errorf("truncate %s to %d: %w: the log starts at %d", l.dir, next, ErrOutOfRange, start)
	case next >= end:
		return nil
	}
	if err := l.truncate(next); err != nil {
		l.fail(err)
		return fmt.Errorf("truncate %s to %d: %w", l.dir, next, err)
	}
	return nil
}

// truncate goes from the newest segment to the oldest, so that a crash between two steps leaves a log without a hole. The durable mark
// goes down first: what is to be cut may be gone from now on.
func (l *Log) truncate(next int64) error {
	l.mu.RLock()
	lowest := l.movedCount() // the first segment on the disk is the last one to go
	at := len(l.segments) - 1
	for at > lowest && l.segments[at].base >= next {
		at--
	}
	base := l.segments[at].base
	l.mu.RUnlock()
	if err := l.lowerDurable(base); err != nil {
		return err
	}
	for {
		l.mu.RLock()
		count := len(l.segments)
		last := l.segments[count-1]
		l.mu.RUnlock()
		if last.base < next || count == lowest+1 {
			return l.truncateLast(next)
		}
		if err := l.dropLast(); err != nil {
			return err
		}
	}
}

// dropLast removes the newest segment; the one before it becomes the active one.
func (l *Log) dropLast() error {
	l.mu.RLock()
	last, previous := l.segments[len(l.segments)-1], l.segments[len(l.segments)-2]
	l.mu.RUnlock()
	v, err := l.view(previous) // an active segment is always open, for writing
	if err != nil {
		return err
	}
	defer v.release()
	writable, err := l.disk.OpenFile(previous.file(l.dir, logSuffix), os.O_RDWR)
	if err != nil {
		return err
	}
	if err := l.removeSegmentFiles(last); err != nil {
		writable.Close()
		return err
	}
	// Its indexes are about to lag behind it.
	if err := previous.removeIndexes(l.disk, l.dir); err != nil {
		writable.Close()
		return err
	}
	l.mu.Lock()
	l.segments = append([]*segment(nil), l.segments[:len(l.segments)-1]...)
	old := l.forget(previous)
	index := v.index
	previous.handle, previous.index = newHandle(writable), &index
	victim := l.noteOpen(previous)
	l.next = max(previous.next, l.start)
	l.synced = min(l.synced, l.next)
	gone := l.forget(last) // readers that chose it must not take it up again
	l.mu.Unlock()
	old.release()
	gone.release()
	victim.evict()
	return nil
}

func (l *Log) truncateLast(next int64) error {
	l.mu.RLock()
	active := l.segments[len(l.segments)-1]
	l.mu.RUnlock()
	v, err := l.view(active)
	if err != nil {
		return err
	}
	defer v.release()
	end, _, err := v.find(l.framing, floor(v.index.offsets, next), func(frame Frame, _ int64) bool { return frame.LastOffset >= next })
	if err != nil || end < 0 {
		return l.verdict(v, err)
	}
	last := active.base
	if end > 0 {
		// The frame before the cut tells where the log ends now.
		_, _, err := v.find(l.framing, floorPosition(v.index.offsets, end-1), func(frame Frame, position int64) bool {
			if position < end {
				last = frame.LastOffset + 1
			}
			return position >= end
		})
		if err != nil {
			return l.verdict(v, err)
		}
	}
	index := rebuiltIndex(v.index, end)
	l.mu.Lock()
	active.size, active.next, active.index = end, last, &index
	l.cuts++ // of readers that looked since the mark was lowered, too
	l.next = max(last, l.start)
	l.synced = min(l.synced, l.next)
	l.mu.Unlock()
	if err := v.handle.file.Truncate(end); err != nil {
		return err
	}
	active.filled = 0
	if err := v.handle.file.Sync(); err != nil {
		return err
	}
	l.raiseDurable(active.base, end, last, l.cuts)
	return nil
}

// rebuiltIndex keeps the entries of frames that begin before size. Slices are copied: readers may still hold the old ones.
func rebuiltIndex(index segmentIndex, size int64) segmentIndex {
	var kept segmentIndex
	for _, entry := range index.offsets {
		if entry.value < size {
			kept.offsets = append(kept.offsets, entry)
		}
	}
	if len(kept.offsets) == 0 {
		return kept
	}
	lastKey := kept.offsets[len(kept.offsets)-1].key
	for _, entry := range index.times {
		if entry.value <= lastKey {
			kept.times = append(kept.times, entry)
		}
	}
	// An upper bound is enough: a search that it misleads finds nothing and goes on.
	kept.maxTime = index.maxTime
	return kept
}

// ResetTo drops everything and goes on at next, as a follower does whose leader no longer has what it needs.
func (l *Log) ResetTo(next int64) error {
	l.mu.RLock()
	start, end, err := l.start, l.next, l.usable()
	l.mu.RUnlock()
	if err != nil {
		return fmt.Errorf("reset %s to %d: %w", l.dir, next, err)
	}
	if start == next && end == next {
		return nil
	}
	if err := l.reset(next); err != nil {
		l.fail(err)
		return fmt.Errorf("reset %s to %d: %w", l.dir, next, err)
	}
	return nil
}

func (l *Log) reset(next int64) error {
	l.mu.RLock()
	start := l.start
	moved := l.segments[:l.movedCount()]
	if len(moved) > 0 {
		start = max(start, l.segments[len(moved)].base) // of the first one on the disk
	}
	l.mu.RUnlock()
	if err := l.truncate(start); err != nil { // newest first: at no point is there a hole
		return err
	}
	if err := l.resetMoved(moved); err != nil {
		return err
	}
	if err := l.lowerDurable(next); err != nil {
		return err
	}
	if err := saveStart(l.disk, l.dir, next); err != nil {
		return err
	}
	l.mu.RLock()
	old := l.segments
	l.mu.RUnlock()
	kept := len(old) == 1 && old[0].base == next
	if kept {
		// The file may hold frames below the old start; they go too.
		if err := l.truncateLast(next); err != nil {
			return err
		}
		l.mu.Lock()
		l.start, l.next, l.synced = next, next, next
		l.mu.Unlock()
		return nil
	}
	for _, s := range old {
		if err := l.removeSegmentFiles(s); err != nil {
			return err
		}
	}
	created, err := createSegment(l.disk, l.dir, next)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.segments = []*segment{created}
	l.start, l.next, l.synced = next, next, next
	gone := make([]*handle, len(old))
	for i, s := range old {
		gone[i] = l.forget(s)
	}
	victim := l.noteOpen(created)
	l.mu.Unlock()
	victim.evict()
	for _, h := range gone {
		h.release()
	}
	return nil
}

// resetMoved drops the segments that are on the medium, which are the log's first ones.
func (l *Log) resetMoved(moved []*segment) error {
	if len(moved) == 0 {
		return nil
	}
	l.mu.Lock()
	l.segments = append([]*segment(nil), l.segments[len(moved):]...)
	var held []*handle
	for _, s := range moved {
		held = append(held, l.forget(s))
	}
	l.mu.Unlock()
	for _, h := range held {
		h.release()
	}
	return l.dropMoved(moved)
}

// DeleteBefore advances Start, durably, and removes the segments that are wholly below it. A start beyond Next is ErrOutOfRange, one
// at or below Start is nothing to do.
func (l *Log) DeleteBefore(start int64) error {
	l.mu.RLock()
	current, next, err := l.start, l.next, l.usable()
	l.mu.RUnlock()
	switch {
	case err != nil:
	case start > next:
		err = fmt.Errorf("%w: the log ends at %d", ErrOutOfRange, next)
	case start <= current:
		return nil
	default:
		err = saveStart(l.disk, l.dir, start)
	}
	if err != nil {
		return fmt.Errorf("delete %s before %d: %w", l.dir, start, err)
	}
	l.mu.Lock()
	l.start = start
	l.mu.Unlock()
	for {
		l.mu.Lock()
		if len(l.segments) < 2 || l.segments[1].base > start {
			l.mu.Unlock()
			return nil
		}
		oldest := l.segments[0]
		l.segments = append([]*segment(nil), l.segments[1:]...)
		held := l.forget(oldest)
		l.mu.Unlock()
		held.release()
		var err error
		if oldest.moved {
			err = l.dropMoved([]*segment{oldest})
		} else {
			err = l.removeSegmentFiles(oldest)
		}
		if err != nil {
			return fmt.Errorf("delete %s before %d: %w", l.dir, start, err)
		}
	}
}

// removeSegmentFiles removes the log file first: index files without it mean nothing to Open.
func (l *Log) removeSegmentFiles(s *segment) error {
	if err := l.disk.Remove(s.file(l.dir, logSuffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := s.removeIndexes(l.disk, l.dir); err != nil {
		return err
	}
	return l.disk.SyncDir(l.dir)
}
