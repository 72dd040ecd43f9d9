package commitlog

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"

	"twinlog/engine/disk"
)

// accident is what happens to a disk at one of its operations.
type accident int

const (
	powerCut  accident = iota // that operation and all later ones fail; what was not synced may be lost or torn
	diskFull                  // writes and creations fail with ENOSPC until the step that met it has failed
	syncFails                 // syncs fail until then
)

var errDrive = errors.New("the drive says no")

// crashingDisk counts the operations that change the disk and has an accident at the chosen one.
type crashingDisk struct {
	disk.Disk
	faults *disk.Faults
	count  int
	at     int
	what   accident
}

func newCrashingDisk(memory *disk.Memory, at int, what accident) *crashingDisk {
	faults := disk.NewFaults(memory)
	return &crashingDisk{Disk: faults, faults: faults, at: at, what: what}
}

func (d *crashingDisk) tick() {
	if d.count++; d.count != d.at {
		return
	}
	switch d.what {
	case powerCut:
		d.faults.Sever()
	case diskFull:
		d.faults.Set(disk.Fault{Full: true})
	case syncFails:
		d.faults.Set(disk.Fault{FailSync: errDrive})
	}
}

func (d *crashingDisk) OpenFile(name string, flag int) (disk.File, error) {
	if flag&os.O_CREATE != 0 {
		d.tick()
	}
	file, err := d.Disk.OpenFile(name, flag)
	if err != nil {
		return nil, err
	}
	return crashingFile{file, d}, nil
}

func (d *crashingDisk) MkdirAll(name string) error   { d.tick(); return d.Disk.MkdirAll(name) }
func (d *crashingDisk) Rename(from, to string) error { d.tick(); return d.Disk.Rename(from, to) }
func (d *crashingDisk) Remove(name string) error     { d.tick(); return d.Disk.Remove(name) }
func (d *crashingDisk) SyncDir(name string) error    { d.tick(); return d.Disk.SyncDir(name) }

type crashingFile struct {
	disk.File
	disk *crashingDisk
}

func (f crashingFile) WriteAt(p []byte, at int64) (int, error) {
	f.disk.tick()
	return f.File.WriteAt(p, at)
}
func (f crashingFile) Sync() error               { f.disk.tick(); return f.File.Sync() }
func (f crashingFile) Truncate(size int64) error { f.disk.tick(); return f.File.Truncate(size) }

// crashConfigs: segments that grow as they are written, and some that are filled ahead.
var crashConfigs = map[string]Config{
	"grown":        {SegmentBytes: 700, IndexInterval: 100},
	"filled ahead": {SegmentBytes: 700, IndexInterval: 100, Preallocate: 300},
}

func begin(d disk.Disk, config Config) (*session, error) {
	log, err := Open(d, "log", testFraming{}, config)
	return &session{disk: d, log: log, config: config, want: &expectation{}}, err
}

// survivors reads the log and compares it with what may be there.
func (e *expectation) survivors(log *Log) (frames []modelFrame, err error) {
	frames, err = readFrames(log)
	if err != nil {
		return nil, err
	}
	if err = e.judge(log, frames); err != nil && e.or != nil {
		if other := e.or.judge(log, frames); other != nil {
			err = fmt.Errorf("%w; nor is it replaced: %w", err, other)
		} else {
			err = nil
		}
	}
	return frames, err
}

func readFrames(log *Log) (frames []modelFrame, err error) {
	for offset := log.Start(); offset < log.Next(); {
		section, err := log.Read(offset, 1)
		if err != nil {
			return nil, err
		}
		content, err := section.ReadAll()
		section.Close()
		if err != nil {
			return nil, err
		}
		if len(content) == 0 {
			return frames, nil // a gap at the end
		}
		frame, _ := parse(testFraming{}, content)
		frames = append(frames, modelFrame{frame.BaseOffset, frame.LastOffset, content})
		offset = frame.LastOffset + 1
	}
	return frames, nil
}

func (e *expectation) judge(log *Log, got []modelFrame) error {
	if log.Start() < e.lowestStart || log.Start() > e.start {
		return fmt.Errorf("start is %d, not between %d and %d", log.Start(), e.lowestStart, e.start)
	}
	expected, durable := e.frames, e.durable
	for len(expected) > 0 && expected[0].last < log.Start() {
		expected, durable = expected[1:], durable-1
	}
	for i, frame := range got {
		if i == len(expected) || !bytes.Equal(frame.bytes, expected[i].bytes) {
			return fmt.Errorf("frame %d-%d is not what was written there", frame.base, frame.last)
		}
	}
	if len(got) < durable {
		return fmt.Errorf("%d frames survived, %d were durable", len(got), durable)
	}
	if len(got) < len(expected) && log.Next() > max(expected[len(got)].base, log.Start()) {
		return fmt.Errorf("next is %d after %d frames", log.Next(), len(got))
	}
	if n := len(e.frames); n > 0 && log.Next() > e.frames[n-1].last+1 && log.Next() > log.Start() && e.or == nil && len(got) > 0 {
		return fmt.Errorf("next is %d, which was never written", log.Next())
	}
	return nil
}

// runToAccident plays the script until the disk's accident; finished when it never came.
func runToAccident(t *testing.T, d *crashingDisk, config Config) (want *expectation, finished bool) {
	t.Helper()
	s, err := begin(d, config)
	if err != nil {
		return s.want, false
	}
	defer func() { s.log.Abandon() }()
	for _, step := range script() {
		if err := step.run(s); err != nil {
			if !errors.Is(err, disk.ErrSevered) && !errors.Is(err, ErrFailed) {
				t.Fatalf("crash at operation %d: %s: %v", d.at, step.name, err)
			}
			return s.want, false
		}
	}
	return s.want, d.count < d.at
}

