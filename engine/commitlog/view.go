package commitlog

import (
	"errors"
	"fmt"
	"os"
	"slices"
)

// view is what a reader needs of one segment, taken under the log's mu and used without it.
type view struct {
	segment *segment
	base    int64
	size    int64
	handle  *handle // retained
	index   segmentIndex

	next  int64
	cuts  int
	moved bool // reading it is expensive: once must do
}

// viewOf is called with mu held; held is retained already.
func (l *Log) viewOf(s *segment, held *handle, index *segmentIndex) view {
	return view{segment: s, base: s.base, size: s.size, handle: held, index: *index, next: s.next, cuts: l.cuts, moved: s.moved}
}

func (v view) release() { v.handle.release() }

// view opens the segment if need be. The caller releases the view.
func (l *Log) view(s *segment) (view, error) {
	for {
		l.mu.RLock()
		switch {
		case l.closed:
			l.mu.RUnlock()
			return view{}, ErrClosed
		case s.handle != nil:
			l.noteUse(s)
			v := l.viewOf(s, s.handle.retain(), s.index)
			l.mu.RUnlock()
			return v, nil
		}
		gone, active := !slices.Contains(l.segments, s), s == l.segments[len(l.segments)-1]
		size := s.size
		l.mu.RUnlock()
		switch {
		case gone:
			return view{}, errSegmentGone
		case !active:
			return l.openSealed(s, size)
		}
		held, err := l.holdActive(s)
		if err != nil {
			return view{}, err
		}
		held.release() // and look again: by now it may be open, or no longer the active one
	}
}

// openSealed opens a sealed segment's file and loads its indexes, both outside the lock; of two readers that do so at once, one wins. Size
// is the segment's while it is sealed: a truncation may make it the active one again meanwhile, and then the reader chooses again.
func (l *Log) openSealed(s *segment, size int64) (view, error) {
	file, err := l.openSealedFile(s)
	if err != nil {
		return view{}, l.orGone(s, err)
	}
	opened := newHandle(file)
	index, err := l.sealedIndex(s, opened, size)
	if err != nil {
		opened.release()
		if !l.isSealed(s, size) {
			return view{}, errSegmentGone // what looks like damage was a cut
		}
		return view{}, l.orGone(s, err)
	}
	l.mu.Lock()
	if !slices.Contains(l.segments, s) || s == l.segments[len(l.segments)-1] || s.size != size {
		l.mu.Unlock()
		opened.release() // perhaps of another segment of the same name
		return view{}, errSegmentGone
	}
	var victim *openSegment
	if !l.closed && s.handle == nil {
		s.handle, s.index = opened.retain(), index
		victim = l.noteOpen(s)
	}
	v := l.viewOf(s, opened, index)
	l.mu.Unlock()
	victim.evict()
	return v, nil
}

// isSealed tells whether the segment is still a sealed one of that size.
func (l *Log) isSealed(s *segment, size int64) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.Contains(l.segments, s) && s != l.segments[len(l.segments)-1] && s.size == size
}

// errSegmentGone: a segment was deleted, cut off or replaced after a reader had chosen it. The reader chooses again.
var errSegmentGone = errors.New("the segment is gone")

// orGone is err, or errSegmentGone where that explains it. The owner removes the files of a segment that it cuts off before it takes the
// segment off the list, so that a file which is missing means ErrOutOfRange to a reader in between.
func (l *Log) orGone(s *segment, err error) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	switch {
	case !slices.Contains(l.segments, s):
		return errSegmentGone
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("segment %d is being cut off, or its file was taken away (%w): %w", s.base, ErrOutOfRange, err)
	}
	return err
}

func (l *Log) sealedIndex(s *segment, h *handle, size int64) (*segmentIndex, error) {
	index, covered, _, err := loadIndexes(l.disk, l.dir, s)
	if err == nil && covered == size {
		return index, nil
	}
	index = &segmentIndex{}
	err = scan(h.file, l.framing, 0, size, func(frame Frame, position int64) error {
		index.add(frame, position, l.config.IndexInterval)
		return nil
	})
	var bad *frameError
	if errors.As(err, &bad) {
		return nil, &CorruptError{File: s.file(l.dir, logSuffix), Position: bad.position, Err: bad.err}
	}
	return index, err
}

// headerWindow is how much of a file a walk by headers reads at once.
const headerWindow = 8 << 10

// find walks frames by their headers, unchecked, from position until match, and returns the place of the frame that matched; -1 at the
// end. It is for those who hand nothing on: who cuts a log, or asks how much there is.
func (v view) find(framing Framing, position int64, match func(frame Frame, position int64) bool) (int64, Frame, error) {
	frames := newFrameReader(v.handle.file, framing, position, v.size)
	defer frames.close()
	for frames.position < v.size {
		frames.ahead = frames.position + headerWindow
		frame, _, err := frames.header()
		if err != nil {
			return -1, Frame{}, err
		}
		if match(frame, frames.position) {
			return frames.position, frame, nil
		}
		frames.pass(frame)
	}
	return -1, Frame{}, nil
}

func (v view) corrupt(position int64, err error) error {
	return &CorruptError{File: v.handle.file.Name(), Position: position, Err: err}
}
