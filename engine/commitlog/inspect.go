package commitlog

import (
	"errors"
	"io"
	"time"
)

// ErrOnlyZeros: nothing but zeros follows. So end the logs that are filled ahead, see [Config]; in others it is what a crash left.
var ErrOnlyZeros = errors.New("nothing but zeros")

// Inspect walks the frames of a segment's bytes, for people who want to look at a file: it needs no Log and changes nothing. Visit gets
// each whole, undamaged frame with its place; the first that is not is a *CorruptError with Position: what a crash leaves at the end of a
// last segment, or, with ErrOnlyZeros, where a log is filled ahead.
func Inspect(segment io.ReaderAt, name string, framing Framing, size int64, visit func(frame Frame, position int64, bytes []byte) error) error {
	frames := newFrameReader(segment, framing, 0, size)
	defer frames.close()
	frames.keep = true
	for frames.position < size {
		position := frames.position
		frames.kept = frames.kept[:0]
		frame, header, err := frames.header()
		if err == nil {
			err = frames.check(frame, header)
		}
		var bad *frameError
		if errors.As(err, &bad) {
			if unused, _ := onlyZeros(segment, position, size); unused {
				bad.err = ErrOnlyZeros
			}
			return &CorruptError{File: name, Position: bad.position, Err: bad.err}
		}
		if err == nil {
			err = visit(frame, position, frames.kept)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// IndexContent is what an index file says, see FORMAT.md.
type IndexContent struct {
	Covered int64 // bytes of the segment that it covers
	Next    int64 // offset after them
	// Entries of an offset index: Offset is at Position. Of a time index: no frame before Offset is later than Time.
	Entries []IndexEntry
	Time    bool // whether it is a time index
	MaxTime time.Time
}

// IndexEntry is one entry of an index file.
type IndexEntry struct {
	Offset   int64
	Position int64     // offset index
	Time     time.Time // time index
}

// InspectIndex reads an index file of either kind.
func InspectIndex(bytes []byte) (IndexContent, error) {
	saved, err := decodeIndex(bytes, offsetIndexKind)
	if err == nil {
		content := IndexContent{Covered: saved.covered, Next: saved.next}
		for _, entry := range saved.entries {
			content.Entries = append(content.Entries, IndexEntry{Offset: entry.key, Position: entry.value})
		}
		return content, nil
	}
	if saved, err = decodeIndex(bytes, timeIndexKind); err != nil {
		return IndexContent{}, err
	}
	content := IndexContent{Covered: saved.covered, Next: saved.next, Time: true}
	for i, entry := range saved.entries {
		if at := time.Unix(0, entry.key).UTC(); i == len(saved.entries)-1 {
			content.MaxTime = at
		} else {
			content.Entries = append(content.Entries, IndexEntry{Offset: entry.value, Time: at})
		}
	}
	return content, nil
}

// DurableContent is what a durable file says: the first Bytes of the segment at Segment were synced, and hold the offsets before Next.
type DurableContent struct{ Segment, Bytes, Next int64 }

// InspectDurable reads a durable file, see FORMAT.md; false: no slot of it is valid.
func InspectDurable(bytes []byte) (DurableContent, bool) {
	m := newestDurableMark(bytes)
	return DurableContent{Segment: m.base, Bytes: m.size, Next: m.next}, m.sequence > 0
}

// InspectMoved reads a moved file, see FORMAT.md: the segments that are on a medium.
func InspectMoved(bytes []byte) ([]SegmentInfo, error) {
	segments, err := decodeMoved(bytes)
	var infos []SegmentInfo
	for _, s := range segments {
		info := SegmentInfo{Base: s.base, Next: s.next, Size: s.size, File: s.file("", logSuffix), Moved: true}
		if s.maxTime > 0 {
			info.MaxTime = time.Unix(0, s.maxTime)
		}
		infos = append(infos, info)
	}
	return infos, err
}
