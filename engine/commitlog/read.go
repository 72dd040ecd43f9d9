package commitlog

import (
	"errors"
	"fmt"
	"sort"
	"time"
)

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
	segments, limit, err := l.from(offset, limit)
	if err != nil {
		return err
	}
	*section = Section{Base: offset}
	// More than one turn is needed only where offsets have a gap at a segment's end.
	for _, s := range segments {
		found, err := l.readSegment(section, s, offset, limit, maxBytes)
		if err != nil {
			return fmt.Errorf("read %s at offset %d: %w", l.dir, offset, err)
		}
		if found {
			return nil
		}
	}
	return nil
}

// from finds the segments to look in for offset, in their order, and the limit that holds; none when offset is not below it.
func (l *Log) from(offset, limit int64) ([]*segment, int64, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	at := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].base > offset }) - 1
	if offset < l.start || offset > l.next || at < 0 {
		return nil, 0, fmt.Errorf("read %s at offset %d: %w: the log has %d to %d", l.dir, offset, ErrOutOfRange, l.start, l.next)
	}
	if limit < 0 || limit > l.next {
		limit = l.next
	}
	if offset >= limit {
		return nil, limit, nil
	}
	return l.segments[at:], limit, nil
}

// mostMoved bounds a section of a segment that is on a medium: it is kept in memory, so that what was checked is what is served.
const mostMoved = 1 << 20

// readSegment finds nothing when the segment has no frame that holds offset or a later one and ends below limit.
func (l *Log) readSegment(section *Section, s *segment, offset, limit int64, maxBytes int) (found bool, err error) {
	v, err := l.view(s)
	if err != nil {
		return false, err
	}
	if v.moved {
		maxBytes = min(maxBytes, mostMoved)
	}
	err = l.locate(section, v, offset, limit, maxBytes)
	if err != nil || section.size == 0 {
		v.release()
		return false, l.verdict(v, err)
	}
	section.handle = v.handle
	return true, nil
}

// locate finds the bytes of a section, all of them undamaged; none when there are none. Damage behind the first frame ends the section:
// it is told to whoever asks for what is there.
func (l *Log) locate(section *Section, v view, offset, limit int64, maxBytes int) error {
	w := v.walk(l.framing, floor(v.index.offsets, offset))
	defer w.close()
	w.ahead = min(w.position+l.config.IndexInterval+min(int64(max(maxBytes, 0)), v.size), v.size)
	first, found, err := w.seek(offset)
	switch {
	case err != nil || !found:
		return err
	case first.LastOffset >= limit:
		return w.vouched()
	}
	from := w.before
	end, err := w.extend(from, limit, maxBytes)
	if err != nil {
		return err
	}
	section.Base = first.BaseOffset
	section.take(&w, from, end)
	return nil
}

// SizeBelow tells how large the section is that ReadBelow would return, from headers alone: so a reader who waits for many bytes can ask
// at each append. A section that ends with its segment while the log goes on behind it counts as maxBytes: to wait makes it no larger.
// What it meets of damage it does not judge: who then reads finds it.
func (l *Log) SizeBelow(offset, limit int64, maxBytes int) (int64, error) {
	for {
		size, err := l.sizeBelow(offset, limit, maxBytes)
		if !errors.Is(err, errSegmentGone) {
			return size, err
		}
	}
}

func (l *Log) sizeBelow(offset, limit int64, maxBytes int) (size int64, err error) {
	segments, limit, err := l.from(offset, limit)
	if err != nil {
		return 0, err
	}
	for i, s := range segments {
		v, err := l.view(s)
		if err != nil {
			return 0, err
		}
		from, frame, err := v.find(l.framing, floor(v.index.offsets, offset), func(frame Frame, _ int64) bool { return frame.LastOffset >= offset })
		if err == nil && from >= 0 && frame.LastOffset < limit {
			var end int64
			end, err = v.sectionEnd(l.framing, from, frame, limit, maxBytes)
			if size = end - from; end == v.size && i+1 < len(segments) && segments[i+1].base < limit {
				size = max(size, int64(maxBytes))
			}
		}
		v.release()
		if err != nil || from >= 0 {
			return size, l.verdict(v, err)
		}
	}
	return 0, nil
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

// offsetForTime finds the first frame whose time is wanted or later.
func (l *Log) offsetForTime(v view, t time.Time, start int64) (offset int64, found bool, err error) {
	wanted := t.UnixNano()
	if v.index.maxTime < wanted {
		return 0, false, nil
	}
	from := int64(0)
	if i := sort.Search(len(v.index.times), func(i int) bool { return v.index.times[i].key >= wanted }); i > 0 {
		from = floor(v.index.offsets, v.index.times[i-1].value)
	}
	w := v.walk(l.framing, from)
	defer w.close()
	for w.position < v.size {
		w.ahead = w.position + l.config.IndexInterval
		frame, header, err := w.header()
		if err == nil {
			err = w.check(frame, header)
		}
		if err != nil {
			return 0, false, l.verdict(v, err)
		}
		if frame.LastOffset >= start && !frame.Time.IsZero() && frame.Time.UnixNano() >= wanted {
			return frame.BaseOffset, true, l.verdict(v, w.vouched())
		}
	}
	return 0, false, nil
}

// ReadAt returns the frames at a place that Append told, or at a part of it that is whole frames. It checks their checksums, not that
// their offsets follow those of their neighbours.
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
	section := &Section{Base: location.Segment, handle: v.handle}
	if err := l.checkPlace(section, v, location.Position, location.Position+location.Size); err != nil {
		v.release()
		return nil, fmt.Errorf("read %s: %w", l.dir, l.verdict(v, err))
	}
	return section, nil
}

// checkPlace checks the frames at a place by their checksums alone: their user knows from elsewhere which ones they are.
func (l *Log) checkPlace(section *Section, v view, from, end int64) error {
	frames := newFrameReader(v.handle.file, l.framing, from, end)
	defer frames.close()
	frames.keep = v.moved
	for frames.position < end {
		frame, header, err := frames.header()
		if err == nil {
			err = frames.check(frame, header)
		}
		if err != nil {
			return err
		}
	}
	section.position, section.size, section.kept = from, end-from, frames.kept
	return nil
}
