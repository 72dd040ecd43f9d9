package bookie

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/bookkeeper/metadata/memorystore"
	"twinlog/engine/pulsar/bookkeeper/wire"
	"twinlog/engine/trace"
)

// fillingDisk is full from its n-th write on, which goes half-way, until it is given room again.
type fillingDisk struct {
	*disk.Faults
	left atomic.Int64
}

const plenty = 1 << 40

func (d *fillingDisk) take(op, name string) error {
	if d.left.Add(-1) < 0 {
		return &fs.PathError{Op: op, Path: name, Err: syscall.ENOSPC}
	}
	return nil
}

func (d *fillingDisk) OpenFile(name string, flag int) (disk.File, error) {
	if _, err := d.Faults.Stat(name); flag&os.O_CREATE != 0 && err != nil {
		if err := d.take("create", name); err != nil {
			return nil, err
		}
	}
	file, err := d.Faults.OpenFile(name, flag)
	if err != nil {
		return nil, err
	}
	return &fillingFile{file, d}, nil
}

func (d *fillingDisk) MkdirAll(name string) error {
	if _, err := d.Faults.Stat(name); err == nil {
		return nil
	}
	if err := d.take("mkdir", name); err != nil {
		return err
	}
	return d.Faults.MkdirAll(name)
}

type fillingFile struct {
	disk.File
	disk *fillingDisk
}

func (f *fillingFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.disk.take("write", f.Name()); err != nil {
		n, _ := f.File.WriteAt(p[:len(p)/2], at)
		return n, err
	}
	return f.File.WriteAt(p, at)
}

// filling is a bookie in a bubble whose disk fills up, and what it has promised.
type filling struct {
	crashing
	refused bool // it refused adds
	full    bool // a write failed
}

