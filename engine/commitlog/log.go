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
	// SegmentAge: an append seals a segment whose first frame is older than that: by the frames' own times where both have one, by when
	// this process began the segment otherwise. 0: never. It does not seal a log that nobody appends to; see [Log.Roll].
	SegmentAge time.Duration
	// Preallocate: the active segment is filled with zeros so many bytes ahead at most, which makes syncs cheaper and doubles what is
	// written. It is for logs whose appends wait for syncs. 0: a segment grows as it is written.
	Preallocate int64
	// IndexInterval: the sparse indexes get an entry every so many bytes. Default 4096.
	IndexInterval int64
	// Files bounds the open files of all logs that share it. Nil: this log keeps its active segment open and up to four sealed ones.
	Files *FilePool
	// Tier is another place for sealed segments. Nil: there is none.
	Tier *Tier
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

	files    *FilePool // of the segments with an open file
	ownFiles bool      // the pool is this log's own: the active segment is not counted and stays open

	uploading  []*segment // on their way to the medium
	collecting bool       // orphans

	cuts int // times that the log was cut, so that a sync that ran beside a cut vouches for nothing

	marking   sync.Mutex // orders the writes of the durable file, see durable.go; guards the fields below
	mark      durableMark
	markFile  disk.File
	markLag   int64 // bytes that became durable since the durable file was synced
	markBytes [durableSlotSize]byte

	samples []indexSample // of the batch that is being appended; the owner's, kept so that an append allocates nothing
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
	// Moved: it is on the medium, and not at File.
	Moved bool
	// MaxTime is the largest time of a frame; zero when no frame has one.
	MaxTime time.Time
}

// Start is the first offset that the log keeps.
func (l *Log) Start() int64 { l.mu.RLock(); defer l.mu.RUnlock(); return l.start }

// Next is one past the last offset: the log end offset.
func (l *Log) Next() int64 { l.mu.RLock(); defer l.mu.RUnlock(); return l.next }

// Synced tells that all offsets below it are durable.
func (l *Log) Synced() int64 { l.mu.RLock(); defer l.mu.RUnlock(); return l.synced }

// Size is the number of bytes in all segments. What is filled ahead does not count.
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
		infos[i] = SegmentInfo{Base: s.base, Next: s.next, Size: s.size, File: s.file(l.dir, logSuffix), Moved: s.moved}
		latest := s.maxTime
		if i == len(l.segments)-1 {
			latest = s.index.maxTime
		}
		if latest > 0 {
			infos[i].MaxTime = time.Unix(0, latest)
		}
	}
	return infos
}

// Recovery tells what Open had to repair.
func (l *Log) Recovery() Recovery { return l.recovery }

// Sync makes everything appended so far durable. After an error the log refuses appends: the operating system may have thrown the
// unwritten pages away, and a second sync that succeeds would prove nothing.
func (l *Log) Sync() error {
	l.mu.RLock()
	active, next, err := l.segments[len(l.segments)-1], l.next, l.usable()
	size, end, cuts := active.size, active.next, l.cuts
	clean := l.synced == next
	l.mu.RUnlock()
	if err != nil {
		return fmt.Errorf("sync %s: %w", l.dir, err)
	}
	if clean {
		return nil
	}
	held, err := l.holdActive(active)
	if err != nil {
		return fmt.Errorf("sync %s: %w", l.dir, err)
	}
	defer held.release()
	if err := held.file.Sync(); err != nil {
		l.fail(err)
		return fmt.Errorf("sync %s: %w", l.dir, err)
	}
	l.mu.Lock()
	l.synced = max(l.synced, min(next, l.next))
	l.mu.Unlock()
	l.raiseDurable(active.base, size, end, cuts)
	return nil
}

// OffsetForTime finds the first frame whose time is at or after t and returns its first offset.
func (l *Log) OffsetForTime(t time.Time) (offset int64, found bool, err error) {
	l.mu.RLock()
	segments, start := append([]*segment(nil), l.segments...), l.start
	l.mu.RUnlock()
	for _, s := range segments {
		view, err := l.view(s)
		if errors.Is(err, errSegmentGone) {
			return l.OffsetForTime(t)
		}
		if err != nil {
			return 0, false, err
		}
		offset, found, err := l.offsetForTime(view, t, start)
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
		err = l.giveBack(active)
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
			handles = append(handles, l.forget(s))
		}
	}
	l.closed = true
	l.mu.Unlock()
	for _, h := range handles {
		h.release()
	}
	l.closeDurable()
}
