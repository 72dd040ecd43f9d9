package commitlog

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"twinlog/engine/disk"
)

var (
	// ErrOutOfRange: the offset is before Start or after Next.
	ErrOutOfRange = errors.New("offset out of range")
	// ErrOutOfOrder: the frames to append do not continue the log.
	ErrOutOfOrder = errors.New("frames do not continue the log")
	// ErrFailed: an earlier write or sync failed, so that nobody knows what is on disk; close and open the log to find out.
	ErrFailed = errors.New("the log failed earlier and takes no appends until it is opened again")
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("the log is closed")
)

// CorruptError names the place of a frame that is damaged. Such a frame is never served.
type CorruptError struct {
	File     string
	Position int64
	Err      error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d: %v", e.File, e.Position, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// Config tunes a log. The zero value is sensible.
type Config struct {
	// SegmentBytes: a segment that would grow beyond this is sealed and a new one begins. Default 64 MiB.
	SegmentBytes int64
	// IndexInterval: the sparse indexes get an entry every so many bytes. Default 4096.
	IndexInterval int64
}

func (c Config) withDefaults() Config {
	if c.SegmentBytes <= 0 {
		c.SegmentBytes = 64 << 20
	}
	if c.IndexInterval <= 0 {
		c.IndexInterval = 4096
	}
	return c
}

// maxOpenSealed bounds the sealed segments of one log whose file and indexes are held open for readers.
const maxOpenSealed = 4

// Log is one log in one directory.
//
// One goroutine appends, truncates and deletes; Sync may run beside it. Any number of goroutines read. Readers and the owner share
// mu, which is held for memory operations only, never across a read, a write or a sync.
//
// Invariants, under mu: segments is never empty and sorted by base; every segment but the last is sealed and synced; bytes of a
// segment up to its size are whole frames; start <= next.
type Log struct {
	disk    disk.Disk
	dir     string
	framing Framing
	config  Config

	recovery Recovery

	mu       sync.RWMutex
	segments []*segment
	start    int64
	next     int64
	synced   int64
	failed   error
	closed   bool
	openLRU  []*segment // sealed segments with an open file, least recently used first
}

// Location is a place in a log that [Log.ReadAt] reads again.
type Location struct {
	Segment  int64 // base offset of the segment
	Position int64 // byte in the segment
	Size     int64 // bytes
}

// SegmentInfo describes a segment to people.
type SegmentInfo struct {
	Base int64
	Next int64
	Size int64
	File string
}

// Start is the first offset that the log keeps.
func (l *Log) Start() int64 { l.mu.RLock(); defer l.mu.RUnlock(); return l.start }

// Next is one past the last offset: the log end offset.
func (l *Log) Next() int64 { l.mu.RLock(); defer l.mu.RUnlock(); return l.next }

// Synced tells that all offsets below it are durable.
func (l *Log) Synced() int64 { l.mu.RLock(); defer l.mu.RUnlock(); return l.synced }

// Size is the number of bytes in all segments.
func (l *Log) Size() int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var size int64
	for _, s := range l.segments {
		size += s.size
	}
	return size
}

// Segments lists the segments, oldest first.
func (l *Log) Segments() []SegmentInfo {
	l.mu.RLock()
	defer l.mu.RUnlock()
	infos := make([]SegmentInfo, len(l.segments))
	for i, s := range l.segments {
		infos[i] = SegmentInfo{Base: s.base, Next: s.next, Size: s.size, File: s.file(l.dir, logSuffix)}
	}
	return infos
}

// Recovery tells what Open had to repair.
func (l *Log) Recovery() Recovery { return l.recovery }

// Append adds one or more whole frames to the end and tells where the first byte went. They are in the operating system's hands
// when it returns; [Log.Sync] makes them durable.
//
// ErrOutOfOrder: the first frame begins before Next, or a frame begins before its predecessor's end. A failed write leaves the log as
// it was; when even that cannot be ensured the log fails (ErrFailed).
func (l *Log) Append(frames []byte) (Location, error) {
	l.mu.RLock()
	active, next, err := l.segments[len(l.segments)-1], l.next, l.usable()
	l.mu.RUnlock()
	if err != nil {
		return Location{}, fmt.Errorf("append to %s: %w", l.dir, err)
	}
	batch, err := l.inspect(frames, next)
	if err != nil {
		return Location{}, fmt.Errorf("append to %s: %w", l.dir, err)
	}
	if active.size > 0 && active.size+int64(len(frames)) > l.config.SegmentBytes {
		if active, err = l.roll(batch.base); err != nil {
			return Location{}, fmt.Errorf("append to %s: %w", l.dir, err)
		}
	}
	position := active.size
	if _, err := active.handle.file.WriteAt(frames, position); err != nil {
		return Location{}, fmt.Errorf("append to %s: %w", l.dir, l.undoWrite(active, position, err))
	}
	l.mu.Lock()
	l.indexFrames(active, frames, position)
	active.size = position + int64(len(frames))
	active.next = batch.next
	l.next = batch.next
	l.mu.Unlock()
	return Location{Segment: active.base, Position: position, Size: int64(len(frames))}, nil
}

