package commitlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"twinlog/engine/disk"
)

// testMedium is a medium that outlives the node's crashes. It can fail, and a Put that fails may have arrived all the same.
type testMedium struct {
	mu      sync.Mutex
	files   map[string][]byte
	fail    error
	arrives bool // failing Puts arrive
}

func newTestMedium() *testMedium { return &testMedium{files: map[string][]byte{}} }

func (m *testMedium) Put(_ context.Context, name string, content io.Reader, size int64) error {
	all, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail == nil || m.arrives {
		m.files[name] = all
	}
	return m.fail
}

func (m *testMedium) ReadAt(_ context.Context, name string, p []byte, offset int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	content, found := m.files[name]
	if !found {
		return 0, fs.ErrNotExist
	}
	return bytes.NewReader(content).ReadAt(p, offset)
}

func (m *testMedium) Size(_ context.Context, name string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(len(m.files[name])), m.fail
}

func (m *testMedium) List(_ context.Context, prefix string) (names []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.files {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, m.fail
}

func (m *testMedium) Remove(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail == nil {
		delete(m.files, name)
	}
	return m.fail
}

func (m *testMedium) RemoveUnfinished(context.Context, string) error { return m.fail }

func tieredConfig(m *testMedium) Config {
	return Config{SegmentBytes: 300, IndexInterval: 100, Tier: &Tier{Medium: m, Prefix: "node/log/"}}
}

func moveOldest(log *Log) error {
	for _, s := range log.Segments()[:len(log.Segments())-1] {
		if s.Moved {
			continue
		}
		upload, err := log.Upload(context.Background(), s.Base)
		if err != nil {
			return err
		}
		return upload.Adopt()
	}
	return nil
}

// TestMovedSegmentsAreReadThroughTheSameReader: the whole log reads as before, also after it is opened again, cut at its end, and emptied.
func TestMovedSegmentsAreReadThroughTheSameReader(t *testing.T) {
	medium := newTestMedium()
	dir := t.TempDir()
	log := openTest(t, dir, tieredConfig(medium))
	all := appendFrames(t, log, 40, 50)
	for range 4 {
		if err := moveOldest(log); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, want []byte) {
		t.Helper()
		if got, err := readEverything(log); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s: %d bytes of %d, %v", when, len(got), len(want), err)
		}
	}
	check("moved", all)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if d, _ := disk.NewOS(dir); true {
		if _, err := Open(d, "log", testFraming{}, Config{}); err == nil || !strings.Contains(err.Error(), "medium") {
			t.Fatalf("opened without the medium: %v", err)
		}
	}
	log = openTest(t, dir, tieredConfig(medium))
	check("opened again", all)
	local := log.Segments()[4].Base
	if err := log.TruncateTo(local - 1); !errors.Is(err, ErrMoved) {
		t.Fatalf("cut below the moved segments: %v", err)
	}
	if _, err := log.Rewrite(0, local); !errors.Is(err, ErrMoved) {
		t.Fatalf("replacing moved segments: %v", err)
	}
	if err := log.TruncateTo(local); err != nil {
		t.Fatal(err)
	}
	check("cut back to the moved segments", all[:local*78])
	if err := log.DeleteBefore(log.Segments()[2].Base); err != nil || len(medium.files) != 2 {
		t.Fatal(err, len(medium.files))
	}
	check("deleted at the front", all[log.Start()*78:local*78])
	if err := log.ResetTo(7); err != nil || len(medium.files) != 0 || log.Next() != 7 {
		t.Fatal(err, len(medium.files), log.Next())
	}
	appendFrames(t, log, 3, 50)
	log.Abandon()
	if log = openTest(t, dir, tieredConfig(medium)); log.Start() != 7 || log.Next() != 10 {
		t.Fatal(log.Start(), log.Next())
	}
}

// TestDamageOnTheMediumIsFound: a moved segment is checked before it is served, as any other.
func TestDamageOnTheMediumIsFound(t *testing.T) {
	medium := newTestMedium()
	log := openTest(t, t.TempDir(), tieredConfig(medium))
	appendFrames(t, log, 20, 50)
	if err := moveOldest(log); err != nil {
		t.Fatal(err)
	}
	name := "node/log/00000000000000000000.log"
	medium.files[name][100] ^= 4
	var corrupt *CorruptError
	if _, err := log.Read(1, 10); !errors.As(err, &corrupt) || corrupt.File != name || corrupt.Position != 78 {
		t.Fatalf("got %v", err)
	}
}

// TestAFlippedBitOnTheMediumIsNotServed flips every bit of a moved segment. What is served from memory then is what was written, also
// behind a damaged frame that a reader passes.
func TestAFlippedBitOnTheMediumIsNotServed(t *testing.T) {
	for name, framing := range map[string]Framing{"all under the checksum": testFraming{}, "offsets outside the checksum": looseFraming{}} {
		medium := newTestMedium()
		config := damagedConfig
		config.Tier = tieredConfig(medium).Tier
		log, frames := runningLog(t, disk.NewMemory(), framing, config)
		if err := moveOldest(log); err != nil {
			t.Fatal(err)
		}
		moved := log.Segments()[0]
		frames = frames[:slices.IndexFunc(frames, func(w writtenFrame) bool { return w.base >= moved.Next })]
		content := medium.files["node/log/00000000000000000000.log"]
		read := ways(log)["as the first of many"]
		served, refused := 0, 0
		for bit := range 8 * len(content) {
			content[bit/8] ^= 1 << (bit % 8)
			for i, w := range frames {
				got, err := read(w)
				var corrupt *CorruptError
				switch {
				case errors.As(err, &corrupt):
					refused++
				case err != nil || !isRunOf(got, frames[i:]):
					t.Fatalf("%s: bit %d is flipped, and what is served for %d is not what was written; %v", name, bit, w.base, err)
				default:
					served++
				}
			}
			content[bit/8] ^= 1 << (bit % 8)
		}
		if served < 10*len(content) || refused < 8*len(content) {
			t.Errorf("%s: %d reads were served, %d refused", name, served, refused)
		}
	}
}

