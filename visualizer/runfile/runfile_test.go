package runfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"twinlog/engine/trace"
	"twinlog/engine/world"
	"twinlog/visualizer/hub"
	"twinlog/visualizer/wire"
)

var began = time.Date(2026, 3, 9, 8, 15, 0, 0, time.UTC)

// record is the JSON of a record as the hub makes it.
func record(n uint64) []byte {
	text, err := json.Marshal(wire.Record{N: n, Record: trace.Record{Run: "r", Node: "kafka-1", Seq: n, At: began.Add(time.Duration(n) * time.Millisecond),
		Kind: "kafka.appended", Data: trace.KafkaAppended{KafkaPartition: trace.KafkaPartition{Topic: "orders"}, LEO: int64(n)}}})
	if err != nil {
		panic(err)
	}
	return text
}

func chunksOf(from, to uint64) []hub.Chunk {
	packer := hub.NewPacker()
	var chunks []hub.Chunk
	for n := from; n <= to; n++ {
		if packer.Add(n, began, record(n)) {
			chunk, _ := packer.Seal()
			chunks = append(chunks, chunk)
		}
	}
	if chunk, any := packer.Seal(); any {
		chunks = append(chunks, chunk)
	}
	return chunks
}

func fileOf(chunks []hub.Chunk) []byte {
	var out bytes.Buffer
	w, err := NewWriter(&out, "run-1", "Controller election · 选举", began)
	for _, chunk := range chunks {
		err = errors.Join(err, w.Add(chunk))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err)
	}
	return out.Bytes()
}

func zipped(lines ...string) []byte {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	for _, line := range lines {
		_, _ = io.WriteString(zip, line)
	}
	_ = zip.Close()
	return out.Bytes()
}

func TestFileHoldsTheRun(t *testing.T) {
	chunks := append(chunksOf(1, 1200), chunksOf(1301, 1310)...) // a hole in between
	run, err := Read(bytes.NewReader(fileOf(chunks)), DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	if run.Header.Title != "Controller election · 选举" || !run.Header.StartedAt.Equal(began) || run.Records != 1210 {
		t.Errorf("%+v with %d records", run.Header, run.Records)
	}
	n := uint64(0)
	for _, chunk := range run.Chunks {
		lines, err := chunk.Lines()
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1201 {
			n = 1301
		}
		if chunk.FirstN != n {
			t.Fatalf("a chunk begins with %d, want %d", chunk.FirstN, n)
		}
		for i, line := range lines {
			if n = chunk.FirstN + uint64(i); !bytes.Equal(line, record(n)) {
				t.Fatalf("record %d became %s", n, line)
			}
		}
	}
	if n != 1310 {
		t.Errorf("the last record is %d", n)
	}
}

const header = `{"format":"twinlog-run","version":1,"name":"r","startedAt":"2026-03-09T08:15:00Z"}` + "\n"

func TestHostileFilesAreRefused(t *testing.T) {
	whole := fileOf(chunksOf(1, 30))
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0x20
	one := string(record(1)) + "\n"
	small := DefaultLimits
	small.Unpacked, small.Line, small.Records = 8<<10, 1<<10, 50
	for name, test := range map[string]struct {
		file   []byte
		limits Limits
		want   error
	}{
		"nothing":            {nil, DefaultLimits, ErrNotARun},
		"a picture":          {[]byte("\x89PNG\r\n\x1a\n"), DefaultLimits, ErrNotARun},
		"gzip of something":  {zipped("hello\n"), DefaultLimits, ErrNotARun},
		"another JSON":       {zipped(`{"format":"jaeger"}` + "\n"), DefaultLimits, ErrNotARun},
		"a newer version":    {zipped(strings.Replace(header, `"version":1`, `"version":2`, 1)), DefaultLimits, ErrNewer},
		"version 0":          {zipped(strings.Replace(header, `"version":1`, `"version":0`, 1)), DefaultLimits, ErrNotARun},
		"a header without n": {zipped(header), DefaultLimits, ErrDamaged},
		"cut off":            {whole[:len(whole)-9], DefaultLimits, ErrDamaged},
		"cut in the middle":  {whole[:len(whole)/2], DefaultLimits, ErrDamaged},
		"one bit":            {flipped, DefaultLimits, ErrDamaged},
		"more behind it":     {append(bytes.Clone(whole), whole...), DefaultLimits, ErrDamaged},
		"no record":          {fileOf(nil), DefaultLimits, ErrNotARun},
		"wrong sum":          {zipped(header, one, `{"records":1,"sha256":"00"}`+"\n"), DefaultLimits, ErrDamaged},
		"wrong count":        {zipped(header, one, `{"records":2,"sha256":"00"}`+"\n"), DefaultLimits, ErrDamaged},
		"n goes back":        {zipped(header, string(record(2))+"\n", one), DefaultLimits, ErrDamaged},
		"n twice":            {zipped(header, one, one), DefaultLimits, ErrDamaged},
		"n 0":                {zipped(header, string(record(0))+"\n"), DefaultLimits, ErrDamaged},
		"unknown kind":       {zipped(header, strings.Replace(one, "kafka.appended", "kafka.exploded", 1)), DefaultLimits, ErrDamaged},
		"wrong field":        {zipped(header, strings.Replace(one, `"leo":1`, `"leo":"x"`, 1)), DefaultLimits, ErrDamaged},
		"a huge line":        {zipped(header, strings.Repeat("x", 2<<20)), DefaultLimits, ErrTooLarge},
		"a huge title":       {zipped(strings.Replace(header, `"r"`, `"`+strings.Repeat("r", 500)+`"`, 1)), DefaultLimits, ErrTooLarge},
		"too many records":   {fileOf(chunksOf(1, 60)), Limits{Line: 1 << 10, Unpacked: 1 << 20, Packed: 1 << 20, Records: 50, Title: 200}, ErrTooLarge},
		"too many bytes":     {fileOf(chunksOf(1, 60)), small, ErrTooLarge},
		"too much to keep":   {fileOf(chunksOf(1, 60)), Limits{Line: 1 << 10, Unpacked: 1 << 20, Packed: 100, Records: 500, Title: 200}, ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Read(bytes.NewReader(test.file), test.limits); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			} else if !strings.Contains(err.Error(), "line") && test.want == ErrDamaged {
				t.Errorf("%v does not say where", err)
			}
		})
	}
}

