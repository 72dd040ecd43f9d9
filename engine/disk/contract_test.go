package disk_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"testing"

	"twinlog/engine/disk"
)

// contract is what every disk keeps.
var contract = []struct {
	name string
	test func(t *testing.T, d disk.Disk)
}{
	{"what is written is read, holes are zero", testReadWrite},
	{"open obeys its flags", testOpenFlags},
	{"a read past the end is EOF", testEOF},
	{"truncate cuts and extends with zeros", testTruncate},
	{"rename replaces", testRename},
	{"an open file outlives its name", testRemovedWhileOpen},
	{"directories list, sorted", testReadDir},
	{"removing", testRemove},
	{"missing names are fs.ErrNotExist", testMissing},
	{"a closed file is fs.ErrClosed", testClosed},
	{"sync succeeds", testSync},
}

func TestContract(t *testing.T) {
	newOS := func(t *testing.T) disk.Disk {
		d, err := disk.NewOS(t.TempDir())
		check(t, err)
		return d
	}
	for name, newDisk := range map[string]func(t *testing.T) disk.Disk{
		"os":               newOS,
		"memory":           func(*testing.T) disk.Disk { return disk.NewMemory() },
		"faults on os":     func(t *testing.T) disk.Disk { return disk.NewFaults(newOS(t)) },
		"volatile on os":   func(t *testing.T) disk.Disk { return disk.NewVolatile(newOS(t)) },
		"faults on memory": func(*testing.T) disk.Disk { return disk.NewFaults(disk.NewMemory()) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range contract {
				t.Run(c.name, func(t *testing.T) { c.test(t, newDisk(t)) })
			}
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const create = os.O_RDWR | os.O_CREATE

func open(t *testing.T, d disk.Disk, name string, flag int) disk.File {
	t.Helper()
	f, err := d.OpenFile(name, flag)
	check(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func put(t *testing.T, f disk.File, s string, offset int64) {
	t.Helper()
	n, err := f.WriteAt([]byte(s), offset)
	check(t, err)
	if n != len(s) {
		t.Fatalf("wrote %d of %d bytes", n, len(s))
	}
}

func contents(t *testing.T, f disk.File) string {
	t.Helper()
	size, err := f.Size()
	check(t, err)
	got := make([]byte, size)
	if n, err := f.ReadAt(got, 0); int64(n) != size || err != nil && err != io.EOF {
		t.Fatalf("read %d of %d bytes: %v", n, size, err)
	}
	return string(got)
}

func expect(t *testing.T, f disk.File, want string) {
	t.Helper()
	if got := contents(t, f); got != want {
		t.Fatalf("the file has %q, want %q", got, want)
	}
}

func testReadWrite(t *testing.T, d disk.Disk) {
	f := open(t, d, "file", create)
	put(t, f, "one", 0)
	put(t, f, "two", 6)
	expect(t, f, "one\x00\x00\x00two")
	put(t, f, "ONE", 0)
	if f.Name() != "file" {
		t.Errorf("the name is %q", f.Name())
	}
	expect(t, open(t, d, "file", os.O_RDONLY), "ONE\x00\x00\x00two")
}

func testOpenFlags(t *testing.T, d disk.Disk) {
	if _, err := d.OpenFile("file", os.O_RDWR); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("open without O_CREATE: %v", err)
	}
	put(t, open(t, d, "file", create|os.O_EXCL), "text", 0)
	if _, err := d.OpenFile("file", create|os.O_EXCL); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("a second O_EXCL: %v", err)
	}
	expect(t, open(t, d, "file", create), "text")
	readOnly := open(t, d, "file", os.O_RDONLY)
	if _, err := readOnly.WriteAt([]byte("x"), 0); err == nil {
		t.Fatal("a file that was opened to read took a write")
	}
	expect(t, open(t, d, "file", os.O_RDWR|os.O_TRUNC), "")
}

func testEOF(t *testing.T, d disk.Disk) {
	f := open(t, d, "file", create)
	put(t, f, "four", 0)
	buffer := make([]byte, 8)
	if n, err := f.ReadAt(buffer, 2); n != 2 || err != io.EOF {
		t.Fatalf("a read over the end: %d, %v", n, err)
	}
	if n, err := f.ReadAt(buffer, 100); n != 0 || err != io.EOF {
		t.Fatalf("a read past the end: %d, %v", n, err)
	}
	if _, err := f.ReadAt(buffer, -1); err == nil || err == io.EOF {
		t.Fatalf("a read at -1: %v", err)
	}
}

func testTruncate(t *testing.T, d disk.Disk) {
	f := open(t, d, "file", create)
	put(t, f, "something", 0)
	check(t, f.Truncate(4))
	expect(t, f, "some")
	check(t, f.Truncate(6))
	expect(t, f, "some\x00\x00")
}

func testRename(t *testing.T, d disk.Disk) {
	check(t, d.MkdirAll("from/here"))
	check(t, d.MkdirAll("to"))
	put(t, open(t, d, "from/here/a", create), "new", 0)
	put(t, open(t, d, "to/b", create), "old one", 0)
	check(t, d.Rename("from/here/a", "to/b"))
	expect(t, open(t, d, "to/b", os.O_RDONLY), "new")
	if _, err := d.Stat("from/here/a"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the old name: %v", err)
	}
}

func testRemovedWhileOpen(t *testing.T, d disk.Disk) {
	f := open(t, d, "file", create)
	put(t, f, "kept", 0)
	check(t, d.Remove("file"))
	expect(t, f, "kept")
	expect(t, open(t, d, "file", create), "")
}

func testReadDir(t *testing.T, d disk.Disk) {
	check(t, d.MkdirAll("dir/sub"))
	check(t, d.MkdirAll("dir/sub"))
	for _, name := range []string{"dir/b", "dir/a", "dir/sub/inner"} {
		put(t, open(t, d, name, create), name, 0)
	}
	entries, err := d.ReadDir("dir")
	check(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
		if entry.IsDir() != (entry.Name() == "sub") {
			t.Errorf("%s: a directory is %v", entry.Name(), entry.IsDir())
		}
	}
	if len(names) != 3 || names[0] != "a" || names[1] != "b" || names[2] != "sub" {
		t.Fatalf("listed %q", names)
	}
	info, err := d.Stat("dir/b")
	check(t, err)
	if info.Size() != 5 || info.IsDir() || info.Name() != "b" {
		t.Fatalf("stat says %d bytes, directory %v, name %q", info.Size(), info.IsDir(), info.Name())
	}
	if _, err := d.ReadDir("."); err != nil {
		t.Fatalf("the root: %v", err)
	}
}

func testRemove(t *testing.T, d disk.Disk) {
	check(t, d.MkdirAll("dir/sub"))
	open(t, d, "dir/sub/file", create)
	if err := d.Remove("dir"); err == nil {
		t.Fatal("a directory with entries was removed")
	}
	check(t, d.RemoveAll("dir"))
	check(t, d.RemoveAll("dir"))
	if _, err := d.Stat("dir/sub/file"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("after RemoveAll: %v", err)
	}
}

func testMissing(t *testing.T, d disk.Disk) {
	for op, do := range map[string]func() error{
		"open":    func() error { _, err := d.OpenFile("no/file", create); return err },
		"remove":  func() error { return d.Remove("no") },
		"rename":  func() error { return d.Rename("no", "yes") },
		"readdir": func() error { _, err := d.ReadDir("no"); return err },
		"stat":    func() error { _, err := d.Stat("no"); return err },
		"syncdir": func() error { return d.SyncDir("no") },
	} {
		var pathError *fs.PathError
		err := do()
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", op, err)
		}
		if op != "rename" && !errors.As(err, &pathError) {
			t.Errorf("%s: %T is no *fs.PathError", op, err)
		}
	}
}

func testClosed(t *testing.T, d disk.Disk) {
	f := open(t, d, "file", create)
	check(t, f.Close())
	if _, err := f.WriteAt([]byte("x"), 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("write: %v", err)
	}
	if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("read: %v", err)
	}
	if err := f.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("close: %v", err)
	}
}

func testSync(t *testing.T, d disk.Disk) {
	check(t, d.MkdirAll("dir"))
	f := open(t, d, "dir/file", create)
	put(t, f, "text", 0)
	check(t, f.Sync())
	check(t, d.SyncDir("dir"))
	check(t, d.SyncDir("."))
}

func TestOSFile(t *testing.T) {
	inner, err := disk.NewOS(t.TempDir())
	check(t, err)
	faults := disk.NewFaults(inner)
	f := open(t, faults, "file", create)
	if f.OSFile() == nil {
		t.Fatal("a healthy disk hides its files")
	}
	faults.Set(disk.Fault{Full: true})
	if f.OSFile() != nil {
		t.Fatal("a sick disk hands out its files")
	}
	if g := open(t, disk.NewMemory(), "file", create); g.OSFile() != nil {
		t.Fatal("a file in memory has an OS file")
	}
}

func sameBytes(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Fatalf("%s: got %q, want %q", what, got, want)
	}
}
