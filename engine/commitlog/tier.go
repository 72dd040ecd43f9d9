package commitlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	"twinlog/engine/disk"
)

// Medium is another place for sealed segments; package media has some. Names are slash-separated paths.
type Medium interface {
	// Put keeps all of content, or, after an error, nothing. It replaces what has the name.
	Put(ctx context.Context, name string, content io.Reader, size int64) error
	ReadAt(ctx context.Context, name string, p []byte, offset int64) (int, error)
	Size(ctx context.Context, name string) (int64, error)
	List(ctx context.Context, prefix string) ([]string, error)
	Remove(ctx context.Context, name string) error
	// RemoveUnfinished removes what interrupted Puts under prefix have left.
	RemoveUnfinished(ctx context.Context, prefix string) error
}

// Tier is where a log's sealed segments may move to, oldest first. The moved file says which ones have: one that it names is read from the
// medium, any other file there is an orphan. So a crash at any point loses nothing, and what it leaves is found.
type Tier struct {
	Medium Medium
	// Prefix is this log's alone on the medium, such as kafka-1/orders-0/. It ends with a slash.
	Prefix string
	// Timeout bounds each read and removal on the medium. Default 30 s.
	Timeout time.Duration
}

var (
	// ErrMoved: the segment is on the medium, where it cannot be changed.
	ErrMoved = errors.New("the segment is on the medium")
	// ErrBusy: uploads and the collection of orphans take turns.
	ErrBusy = errors.New("the medium is in use by another upload or collection of this log")
)

func (t *Tier) name(s *segment) string { return s.file(t.Prefix, logSuffix) }

func (t *Tier) context() (context.Context, context.CancelFunc) {
	timeout := t.Timeout
	if timeout <= 0 {
		timeout = 30 * time.Second
	}
	return context.WithTimeout(context.Background(), timeout)
}

// mediumFile is a segment's file on a medium, for reading.
type mediumFile struct {
	tier *Tier
	name string
	size int64
}

func (f *mediumFile) ReadAt(p []byte, offset int64) (int, error) {
	ctx, cancel := f.tier.context()
	defer cancel()
	return f.tier.Medium.ReadAt(ctx, f.name, p, offset)
}

func (f *mediumFile) Name() string                       { return f.name }
func (f *mediumFile) Size() (int64, error)               { return f.size, nil }
func (f *mediumFile) Close() error                       { return nil }
func (f *mediumFile) OSFile() *os.File                   { return nil }
func (f *mediumFile) WriteAt([]byte, int64) (int, error) { return 0, ErrMoved }
func (f *mediumFile) Truncate(int64) error               { return ErrMoved }
func (f *mediumFile) Sync() error                        { return nil }

// openSealedFile opens a sealed segment's file where it is now.
func (l *Log) openSealedFile(s *segment) (disk.File, error) {
	l.mu.RLock()
	moved := s.moved
	l.mu.RUnlock()
	if !moved {
		file, err := l.disk.OpenFile(s.file(l.dir, logSuffix), os.O_RDONLY)
		if !errors.Is(err, os.ErrNotExist) {
			return file, err
		}
		l.mu.RLock()
		moved = s.moved // in between
		l.mu.RUnlock()
		if !moved {
			return nil, err
		}
	}
	return &mediumFile{tier: l.config.Tier, name: l.config.Tier.name(s), size: s.size}, nil
}

// Upload is a sealed segment's copy on the medium, which the log does not use yet.
type Upload struct {
	log     *Log
	segment *segment
}

// Upload copies the sealed segment at base to the medium, after a check of its checksums. Any goroutine may do it; it takes as long as the
// medium does. The log's owner then adopts the copy; an upload that is not to be adopted is discarded.
func (l *Log) Upload(ctx context.Context, base int64) (*Upload, error) {
	u, err := l.beginUpload(base)
	if err == nil {
		if err = u.copy(ctx); err != nil {
			u.Discard()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("upload segment %d of %s: %w", base, l.dir, err)
	}
	return u, nil
}

func (l *Log) beginUpload(base int64) (*Upload, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.segments, func(s *segment) bool { return s.base == base })
	switch {
	case l.closed:
		return nil, ErrClosed
	case l.config.Tier == nil:
		return nil, errors.New("the log has no medium")
	case at < 0 || at == len(l.segments)-1:
		return nil, fmt.Errorf("%w: it is not a sealed segment", ErrOutOfRange)
	case l.segments[at].moved:
		return nil, ErrMoved
	case l.collecting || slices.Contains(l.uploading, l.segments[at]):
		return nil, ErrBusy
	}
	l.uploading = append(l.uploading, l.segments[at])
	return &Upload{log: l, segment: l.segments[at]}, nil
}

