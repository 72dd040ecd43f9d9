package commitlog

import (
	"errors"
	"fmt"
)

// provenance says which bytes of a segment are known to be good: those that this process wrote, or read when it opened the log, and those
// that it checked for a reader. All others are checked before they are served for the first time, so that damage is found and never
// handed on, and what is read at the tail costs nothing more. The log's mu guards it.
type provenance struct {
	trusted     int64 // bytes from here on
	checkedFrom int64 // and those from here
	checkedTo   int64 // to here
}

// covers tells whether bytes from..end need no check.
func (p provenance) covers(from, end int64) bool {
	end = min(end, p.trusted)
	return from >= end || from >= p.checkedFrom && end <= p.checkedTo
}

// add notes checked bytes: an extension of the known ones where they touch, else a new beginning.
func (p *provenance) add(from, end int64) {
	if from <= p.checkedTo && end >= p.checkedFrom {
		from, end = min(from, p.checkedFrom), max(end, p.checkedTo)
	}
	p.checkedFrom, p.checkedTo = from, end
}

// cut forgets everything beyond size: what comes there next is our own.
func (p *provenance) cut(size int64) {
	p.trusted, p.checkedTo = min(p.trusted, size), min(p.checkedTo, size)
	p.checkedFrom = min(p.checkedFrom, p.checkedTo)
}

// check makes sure that the frames in from..end are undamaged and where the index says. Both must be frames' beginnings. From the
// index entry before from on, offsets must follow each other: a frame's place is not always under its checksum.
func (l *Log) check(v view, from, end int64) error {
	if v.provenance.covers(from, end) {
		return nil
	}
	anchor := floorPosition(v.index.offsets, from)
	if v.provenance.covers(anchor, end) {
		return nil
	}
	end = min(end, v.provenance.trusted)
	if err := l.checkFrames(v, anchor, end); err != nil {
		return err
	}
	l.mu.Lock()
	if l.cuts == v.cuts {
		v.segment.provenance.add(anchor, end)
	}
	l.mu.Unlock()
	return nil
}

func (l *Log) checkFrames(v view, from, end int64) error {
	next := floorKey(v.index.offsets, from, v.base)
	first := from
	lastFrame := from
	err := scan(v.handle.file, l.framing, from, end, func(frame Frame, position int64, _ []byte) error {
		if frame.BaseOffset < next || frame.LastOffset < frame.BaseOffset || position == first && frame.BaseOffset != next && len(v.index.offsets) > 0 {
			return fmt.Errorf("a frame %d-%d where %d is expected", frame.BaseOffset, frame.LastOffset, next)
		}
		next, lastFrame = frame.LastOffset+1, position
		return nil
	})
	if err != nil {
		return v.frameDamage(err)
	}
	// What follows tells whether the last frame's offsets are right.
	limit, followingSize := v.next, 0
	if end < v.size {
		_, following, err := v.find(l.framing, end, func(Frame, int64) bool { return true })
		if err != nil {
			return err
		}
		limit, followingSize = following.BaseOffset, following.Size
	}
	if end < v.size && next > limit {
		// One of the two is wrong; a checksum may tell which.
		if err := scan(v.handle.file, l.framing, end, min(v.size, end+int64(followingSize)), anyFrame); err != nil {
			return v.frameDamage(err)
		}
	}
	if next > limit || end == v.size && next != limit {
		return v.corrupt(lastFrame, fmt.Errorf("a frame that ends at offset %d is followed by %d", next-1, limit))
	}
	return nil
}

func (v view) frameDamage(err error) error {
	var bad *frameError
	if errors.As(err, &bad) {
		return v.corrupt(bad.position, bad.err)
	}
	return v.readError(v.size, err)
}

// explain is for an error that a walk by headers met: where the walk went astray through damage, the damage is the answer.
func (l *Log) explain(v view, from int64, err error) error {
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) {
		return err
	}
	if found := l.check(v, from, v.size); found != nil {
		return found
	}
	return err
}
