package dump

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"twinlog/engine/dissect"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/sentence"
)

// Content is a page of a file, for programs: the frames of a segment, or the lines that put any other file in words.
type Content struct {
	File  string `json:"file"`
	Kind  string `json:"kind"` // partition, offsets, raft, bookie; text for lines
	Bytes int64  `json:"bytes"`
	// Frames of a segment, from the place that was asked for on.
	Frames []Frame `json:"frames"`
	// Next is where the next page begins; -1: there is none.
	Next  int64    `json:"next"`
	Torn  *Torn    `json:"torn,omitempty"`
	Lines []string `json:"lines,omitempty"`
}

// Frame is a record batch, an entry of a Raft log or a record of a bookie's.
type Frame struct {
	At    int64 `json:"at"` // byte of the file
	Size  int   `json:"size"`
	First int64 `json:"first"` // offset, index or running number
	Last  int64 `json:"last"`
	// Text says what it holds, and Said is the sentence that it is; of a record batch Batch does.
	Text  string             `json:"text,omitempty"`
	Said  *sentence.Sentence `json:"said,omitempty"`
	Batch *Batch             `json:"batch,omitempty"`
}

// Batch is what a record batch says of itself, and its first records. Its checksum is good, or it would not be told.
type Batch struct {
	Records       int32         `json:"records"`
	LeaderEpoch   int32         `json:"leaderEpoch"`
	ProducerID    int64         `json:"producerId"` // -1: not idempotent
	ProducerEpoch int16         `json:"producerEpoch"`
	BaseSequence  int32         `json:"baseSequence"`
	BaseTimestamp int64         `json:"baseTimestamp"` // milliseconds since 1970
	MaxTimestamp  int64         `json:"maxTimestamp"`
	Compression   string        `json:"compression"` // none, gzip, snappy, lz4, zstd
	Transactional bool          `json:"transactional"`
	Control       bool          `json:"control"`
	Shown         []BatchRecord `json:"shown"`
	Problem       string        `json:"problem,omitempty"` // why its records cannot be read
}

// BatchRecord is one record of a batch. Null is told from empty.
type BatchRecord struct {
	Offset    int64   `json:"offset"`
	Timestamp int64   `json:"timestamp"`
	Key       *string `json:"key"`
	Value     *string `json:"value"`
	// Meaning of a record of __consumer_offsets, and the sentence that it is.
	Meaning string             `json:"meaning,omitempty"`
	Said    *sentence.Sentence `json:"said,omitempty"`
}

// Torn is what follows the last whole frame: a write under way, what a crash left, or, with Ahead, nothing that was torn.
type Torn struct {
	At      int64  `json:"at"`
	Bytes   int64  `json:"bytes"`
	Problem string `json:"problem"`
	Ahead   bool   `json:"ahead,omitempty"` // zeros that the log wrote ahead of its end
}

const (
	pageFrames   = 64
	shownRecords = 40
	shownText    = 200 // bytes of a key or a value
	maxLines     = 400
	maxLine      = 500
	// maxPage bounds the frames of a page in bytes of JSON, so that a page fits into the 4 MiB of an answer; a frame has a tenth of it at
	// most.
	maxPage = 3 << 20
	// maxDissected is how much of a frame is taken apart and handed out.
	maxDissected = 64 << 10
)

