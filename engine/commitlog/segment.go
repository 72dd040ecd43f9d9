package commitlog

import (
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"twinlog/engine/disk"
	"twinlog/engine/sentence"
)

const (
	logSuffix       = ".log"
	indexSuffix     = ".index"
	timeIndexSuffix = ".timeindex"
)

// segment is one file of a log and its two sparse indexes. Its fields are guarded by the log's mu, except base, which never changes.
type segment struct {
	base   int64
	next   int64 // one past the last offset in it; base when it is empty
	size   int64 // bytes that readers may see
	handle *handle
	index  *segmentIndex // nil while a sealed segment is not open

	maxTime int64        // largest time of a frame, ns since 1970, of a sealed segment; 0: none
	began   time.Time    // when this process made or opened it
	open    *openSegment // its place in the pool; nil when it has none
	moved   bool         // it is on the medium
	filled  int64        // of the active segment: its file is not longer, and zeros beyond size; the owner's
	pinned  bool         // its file has not its own name yet, so that it must stay open
}

func (s *segment) file(dir, suffix string) string {
	return path.Join(dir, fmt.Sprintf("%020d%s", s.base, suffix))
}

// baseOf returns the base offset that a segment file's name tells.
func baseOf(name string) (int64, bool) {
	digits, isLog := strings.CutSuffix(name, logSuffix)
	if !isLog || len(digits) != 20 {
		return 0, false
	}
	base, err := strconv.ParseInt(digits, 10, 64)
	return base, err == nil && base >= 0
}

func createSegment(d disk.Disk, dir string, base int64) (*segment, error) {
	s := &segment{base: base, next: base, index: &segmentIndex{}, began: time.Now()}
	file, err := d.OpenFile(s.file(dir, logSuffix), os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, fmt.Errorf("create segment %d: %w", base, err)
	}
	if err := d.SyncDir(dir); err != nil {
		file.Close()
		return nil, fmt.Errorf("create segment %d: %w", base, err)
	}
	s.handle = newHandle(file)
	return s, nil
}

// handle is an open file that closes when the last holder lets go, so that a segment can be deleted or evicted under a reader.
type handle struct {
	file disk.File
	refs atomic.Int32
}

func newHandle(file disk.File) *handle {
	h := &handle{file: file}
	h.refs.Store(1)
	return h
}

// retain is called while the log's mu is held, which keeps the log's own reference alive.
func (h *handle) retain() *handle {
	h.refs.Add(1)
	return h
}

func (h *handle) release() {
	if h != nil && h.refs.Add(-1) == 0 {
		h.file.Close()
	}
}

// parse reads the frame at the beginning of bytes and checks that all of it is there.
func parse(framing Framing, bytes []byte) (Frame, error) {
	if len(bytes) < framing.HeaderSize() {
		return Frame{}, headerCut(int64(len(bytes)), framing.HeaderSize())
	}
	return parseHeader(framing, bytes[:framing.HeaderSize()], int64(len(bytes)))
}

func headerCut(left int64, size int) error {
	return sentence.Error(nil, "frameHeaderCut", "{left} {left|byte|bytes} are left of a frame's header of {size}", left, size)
}

// parseHeader reads a header and checks that the frame can be, in what is left from its first byte on.
func parseHeader(framing Framing, header []byte, left int64) (Frame, error) {
	frame, err := framing.Parse(header)
	if err != nil {
		return Frame{}, err
	}
	if frame.Size < framing.HeaderSize() || frame.Size > framing.MaxSize() {
		return Frame{}, sentence.Error(nil, "frameSize", "a frame of {size} {size|byte|bytes} is not between {least} and {most}", frame.Size, framing.HeaderSize(), framing.MaxSize())
	}
	if int64(frame.Size) > left {
		return Frame{}, sentence.Error(nil, "frameCut", "{left} {left|byte|bytes} are left of a frame of {size}", left, frame.Size)
	}
	return frame, nil
}
