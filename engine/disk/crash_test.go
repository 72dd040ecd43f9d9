package disk_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"testing"

	"twinlog/engine/disk"
)

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// What was synced, file and directory, is there after any crash.
func TestCrashKeepsWhatWasSynced(t *testing.T) {
	for seed := range uint64(50) {
		d := disk.NewMemory()
		check(t, d.MkdirAll("dir"))
		check(t, d.SyncDir("."))
		f := open(t, d, "dir/file", create)
		put(t, f, "durable", 0)
		check(t, f.Sync())
		check(t, d.SyncDir("dir"))
		d.Crash(seeded(seed))
		if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, fs.ErrClosed) {
			t.Fatalf("a file of before the crash: %v", err)
		}
		expect(t, open(t, d, "dir/file", os.O_RDONLY), "durable")
	}
}

// Over many seeds each fate of what was not synced is seen.
func TestCrashLosesWhatWasNotSynced(t *testing.T) {
	const sectors = 8
	want := bytes.Repeat([]byte("x"), sectors*512)
	fates := map[string]int{}
	for seed := range uint64(300) {
		d := disk.NewMemory()
		f := open(t, d, "file", create)
		check(t, d.SyncDir("."))
		put(t, f, string(want), 0)
		d.Crash(seeded(seed))
		got := contents(t, open(t, d, "file", os.O_RDONLY))
		switch {
		case got == "":
			fates["lost"]++
		case got == string(want):
			fates["whole"]++
		default:
			fates["torn"]++
			for start := 0; start+512 <= len(got); start += 512 {
				sector := got[start : start+512]
				if sector != string(want[:512]) && sector != string(make([]byte, 512)) {
					t.Fatalf("seed %d: the sector at %d is torn inside", seed, start)
				}
			}
		}
	}
	for _, fate := range []string{"lost", "whole", "torn"} {
		if fates[fate] == 0 {
			t.Errorf("no write was %s in 300 crashes: %v", fate, fates)
		}
	}
}

// A file whose directory was not synced may be gone, synced or not; a rename happened or did not, never half.
func TestCrashAndDirectoryEntries(t *testing.T) {
	fates := map[string]int{}
	for seed := range uint64(200) {
		d := disk.NewMemory()
		old := open(t, d, "state", create)
		put(t, old, "old", 0)
		check(t, old.Sync())
		check(t, d.SyncDir("."))
		f := open(t, d, "state.new", create)
		put(t, f, "new", 0)
		check(t, f.Sync())
		check(t, d.Rename("state.new", "state"))
		d.Crash(seeded(seed))
		got := contents(t, open(t, d, "state", os.O_RDONLY))
		_, err := d.Stat("state.new")
		fates[fmt.Sprintf("%s, temporary file left %v", got, err == nil)]++
	}
	for _, fate := range []string{"old, temporary file left false", "old, temporary file left true", "new, temporary file left false"} {
		if fates[fate] == 0 {
			t.Errorf("never seen: %s", fate)
		}
		delete(fates, fate)
	}
	if len(fates) > 0 {
		t.Errorf("impossible: %v", fates)
	}
}

// A failed history can be run again.
func TestCrashIsSeeded(t *testing.T) {
	run := func() string {
		d := disk.NewMemory()
		for i := range 20 {
			f := open(t, d, fmt.Sprintf("file-%d", i), create)
			put(t, f, string(make([]byte, 3000)), 0)
			if i%3 == 0 {
				check(t, f.Sync())
			}
			if i%5 == 0 {
				check(t, d.SyncDir("."))
			}
		}
		d.Crash(seeded(7))
		var state bytes.Buffer
		entries, err := d.ReadDir(".")
		check(t, err)
		for _, entry := range entries {
			fmt.Fprintf(&state, "%s %q\n", entry.Name(), contents(t, open(t, d, entry.Name(), os.O_RDONLY)))
		}
		return state.String()
	}
	sameBytes(t, "two runs of one seed", []byte(run()), []byte(run()))
}

// A removed file comes back when the removal was not synced, with the bytes that were synced.
func TestCrashUndoesRemoval(t *testing.T) {
	came := 0
	for seed := range uint64(50) {
		d := disk.NewMemory()
		f := open(t, d, "file", create)
		put(t, f, "text", 0)
		check(t, f.Sync())
		check(t, d.SyncDir("."))
		check(t, d.Remove("file"))
		d.Crash(seeded(seed))
		if _, err := d.Stat("file"); err == nil {
			expect(t, open(t, d, "file", os.O_RDONLY), "text")
			came++
		}
	}
	if came == 0 || came == 50 {
		t.Fatalf("the file came back in %d of 50 crashes", came)
	}
}

// TestACopyOfAMemoryGoesItsOwnWay: what happens to one of the two does not happen to the other, and a crash takes nothing of a copy.
func TestACopyOfAMemoryGoesItsOwnWay(t *testing.T) {
	first := disk.NewMemory()
	check(t, first.MkdirAll("a/b"))
	write := func(d disk.Disk, text string) {
		t.Helper()
		f, err := d.OpenFile("a/b/file", create)
		check(t, err)
		_, err = f.WriteAt([]byte(text), 0)
		check(t, err)
	}
	write(first, "one")
	second := first.Copy()
	write(first, "two")
	check(t, first.RemoveAll("a"))
	second.Crash(rand.New(rand.NewPCG(1, 1)))
	if text := string(read(t, second, "a/b/file")); text != "one" {
		t.Errorf("the copy has %q", text)
	}
}