// TestAFailedUploadLosesNothing, whether the bytes arrived or not; what arrived is collected by the next run, or used by the next upload.
func TestAFailedUploadLosesNothing(t *testing.T) {
	for _, arrives := range []bool{false, true} {
		medium := newTestMedium()
		log := openTest(t, t.TempDir(), tieredConfig(medium))
		all := appendFrames(t, log, 20, 50)
		medium.fail, medium.arrives = errors.New("the line is down"), arrives
		if err := moveOldest(log); !errors.Is(err, medium.fail) {
			t.Fatal(err)
		}
		medium.fail = nil
		upload, err := log.Upload(t.Context(), log.Segments()[1].Base)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := log.CollectOrphans(t.Context()); !errors.Is(err, ErrBusy) {
			t.Errorf("collected beside an upload: %v", err)
		}
		if err := upload.Adopt(); !errors.Is(err, ErrOutOfRange) {
			t.Errorf("moved before an older one: %v", err)
		}
		if n, err := log.CollectOrphans(t.Context()); err != nil || len(medium.files) != 0 || n == 0 {
			t.Errorf("%d orphans collected, %d left, %v", n, len(medium.files), err)
		}
		if got, err := readEverything(log); err != nil || !bytes.Equal(got, all) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
}

// TestCrashAtEveryOperationOfAMove cuts the power at every operation on the disk while segments move, are deleted and collected. After
// each, what was synced is there, on the disk or on the medium, and once the orphans are collected the medium has the moved segments alone.
func TestCrashAtEveryOperationOfAMove(t *testing.T) {
	points := 0
	for at := 1; ; at++ {
		for seed := range uint64(3) {
			memory, medium := disk.NewMemory(), newTestMedium()
			d := newCrashingDisk(memory, at, powerCut)
			want, finished := moveUntilCrash(t, d, medium)
			if finished {
				t.Logf("%d crash points", points)
				if points < 100 {
					t.Error("the script has become too short")
				}
				return
			}
			if seed == 0 {
				points++
			}
			memory.Crash(rand.New(rand.NewPCG(uint64(at), seed)))
			checkMoved(t, memory, medium, want, fmt.Sprintf("operation %d, seed %d", at, seed))
		}
	}
}

func moveUntilCrash(t *testing.T, d *crashingDisk, medium *testMedium) (want *expectation, finished bool) {
	t.Helper()
	want = &expectation{}
	log, err := Open(d, "log", testFraming{}, tieredConfig(medium))
	if err != nil {
		return want, false
	}
	defer log.Abandon()
	s := &session{disk: d, log: log, want: want}
	move := step{"move", func(s *session) error { return moveOldest(s.log) }}
	collect := step{"collect", func(s *session) error { _, err := s.log.CollectOrphans(context.Background()); return err }}
	var steps []step
	for range 12 {
		steps = append(steps, appendStep(1, 100), appendStep(2, 50), syncStep())
	}
	for range 4 {
		steps = append(steps, move, appendStep(1, 100), syncStep(), move, deleteStep(25), collect)
	}
	for _, step := range steps {
		if err := step.run(s); err != nil {
			if !errors.Is(err, disk.ErrSevered) && !errors.Is(err, ErrFailed) {
				t.Fatalf("operation %d: %s: %v", d.at, step.name, err)
			}
			return want, false
		}
	}
	return want, d.count < d.at
}

func checkMoved(t *testing.T, memory *disk.Memory, medium *testMedium, want *expectation, when string) {
	t.Helper()
	log, err := Open(memory, "log", testFraming{}, tieredConfig(medium))
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	defer log.Abandon()
	if _, err := want.survivors(log); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if _, err := log.CollectOrphans(t.Context()); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	var moved []string
	for _, s := range log.Segments() {
		if s.Moved {
			moved = append(moved, strings.Replace(s.File, "log/", "node/log/", 1))
		}
	}
	if names, _ := medium.List(t.Context(), ""); !slices.Equal(names, moved) {
		t.Fatalf("%s: the medium has %v, moved are %v", when, names, moved)
	}
	if _, err := want.survivors(log); err != nil {
		t.Fatalf("%s, after the collection: %v", when, err)
	}
}

func FuzzSmallFiles(f *testing.F) {
	f.Add(encodeMoved([]*segment{{base: 1, next: 2, size: 3, maxTime: 4}}))
	var slot [durableSlotSize]byte
	durableMark{1, 2, 3, 4}.encode(&slot)
	f.Add(slot[:])
	f.Fuzz(func(t *testing.T, content []byte) {
		if segments, err := decodeMoved(content); err == nil && !bytes.Equal(encodeMoved(segments), content) {
			clear(content[6:8]) // not looked at
			if !bytes.Equal(encodeMoved(segments)[:6], content[:6]) {
				t.Error("a list of moved segments reads as another one")
			}
		}
		newestDurableMark(content)
		_, _ = decodeIndex(content, offsetIndexKind)
		swapOf(string(content))
	})
}
