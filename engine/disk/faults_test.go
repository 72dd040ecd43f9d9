package disk_test

import (
	"errors"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"twinlog/engine/disk"
)

func TestFull(t *testing.T) {
	d := disk.NewFaults(disk.NewMemory())
	f := open(t, d, "file", create)
	put(t, f, "text", 0)
	d.Set(disk.Fault{Full: true})
	if _, err := f.WriteAt([]byte("x"), 4); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("write: %v", err)
	}
	if _, err := d.OpenFile("other", create); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("create: %v", err)
	}
	expect(t, open(t, d, "file", create), "text")
	check(t, f.Truncate(2))
	check(t, d.Remove("file"))
	d.Set(disk.Fault{})
	put(t, open(t, d, "other", create), "room again", 0)
}

func TestFailSync(t *testing.T) {
	broken := errors.New("broken")
	d := disk.NewFaults(disk.NewMemory())
	f := open(t, d, "file", create)
	d.Set(disk.Fault{FailSync: broken})
	if err := f.Sync(); !errors.Is(err, broken) {
		t.Errorf("sync: %v", err)
	}
	if err := d.SyncDir("."); !errors.Is(err, broken) {
		t.Errorf("sync of the directory: %v", err)
	}
	put(t, f, "text", 0)
}

func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := disk.NewFaults(disk.NewMemory())
		f := open(t, d, "file", create)
		d.Set(disk.Fault{Delay: time.Minute})
		start := time.Now()
		put(t, f, "text", 0)
		check(t, f.Sync())
		if took := time.Since(start); took != 2*time.Minute {
			t.Fatalf("a write and a sync took %v", took)
		}
	})
}

func TestFlipBit(t *testing.T) {
	d := disk.NewFaults(disk.NewMemory())
	f := open(t, d, "file", create)
	put(t, f, "AAA", 0)
	check(t, d.FlipBit("file", 1, 1))
	expect(t, f, "ACA")
	if err := d.FlipBit("file", 9, 0); err == nil {
		t.Fatal("a bit outside the file was flipped")
	}
}

func TestSever(t *testing.T) {
	d := disk.NewFaults(disk.NewMemory())
	f := open(t, d, "file", create)
	put(t, f, "text", 0)
	d.Freeze()
	waiting := make(chan error, 1)
	go func() {
		_, err := f.WriteAt([]byte("more"), 4)
		waiting <- err
	}()
	d.Sever()
	if err := <-waiting; !errors.Is(err, disk.ErrSevered) {
		t.Errorf("a write that waited: %v", err)
	}
	for op, err := range map[string]error{
		"sync":   f.Sync(),
		"mkdir":  d.MkdirAll("dir"),
		"rename": d.Rename("file", "other"),
		"remove": d.Remove("file"),
	} {
		if !errors.Is(err, disk.ErrSevered) {
			t.Errorf("%s: %v", op, err)
		}
	}
	if _, err := d.OpenFile("file", os.O_RDONLY); !errors.Is(err, disk.ErrSevered) {
		t.Errorf("open: %v", err)
	}
	check(t, f.Close())
}

func TestFreeze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := disk.NewFaults(disk.NewMemory())
		f := open(t, d, "file", create)
		d.Freeze()
		done := false
		go func() {
			put(t, f, "text", 0)
			done = true
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		if done {
			t.Fatal("a frozen disk took a write")
		}
		d.Thaw()
		synctest.Wait()
		if !done {
			t.Fatal("a thawed disk does not go on")
		}
		expect(t, f, "text")
	})
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	first, err := disk.NewOS(dir)
	check(t, err)
	unlock, err := first.Lock()
	check(t, err)
	second, err := disk.NewOS(dir)
	check(t, err)
	if _, err := second.Lock(); !errors.Is(err, disk.ErrLocked) {
		t.Fatalf("a second lock: %v", err)
	}
	check(t, unlock())
	unlock, err = second.Lock()
	check(t, err)
	check(t, unlock())
}
