package commitlog

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"pgregory.net/rapid"

	"twinlog/engine/disk"
)

type modelFrame struct {
	base, last int64
	bytes      []byte
}

// model is what the log must look like: a slice of frames, a start and a next offset.
type model struct {
	frames      []modelFrame
	start, next int64
}

func (m *model) append(base int64, frame []byte, count int) {
	m.frames = append(m.frames, modelFrame{base, base + int64(count) - 1, frame})
	m.next = base + int64(count)
}

func (m *model) truncate(next int64) {
	for len(m.frames) > 0 && m.frames[len(m.frames)-1].last >= next {
		m.frames = m.frames[:len(m.frames)-1]
	}
}

// TestLogAgainstModel does random operations on a log with tiny segments, reopening it in between, and compares with the model.
func TestLogAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "commitlog")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		d, err := disk.NewOS(dir)
		if err != nil {
			t.Fatal(err)
		}
		config := Config{SegmentBytes: 600, IndexInterval: int64(rapid.IntRange(1, 300).Draw(t, "interval")), Preallocate: int64(rapid.IntRange(0, 400).Draw(t, "filled ahead"))}
		if rapid.Bool().Draw(t, "a pool for one file") {
			config.Files = NewFilePool(1)
		}
		open := func() *Log {
			l, err := Open(d, "log", testFraming{}, config)
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		log, want := open(), &model{}
		defer func() { log.Abandon() }()
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				var batch []byte
				for range rapid.IntRange(1, 3).Draw(t, "frames") {
					base := want.next + int64(rapid.SampledFrom([]int{0, 0, 0, 1, 5}).Draw(t, "gap"))
					count := rapid.IntRange(1, 4).Draw(t, "count")
					frame := makeFrame(base, count, rapid.IntRange(0, 200).Draw(t, "payload"), 1000+base)
					batch = append(batch, frame...)
					want.append(base, frame, count)
				}
				if _, err := log.Append(batch); err != nil {
					t.Fatal(err)
				}
			},
			"truncate": func(t *rapid.T) {
				to := rapid.Int64Range(want.start, want.next).Draw(t, "to")
				if err := log.TruncateTo(to); err != nil {
					t.Fatal(err)
				}
				before := want.next
				want.truncate(to)
				if want.next = log.Next(); want.next > to && want.next != before {
					t.Fatalf("truncated to %d, next is %d", to, want.next)
				}
			},
			"delete": func(t *rapid.T) {
				to := rapid.Int64Range(want.start, want.next).Draw(t, "to")
				if err := log.DeleteBefore(to); err != nil {
					t.Fatal(err)
				}
				want.start = to
			},
			"reset": func(t *rapid.T) {
				to := rapid.Int64Range(0, want.next+20).Draw(t, "to")
				if err := log.ResetTo(to); err != nil {
					t.Fatal(err)
				}
				*want = model{start: to, next: to}
			},
			"sync": func(t *rapid.T) {
				if err := log.Sync(); err != nil || log.Synced() != log.Next() {
					t.Fatal(err, log.Synced(), log.Next())
				}
			},
			"reopen": func(t *rapid.T) {
				if rapid.Bool().Draw(t, "clean") {
					if err := log.Close(); err != nil {
						t.Fatal(err)
					}
				} else {
					log.Abandon()
				}
				log = open()
			},
			"": func(t *rapid.T) { compare(t, log, want) },
		})
	})
}

func compare(t *rapid.T, log *Log, want *model) {
	if log.Start() != want.start || log.Next() != want.next {
		t.Fatalf("log is %d to %d, want %d to %d", log.Start(), log.Next(), want.start, want.next)
	}
	offset := want.start
	for _, frame := range want.frames {
		if frame.last < want.start {
			continue
		}
		section, err := log.Read(offset, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := section.ReadAll()
		section.Close()
		if err != nil || !bytes.Equal(got, frame.bytes) {
			t.Fatalf("offset %d: got %d bytes at base %d (%v), want frame %d-%d of %d bytes", offset, len(got), section.Base, err, frame.base, frame.last, len(frame.bytes))
		}
		offset = frame.last + 1
	}
	if section, err := log.Read(want.next, 1); err != nil || section.Size() != 0 {
		t.Fatalf("read at next: %v", err)
	}
	if _, err := log.Read(want.next+1, 1); !errors.Is(err, ErrOutOfRange) {
		t.Fatalf("read after next: %v", err)
	}
	readWhole(t, log, want)
}

// readWhole reads with large sections and a limit in the middle.
func readWhole(t *rapid.T, log *Log, want *model) {
	limit := rapid.Int64Range(want.start, want.next).Draw(t, "limit")
	maxBytes := rapid.IntRange(1, 1000).Draw(t, "maxBytes")
	var expected, got []byte
	for _, frame := range want.frames {
		if frame.last >= want.start && frame.last < limit {
			expected = append(expected, frame.bytes...)
		}
	}
	for offset := want.start; ; {
		section, err := log.ReadBelow(offset, limit, maxBytes)
		if err != nil {
			t.Fatal(err)
		}
		if section.Size() == 0 {
			break
		}
		bytes, err := section.ReadAll()
		section.Close()
		if err != nil {
			t.Fatal(err)
		}
		first, _ := parse(testFraming{}, bytes)
		if len(bytes) > max(maxBytes, first.Size) {
			t.Fatalf("section of %d bytes for a maximum of %d", len(bytes), maxBytes)
		}
		got = append(got, bytes...)
		for at := 0; at < len(bytes); {
			frame, err := parse(testFraming{}, bytes[at:])
			if err != nil {
				t.Fatal(err)
			}
			offset = frame.LastOffset + 1
			at += frame.Size
		}
	}
	if !bytes.Equal(got, expected) {
		t.Fatalf("read %d bytes below %d, want %d", len(got), limit, len(expected))
	}
}
