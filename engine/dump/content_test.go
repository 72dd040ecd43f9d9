package dump

import (
	"bytes"
	"encoding/binary"
	"fmt"
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