// live runs the bookie with room for so many writes once it serves, and ends it as how says.
func (f *filling) live(how int, atStart, then int64, work func(*caller, *fillingDisk)) {
	t := f.t
	d := &fillingDisk{Faults: disk.NewFaults(f.memory)}
	d.left.Store(atStart)
	view := fabric.NewMemory().Of("bookie-1")
	b, err := New(Config{
		Address: "127.0.0.1:3181", Network: view, Disk: d, Connect: f.zookeeper.Connect, EntryLogBytes: 700, JournalAhead: 2 << 10, FlushInterval: time.Second,
		DiskCheckInterval: time.Second, RoomNeeded: 1 << 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	defer cancel()
	select {
	case <-b.Ready():
	case err := <-done:
		t.Fatalf("the bookie ended: %v", err)
	}
	d.left.Store(then)
	conn, err := view.Dial(ctx, b.address)
	if err != nil {
		t.Fatal(err)
	}
	work(&caller{t: t, version: wire.Version2, conn: conn, reader: bufio.NewReader(conn)}, d)
	conn.Close()
	if how > 0 { // killed
		view.Sever()
		d.Sever()
	}
	cancel()
	if err := <-done; err != nil && how == 0 {
		t.Errorf("an orderly stop: %v", err)
	}
	if how > 1 { // and its machine crashed
		f.memory.Crash(f.random)
	}
}

// registered tells where the bookie is registered.
func (f *filling) registered() (writable, readOnly bool) {
	session := f.zookeeper.NewSession()
	defer session.End()
	writable, _, _ = session.Exists(metadata.BookiePath("127.0.0.1:3181"))
	readOnly, _, _ = session.Exists(metadata.ReadOnlyBookiePath("127.0.0.1:3181"))
	return writable, readOnly
}

// work adds to three ledgers and fences one, while the disk fills up.
func (f *filling) work(call *caller, d *fillingDisk) {
	for round := range int64(12) {
		for ledger := range int64(3) {
			switch status := call.add(ledger, round, false, testKey); status {
			case wire.OK:
				f.added[entryKey{ledger, round}] = true
				if f.fenced[ledger] || f.refused {
					f.t.Errorf("an add to ledger %d was taken; fenced: %v, read-only: %v", ledger, f.fenced[ledger], f.refused)
				}
			case wire.ReadOnly:
				f.refused = true
				want(f.t, "the disk is full", d.left.Load() < 0, true)
			case wire.Fenced:
				want(f.t, "ledger was fenced", f.fenced[ledger], true)
			default:
				f.t.Errorf("an add: %v", status)
			}
		}
		if round == 7 {
			status := call.read(1, wire.LastEntry, true).Status
			f.fenced[1] = status == wire.OK || status == wire.NoEntry || status == wire.NoLedger
			if !f.fenced[1] {
				want(f.t, "fence on a full disk", status, wire.IOError)
			}
		}
		time.Sleep(300 * time.Millisecond)
	}
	time.Sleep(3 * time.Second)
	f.full = d.left.Load() < 0
	if writable, readOnly := f.registered(); writable == readOnly || f.refused && !readOnly || readOnly && !f.full {
		f.t.Errorf("full: %v, refused adds: %v, registered as writable: %v, as read-only: %v", f.full, f.refused, writable, readOnly)
	}
	f.promised(call)
}

// promised reads everything that was acknowledged.
func (f *filling) promised(call *caller) {
	for key := range f.added {
		response := call.read(key.ledger, key.entry, false)
		if want := body(key.ledger, key.entry, key.entry-1, fmt.Sprintf("payload of %d:%d", key.ledger, key.entry)); string(response.Body) != string(want) {
			f.t.Errorf("entry %d of ledger %d was acknowledged, now: %v %q", key.entry, key.ledger, response.Status, response.Body)
		}
	}
}

// TestADiskFullEverywhere: the disk is full from every single write on. The bookie goes on serving what it acknowledged, also when it is
// stopped, killed or crashed, and starts on the full disk; when there is room it takes adds again, and nothing is lost.
func TestADiskFullEverywhere(t *testing.T) {
	for writes := int64(0); ; writes++ {
		full := false
		synctest.Test(t, func(t *testing.T) {
			f := &filling{crashing: crashing{
				t: t, memory: disk.NewMemory(), zookeeper: memorystore.NewServer(), random: rand.New(rand.NewPCG(2, uint64(writes))),
				added: map[entryKey]bool{}, fenced: map[int64]bool{},
			}}
			f.live(int(writes%3), plenty, writes, f.work)
			full = f.full
			f.live(int(writes%2)*2, 0, 0, func(call *caller, d *fillingDisk) {
				f.promised(call)
				want(t, "an add on the full disk", call.add(2, 50, false, testKey), wire.ReadOnly)
				f.promised(call)
				d.left.Store(plenty)
				time.Sleep(5 * time.Second)
				writable, readOnly := f.registered()
				want(t, "registered as writable", writable && !readOnly, true)
				want(t, "an add when there is room", call.add(2, 50, false, testKey), wire.OK)
				f.added[entryKey{2, 50}] = true
				if f.fenced[1] {
					want(t, "an add to the fenced ledger", call.add(1, 50, false, testKey), wire.Fenced)
				}
			})
			f.live(0, plenty, plenty, func(call *caller, _ *fillingDisk) {
				f.promised(call)
				want(t, "an add", call.add(2, 60, false, testKey), wire.OK)
			})
		})
		if t.Failed() {
			t.Fatalf("with a disk full from write %d on", writes)
		}
		if !full {
			if writes < 60 {
				t.Errorf("only %d writes: this test has lost its point", writes)
			}
			return
		}
	}
}

// TestTheTraceTellsTheMode: what the page draws.
func TestTheTraceTellsTheMode(t *testing.T) {
	d := disk.NewFaults(disk.NewMemory())
	tracer := trace.NewTracer("test", "bookie-1", 1<<12)
	r := start(t, d, memorystore.NewServer(), func(c *Config) { c.Tracer, c.DiskCheckInterval = tracer, 10*time.Millisecond })
	var told []string
	await := func(wanted ...string) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			for _, record := range tracer.Drain(nil) {
				switch event := record.Data.(type) {
				case trace.BookieModeChanged:
					told = append(told, fmt.Sprint("read-only ", event.ReadOnly, " ", event.Reason))
				case trace.BookieRegistered:
					told = append(told, fmt.Sprint("registered read-only ", event.ReadOnly))
				}
			}
			if fmt.Sprint(told) == fmt.Sprint(wanted) {
				told = nil
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("told %q, want %q", told, wanted)
			}
		}
	}
	await("registered read-only false")
	for _, version := range []int{wire.Version2, wire.Version3} {
		c := r.dial(version)
		want(t, "add", c.add(1, 0, false, testKey), wire.OK)
		d.Set(disk.Fault{Full: true})
		want(t, "add to the full disk", c.add(1, 1, false, testKey), wire.ReadOnly)
		want(t, "read", c.read(1, 0, false).Status, wire.OK)
		await("read-only true diskFull", "registered read-only true")
		d.Set(disk.Fault{})
		await("read-only false diskHasRoom", "registered read-only false")
		want(t, "add when there is room", c.add(1, 1, false, testKey), wire.OK)
	}
	d.Set(disk.Fault{Full: true}) // nobody writes
	await("read-only true diskFull", "registered read-only true")
	r.stop()
}
