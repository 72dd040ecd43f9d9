package commitlog

import "time"

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
	// Parse reads a header of HeaderSize bytes. It fails on anything that cannot be a frame, a size beyond MaxSize included.
	Parse(header []byte) (Frame, error)
	// Verify checks a whole frame's checksum.
	Verify(frame []byte) error
	// MaxSize bounds a frame, in bytes.
	MaxSize() int
}
