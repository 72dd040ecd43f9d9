package commitlog

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"sort"
)

// Whatever leaves a log is checked on its way out, every time: a disk may spoil a file that this very process wrote a moment ago, and
// nothing that memory remembers of a file says what is in it now. The check reads the bytes once more than sendfile would; `twinlog bench`
// tells what that costs.

// walk goes over a segment's frames from an index entry on. Each is checked: its checksum, and, because offsets are not always under it,
// that it begins where the index says, or not before the end of the frame before it.
type walk struct {
	frameReader
	view   view
	next   int64 // no frame may begin below it
	exact  bool  // the first frame must begin there: the index says so
	before int64 // where the frame before begins; -1: there is none
}

// walk begins at the index entry for a position. The caller closes it.
func (v view) walk(framing Framing, position int64) walk {
	at := sort.Search(len(v.index.offsets), func(i int) bool { return v.index.offsets[i].value > position }) - 1
	w := walk{view: v, next: v.base, before: -1}
	if at >= 0 {
		w.next, w.exact, position = v.index.offsets[at].key, true, v.index.offsets[at].value
	} else {
		position = 0
	}
	w.frameReader = newFrameReader(v.handle.file, framing, position, v.size)
	w.keep = v.moved
	return w
}

// check verifies the frame whose header was read last and goes on behind it. A frame that it refuses is neither passed nor kept.
func (w *walk) check(frame Frame, header []byte) error {
	position, kept := w.position, len(w.kept)
	err := w.frameReader.check(frame, header)
	if err == nil {
		err = w.order(frame, position)
	}
	if err != nil {
		w.position, w.kept = position, w.kept[:kept]
		return err
	}
	w.next, w.exact, w.before = frame.LastOffset+1, false, position
	return nil
}

// pass goes on behind a frame that is damaged. Where the next one begins, the frame before tells less well then.
func (w *walk) pass(frame Frame) {
	w.frameReader.pass(frame)
	w.exact = false
}

// seek goes behind the first frame that ends at or after offset, and checks it. One damaged frame on the way is passed where it says that
// it ends before offset; what follows must then hold offset, or the damaged one may be the one that is asked for.
func (w *walk) seek(offset int64) (found Frame, ok bool, err error) {
	var passed error
	for w.position < w.view.size {
		position := w.position
		w.kept = w.kept[:0]
		frame, header, err := w.header()
		parsed := err == nil
		if parsed {
			err = w.check(frame, header)
		}
		switch {
		case err == nil && frame.LastOffset < offset:
		case err == nil && passed != nil && frame.BaseOffset > offset:
			return Frame{}, false, passed
		case err == nil:
			return frame, true, nil
		case parsed && passed == nil && doubtOf(err) == position && frame.LastOffset < offset:
			passed = err
			w.pass(frame)
		default:
			return Frame{}, false, cmp.Or(passed, err)
		}
	}
	return Frame{}, false, cmp.Or(passed, w.vouched())
}

// extend checks the frames behind the one at from, which seek found, as long as they end below limit and fit in maxBytes with it. It tells
// where the last one ends that is beyond doubt; an error casts doubt on the first one.
func (w *walk) extend(from, limit int64, maxBytes int) (end int64, err error) {
	for err == nil && w.position < w.view.size {
		var frame Frame
		var header []byte
		frame, header, err = w.header()
		if err == nil && (frame.LastOffset >= limit || w.position+int64(frame.Size)-from > int64(maxBytes)) {
			break
		}
		if err == nil {
			err = w.check(frame, header)
		}
	}
	end = w.position
	if err == nil {
		err = w.vouched()
	}
	if doubt := doubtOf(err); doubt > from {
		return doubt, nil
	}
	return end, err
}

// doubtOf is where what a walk met spoils the bytes from; -1 where it met no damage, but an error of the disk or none.
func doubtOf(err error) int64 {
	if err == nil {
		return -1 // reads that find all well allocate nothing
	}
	var bad *frameError
	if errors.As(err, &bad) {
		return bad.doubt
	}
	return -1
}

func (w *walk) order(frame Frame, position int64) error {
	if frame.BaseOffset >= w.next && frame.LastOffset >= frame.BaseOffset && (!w.exact || frame.BaseOffset == w.next) {
		return nil
	}
	bad := badFrame(position, fmt.Errorf("a frame %d-%d where %d is expected", frame.BaseOffset, frame.LastOffset, w.next))
	if w.before >= 0 {
		bad.doubt = w.before
	}
	return bad
}

// vouched tells whether what follows the last frame that was checked agrees with where that frame ends. The walk is over then.
func (w *walk) vouched() error {
	if w.before < 0 {
		return nil
	}
	limit := int64(math.MaxInt64)
	last := w.position == w.view.size
	w.keep = false
	if last {
		limit = w.view.next
	} else if frame, header, err := w.header(); err == nil && frame.BaseOffset < w.next && w.frameReader.check(frame, header) == nil {
		limit = frame.BaseOffset // one of the two is wrong, and no checksum tells which
	}
	offsets := w.view.index.offsets
	if at := sort.Search(len(offsets), func(i int) bool { return offsets[i].value > w.before }); at < len(offsets) {
		limit = min(limit, offsets[at].key)
	}
	if w.next < limit && !last || w.next == limit {
		return nil
	}
	return badFrame(w.before, fmt.Errorf("a frame that ends at offset %d is followed by %d", w.next-1, limit))
}

// checkAll checks a whole segment.
func (l *Log) checkAll(v view) error {
	w := v.walk(l.framing, 0)
	defer w.close()
	w.keep = false
	for w.position < v.size {
		frame, header, err := w.header()
		if err == nil {
			err = w.check(frame, header)
		}
		if err != nil {
			return l.verdict(v, err)
		}
	}
	return l.verdict(v, w.vouched())
}

// verdict makes of what a walk met what its user is told: damage, with its place; but ErrOutOfRange where the log was cut while the reader
// looked, which may have seen new bytes in old places.
func (l *Log) verdict(v view, err error) error {
	var bad *frameError
	var short *shortError
	var corrupt *CorruptError
	switch {
	case errors.As(err, &bad):
		err = v.corrupt(bad.position, bad.err)
	case errors.As(err, &short):
		err = v.corrupt(short.position, fmt.Errorf("the file is shorter than the %d bytes that were in it", v.size))
	case !errors.As(err, &corrupt):
		return err
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.cuts != v.cuts {
		return fmt.Errorf("segment %d was truncated under its reader: %w", v.base, ErrOutOfRange)
	}
	return err
}
