package dump

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"twinlog/engine/dissect"
	"twinlog/engine/ensemble/jute"
	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/kafka/broker/records"
)

// told is all that is said of a frame.
func told(fields []dissect.Field) (text string) {
	for _, f := range fields {
		text += fmt.Sprintf("%s %s %s\n", f.Name, f.Value, f.Meaning) + told(f.Fields)
	}
	return text
}

// TestALongFrameIsNotTakenForADamagedOne: of a frame that is longer than what is taken apart, nothing is said that its rest would refute.
func TestALongFrameIsNotTakenForADamagedOne(t *testing.T) {
	set := func(value int) []byte {
		e := jute.NewEncoder(nil)
		e.String("/config")
		e.Buffer(bytes.Repeat([]byte("v"), value))
		e.Int(-1)
		return protocol.EncodeRequest(protocol.CommandHead{}, protocol.OpSetData, e.Bytes())
	}
	key := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, 5), ^uint64(0x1000-1))
	entry := func(size int) []byte {
		return append(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, 5), 1), make([]byte, size)...)
	}
	for name, content := range map[string]func(size int) []byte{
		"raft": func(size int) []byte { return raftEntry(7, 4, set(size)) },
		"bookie": func(size int) []byte {
			return append(frame(0, append(key, make([]byte, 20)...)), frame(1, entry(size))...)
		},
		"partition": func(size int) []byte {
			return records.Build([]records.Record{{Timestamp: 1, Value: make([]byte, size)}})
		},
	} {
		for _, size := range []int{1000, 2 * maxDissected} {
			file := content(size)
			page, err := Read(bytes.NewReader(file), segmentName, int64(len(file)), 0)
			if err != nil || page.Kind != name {
				t.Fatal(name, page.Kind, err)
			}
			last := page.Frames[len(page.Frames)-1]
			opened, err := Open(bytes.NewReader(file), segmentName, int64(len(file)), last.At)
			if err != nil || opened.Size != last.Size || len(opened.Bytes) != min(last.Size, maxDissected) {
				t.Fatal(name, opened.Size, len(opened.Bytes), err)
			}
			text := told(opened.Fields)
			if strings.Contains(text, "does not match") || opened.Problem != "" {
				t.Errorf("%s of %d bytes: %s\n%.1000s", name, size, opened.Problem, text)
			}
			if whole := opened.Size == len(opened.Bytes); whole != strings.Contains(text, ": good") {
				t.Errorf("%s of %d bytes: the checksum is said to be good without its bytes, or not with them\n%.1000s", name, size, text)
			}
		}
	}
}

// countedWrites counts what is written, as a cost.
type countedWrites struct {
	io.Writer
	writes int
}

func (c *countedWrites) Write(text []byte) (int, error) {
	c.writes++
	return c.Writer.Write(text)
}

// TestALongTextIsPutInWordsAsFarAsItIsShown, and no further: an index has as many lines as its log has megabytes.
func TestALongTextIsPutInWordsAsFarAsItIsShown(t *testing.T) {
	for _, count := range []int{1, maxLines - 1, maxLines, 100_000} { // lines besides the first one
		text := strings.Repeat("4 17\n", count)
		name := "orders-0/leader-epoch-checkpoint"
		page, err := Read(strings.NewReader(text), name, int64(len(text)), 0)
		if err != nil || page.Kind != "text" || len(page.Lines) != min(count+1, maxLines+1) || page.Lines[1] != "  4 17" {
			t.Fatalf("%d lines are %d, %v", count, len(page.Lines), err)
		}
		if cut := page.Lines[len(page.Lines)-1] == "…"; cut != (count >= maxLines) {
			t.Errorf("%d lines are said to be cut: %v", count, cut)
		}
		out := countedWrites{Writer: &firstLines{}}
		if err := printFile(&out, source{strings.NewReader(text), name, int64(len(text))}); out.writes > maxLines+1 || (err != nil) != (count >= maxLines) {
			t.Errorf("%d lines are written with %d writes, %v", count, out.writes, err)
		}
	}
	text := strings.Repeat("é", 1<<20)
	page, err := Read(strings.NewReader(text), "VERSION", int64(len(text)), 0)
	if err != nil || len(page.Lines) != 2 || len(page.Lines[1]) > maxLine+len("…") || !strings.HasSuffix(page.Lines[1], "é…") {
		t.Errorf("a long line: %q, %v", page.Lines, err)
	}
}

// answerLimit is what cluster.Inspector promises.
const answerLimit = 4 << 20

func sizeAsJSON(t *testing.T, value any) int {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}

// TestAPageFitsIntoAnAnswer: frames whose JSON is much longer than they are make more pages, and none is left out.
func TestAPageFitsIntoAnAnswer(t *testing.T) {
	value := bytes.Repeat([]byte{1}, shownText) // JSON needs six bytes for each
	var many []records.Record
	for range shownRecords {
		many = append(many, records.Record{Timestamp: 1, Key: value, Value: value})
	}
	var file []byte
	const batches = 2 * pageFrames
	for i := range batches {
		batch := records.Build(many)
		records.Assign(batch, int64(i*shownRecords), 1)
		file = append(file, batch...)
	}
	frames, pages := 0, 0
	for at := int64(0); at >= 0; pages++ {
		page, err := Read(bytes.NewReader(file), segmentName, int64(len(file)), at)
		if err != nil || len(page.Frames) == 0 || page.Frames[0].At != at {
			t.Fatalf("the page at %d has %d frames, %v", at, len(page.Frames), err)
		}
		if size := sizeAsJSON(t, page); size > answerLimit {
			t.Errorf("a page has %d bytes", size)
		}
		frames += len(page.Frames)
		at = page.Next
	}
	if frames != batches || pages <= 2 {
		t.Errorf("%d frames on %d pages", frames, pages)
	}
}

// TestAnOpenedFrameFitsIntoAnAnswer, although little can be compressed to much.
func TestAnOpenedFrameFitsIntoAnAnswer(t *testing.T) {
	value := bytes.Repeat([]byte("<"), 350) // JSON for a page needs six bytes for each
	var many []records.Record
	for range 3000 {
		many = append(many, records.Record{Timestamp: 1, Key: value, Value: value})
	}
	plain := records.Build(many)
	var squeezed bytes.Buffer
	squeezed.Write(plain[:records.HeaderSize])
	writer := gzip.NewWriter(&squeezed)
	writer.Write(plain[records.HeaderSize:])
	writer.Close()
	batch := squeezed.Bytes()
	batch[22] |= byte(records.CompressionGzip)
	binary.BigEndian.PutUint32(batch[8:], uint32(len(batch)-12))
	binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], crc32.MakeTable(crc32.Castagnoli)))
	opened, err := Open(bytes.NewReader(batch), segmentName, int64(len(batch)), 0)
	if err != nil || opened.Problem != "" || len(opened.Bytes) != len(batch) {
		t.Fatal(opened.Problem, len(opened.Bytes), err)
	}
	if size := sizeAsJSON(t, opened); size > answerLimit || !strings.Contains(told(opened.Fields), "the first 3") {
		t.Errorf("%d bytes of JSON\n%.2000s", size, told(opened.Fields))
	}
}
