package commitlog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"sync"
	"time"
)

// view is what a reader needs of one segment, taken under the log's mu and used without it.
type view struct {
	segment *segment
	base    int64
	size    int64
	handle  *handle // retained
	index   segmentIndex

	next       int64
	provenance provenance
	cuts       int
}

// viewOf is called with mu held; held is retained already.
func (l *Log) viewOf(s *segment, held *handle, index *segmentIndex) view {
	return view{segment: s, base: s.base, size: s.size, handle: held, index: *index, next: s.next, provenance: s.provenance, cuts: l.cuts}
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
	err = scan(h.file, l.framing, 0, size, func(frame Frame, position int64, _ []byte) error {
		index.add(frame, position, l.config.IndexInterval)
		return nil
	})
	var bad *frameError
	if errors.As(err, &bad) {
		return nil, &CorruptError{File: s.file(l.dir, logSuffix), Position: bad.position, Err: bad.err}
	}
	return index, err
}

// Read returns whole frames from the one that holds offset (or the first after it, where offsets have a gap) up to maxBytes; one frame
// is returned even if it is larger. It never crosses a segment, so a reader asks again at the section's end. The section is empty at
// Next. ErrOutOfRange: offset < Start or offset > Next.
func (l *Log) Read(offset int64, maxBytes int) (*Section, error) {
	return l.ReadBelow(offset, -1, maxBytes)
}

// ReadBelow is Read for a reader that may see only frames that end below limit, such as a consumer below the high watermark. A negative
// limit is none.
func (l *Log) ReadBelow(offset, limit int64, maxBytes int) (*Section, error) {
	section := new(Section)
	if err := l.ReadTo(section, offset, limit, maxBytes); err != nil {
		return nil, err
	}
	return section, nil
}

// ReadTo is ReadBelow into a section of the caller's, which must be new or closed: a reader that keeps its section allocates nothing.
func (l *Log) ReadTo(section *Section, offset, limit int64, maxBytes int) error {
	for {
		if err := l.readTo(section, offset, limit, maxBytes); !errors.Is(err, errSegmentGone) {
			return err
		}
	}
}

func (l *Log) readTo(section *Section, offset, limit int64, maxBytes int) error {
	l.mu.RLock()
	start, next := l.start, l.next
	at := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].base > offset }) - 1
	segments := l.segments
	l.mu.RUnlock()
	if offset < start || offset > next || at < 0 {
		return fmt.Errorf("read %s at offset %d: %w: the log has %d to %d", l.dir, offset, ErrOutOfRange, start, next)
	}
	if limit < 0 || limit > next {
		limit = next
	}
	*section = Section{Base: offset}
	// More than one turn is needed only where offsets have a gap at a segment's end.
	for ; at < len(segments) && offset < limit; at++ {
		found, err := l.readSegment(section, segments[at], offset, limit, maxBytes)
		if err != nil {
			return fmt.Errorf("read %s at offset %d: %w", l.dir, offset, err)
		}
		if found {
			return nil
		}
	}
	return nil
}

// readSegment finds nothing when the segment has no frame that holds offset or a later one and ends below limit.
func (l *Log) readSegment(section *Section, s *segment, offset, limit int64, maxBytes int) (found bool, err error) {
	v, err := l.view(s)
	if err != nil {
		return false, err
	}
	from, end, base, err := l.locate(v, offset, limit, maxBytes)
	if err != nil || end == 0 {
		err = l.underTruncation(v, err)
		v.release()
		return false, err
	}
	*section = Section{Base: base, handle: v.handle, position: from, size: end - from}
	return true, nil
}

// locate finds the bytes of a section and makes sure that they are undamaged; end is 0 when there are none.
func (l *Log) locate(v view, offset, limit int64, maxBytes int) (from, end, base int64, err error) {
	entry := floor(v.index.offsets, offset)
	from, frame, err := v.find(l.framing, entry, func(frame Frame, _ int64) bool { return frame.LastOffset >= offset })
	switch {
	case err != nil:
		return 0, 0, 0, l.explain(v, entry, err)
	case from < 0:
		return 0, 0, 0, l.check(v, entry, v.size)
	case frame.LastOffset >= limit:
		return 0, 0, 0, l.check(v, entry, from+int64(frame.Size))
	}
	if end, err = v.sectionEnd(l.framing, from, frame, limit, maxBytes); err != nil {
		return 0, 0, 0, l.explain(v, from, err)
	}
	if err := l.check(v, from, end); err != nil {
		return 0, 0, 0, err
	}
	return from, end, frame.BaseOffset, nil
}

// underTruncation turns what looks like damage into ErrOutOfRange where the log was cut while the reader looked: it may have seen new
// bytes in old places.
func (l *Log) underTruncation(v view, err error) error {
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) {
		return err
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.cuts != v.cuts {
		return fmt.Errorf("segment %d was truncated under its reader: %w", v.base, ErrOutOfRange)
	}
	return err
}