// endless is a gzip stream of one record after the other, or of one line without an end.
func endless(line func(n uint64) []byte) io.Reader {
	read, write := io.Pipe()
	go func() {
		zip, _ := gzip.NewWriterLevel(write, gzip.BestSpeed)
		_, err := io.WriteString(zip, header)
		for n := uint64(1); err == nil; n++ {
			_, err = zip.Write(line(n))
		}
	}()
	return read
}

func TestEndlessFilesTakeBoundedMemory(t *testing.T) {
	zeros := bytes.Repeat([]byte{' '}, 64<<10)
	for name, line := range map[string]func(uint64) []byte{
		"spaces":  func(uint64) []byte { return zeros },
		"records": func(n uint64) []byte { return append(record(n), '\n') },
		// Little to read, but each a chunk of its own because of the hole before it.
		"holes": func(n uint64) []byte { return append(record(2*n), '\n') },
	} {
		t.Run(name, func(t *testing.T) {
			limits := Limits{Line: 1 << 20, Unpacked: 6 << 20, Packed: 256 << 10, Records: 1 << 40, Title: 200}
			in := endless(line)
			defer in.(io.Closer).Close()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			run, err := Read(in, limits)
			runtime.GC()
			runtime.ReadMemStats(&after)
			if !errors.Is(err, ErrTooLarge) {
				t.Fatalf("%d records, %v", run.Records, err)
			}
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
				t.Errorf("%d KiB are still held", grown>>10)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(header + string(record(1)) + "\n" + `{"records":1,"sha256":"00"}` + "\n"))
	f.Add([]byte(header + string(record(7)) + "\n" + string(record(9)) + "\n"))
	f.Add([]byte(header + `{"n":1,"node":"__proto__","seq":1,"at":"2026-03-09T08:15:00Z","kind":"node.started","data":{"addresses":null}}` + "\n"))
	f.Add([]byte(header + `{"n":1,"node":"kafka-1","seq":1,"at":"2026-03-09T08:15:00Z","kind":"kafka.topicCreated","data":{"topic":"t","replicas":[[1],null,[]]}}` + "\n"))
	f.Add([]byte(header + `{"n":1,"node":"e","seq":1,"at":"2026-03-09T08:15:00Z","kind":"kafka.partitionStateChanged","data":{"topic":"t","partition":-2147483648}}` + "\n"))
	f.Fuzz(func(t *testing.T, lines []byte) {
		limits := Limits{Line: 64 << 10, Unpacked: 1 << 20, Packed: 1 << 20, Records: 2000, Title: 200}
		nothing := bufio.NewReader(strings.NewReader(""))
		_, _ = readLines(bytes.NewReader(lines), nothing, limits)
		// With the last line that belongs to it, it is a run if its records are, and the state can be folded from them.
		run, err := readLines(bytes.NewReader(withEnd(lines)), nothing, limits)
		if err != nil {
			return
		}
		state := world.New()
		for _, chunk := range run.Chunks {
			texts, err := chunk.Lines()
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range texts {
				var record wire.Record
				if err := json.Unmarshal(text, &record); err != nil {
					t.Fatalf("%s was kept: %v", text, err)
				}
				state.Apply(record.Record)
			}
		}
		if _, err := json.Marshal(state); err != nil {
			t.Fatal(err)
		}
	})
}

// withEnd is the lines of a header and records, with the last line that belongs to them.
func withEnd(lines []byte) []byte {
	head, records, _ := bytes.Cut(lines, []byte{'\n'})
	records = append(bytes.TrimSuffix(records, []byte{'\n'}), '\n')
	sum := sha256.Sum256(records)
	return fmt.Appendf(nil, "%s\n%s{\"records\":%d,\"sha256\":\"%x\"}\n", head, records, bytes.Count(records, []byte{'\n'}), sum)
}
