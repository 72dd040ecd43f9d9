package commitlog

import (
	"errors"
	"fmt"
	"time"
)

// Append adds one or more whole frames to the end and tells where the first byte went. They are in the operating system's hands
// when it returns; [Log.Sync] makes them durable. It parses each frame once and allocates nothing.
//
// ErrOutOfOrder: the first frame begins before Next, or a frame begins before its predecessor's end. A failed write leaves the log as
// it was; when even that cannot be ensured the log fails (ErrFailed).
func (l *Log) Append(frames []byte) (Location, error) {
	location, err := l.append(frames)
	if err != nil {
		return Location{}, fmt.Errorf("append to %s: %w", l.dir, err)
	}
	return location, nil
}

func (l *Log) append(frames []byte) (Location, error) {
	l.mu.RLock()
	active, next, err := l.segments[len(l.segments)-1], l.next, l.usable()
	l.mu.RUnlock()
	if err != nil {
		return Location{}, err
	}
	// Only the owner changes the active segment's size and indexes, so that it may read them without mu.
	roll := active.size > 0 && (active.size+int64(len(frames)) > l.config.SegmentBytes || l.tooOld(active, frames))
	position, index := active.size, active.index
	if roll {
		position, index = 0, &segmentIndex{}
	}
	batch, err := l.inspect(frames, next, position, index)
	if err != nil {
		return Location{}, err
	}
	if roll {
		if active, err = l.roll(batch.base); err != nil {
			return Location{}, err
		}
	}
	held, err := l.holdActive(active)
	if err != nil {
		return Location{}, err
	}
	defer held.release()
	if _, err := held.file.WriteAt(frames, position); err != nil {
		return Location{}, l.undoWrite(active, held, position, err)
	}
	l.fillAhead(active, held, position+int64(len(frames)))
	l.mu.Lock()
	active.index.addSamples(l.samples, batch.maxTime)
	active.size = position + int64(len(frames))
	active.next = batch.next
	l.next = batch.next
	l.mu.Unlock()
	return Location{Segment: active.base, Position: position, Size: int64(len(frames))}, nil
}

// tooOld tells whether an append of frames should seal the active segment because of its age.
func (l *Log) tooOld(active *segment, frames []byte) bool {
	if l.config.SegmentAge <= 0 {
		return false
	}
	if first, err := parse(l.framing, frames); err == nil && !first.Time.IsZero() && len(active.index.times) > 0 && active.index.times[0].key > 0 {
		return first.Time.UnixNano()-active.index.times[0].key > int64(l.config.SegmentAge)
	}
	return time.Since(active.began) > l.config.SegmentAge
}

// SetRolling changes when appends seal the active segment; see [Config]. The log's owner calls it.
func (l *Log) SetRolling(segmentBytes int64, segmentAge time.Duration) {
	changed := Config{SegmentBytes: segmentBytes}.withDefaults()
	l.config.SegmentBytes, l.config.SegmentAge = changed.SegmentBytes, segmentAge
}

// Roll seals the active segment, so that retention or compaction can have it, and begins an empty one. An empty one stays as it is.
func (l *Log) Roll() error {
	l.mu.RLock()
	empty, next, err := l.segments[len(l.segments)-1].size == 0, l.next, l.usable()
	l.mu.RUnlock()
	if err == nil && !empty {
		_, err = l.roll(next)
	}
	if err != nil {
		return fmt.Errorf("roll %s: %w", l.dir, err)
	}
	return nil
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

// batch is what the headers of the frames of one append say.
type batch struct{ base, next, maxTime int64 }

// inspect parses the headers of frames that are about to be appended at position of a segment with that index. It leaves the new index
// entries in l.samples.
func (l *Log) inspect(frames []byte, next, position int64, index *segmentIndex) (batch, error) {
	if len(frames) == 0 {
		return batch{}, fmt.Errorf("%w: nothing to append", ErrOutOfOrder)
	}
	result := batch{base: -1, next: next, maxTime: index.maxTime}
	due := index.due(l.config.IndexInterval)
	l.samples = l.samples[:0]
	for at := 0; at < len(frames); {
		frame, err := parse(l.framing, frames[at:])
		if err != nil {
			return batch{}, fmt.Errorf("frame at byte %d: %w", at, err)
		}
		if frame.BaseOffset < result.next || frame.LastOffset < frame.BaseOffset {
			return batch{}, fmt.Errorf("%w: frame %d-%d, next offset is %d", ErrOutOfOrder, frame.BaseOffset, frame.LastOffset, result.next)
		}
		if result.base < 0 {
			result.base = frame.BaseOffset
		}
		result.maxTime = max(result.maxTime, frame.nanoseconds())
		if here := position + int64(at); here >= due {
			l.samples = append(l.samples, indexSample{base: frame.BaseOffset, position: here, maxTime: result.maxTime})
			due = here + l.config.IndexInterval
		}
		result.next = frame.LastOffset + 1
		at += frame.Size
	}
	return result, nil
}

// undoWrite cuts what a failed write may have left, so that the next append begins where this one did.
func (l *Log) undoWrite(active *segment, held *handle, position int64, cause error) error {
	if err := held.file.Truncate(position); err != nil {
		l.fail(cause)
	} else {
		active.filled = 0
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

// undoRoll takes back what a roll that failed has left. The segment stays the active one: its indexes must not vouch for it, and a next
// segment, which would make it a sealed one, must not be found after a crash.
func (l *Log) undoRoll(active *segment, base int64) error {
	unwanted := &segment{base: base}
	err := l.removeSegmentFiles(unwanted)
	if err == nil {
		err = active.removeIndexes(l.disk, l.dir)
	}
	if err != nil {
		l.fail(err)
	}
	return err
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
	if err := l.giveBack(sealed); err != nil {
		return nil, fmt.Errorf("seal segment %d: %w", sealed.base, err)
	}
	if err := sealed.saveIndexes(l.disk, l.dir); err != nil {
		return nil, fmt.Errorf("write the indexes of the sealed segment %d: %w", sealed.base, err)
	}
	created, err := createSegment(l.disk, l.dir, base)
	if err != nil {
		return nil, errors.Join(err, l.undoRoll(sealed, base))
	}
	l.mu.Lock()
	sealed.maxTime = sealed.index.maxTime
	l.segments = append(l.segments, created)
	victims := [2]*openSegment{nil, l.noteOpen(created)}
	if sealed.handle != nil {
		victims[0] = l.noteOpen(sealed)
	} else {
		sealed.index = nil // closed, as an idle one
	}
	l.mu.Unlock()
	victims[0].evict()
	victims[1].evict()
	return created, nil
}
