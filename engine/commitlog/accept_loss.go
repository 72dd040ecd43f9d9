package commitlog

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"

	"twinlog/engine/disk"
)

// ErrNoSegment: what is damaged is no segment, but what tells how to read the segments.
var ErrNoSegment = errors.New("the damaged file is no segment of the log")

// AcceptLoss cuts a log that is not open where it is damaged, for an owner that can get the frames again from somebody else. Gone are the
// damaged frame, all behind it, and the frame before it: offsets need not be under a checksum, so that only the frame behind one tells
// whether its offsets are right. ErrNoSegment: nothing was cut, and the log cannot be used as it is.
func AcceptLoss(d disk.Disk, dir string, framing Framing, damage *CorruptError) error {
	err := acceptLoss(d, dir, framing, damage)
	if err != nil {
		return fmt.Errorf("accept the loss in log %s: %w", dir, err)
	}
	return nil
}

func acceptLoss(d disk.Disk, dir string, framing Framing, damage *CorruptError) error {
	base, isSegment := baseOf(path.Base(damage.File))
	if !isSegment || path.Dir(damage.File) != path.Clean(dir) {
		return fmt.Errorf("%w: %s", ErrNoSegment, damage.File)
	}
	l := &Log{disk: d, dir: dir, framing: framing}
	// First the mark, as for every cut: what is to go may be gone from now on.
	if err := d.Remove(path.Join(dir, durableFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := d.SyncDir(dir); err != nil {
		return err
	}
	bases, err := l.listSegments()
	if err != nil {
		return err
	}
	for _, later := range slices.Backward(bases) { // newest first, so that a crash leaves no hole
		if later <= base {
			break
		}
		if err := l.removeSegmentFiles(&segment{base: later}); err != nil {
			return err
		}
	}
	if !slices.Contains(bases, base) {
		return nil // it was missing, which is no longer missed
	}
	return l.cutBeforeDamage(&segment{base: base}, damage.Position)
}

// cutBeforeDamage leaves the frames of a segment that are beyond doubt when the one at a position is damaged.
func (l *Log) cutBeforeDamage(s *segment, position int64) error {
	if err := s.removeIndexes(l.disk, l.dir); err != nil {
		return err
	}
	file, err := l.disk.OpenFile(s.file(l.dir, logSuffix), os.O_RDWR)
	if err != nil {
		return err
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		return err
	}
	last, next := int64(0), s.base
	err = scan(file, l.framing, 0, min(size, position), func(frame Frame, at int64) error {
		if frame.BaseOffset < next {
			return fmt.Errorf("frame %d-%d follows offset %d", frame.BaseOffset, frame.LastOffset, next)
		}
		last, next = at, frame.LastOffset+1
		return nil
	})
	if bad := (*frameError)(nil); err != nil && !errors.As(err, &bad) {
		return err
	}
	if err := file.Truncate(last); err != nil {
		return err
	}
	return file.Sync()
}
