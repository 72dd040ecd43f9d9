package disk_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"twinlog/engine/disk"
)

func read(t interface{ Fatal(...any) }, d disk.Disk, name string) []byte {
	f, err := d.OpenFile(name, os.O_RDONLY)
	if err != nil {
		t.Fatal(name, err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		t.Fatal(name, err)
	}
	content := make([]byte, size)
	if _, err := f.ReadAt(content, 0); err != nil && size > 0 {
		t.Fatal(name, err)
	}
	return content
}

// TestACrashTakesWhatWasNotSynced goes through the ways in which something is not synced, on real files.
func TestACrashTakesWhatWasNotSynced(t *testing.T) {
	inner, err := disk.NewOS(t.TempDir())
	check(t, err)
	kept, err := inner.OpenFile("kept", create)
	check(t, err)
	_, err = kept.WriteAt([]byte("from before"), 0)
	check(t, err)
	check(t, kept.Close())

	v := disk.NewVolatile(inner)
	log, err := v.OpenFile("kept", create)
	check(t, err)
	for _, write := range []struct {
		text string
		at   int64
		sync bool
	}{{" and synced", 11, true}, {" and lost", 22, false}, {"FROM", 0, false}, {"x", 40, false}} {
		_, err := log.WriteAt([]byte(write.text), write.at)
		check(t, err)
		if write.sync {
			check(t, log.Sync())
		}
	}
	check(t, v.MkdirAll("made/below"))
	lost, err := v.OpenFile("made/below/lost", create)
	check(t, err)
	_, err = lost.WriteAt(make([]byte, 100), 0)
	check(t, err)
	check(t, lost.Sync()) // its directory is not
	check(t, v.MkdirAll("durable"))
	check(t, v.SyncDir("."))
	named, err := v.OpenFile("durable/name", create)
	check(t, err)
	check(t, named.Sync())
	check(t, v.SyncDir("durable"))
	check(t, v.Rename("durable/name", "durable/other"))

	got, err := v.LoseUnsynced()
	check(t, err)
	// kept: " and lost" and a hole to the "x" beyond, and the four bytes that were written over.
	if want := (disk.Lost{Bytes: 41 - 22 + 4 + 100, Files: 1}); got != want {
		t.Errorf("lost %+v, want %+v", got, want)
	}
	if text := string(read(t, inner, "kept")); text != "from before and synced" {
		t.Errorf("kept is %q", text)
	}
	if _, err := inner.Stat("made/below/lost"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file whose directory was not synced is there: %v", err)
	}
	for name, there := range map[string]bool{"made": true, "durable/name": true, "durable/other": false} {
		if _, err := inner.Stat(name); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
	if again, err := v.LoseUnsynced(); err != nil || again != (disk.Lost{}) {
		t.Errorf("a second crash takes %+v, %v", again, err)
	}
}

// TestARemovalMakesWhatWasBeforeItDurable: replacing a file by create, rename, remove must not end with none of them.
func TestARemovalMakesWhatWasBeforeItDurable(t *testing.T) {
	v := disk.NewVolatile(disk.NewMemory())
	for _, name := range []string{"old", "new"} {
		f, err := v.OpenFile(name, create)
		check(t, err)
		check(t, f.Sync())
		if name == "old" {
			check(t, v.SyncDir("."))
		}
	}
	check(t, v.Remove("old"))
	_, err := v.LoseUnsynced()
	check(t, err)
	if _, err := v.Stat("new"); err != nil {
		t.Errorf("both are gone: %v", err)
	}
}

func TestAFileThatIsWrittenOverALotStaysBounded(t *testing.T) {
	v := disk.NewVolatile(disk.NewMemory())
	f, err := v.OpenFile("f", create)
	check(t, err)
	_, err = f.WriteAt(make([]byte, 64<<10), 0)
	check(t, err)
	check(t, f.Sync())
	check(t, v.SyncDir("."))
	for i := range 100 {
		_, err := f.WriteAt(bytes.Repeat([]byte{byte(i)}, 64<<10), 0)
		check(t, err)
	}
	lost, err := v.LoseUnsynced()
	check(t, err)
	if lost.Bytes > 1<<20+64<<10 {
		t.Errorf("%d bytes were remembered", lost.Bytes)
	}
}

// TestCrashesKeepWhatWasSynced does anything in any order, crashes, and compares with a model that follows the contract.
func TestCrashesKeepWhatWasSynced(t *testing.T) {
	type file struct{ now, durable []byte }
	rapid.Check(t, func(t *rapid.T) {
		memory := disk.NewMemory()
		v := disk.NewVolatile(memory)
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		names := []string{"a", "b", "c"}
		now, durable := map[string]*file{}, map[string]*file{} // entries
		settle := func() {
			clear(durable)
			for name, f := range now {
				durable[name] = f
			}
		}
		with := func(name string, do func(disk.File)) {
			opened, err := v.OpenFile(name, create)
			must(err)
			do(opened)
			must(opened.Close())
		}
		for range rapid.IntRange(1, 40).Draw(t, "operations") {
			name := rapid.SampledFrom(names).Draw(t, "name")
			operation := rapid.SampledFrom([]string{"write", "write", "sync", "syncDir", "truncate", "rename", "remove", "crash"}).Draw(t, "operation")
			f := now[name]
			if f == nil && operation != "syncDir" && operation != "crash" {
				with(name, func(disk.File) {})
				f = &file{}
				now[name] = f
			}
			switch operation {
			case "write":
				data := rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "data")
				at := rapid.IntRange(0, len(f.now)).Draw(t, "at")
				with(name, func(opened disk.File) { _, err := opened.WriteAt(data, int64(at)); must(err) })
				f.now = append(slices.Clone(f.now[:at]), append(slices.Clone(data), f.now[min(len(f.now), at+len(data)):]...)...)
			case "sync":
				with(name, func(opened disk.File) { must(opened.Sync()) })
				f.durable = slices.Clone(f.now)
			case "truncate":
				size := rapid.IntRange(0, len(f.now)).Draw(t, "size")
				with(name, func(opened disk.File) { must(opened.Truncate(int64(size))) })
				f.now, f.durable = f.now[:size:size], slices.Clone(f.durable[:min(size, len(f.durable))])
			case "syncDir":
				must(v.SyncDir("."))
				settle()
			case "rename":
				to := names[(slices.Index(names, name)+1)%len(names)]
				must(v.Rename(name, to))
				replaced := now[to] != nil
				delete(now, name)
				now[to] = f
				if replaced {
					settle()
				}
			case "remove":
				must(v.Remove(name))
				delete(now, name)
				settle()
			case "crash":
				_, err := v.LoseUnsynced()
				must(err)
				clear(now)
				for name, f := range durable {
					f.now = slices.Clone(f.durable)
					now[name] = f
				}
			}
		}
		_, err := v.LoseUnsynced()
		must(err)
		entries, err := memory.ReadDir(".")
		must(err)
		var got, want []string
		for _, entry := range entries {
			got = append(got, fmt.Sprintf("%s %x", entry.Name(), read(t, memory, entry.Name())))
		}
		for _, name := range names {
			if f := durable[name]; f != nil {
				want = append(want, fmt.Sprintf("%s %x", name, f.durable))
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("after the crash\n got  %v\n want %v", got, want)
		}
	})
}

// TestZerosThatWereWrittenOverComeBack: a file that was filled ahead is, after a crash, as the last sync left it, with zeros again where
// something was written since.
func TestZerosThatWereWrittenOverComeBack(t *testing.T) {
	inner := disk.NewMemory()
	v := disk.NewVolatile(inner)
	f, err := v.OpenFile("log", create)
	check(t, err)
	check(t, v.SyncDir("."))
	_, err = f.WriteAt(make([]byte, 100_000), 0)
	check(t, err)
	write := func(text string, at int64) {
		t.Helper()
		_, err := f.WriteAt([]byte(text), at)
		check(t, err)
	}
	write("synced", 0)
	check(t, f.Sync())
	write("lost", 6)
	write("lost, too", 50_000)
	write("ODD", 4) // partly over what was synced
	check(t, f.Truncate(60_000))
	write("gone with the cut", 59_990)
	check(t, f.Truncate(59_995))
	got, err := v.LoseUnsynced()
	check(t, err)
	if want := (disk.Lost{Bytes: 4 + 9 + 3 + 5}); got != want {
		t.Errorf("lost %+v, want %+v", got, want)
	}
	content := read(t, inner, "log")
	want := append([]byte("synced"), make([]byte, 59_995-6)...)
	if !bytes.Equal(content, want) {
		t.Errorf("%d bytes, which begin with %q", len(content), content[:20])
	}
}