// usable is called with mu held.
func (l *Log) usable() error {
	switch {
	case l.closed:
		return ErrClosed
	case l.failed != nil:
		return fmt.Errorf("%w (%v)", ErrFailed, l.failed)
	}
	return nil
}

type batch struct{ base, next int64 }

// inspect parses the headers of frames that are about to be appended.
func (l *Log) inspect(frames []byte, next int64) (batch, error) {
	if len(frames) == 0 {
		return batch{}, fmt.Errorf("%w: nothing to append", ErrOutOfOrder)
	}
	result := batch{base: -1, next: next}
	for position := 0; position < len(frames); {
		frame, err := parse(l.framing, frames[position:])
		if err != nil {
			return batch{}, fmt.Errorf("frame at byte %d: %w", position, err)
		}
		if frame.BaseOffset < result.next || frame.LastOffset < frame.BaseOffset {
			return batch{}, fmt.Errorf("%w: frame %d-%d, next offset is %d", ErrOutOfOrder, frame.BaseOffset, frame.LastOffset, result.next)
		}
		if result.base < 0 {
			result.base = frame.BaseOffset
		}
		result.next = frame.LastOffset + 1
		position += frame.Size
	}
	return result, nil
}

// indexFrames adds sparse index entries for frames at position. It is called with mu held, after the bytes are written.
func (l *Log) indexFrames(s *segment, frames []byte, position int64) {
	for at := 0; at < len(frames); {
		frame, err := parse(l.framing, frames[at:])
		if err != nil {
			return // inspect has parsed the same bytes
		}
		s.index.add(frame, position+int64(at), l.config.IndexInterval)
		at += frame.Size
	}
}

// undoWrite cuts what a failed write may have left, so that the next append begins where this one did.
func (l *Log) undoWrite(s *segment, position int64, cause error) error {
	if err := s.handle.file.Truncate(position); err != nil {
		l.fail(cause)
	}
	return cause
}

func (l *Log) fail(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = cause
	}
}

// roll seals the active segment, with its contents and indexes durable, and begins a new one at base.
//
// The order matters for recovery: a new segment exists only after the one before it is durable, so that only the last segment can
// have a torn tail.
func (l *Log) roll(base int64) (*segment, error) {
	l.mu.RLock()
	sealed := l.segments[len(l.segments)-1]
	l.mu.RUnlock()
	if err := l.Sync(); err != nil {
		return nil, err
	}
	if err := sealed.saveIndexes(l.disk, l.dir); err != nil {
		return nil, fmt.Errorf("write the indexes of the sealed segment %d: %w", sealed.base, err)
	}
	created, err := createSegment(l.disk, l.dir, base)
	if err != nil {
		// The segment stays the active one, so that its indexes must not vouch for it.
		return nil, errors.Join(err, sealed.removeIndexes(l.disk, l.dir))
	}
	l.mu.Lock()
	l.segments = append(l.segments, created)
	evicted := l.noteOpen(sealed)
	l.mu.Unlock()
	evicted.release()
	return created, nil
}

// Sync makes everything appended so far durable. After an error the log refuses appends: the operating system may have thrown the
// unwritten pages away, and a second sync that succeeds would prove nothing.
func (l *Log) Sync() error {
	l.mu.RLock()
	active, next, err := l.segments[len(l.segments)-1], l.next, l.usable()
	clean := l.synced == next
	var held *handle
	if err == nil && !clean {
		held = active.handle.retain()
	}
	l.mu.RUnlock()
	if err != nil {
		return fmt.Errorf("sync %s: %w", l.dir, err)
	}
	if clean {
		return nil
	}
	defer held.release()
	if err := held.file.Sync(); err != nil {
		l.fail(err)
		return fmt.Errorf("sync %s: %w", l.dir, err)
	}
	l.mu.Lock()
	l.synced = max(l.synced, min(next, l.next))
	l.mu.Unlock()
	return nil
}

// OffsetForTime finds the first frame whose time is at or after t and returns its first offset.
func (l *Log) OffsetForTime(t time.Time) (offset int64, found bool, err error) {
	l.mu.RLock()
	segments, start := append([]*segment(nil), l.segments...), l.start
	l.mu.RUnlock()
	for _, s := range segments {
		view, err := l.view(s)
		if err != nil {
			return 0, false, err
		}
		offset, found, err := view.offsetForTime(l.framing, t, start)
		view.release()
		if err != nil || found {
			return offset, found, err
		}
	}
	return 0, false, nil
}

// Close syncs and closes the log. Indexes are saved, so that the next Open need not scan.
func (l *Log) Close() error {
	err := l.Sync()
	l.mu.RLock()
	active, closed := l.segments[len(l.segments)-1], l.closed
	l.mu.RUnlock()
	if closed {
		return nil
	}
	if err == nil {
		err = active.saveIndexes(l.disk, l.dir)
	}
	l.Abandon()
	return err
}

// Abandon closes the log's files without a sync, as a crash would.
func (l *Log) Abandon() {
	l.mu.Lock()
	handles := make([]*handle, 0, len(l.segments))
	if !l.closed {
		for _, s := range l.segments {
			handles = append(handles, s.handle)
			s.handle = nil
		}
	}
	l.closed = true
	l.openLRU = nil
	l.mu.Unlock()
	for _, h := range handles {
		h.release()
	}
}
