package commitlog

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
)

// frameError says that the bytes at position are no whole, undamaged frame, or not the one that belongs there.
type frameError struct {
	position int64
	err      error
	// doubt is where what cannot be trusted begins: position, or the frame before it where one of the two has a wrong offset.
	doubt int64
}

func (e *frameError) Error() string { return fmt.Sprintf("byte %d: %v", e.position, e.err) }
func (e *frameError) Unwrap() error { return e.err }

func badFrame(position int64, err error) *frameError {
	return &frameError{position: position, err: err, doubt: position}
}

// shortError says that a file ends where there were bytes before.
type shortError struct{ position int64 }

func (e *shortError) Error() string { return fmt.Sprintf("the file ends before byte %d", e.position) }
func (e *shortError) Unwrap() error { return io.ErrUnexpectedEOF }

// checkBuffer is how much of a file is checked at once: little enough to be still in the processor's cache when its checksum is made,
// which costs less than bringing it there.
const checkBuffer = 128 << 10

// smallBuffer does for the reads of a few small frames.
const smallBuffer = 8 << 10

var (
	checkBuffers = sync.Pool{New: func() any { return new([checkBuffer]byte) }}
	smallBuffers = sync.Pool{New: func() any { return new([smallBuffer]byte) }}
)

// frameReader goes over the frames of a file and checks each, whatever its size, in memory of bounded size. Call close.
type frameReader struct {
	file     io.ReaderAt
	framing  Framing
	position int64 // of the next frame
	end      int64 // of the frames
	ahead    int64 // reading up to here is no waste

	large   *[checkBuffer]byte // nil: not needed so far
	small   *[smallBuffer]byte
	bytes   []byte // of the file, from bytesAt on; in one of the two
	bytesAt int64

	keep bool
	kept []byte // all frames that check went over, when they are to be kept
}

func newFrameReader(file io.ReaderAt, framing Framing, from, end int64) frameReader {
	return frameReader{file: file, framing: framing, position: from, end: end, ahead: end}
}

func (r *frameReader) close() {
	if r.large != nil {
		checkBuffers.Put(r.large)
	}
	if r.small != nil {
		smallBuffers.Put(r.small)
	}
	r.large, r.small, r.bytes = nil, nil, nil
}

// header reads the header of the next frame. A frame that cannot be is a *frameError.
func (r *frameReader) header() (Frame, []byte, error) {
	size := r.framing.HeaderSize()
	if left := r.end - r.position; left < int64(size) {
		return Frame{}, nil, badFrame(r.position, headerCut(left, size))
	}
	header, err := r.load(r.position, size, r.position)
	if err != nil {
		return Frame{}, nil, err
	}
	frame, err := parseHeader(r.framing, header[:size], r.end-r.position)
	if err != nil {
		return Frame{}, nil, badFrame(r.position, err)
	}
	return frame, header[:size], nil
}

// check verifies the checksum of the frame whose header was read last and goes on behind it.
func (r *frameReader) check(frame Frame, header []byte) error {
	wanted := r.framing.Checksum(header)
	sum := wanted.Begin
	for at := 0; at < frame.Size; {
		piece, err := r.load(r.position+int64(at), 1, r.position+int64(frame.Size))
		if err != nil {
			return err
		}
		piece = piece[:min(len(piece), frame.Size-at)]
		if skip := wanted.From - at; skip < len(piece) {
			sum = crc32.Update(sum, castagnoli, piece[max(skip, 0):])
		}
		if r.keep {
			r.kept = append(r.kept, piece...)
		}
		at += len(piece)
	}
	if err := wanted.judge(sum); err != nil {
		return badFrame(r.position, err)
	}
	r.position += int64(frame.Size)
	return nil
}

// pass goes on behind a frame unchecked.
func (r *frameReader) pass(frame Frame) { r.position += int64(frame.Size) }

// load returns the file's bytes from at on: least of them or more, up to wish if they fit. What it returned before is gone.
func (r *frameReader) load(at int64, least int, wish int64) ([]byte, error) {
	if skip := at - r.bytesAt; skip >= 0 && skip+int64(least) <= int64(len(r.bytes)) {
		return r.bytes[skip:], nil
	}
	want := min(max(int64(least), wish-at, r.ahead-at), r.end-at, checkBuffer)
	buffer := r.buffer(want)
	n, err := r.file.ReadAt(buffer, at)
	r.bytes, r.bytesAt = buffer[:max(n, 0)], at
	switch {
	case int64(n) == want:
		return r.bytes, nil
	case err == nil || errors.Is(err, io.EOF):
		return nil, &shortError{at + want}
	}
	return nil, err
}

// buffer is memory for so many bytes, checkBuffer at most.
func (r *frameReader) buffer(size int64) []byte {
	if r.large == nil && size <= smallBuffer {
		if r.small == nil {
			r.small = smallBuffers.Get().(*[smallBuffer]byte)
		}
		return r.small[:size]
	}
	if r.large == nil {
		r.large = checkBuffers.Get().(*[checkBuffer]byte)
	}
	return r.large[:size]
}

// scan gives each frame of file[from:end] to visit, checked. It stops at the first that is not whole and undamaged, or that visit refuses,
// with a *frameError; an I/O error is returned as it is.
func scan(file io.ReaderAt, framing Framing, from, end int64, visit func(frame Frame, position int64) error) error {
	frames := newFrameReader(file, framing, from, end)
	defer frames.close()
	for frames.position < end {
		position := frames.position
		frame, header, err := frames.header()
		if err == nil {
			err = frames.check(frame, header)
		}
		if err != nil {
			return err
		}
		if err := visit(frame, position); err != nil {
			return badFrame(position, err)
		}
	}
	return nil
}
