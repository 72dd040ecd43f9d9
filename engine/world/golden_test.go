package world_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"twinlog/engine/trace"
	"twinlog/engine/world"
)

var update = flag.Bool("update", false, "write testdata anew")

// recordedRuns are folded and compared with NAME.states.jsonl, whose lines are {"n":…,"state":{…}}: the state after n records. The page's
// TypeScript reducer is held against the same files.
//
// The run "crafted" was written by hand (see crafted_test.go). "classroom" was recorded from a whole classroom: a workload on both
// engines, the controller, a bundle's owner and a bookie killed and started again, the ensemble's leader stopped, a link slowed, a bookie
// paused, a namespace unloaded, a topic deleted.
var recordedRuns = []struct {
	records, states string
	every           int // records between two states
}{
	{"testdata/crafted.jsonl", "testdata/crafted.states.jsonl", 8},
	{"testdata/classroom.jsonl.gz", "testdata/classroom.states.jsonl.gz", 1000},
}

func TestRecordedRuns(t *testing.T) {
	if *update {
		writeLines(t, "testdata/crafted.jsonl", crafted())
	}
	for _, run := range recordedRuns {
		t.Run(filepath.Base(run.records), func(t *testing.T) {
			states := states(readRun(t, run.records), run.every)
			if *update {
				writeFile(t, run.states, states)
				return
			}
			compareLines(t, run.states, states)
		})
	}
}

func TestCraftedRunShowsEveryEvent(t *testing.T) {
	var seen []string
	for _, record := range readRun(t, "testdata/crafted.jsonl") {
		if !slices.Contains(seen, record.Kind) {
			seen = append(seen, record.Kind)
		}
	}
	for _, kind := range trace.Kinds() {
		if kind != "message.sent" && !slices.Contains(seen, kind) {
			t.Errorf("the run never shows %s", kind)
		}
	}
}

// TestNothingIsNull: the page relies on [] and {} where there is nothing.
func TestNothingIsNull(t *testing.T) {
	for _, state := range [][]byte{marshal(t, world.New()), states(crafted(), 1)} {
		if at := bytes.Index(state, []byte("null")); at >= 0 {
			t.Errorf("null in …%s", state[max(0, at-200):at+4])
		}
	}
}

func states(records []trace.Record, every int) []byte {
	var out bytes.Buffer
	state := world.New()
	for i, record := range records {
		state.Apply(record)
		if n := i + 1; n%every == 0 || n == len(records) {
			text, err := json.Marshal(state)
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(&out, `{"n":%d,"state":%s}`+"\n", n, text)
		}
	}
	return out.Bytes()
}

func readRun(t *testing.T, name string) []trace.Record {
	t.Helper()
	var records []trace.Record
	for line := range bytes.Lines(readFile(t, name)) {
		var record trace.Record
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatalf("%s, line %d: %v", name, len(records)+1, err)
		}
		records = append(records, record)
	}
	return records
}

// readFile reads a file, unpacked when its name ends in .gz.
func readFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil && strings.HasSuffix(name, ".gz") {
		var unpacked *gzip.Reader
		if unpacked, err = gzip.NewReader(bytes.NewReader(text)); err == nil {
			text, err = io.ReadAll(unpacked)
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return text
}

func writeFile(t *testing.T, name string, text []byte) {
	t.Helper()
	if strings.HasSuffix(name, ".gz") {
		var packed bytes.Buffer
		packer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		packer.Write(text) // into memory: cannot fail
		packer.Close()
		text = packed.Bytes()
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func writeLines(t *testing.T, name string, records []trace.Record) {
	t.Helper()
	var out bytes.Buffer
	for _, record := range records {
		out.Write(marshal(t, record))
		out.WriteByte('\n')
	}
	writeFile(t, name, out.Bytes())
}

func compareLines(t *testing.T, expected string, got []byte) {
	t.Helper()
	want := readFile(t, expected)
	gotLines, wantLines := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range min(len(gotLines), len(wantLines)) {
		if !bytes.Equal(gotLines[i], wantLines[i]) {
			t.Fatalf("%s, line %d:\n got  %s\n want %s\n(if the change is meant: go test ./engine/world -update)", expected, i+1, gotLines[i], wantLines[i])
		}
	}
	if len(gotLines) != len(wantLines) {
		t.Errorf("%s has %d lines, want %d", expected, len(wantLines)-1, len(gotLines)-1)
	}
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	return marshalOrPanic(value)
}

func marshalOrPanic(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}
