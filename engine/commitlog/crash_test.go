package commitlog

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"twinlog/engine/disk"
)

// crashingDisk counts the operations that change the disk and, at the chosen one, cuts the power: that operation and all later ones fail.
type crashingDisk struct {
	disk.Disk
	faults *disk.Faults
	count  int
	at     int
}

func newCrashingDisk(memory *disk.Memory, at int) *crashingDisk {
	faults := disk.NewFaults(memory)
	return &crashingDisk{Disk: faults, faults: faults, at: at}
}

func (d *crashingDisk) tick() {
	if d.count++; d.count == d.at {
		d.faults.Sever()
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

// expectation is what may be on the disk after a crash at this moment.
type expectation struct {
	frames      []modelFrame // everything written and not dropped, in order; what survives is a prefix of it
	durable     int          // so many of the frames must survive
	lowestStart int64
	start       int64
}

// step is one operation of the script. It changes the expectation in two stages: before it begins to what may be true while it runs,
// and after it returned to what must be true from then on.
type step struct {
	name string
	run  func(log *Log, e *expectation) error
}

func appendStep(count, payload int) step {
	return step{"append", func(log *Log, e *expectation) error {
		base := log.Next()
		frame := makeFrame(base, count, payload, 1)
		e.frames = append(e.frames, modelFrame{base, base + int64(count) - 1, frame})
		_, err := log.Append(frame)
		return err
	}}
}

func syncStep() step {
	return step{"sync", func(log *Log, e *expectation) error {
		if err := log.Sync(); err != nil {
			return err
		}
		e.durable = len(e.frames)
		return nil
	}}
}

func truncateStep(back int64) step {
	return step{"truncate", func(log *Log, e *expectation) error {
		to := max(log.Start(), log.Next()-back)
		keep := 0
		for keep < len(e.frames) && e.frames[keep].last < to {
			keep++
		}
		e.durable = min(e.durable, keep)
		if err := log.TruncateTo(to); err != nil {
			return err
		}
		e.frames = e.frames[:keep]
		return nil
	}}
}

func deleteStep(keep int64) step {
	return step{"delete", func(log *Log, e *expectation) error {
		e.start = max(log.Start(), log.Next()-keep)
		if err := log.DeleteBefore(e.start); err != nil {
			return err
		}
		e.lowestStart = e.start
		return nil
	}}
}

func script() (steps []step) {
	for round := range 4 {
		for range 5 {
			steps = append(steps, appendStep(1+round, 150), appendStep(1, 40))
		}
		steps = append(steps, syncStep(), appendStep(2, 60), truncateStep(3), appendStep(1, 90), deleteStep(12), appendStep(1, 10), syncStep(), truncateStep(9))
	}
	return steps
}

// TestCrashAtEveryOperation runs a script of appends, rolls, syncs, truncations and deletions, and cuts the power at every single
// operation that changes the disk. After each, with several fates of what was not synced, the log opens without help, everything
// that was synced is there, nothing that was not written is, and the log takes appends.
func TestCrashAtEveryOperation(t *testing.T) {
	config := Config{SegmentBytes: 700, IndexInterval: 100}
	crashes := 0
	for at := 1; ; at++ {
		finished := false
		for seed := range uint64(4) {
			memory := disk.NewMemory()
			d := newCrashingDisk(memory, at)
			e := &expectation{}
			finished = runScript(t, d, config, e)
			if finished {
				break
			}
			crashes++
			memory.Crash(rand.New(rand.NewPCG(uint64(at), seed)))
			checkSurvivors(t, memory, config, e, at, seed)
		}
		if finished {
			break
		}
	}
	if crashes < 400 {
		t.Errorf("only %d crashes", crashes)
	}
	t.Logf("%d crashes at %d operations", crashes, crashes/4)
}

func runScript(t *testing.T, d *crashingDisk, config Config, e *expectation) (finished bool) {
	log, err := Open(d, "log", testFraming{}, config)
	if err != nil {
		return false
	}
	defer log.Abandon()
	for _, step := range script() {
		if err := step.run(log, e); err != nil {
			if !errors.Is(err, disk.ErrSevered) && !errors.Is(err, ErrFailed) {
				t.Fatalf("crash at operation %d: %s: %v", d.at, step.name, err)
			}
			return false
		}
	}
	return true
}

func checkSurvivors(t *testing.T, memory *disk.Memory, config Config, e *expectation, at int, seed uint64) {
	t.Helper()
	log, err := Open(memory, "log", testFraming{}, config)
	if err != nil {
		t.Fatalf("crash at operation %d, seed %d: %v", at, seed, err)
	}
	defer log.Abandon()
	if log.Start() < e.lowestStart || log.Start() > e.start {
		t.Fatalf("crash at operation %d, seed %d: start is %d, not between %d and %d", at, seed, log.Start(), e.lowestStart, e.start)
	}
	survived := 0
	for i, frame := range e.frames {
		if frame.last < log.Start() {
			survived = i + 1
			continue
		}
		if frame.last >= log.Next() {
			break
		}
		section, err := log.Read(max(frame.base, log.Start()), 1)
		if err != nil {
			t.Fatalf("crash at operation %d, seed %d: offset %d: %v", at, seed, frame.base, err)
		}
		got, err := section.ReadAll()
		section.Close()
		if err != nil || !bytes.Equal(got, frame.bytes) {
			t.Fatalf("crash at operation %d, seed %d: frame %d-%d is not what was written", at, seed, frame.base, frame.last)
		}
		survived = i + 1
	}
	if survived < e.durable {
		t.Fatalf("crash at operation %d, seed %d: %d frames survived, %d were durable", at, seed, survived, e.durable)
	}
	if survived < len(e.frames) && log.Next() > max(e.frames[survived].base, log.Start()) {
		t.Fatalf("crash at operation %d, seed %d: next is %d after %d frames", at, seed, log.Next(), survived)
	}
	if len(e.frames) > 0 && log.Next() > e.frames[len(e.frames)-1].last+1 && log.Next() > log.Start() {
		t.Fatalf("crash at operation %d, seed %d: next is %d, which was never written", at, seed, log.Next())
	}
	if _, err := log.Append(makeFrame(log.Next(), 1, 10, 1)); err != nil {
		t.Fatalf("crash at operation %d, seed %d: append after it: %v", at, seed, err)
	}
}

// TestAFailedSyncEndsTheLog: after it nobody knows what is on the disk, so nothing more is acknowledged until the log is opened again.
func TestAFailedSyncEndsTheLog(t *testing.T) {
	faults := disk.NewFaults(disk.NewMemory())
	log, err := Open(faults, "log", testFraming{}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Abandon()
	appendFrames(t, log, 3, 10)
	faults.Set(disk.Fault{FailSync: errors.New("the drive says no")})
	if err := log.Sync(); err == nil {
		t.Fatal("the sync succeeded")
	}
	faults.Set(disk.Fault{})
	if _, err := log.Append(makeFrame(3, 1, 10, 0)); !errors.Is(err, ErrFailed) {
		t.Errorf("append after a failed sync: %v", err)
	}
	if err := log.Sync(); !errors.Is(err, ErrFailed) {
		t.Errorf("sync after a failed sync: %v", err)
	}
	if log.Synced() != 0 {
		t.Errorf("synced is %d", log.Synced())
	}
}

// TestAFullDiskLeavesTheLogAsItWas: the append fails, and works again once there is room.
func TestAFullDiskLeavesTheLogAsItWas(t *testing.T) {
	faults := disk.NewFaults(disk.NewMemory())
	log, err := Open(faults, "log", testFraming{}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Abandon()
	appendFrames(t, log, 3, 10)
	faults.Set(disk.Fault{Full: true})
	if _, err := log.Append(makeFrame(3, 1, 1000, 0)); err == nil || log.Next() != 3 {
		t.Fatalf("append to a full disk: %v, next is %d", err, log.Next())
	}
	faults.Set(disk.Fault{})
	appendFrames(t, log, 1, 1000)
}
