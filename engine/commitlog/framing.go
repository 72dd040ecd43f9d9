package commitlog

import (
	"fmt"
	"hash/crc32"
	"time"

	"twinlog/engine/sentence"
)

// Frame is what a header says about a frame.
type Frame struct {
	Size       int   // whole frame, header included, in bytes
	BaseOffset int64 // first offset in it
	LastOffset int64 // last offset in it, >= BaseOffset
	// Time is the frame's largest timestamp; the zero time when it has none.
	Time time.Time
}

// nanoseconds is the frame's time since 1970; 0 when it has none.
func (f Frame) nanoseconds() int64 {
	if f.Time.IsZero() {
		return 0
	}
	return f.Time.UnixNano()
}

// Framing finds frames in bytes. Implementations are stateless values.
type Framing interface {
	// HeaderSize is how many bytes Parse needs.
	HeaderSize() int
	// Parse reads a header of HeaderSize bytes. It fails on anything that cannot be a frame: a size beyond MaxSize, and nothing but
	// zeros, which a log may write ahead of its end.
	Parse(header []byte) (Frame, error)
	// Checksum tells how to check the frame that a header, which Parse took, belongs to.
	Checksum(header []byte) Checksum
	// MaxSize bounds a frame, in bytes.
	MaxSize() int
}

// Checksum is a CRC-32C (Castagnoli) over the end of a frame, so that a frame of any size can be checked in pieces.
type Checksum struct {
	From  int    // first byte that it covers
	Begin uint32 // checksum of what else it covers, in the header before From; 0: nothing
	Want  uint32 // what all of it must come to
}

// Verify checks a whole frame, which Parse took.
func Verify(framing Framing, frame []byte) error {
	c := framing.Checksum(frame[:framing.HeaderSize()])
	return c.judge(crc32.Update(c.Begin, castagnoli, frame[c.From:]))
}

func (c Checksum) judge(sum uint32) error {
	if sum != c.Want {
		return sentence.Error(nil, "frameChecksum", "its checksum is {want}, but its bytes give {sum}", fmt.Sprintf("%08x", c.Want), fmt.Sprintf("%08x", sum))
	}
	return nil
}