// Read returns a page of a file. From is 0 or a Content's Next.
func Read(file io.ReaderAt, name string, size, from int64) (Content, error) {
	s := source{file, name, size}
	content := Content{File: name, Bytes: size, Frames: []Frame{}, Next: -1}
	if !isSegment(s.base()) {
		content.Kind = "text"
		var lines firstLines
		err := printFile(&lines, s)
		content.Lines = lines.all()
		if errors.Is(err, errEnough) {
			err = nil
		}
		return content, err
	}
	if from < 0 || from > size {
		return content, fmt.Errorf("%s: %w: a segment of %d bytes has no byte %d", name, ErrNoFrame, size, from)
	}
	if size == 0 {
		content.Kind = "partition"
		return content, nil
	}
	kind, err := kindOf(s)
	if err != nil {
		return content, err
	}
	content.Kind = kind.name
	told := 0 // bytes of JSON
	content.Torn, err = eachFrame(s, kind, from, func(frame Frame, bytes []byte) error {
		if len(content.Frames) == pageFrames {
			content.Next = frame.At
			return errEnough
		}
		describeFrame(&frame, kind, bytes)
		text, err := json.Marshal(frame)
		if err != nil {
			return err
		}
		if told += len(text); told > maxPage {
			content.Next = frame.At
			return errEnough
		}
		content.Frames = append(content.Frames, frame)
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return content, err
}

// firstLines takes the first lines of what is written to it, then refuses more with errEnough.
type firstLines struct {
	lines []string
	last  []byte // the beginning of a line that has not ended
	more  bool   // there were more than maxLines
}

func (f *firstLines) Write(text []byte) (written int, err error) {
	for written < len(text) {
		if len(f.lines) == maxLines {
			f.more = true
			return written, errEnough
		}
		line, _, ends := bytes.Cut(text[written:], []byte("\n"))
		f.last = append(f.last, line[:min(len(line), max(0, maxLine+1-len(f.last)))]...) // one byte more than is shown tells that it is cut
		written += len(line)
		if ends {
			written++
			f.end()
		}
	}
	return written, nil
}

func (f *firstLines) end() {
	f.lines = append(f.lines, shorten(string(f.last), maxLine))
	f.last = f.last[:0]
}

// all returns the lines; a sign after the last one says that there were more.
func (f *firstLines) all() []string {
	if len(f.last) > 0 {
		f.end()
	}
	if f.more {
		return append(f.lines, "…")
	}
	return f.lines
}

// ErrNoFrame: nothing whole begins where it was asked for.
var ErrNoFrame = errors.New("no frame is there")

// Opened is one frame, taken apart: of a long one its beginning, and that fields are missing then is no problem of the frame's.
type Opened struct {
	dissect.Message
	Bytes []byte `json:"bytes"` // at most 64 KiB of it
	Size  int    `json:"size"`  // of the whole frame
}

// Open takes the frame at a place of a segment apart.
func Open(file io.ReaderAt, name string, size, at int64) (opened Opened, err error) {
	s := source{file, name, size}
	if !isSegment(s.base()) || at < 0 || at >= size {
		return opened, fmt.Errorf("%s at byte %d: %w", name, at, ErrNoFrame)
	}
	kind, err := kindOf(s)
	if err != nil {
		return opened, err
	}
	found := false
	torn, err := eachFrame(s, kind, at, func(frame Frame, bytes []byte) error {
		bytes = bytes[:min(len(bytes), maxDissected)]
		opened = Opened{Message: kind.dissect(bytes), Bytes: append([]byte{}, bytes...), Size: frame.Size}
		if opened.Size > len(opened.Bytes) {
			opened.Problem, opened.Said = "", nil
		}
		found = true
		return errEnough
	})
	if !found && torn != nil {
		return opened, fmt.Errorf("%s at byte %d: %w: %s", name, at, ErrNoFrame, torn.Problem)
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return opened, err
}

func isSegment(base string) bool {
	return strings.HasSuffix(base, ".log") || strings.HasSuffix(base, ".swap")
}

func describeFrame(frame *Frame, kind kind, bytes []byte) {
	if kind.says != nil {
		said := kind.says(bytes)
		frame.Text, frame.Said = shorten(said.String(), maxLine), &said
		return
	}
	h, err := records.ParseHeader(bytes)
	if err != nil {
		frame.Text = err.Error()
		return
	}
	frame.Batch = &Batch{
		Records: h.Count, LeaderEpoch: h.LeaderEpoch, ProducerID: h.ProducerID, ProducerEpoch: h.ProducerEpoch, BaseSequence: h.BaseSequence,
		BaseTimestamp: h.BaseTimestamp, MaxTimestamp: h.MaxTimestamp, Compression: h.Compression().String(), Transactional: h.Transactional(),
		Control: h.Control(), Shown: []BatchRecord{},
	}
	err = records.EachRecord(bytes, func(r records.Record) bool {
		shown := BatchRecord{Offset: r.Offset, Timestamp: r.Timestamp, Key: shownBytes(r.Key), Value: shownBytes(r.Value)}
		if kind.name == "offsets" {
			said := kind.meaning(r)
			shown = BatchRecord{Offset: r.Offset, Timestamp: r.Timestamp, Meaning: shorten(said.String(), maxLine), Said: &said}
		}
		frame.Batch.Shown = append(frame.Batch.Shown, shown)
		return len(frame.Batch.Shown) < shownRecords
	})
	if err != nil {
		frame.Batch.Problem = err.Error()
	}
}

func shownBytes(bytes []byte) *string {
	if bytes == nil {
		return nil
	}
	text := string(bytes)
	if strings.ToValidUTF8(text, "") != text {
		text = fmt.Sprintf("%x", bytes[:min(len(bytes), shownText/2)])
	}
	text = shorten(text, shownText)
	return &text
}

func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