// sectionEnd finds the end of the last whole frame that fits in maxBytes from the frame at from and ends below limit.
func (v view) sectionEnd(framing Framing, from int64, first Frame, limit int64, maxBytes int) (int64, error) {
	end := from + int64(first.Size)
	wish := from + int64(max(maxBytes, first.Size))
	from = end
	if guess := min(floor(v.index.offsets, limit-1), floorPosition(v.index.offsets, wish)); guess > from {
		from, end = guess, guess
	}
	_, _, err := v.find(framing, from, func(frame Frame, position int64) bool {
		next := position + int64(frame.Size)
		if frame.LastOffset >= limit || next > wish {
			return true
		}
		end = next
		return false
	})
	return end, err
}

const headerWindow = 8 << 10

var windows = sync.Pool{New: func() any { return new([headerWindow]byte) }}

// find walks frames by their headers from position until match, and returns the place of the frame that matched; -1 at the end.
func (v view) find(framing Framing, position int64, match func(frame Frame, position int64) bool) (int64, Frame, error) {
	window := windows.Get().(*[headerWindow]byte)
	defer windows.Put(window)
	header := framing.HeaderSize()
	var bytes []byte
	bytesAt := int64(0)
	for position < v.size {
		if at := position - bytesAt; bytes == nil || at+int64(header) > int64(len(bytes)) {
			want := min(headerWindow, v.size-position)
			n, err := v.handle.file.ReadAt(window[:want], position)
			if int64(n) < want {
				return -1, Frame{}, v.readError(position, err)
			}
			bytes, bytesAt = window[:n], position
		}
		at := position - bytesAt
		if int64(len(bytes)) < at+int64(header) {
			return -1, Frame{}, v.corrupt(position, errors.New("a header is cut off"))
		}
		frame, err := framing.Parse(bytes[at : at+int64(header)])
		if err == nil && (frame.Size < header || position+int64(frame.Size) > v.size) {
			err = fmt.Errorf("a frame of %d bytes", frame.Size)
		}
		if err != nil {
			return -1, Frame{}, v.corrupt(position, err)
		}
		if match(frame, position) {
			return position, frame, nil
		}
		position += int64(frame.Size)
	}
	return -1, Frame{}, nil
}

func (v view) corrupt(position int64, err error) error {
	return &CorruptError{File: v.handle.file.Name(), Position: position, Err: err}
}

// readError turns a short read into ErrOutOfRange: the only way to it is a truncation that ran beside the reader.
func (v view) readError(position int64, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return fmt.Errorf("segment %d was truncated below byte %d: %w", v.base, position, ErrOutOfRange)
	}
	return err
}

func (v view) offsetForTime(framing Framing, t time.Time, start int64) (int64, bool, error) {
	wanted := t.UnixNano()
	if v.index.maxTime < wanted {
		return 0, false, nil
	}
	i := sort.Search(len(v.index.times), func(i int) bool { return v.index.times[i].key >= wanted })
	from := int64(0)
	if i > 0 {
		from = floor(v.index.offsets, v.index.times[i-1].value)
	}
	position, frame, err := v.find(framing, from, func(frame Frame, _ int64) bool {
		return frame.LastOffset >= start && !frame.Time.IsZero() && frame.Time.UnixNano() >= wanted
	})
	if err != nil || position < 0 {
		return 0, false, err
	}
	return frame.BaseOffset, true, nil
}

// ReadAt returns the frames at a place that Append told, or at a part of it that is whole frames.
func (l *Log) ReadAt(location Location) (*Section, error) {
	l.mu.RLock()
	at := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].base >= location.Segment })
	var found *segment
	if at < len(l.segments) && l.segments[at].base == location.Segment {
		found = l.segments[at]
	}
	l.mu.RUnlock()
	if found == nil {
		return nil, fmt.Errorf("read %s: %w: no segment %d", l.dir, ErrOutOfRange, location.Segment)
	}
	v, err := l.view(found)
	if errors.Is(err, errSegmentGone) {
		err = ErrOutOfRange
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", l.dir, err)
	}
	if location.Position < 0 || location.Size < 0 || location.Position > v.size-location.Size {
		v.release()
		return nil, fmt.Errorf("read %s: %w: bytes %d+%d of segment %d, which has %d", l.dir, ErrOutOfRange, location.Position, location.Size, v.base, v.size)
	}
	if !v.provenance.covers(location.Position, location.Position+location.Size) {
		if err := scan(v.handle.file, l.framing, location.Position, location.Position+location.Size, anyFrame); err != nil {
			err = l.underTruncation(v, v.frameDamage(err))
			v.release()
			return nil, fmt.Errorf("read %s: %w", l.dir, err)
		}
	}
	return &Section{Base: location.Segment, handle: v.handle, position: location.Position, size: location.Size}, nil
}

func anyFrame(Frame, int64, []byte) error { return nil }
