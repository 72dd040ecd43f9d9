package world_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"twinlog/engine/trace"
	"twinlog/engine/world"
)

var update = flag.Bool("update", false, "write testdata anew")

// every is how many records lie between two states in a file of expected states.
const every = 8

// TestRecordedRuns folds each testdata/*.jsonl and compares with NAME.states.jsonl, whose lines are {"n":…,"state":{…}}: the state after
// n records. The page's TypeScript reducer is held against the same files.
func TestRecordedRuns(t *testing.T) {
	if *update {
		writeLines(t, "testdata/crafted.jsonl", crafted())
	}
	names, err := filepath.Glob("testdata/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for _, name := range names {
		if strings.HasSuffix(name, ".states.jsonl") {
			continue
		}
		runs++
		t.Run(filepath.Base(name), func(t *testing.T) {
			states := states(readRun(t, name), every)
			expected := strings.TrimSuffix(name, ".jsonl") + ".states.jsonl"
			if *update {
				if err := os.WriteFile(expected, states, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			compareLines(t, expected, states)
		})
	}
	if runs == 0 {
		t.Error("no recorded run in testdata")
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
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var records []trace.Record
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var record trace.Record
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			t.Fatalf("%s, line %d: %v", name, len(records)+1, err)
		}
		records = append(records, record)
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return records
}

func writeLines(t *testing.T, name string, records []trace.Record) {
	t.Helper()
	var out bytes.Buffer
	for _, record := range records {
		out.Write(marshal(t, record))
		out.WriteByte('\n')
	}
	if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func compareLines(t *testing.T, expected string, got []byte) {
	t.Helper()
	want, err := os.ReadFile(expected)
	if err != nil {
		t.Fatal(err)
	}
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