func (u *Upload) copy(ctx context.Context) error {
	l, s := u.log, u.segment
	v, err := l.view(s)
	if err != nil {
		return err
	}
	defer v.release()
	if err := l.checkAll(v); err != nil {
		return err
	}
	name := l.config.Tier.name(s)
	if err := l.config.Tier.Medium.Put(ctx, name, io.NewSectionReader(v.handle.file, 0, v.size), v.size); err != nil {
		return err
	}
	size, err := l.config.Tier.Medium.Size(ctx, name)
	if err == nil && size != v.size {
		err = fmt.Errorf("the medium has %d of its %d bytes", size, v.size)
	}
	return err
}

// Discard gives the copy up; what is on the medium is an orphan until it is collected or uploaded again. After Adopt it does nothing.
func (u *Upload) Discard() {
	u.log.mu.Lock()
	defer u.log.mu.Unlock()
	u.log.uploading = slices.DeleteFunc(u.log.uploading, func(s *segment) bool { return s == u.segment })
}

// Adopt makes the copy on the medium the segment, and removes the file from the node's disk. The log's owner calls it. Segments move in
// order: ErrOutOfRange, when an older one has not moved, or when this one was deleted, cut or replaced since.
func (u *Upload) Adopt() error {
	defer u.Discard()
	l, s := u.log, u.segment
	l.mu.RLock()
	err := l.usable()
	at := slices.Index(l.segments, s)
	moved := slices.Clone(l.segments[:l.movedCount()])
	if err == nil && (at < 0 || at != len(moved) || at == len(l.segments)-1 || !slices.Contains(l.uploading, s)) {
		err = fmt.Errorf("%w: it is not the oldest segment on the node's disk any more", ErrOutOfRange)
	}
	l.mu.RUnlock()
	if err == nil {
		err = saveMoved(l.disk, l.dir, append(moved, s))
	}
	if err != nil {
		return fmt.Errorf("move segment %d of %s: %w", s.base, l.dir, err)
	}
	l.mu.Lock()
	held := l.forget(s)
	s.index, s.moved = nil, true
	l.mu.Unlock()
	held.release()
	// The indexes stay. The file may stay after an error, too: the next Open removes it.
	if err = l.disk.Remove(s.file(l.dir, logSuffix)); err == nil {
		err = l.disk.SyncDir(l.dir)
	}
	if err != nil {
		return fmt.Errorf("remove segment %d of %s, which has moved: %w", s.base, l.dir, err)
	}
	return nil
}

// CollectOrphans removes what the medium has under the log's prefix and the log does not know: copies of uploads that a crash or an error
// broke off, and segments that were deleted while the medium could not be reached. It returns how many there were.
func (l *Log) CollectOrphans(ctx context.Context) (int, error) {
	if l.config.Tier == nil {
		return 0, nil
	}
	l.mu.Lock()
	if l.collecting || len(l.uploading) > 0 {
		l.mu.Unlock()
		return 0, fmt.Errorf("collect the orphans of %s: %w", l.dir, ErrBusy)
	}
	l.collecting = true
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.collecting = false
		l.mu.Unlock()
	}()
	removed, err := l.collectOrphans(ctx)
	if err != nil {
		return removed, fmt.Errorf("collect the orphans of %s: %w", l.dir, err)
	}
	return removed, nil
}

func (l *Log) collectOrphans(ctx context.Context) (removed int, err error) {
	tier := l.config.Tier
	if err := tier.Medium.RemoveUnfinished(ctx, tier.Prefix); err != nil {
		return 0, err
	}
	names, err := tier.Medium.List(ctx, tier.Prefix)
	if err != nil {
		return 0, err
	}
	known := map[string]bool{}
	l.mu.RLock()
	for _, s := range l.segments {
		if s.moved {
			known[tier.name(s)] = true
		}
	}
	l.mu.RUnlock()
	for _, name := range names {
		if _, ours := baseOf(path.Base(name)); !ours || known[name] || strings.Contains(strings.TrimPrefix(name, tier.Prefix), "/") {
			continue
		}
		if err := tier.Medium.Remove(ctx, name); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// movedCount is how many segments are on the medium: always the oldest ones. It is called with mu held.
func (l *Log) movedCount() int {
	return sort.Search(len(l.segments), func(i int) bool { return !l.segments[i].moved })
}

// dropMoved forgets moved segments: the moved file first, then what is on the medium. What cannot be reached
// there is an orphan. It is called by the owner, after the segments have left the list.
func (l *Log) dropMoved(dropped []*segment) error {
	if len(dropped) == 0 {
		return nil
	}
	l.mu.RLock()
	var left []*segment
	for _, s := range l.segments {
		if s.moved && !slices.Contains(dropped, s) {
			left = append(left, s)
		}
	}
	l.mu.RUnlock()
	if err := saveMoved(l.disk, l.dir, left); err != nil {
		return err
	}
	for _, s := range dropped {
		ctx, cancel := l.config.Tier.context()
		_ = l.config.Tier.Medium.Remove(ctx, l.config.Tier.name(s))
		cancel()
		if err := s.removeIndexes(l.disk, l.dir); err != nil {
			return err
		}
	}
	return nil
}
