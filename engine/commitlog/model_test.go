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

// modelTest is a log with tiny segments beside its model. Each operation is done on both.
type modelTest struct {
	disk   disk.Disk
	config Config
	log    *Log
	want   *model
}

// TestLogAgainstModel does random operations, reopening the log in between, and compares with the model after each.
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
		m := &modelTest{disk: d, config: config, want: &model{}}
		m.open(t)
		defer func() { m.log.Abandon() }()
		t.Repeat(map[string]func(*rapid.T){
			"append": m.append, "truncate": m.truncate, "delete": m.delete, "reset": m.reset, "sync": m.sync, "reopen": m.reopen,
			"": func(t *rapid.T) { compare(t, m.log, m.want) },
		})
	})
}

func (m *modelTest) open(t *rapid.T) {
	var err error
	if m.log, err = Open(m.disk, "log", testFraming{}, m.config); err != nil {
		t.Fatal(err)
	}
}

func (m *modelTest) append(t *rapid.T) {
	var batch []byte
	for range rapid.IntRange(1, 3).Draw(t, "frames") {
		base := m.want.next + int64(rapid.SampledFrom([]int{0, 0, 0, 1, 5}).Draw(t, "gap"))
		count := rapid.IntRange(1, 4).Draw(t, "count")
		frame := makeFrame(base, count, rapid.IntRange(0, 200).Draw(t, "payload"), 1000+base)
		batch = append(batch, frame...)
		m.want.append(base, frame, count)
	}
	if _, err := m.log.Append(batch); err != nil {
		t.Fatal(err)
	}
}

func (m *modelTest) truncate(t *rapid.T) {
	to := rapid.Int64Range(m.want.start, m.want.next).Draw(t, "to")
	if err := m.log.TruncateTo(to); err != nil {
		t.Fatal(err)
	}
	before := m.want.next
	m.want.truncate(to)
	// Where it ends then, behind whole frames, the log tells: not behind the offset, unless nothing was there to cut off.
	if m.want.next = m.log.Next(); m.want.next > to && m.want.next != before {
		t.Fatalf("truncated to %d, next is %d", to, m.want.next)
	}
}

func (m *modelTest) delete(t *rapid.T) {
	to := rapid.Int64Range(m.want.start, m.want.next).Draw(t, "to")
	if err := m.log.DeleteBefore(to); err != nil {
		t.Fatal(err)
	}
	m.want.start = to
}

func (m *modelTest) reset(t *rapid.T) {
	to := rapid.Int64Range(0, m.want.next+20).Draw(t, "to")
	if err := m.log.ResetTo(to); err != nil {
		t.Fatal(err)
	}
	*m.want = model{start: to, next: to}
}

func (m *modelTest) sync(t *rapid.T) {
	if err := m.log.Sync(); err != nil || m.log.Synced() != m.log.Next() {
		t.Fatal(err, m.log.Synced(), m.log.Next())
	}
}

// reopen closes the log in order, or leaves it as a process does that dies: what was written is on the disk all the same.
func (m *modelTest) reopen(t *rapid.T) {
	if rapid.Bool().Draw(t, "clean") {
		if err := m.log.Close(); err != nil {
			t.Fatal(err)
		}
	} else {
		m.log.Abandon()
	}
	m.open(t)
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