func checkSurvivors(t *testing.T, memory *disk.Memory, config Config, want *expectation, when string) {
	t.Helper()
	log, err := Open(memory, "log", testFraming{}, config)
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	defer log.Abandon()
	if _, err := want.survivors(log); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if _, err := log.Append(makeFrame(log.Next(), 1, 10, 1)); err != nil {
		t.Fatalf("%s: append after it: %v", when, err)
	}
}

// TestCrashAtEveryOperation runs a script of appends, rolls, syncs, truncations, retention, replacements and reopenings, and cuts the power
// at every single operation that changes the disk, with several fates of what was not synced (torn sectors and lost directory entries
// among them). Then it cuts the power again at every operation of the reopening. The log opens without help, everything that was
// synced is there, nothing that was not written is, and the log takes appends.
func TestCrashAtEveryOperation(t *testing.T) {
	for name, config := range crashConfigs {
		t.Run(name, func(t *testing.T) {
			points, crashes, again := crashEverywhere(t, config)
			t.Logf("%d crash points, %d crashes at them, %d second crashes during the recovery from them", points, crashes, again)
			if points < 300 || again < 1000 {
				t.Errorf("the script has become too short to tell anything")
			}
		})
	}
}

func crashEverywhere(t *testing.T, config Config) (points, crashes, again int) {
	t.Helper()
	for at, finished := 1, false; !finished; at++ {
		for seed := range uint64(4) {
			crashed := disk.NewMemory()
			var want *expectation
			if want, finished = runToAccident(t, newCrashingDisk(crashed, at, powerCut), config); finished {
				break
			}
			crashed.Crash(rand.New(rand.NewPCG(uint64(at), seed)))
			crashes++
			checkSurvivors(t, crashed.Copy(), config, want, fmt.Sprintf("crash at operation %d, seed %d", at, seed))
			if seed > 0 {
				continue // the others crash once
			}
			for second := 1; ; second++ {
				memory := crashed.Copy()
				d := newCrashingDisk(memory, second, powerCut)
				if log, err := Open(d, "log", testFraming{}, config); err == nil {
					log.Abandon()
					if d.count < second {
						break
					}
				}
				again++
				memory.Crash(rand.New(rand.NewPCG(uint64(at), uint64(second))))
				checkSurvivors(t, memory, config, want, fmt.Sprintf("crash at operation %d, then at operation %d of the reopening", at, second))
			}
		}
		points++
	}
	return points - 1, crashes, again
}

// TestAFullDiskAndAFailedSyncAtEveryOperation plays the same script with a disk that is full, or whose syncs fail, from every operation on
// until a step has failed of it. A log that failed is opened again; what is there is what may be; the script goes on to its end, and
// a power cut after it loses nothing that was synced.
func TestAFullDiskAndAFailedSyncAtEveryOperation(t *testing.T) {
	for name, config := range crashConfigs {
		for _, what := range []accident{diskFull, syncFails} {
			accident := []string{"", "full disk", "failed sync"}[what]
			points, failures := 0, 0
			for at := 1; ; at++ {
				memory := disk.NewMemory()
				d := newCrashingDisk(memory, at, what)
				want, failed := runThroughAccident(t, d, config)
				if d.count < at {
					break
				}
				points++
				failures += failed
				memory.Crash(rand.New(rand.NewPCG(uint64(at), 9)))
				checkSurvivors(t, memory, config, want, fmt.Sprintf("%s: %s at operation %d", name, accident, at))
			}
			t.Logf("%s: %s: %d points, %d steps failed", name, accident, points, failures)
			if failures < 50 {
				t.Error("hardly a step failed")
			}
		}
	}
}

func runThroughAccident(t *testing.T, d *crashingDisk, config Config) (want *expectation, failures int) {
	t.Helper()
	s, err := begin(d, config)
	if err != nil {
		d.faults.Set(disk.Fault{})
		failures++
		if s, err = begin(d, config); err != nil {
			t.Fatalf("operation %d: the log does not open when the disk is well again: %v", d.at, err)
		}
	}
	defer func() { s.log.Abandon() }()
	for _, step := range script() {
		err := step.run(s)
		if err == nil {
			continue
		}
		if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, errDrive) {
			t.Fatalf("operation %d: %s: %v", d.at, step.name, err)
		}
		failures++
		d.faults.Set(disk.Fault{})
		s.goOn(t, d, step.name)
	}
	d.faults.Set(disk.Fault{})
	return s.want, failures
}

// goOn takes up the script after a failed step: with the same log if that still takes appends, else with one that is opened anew.
func (s *session) goOn(t *testing.T, d *crashingDisk, name string) {
	t.Helper()
	s.log.mu.RLock()
	usable := s.log.usable()
	s.log.mu.RUnlock()
	if usable != nil {
		s.log.Abandon()
		log, err := Open(d, "log", testFraming{}, s.config)
		if err != nil {
			t.Fatalf("operation %d: opening the log after %s failed: %v", d.at, name, err)
		}
		s.log = log
	}
	frames, err := s.want.survivors(s.log)
	if err != nil {
		t.Fatalf("operation %d: after %s failed: %v", d.at, name, err)
	}
	// From here on what is there is what is wanted. What was durable stays so; a deletion that failed may show only at the next opening.
	want := expectation{frames: slices.Clone(frames), start: s.want.start, lowestStart: s.want.lowestStart, durable: 0}
	for i, frame := range frames {
		if frame.last < s.log.Synced() {
			want.durable = i + 1
		}
	}
	*s.want = want
}
