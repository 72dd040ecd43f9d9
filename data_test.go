package main

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"testing"

	"twinlog/engine/cluster"
	"twinlog/engine/disk"
)

// TestWhatAClassroomIsSurvivesACrash: at every step of writing it down the machine may crash. The classroom then finds nothing, or all.
func TestWhatAClassroomIsSurvivesACrash(t *testing.T) {
	layout := cluster.DefaultLayout()
	other := layout
	other.PortOffset = 7
	for operations := 0; ; operations++ {
		memory := disk.NewMemory()
		steps := &countedDisk{Faults: disk.NewFaults(memory), left: operations}
		err := (&dataDirectory{disk: steps}).keepFacts(layout)
		memory.Crash(rand.New(rand.NewPCG(1, uint64(operations))))
		again := &dataDirectory{disk: memory}
		if _, missing := again.read(classroomFile); err == nil && missing != nil {
			t.Fatalf("after %d operations it was written down, and now: %v", operations, missing)
		} else if missing == nil {
			if again.checkFacts(layout) != nil || again.checkFacts(other) == nil {
				t.Fatalf("after %d operations and a crash the classroom is another one", operations)
			}
		} else if !errors.Is(missing, fs.ErrNotExist) {
			t.Fatal(missing)
		}
		if err == nil {
			if operations < 4 {
				t.Errorf("only %d operations: nothing was synced", operations)
			}
			return
		}
	}
}

// countedDisk is severed after some operations.
type countedDisk struct {
	*disk.Faults
	left int
}

func (d *countedDisk) count() {
	if d.left--; d.left < 0 {
		d.Sever()
	}
}

func (d *countedDisk) OpenFile(name string, flag int) (disk.File, error) {
	d.count()
	file, err := d.Faults.OpenFile(name, flag)
	if err != nil {
		return nil, err
	}
	return countedFile{file, d}, nil
}
func (d *countedDisk) Rename(from, to string) error { d.count(); return d.Faults.Rename(from, to) }
func (d *countedDisk) SyncDir(name string) error    { d.count(); return d.Faults.SyncDir(name) }

type countedFile struct {
	disk.File
	disk *countedDisk
}

func (f countedFile) WriteAt(p []byte, at int64) (int, error) {
	f.disk.count()
	return f.File.WriteAt(p, at)
}
func (f countedFile) Sync() error { f.disk.count(); return f.File.Sync() }
