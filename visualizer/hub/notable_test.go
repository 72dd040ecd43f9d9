package hub

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"twinlog/engine/trace"
	"twinlog/engine/world"
	"twinlog/visualizer/wire"
)

var update = flag.Bool("update", false, "write testdata anew")

// TestNotableOfRecordedRuns holds what is kept of the engine's recorded runs against testdata, which the page's story is held against too:
// both must tell the same (web/src/scene/earlier.test.ts).
func TestNotableOfRecordedRuns(t *testing.T) {
	for _, run := range []struct{ records, notable string }{
		{"crafted.jsonl", "testdata/crafted.notable.json.gz"},
		{"classroom.jsonl.gz", "testdata/classroom.notable.json.gz"},
	} {
		t.Run(run.records, func(t *testing.T) {
			kept, state := newNotables(10_000, 8<<20), world.New()
			for i, record := range readRun(t, "../../engine/world/testdata/"+run.records) {
				state.Apply(record)
				n := uint64(i + 1)
				text, err := json.Marshal(wire.Record{N: n, Record: record})
				if err != nil {
					t.Fatal(err)
				}
				kept.take(n, &record, text, state)
			}
			var lines bytes.Buffer
			for _, one := range kept.kept {
				text, err := json.Marshal(PackedNotable{Record: one.text, Names: one.names})
				if err != nil {
					t.Fatal(err)
				}
				lines.Write(append(text, '\n'))
			}
			if *update {
				writePacked(t, run.notable, lines.Bytes())
			}
			want := strings.Split(string(readPacked(t, run.notable)), "\n")
			got := strings.Split(lines.String(), "\n")
			for i := range max(len(got), len(want)) {
				if i >= len(got) || i >= len(want) || got[i] != want[i] {
					t.Fatalf("line %d differs of %d, wanted %d; -update writes them anew:\n%s", i, len(got), len(want), got[min(i, len(got)-1)])
				}
			}
		})
	}
}

// TestNotableOutlastTheWindow: what mattered is told after the window has gone on, and up to the record that a page has.
func TestNotableOutlastTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var nodes source
		h := running(t, Config{Drain: nodes.Drain, MaxRecords: 1000})
		nodes.emit("kafka-1", trace.NodeStarted{Role: "kafka", ID: 1}, trace.NodeReady{}, trace.NodeStopped{Reason: "killed"})
		for range 30 {
			events := make([]trace.Event, 100)
			for i := range events {
				events[i] = trace.KafkaAppended{Role: "leader", LEO: int64(i)}
			}
			nodes.emit("kafka-1", events...)
			time.Sleep(time.Second)
		}
		nodes.emit("kafka-1", trace.NodeReady{})
		time.Sleep(time.Second)
		if _, err := h.TraceAfter(t.Context(), 0, 1); err == nil {
			t.Fatal("the window still reaches back to the run's beginning")
		}
		for _, one := range []struct {
			upTo  uint64
			kinds string
		}{{10_000, "node.ready node.stopped node.ready"}, {2000, "node.ready node.stopped"}, {2, "node.ready"}, {0, ""}} {
			records, dropped, err := h.Notable(t.Context(), one.upTo)
			if err != nil || dropped != 0 {
				t.Fatal(dropped, err)
			}
			var kinds []string
			for _, kept := range records {
				var record wire.Record
				if err := json.Unmarshal(kept.Record, &record); err != nil {
					t.Fatal(err)
				}
				if kept.Names.Role != "kafka" {
					t.Errorf("%s of a node without its role", record.Kind)
				}
				kinds = append(kinds, record.Kind)
			}
			if got := strings.Join(kinds, " "); got != one.kinds {
				t.Errorf("up to %d: %s, not %s", one.upTo, got, one.kinds)
			}
		}
	})
}

// TestNotableAreBounded by count and by bytes, and what has made room is counted.
func TestNotableAreBounded(t *testing.T) {
	record := trace.Record{Node: "kafka-1", Kind: "node.ready", Data: trace.NodeReady{}}
	for _, one := range []struct{ maxRecords, maxBytes, kept int }{{3, 1 << 20, 3}, {100, 1000, 10}, {100, 99, 0}} {
		bounded, state := newNotables(one.maxRecords, one.maxBytes), world.New()
		for n := range 20 {
			bounded.take(uint64(n+1), &record, make([]byte, 100), state)
		}
		all := bounded.upTo(100)
		if len(all) != one.kept || bounded.dropped != uint64(20-one.kept) || bounded.bytes != 100*one.kept {
			t.Errorf("%+v: %d are kept, %d dropped, %d bytes", one, len(all), bounded.dropped, bounded.bytes)
		}
		if one.kept > 0 && all[len(all)-1].n != 20 {
			t.Errorf("%+v: the newest is %d", one, all[len(all)-1].n)
		}
	}
}

// TestRefusalsDoNotPushOutAnElection: what is said again and again is kept once.
func TestRefusalsDoNotPushOutAnElection(t *testing.T) {
	kept, state := newNotables(50, 1<<20), world.New()
	take := func(n int, event trace.Event) {
		at := time.UnixMilli(int64(n))
		kept.take(uint64(n), &trace.Record{Node: "kafka-1", At: at, Kind: event.Kind(), Data: event}, []byte("{}"), state)
	}
	take(1, trace.KafkaControllerElected{Broker: 1, Epoch: 1})
	for n := 2; n < 30_000; n++ {
		take(n, trace.KafkaProduceRefused{KafkaPartition: trace.KafkaPartition{Topic: "orders"}, Error: "NOT_ENOUGH_REPLICAS", ISR: 1, MinISR: 2})
	}
	if all := kept.upTo(30_000); len(all) != 4 || all[0].n != 1 || kept.dropped != 0 { // told again every ten seconds
		t.Errorf("%d are kept, %d dropped", len(all), kept.dropped)
	}
}

func readRun(t *testing.T, name string) []trace.Record {
	t.Helper()
	var text []byte
	if strings.HasSuffix(name, ".gz") {
		text = readPacked(t, name)
	} else {
		var err error
		if text, err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	var records []trace.Record
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var record trace.Record
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			t.Fatal(err)
		}
		records = append(records, record)
	}
	if lines.Err() != nil || len(records) == 0 {
		t.Fatalf("%s: %d records, %v", name, len(records), lines.Err())
	}
	return records
}

func readPacked(t *testing.T, name string) []byte {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func writePacked(t *testing.T, name string, text []byte) {
	t.Helper()
	var packed bytes.Buffer
	packer := gzip.NewWriter(&packed)
	packer.Write(text) // into memory: cannot fail
	packer.Close()
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
