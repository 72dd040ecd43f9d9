package commitlog

import (
	"bytes"
	"io"
	"math"
)

// A sync that makes a file longer has to write the file system's journal as well as the data; one that changes only what is in the file need
// not, and takes about half as long. So a log whose appends wait for syncs fills its active segment with zeros ahead of its end, in steps:
// only the sync of an append that ends a step is a slow one. Zeros are no frame, whatever the framing, so that recovery finds the end; a
// sealed segment, and one that was closed in order, has none.

const (
	// firstStep is how far a small segment is filled ahead; later steps double it, up to Config.Preallocate.
	firstStep = 64 << 10
	// neverAgain is a segment's filled when its disk was full: it grows as it is written.
	neverAgain = math.MaxInt64
)

var zeros [256 << 10]byte

// fillAhead fills the active segment, which was just written up to end, with zeros where the last step is used up. It only ever saves time:
// where it fails, the segment goes on without.
func (l *Log) fillAhead(active *segment, held *handle, end int64) {
	if l.config.Preallocate <= 0 || end <= active.filled {
		return
	}
	to := min(end+min(max(end, firstStep), l.config.Preallocate), max(end, l.config.SegmentBytes))
	active.filled = to
	for at := end; at < to; {
		n, err := held.file.WriteAt(zeros[:min(int64(len(zeros)), to-at)], at)
		if err != nil {
			_ = held.file.Truncate(end) // a full disk needs the room; what stays are zeros
			active.filled = neverAgain
			return
		}
		at += int64(n)
	}
}

// giveBack cuts the zeros behind the active segment's end, durably.
func (l *Log) giveBack(active *segment) error {
	if active.filled <= active.size {
		return nil
	}
	held, err := l.holdActive(active)
	if err != nil {
		return err
	}
	defer held.release()
	if err = held.file.Truncate(active.size); err == nil {
		err = held.file.Sync()
	}
	if err != nil {
		l.fail(err)
		return err
	}
	active.filled = 0
	return nil
}

// onlyZeros tells whether file[from:end] is nothing but what fillAhead wrote.
func onlyZeros(file io.ReaderAt, from, end int64) (bool, error) {
	buffer := checkBuffers.Get().(*[checkBuffer]byte)
	defer checkBuffers.Put(buffer)
	for from < end {
		piece := buffer[:min(checkBuffer, end-from)]
		if n, err := file.ReadAt(piece, from); n < len(piece) {
			return false, err
		}
		if !bytes.Equal(piece, zeros[:len(piece)]) {
			return false, nil
		}
		from += int64(len(piece))
	}
	return true, nil
}
