package bookie

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"twinlog/engine/commitlog"
	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/pulsar/bookkeeper/metadata/memorystore"
	"twinlog/engine/pulsar/bookkeeper/wire"
)

// cutDisk loses power at its n-th change.
type cutDisk struct {
	*disk.Faults
	left atomic.Int64
}

func (d *cutDisk) count() {
	if d.left.Add(-1) == 0 {
		d.Sever()
	}
}

func (d *cutDisk) OpenFile(name string, flag int) (disk.File, error) {
	d.count()
	file, err := d.Faults.OpenFile(name, flag)
	if err != nil {
		return nil, err
	}
	return &cutFile{file, d}, nil
}

func (d *cutDisk) Rename(from, to string) error { d.count(); return d.Faults.Rename(from, to) }
func (d *cutDisk) RemoveAll(name string) error  { d.count(); return d.Faults.RemoveAll(name) }
func (d *cutDisk) Remove(name string) error     { d.count(); return d.Faults.Remove(name) }
func (d *cutDisk) MkdirAll(name string) error   { d.count(); return d.Faults.MkdirAll(name) }
func (d *cutDisk) SyncDir(name string) error    { d.count(); return d.Faults.SyncDir(name) }

type cutFile struct {
	disk.File
	disk *cutDisk
}

func (f *cutFile) WriteAt(p []byte, at int64) (int, error) {
	f.disk.count()
	return f.File.WriteAt(p, at)
}
func (f *cutFile) Sync() error               { f.disk.count(); return f.File.Sync() }
func (f *cutFile) Truncate(size int64) error { f.disk.count(); return f.File.Truncate(size) }

// crashing is a bookie in a bubble, and what it has promised.
type crashing struct {
	t         *testing.T
	memory    *disk.Memory
	zookeeper *memorystore.Server
	random    *rand.Rand
	added     map[entryKey]bool
	fenced    map[int64]bool
}

// life runs the bookie until the n-th change of its disk, or to the end of the work. It tells whether the power was cut.
func (c *crashing) life(changes int64, work func(*caller) bool) (cut bool) {
	faults := &cutDisk{Faults: disk.NewFaults(c.memory)}
	faults.left.Store(changes)
	view := fabric.NewMemory().Of("bookie-1")
	b, err := New(Config{
		Address: "127.0.0.1:3181", Network: view, Disk: faults, Connect: c.zookeeper.Connect, EntryLogBytes: 700, JournalAhead: 2 << 10, FlushInterval: time.Second,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	select {
	case <-b.Ready():
		conn, err := view.Dial(ctx, b.address)
		if err != nil {
			c.t.Fatal(err)
		}
		work(&caller{t: c.t, version: wire.Version2, conn: conn, reader: bufio.NewReader(conn)})
		conn.Close()
	case err := <-done:
		done <- err
	}
	if cut = faults.left.Load() <= 0; cut {
		view.Sever()
	}
	cancel()
	<-done
	c.memory.Crash(c.random)
	return cut
}

// work adds to a few ledgers, fences one of them, and lets time pass, so that entry logs are synced and sealed.
func (c *crashing) work(call *caller) bool {
	for round := range int64(12) {
		for ledger := range int64(3) {
			key := entryKey{ledger, round}
			status, ok := call.tryAdd(ledger, round)
			if !ok {
				return false
			}
			if status == wire.OK && c.fenced[ledger] {
				c.t.Errorf("ledger %d took an add after it was fenced", ledger)
			}
			c.added[key] = c.added[key] || status == wire.OK
		}
		if round == 7 {
			response, ok := call.try(wire.Request{Operation: wire.ReadEntry, Ledger: 1, Entry: wire.LastEntry, Fence: true, MasterKey: testKey})
			if !ok {
				return false
			}
			c.fenced[1] = c.fenced[1] || response.Status == wire.OK
		}
		time.Sleep(300 * time.Millisecond)
	}
	return true
}

// verify reads everything that was promised.
func (c *crashing) verify(call *caller) bool {
	for key, added := range c.added {
		response := call.read(key.ledger, key.entry, false)
		if added && response.Status != wire.OK {
			c.t.Errorf("entry %d of ledger %d was acknowledged, now: %v", key.entry, key.ledger, response.Status)
		}
		if response.Status == wire.OK && string(response.Body) != string(body(key.ledger, key.entry, key.entry-1, fmt.Sprintf("payload of %d:%d", key.ledger, key.entry))) {
			c.t.Errorf("entry %d of ledger %d has changed", key.entry, key.ledger)
		}
	}
	for ledger := range c.fenced {
		if status := call.add(ledger, 100, false, testKey); c.fenced[ledger] && status != wire.Fenced {
			c.t.Errorf("ledger %d was fenced, an add now: %v", ledger, status)
		}
	}
	return true
}

func (c *caller) try(r wire.Request) (*wire.Response, bool) {
	r.Version, r.PreviousLAC = c.version, wire.NoLAC
	frame, err := wire.AppendRequest(nil, &r)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.conn.Write(frame); err != nil {
		return nil, false
	}
	packet, err := wire.ReadPacket(c.reader)
	if err != nil {
		return nil, false
	}
	response, err := wire.DecodeResponse(packet)
	return response, err == nil && response.Status != wire.IOError
}

func (c *caller) tryAdd(ledger, entry int64) (wire.Status, bool) {
	response, ok := c.try(wire.Request{
		Operation: wire.AddEntry, Ledger: ledger, Entry: entry, MasterKey: testKey,
		Body: body(ledger, entry, entry-1, fmt.Sprintf("payload of %d:%d", ledger, entry)),
	})
	if !ok {
		return 0, false
	}
	return response.Status, true
}

// The power is cut at every single change of the disk, and again while the bookie recovers from that.
func TestPowerCutEverywhere(t *testing.T) {
	for changes := int64(1); ; changes++ {
		cut := false
		synctest.Test(t, func(t *testing.T) {
			c := &crashing{
				t: t, memory: disk.NewMemory(), zookeeper: memorystore.NewServer(), random: rand.New(rand.NewPCG(1, uint64(changes))),
				added: map[entryKey]bool{}, fenced: map[int64]bool{},
			}
			cut = c.life(changes, c.work)
			c.life(1+changes%13, c.verify)
			if c.life(1<<40, c.verify) {
				t.Fatal("the last life ended early")
			}
		})
		if t.Failed() {
			t.Fatalf("with the power cut at change %d", changes)
		}
		if !cut {
			if changes < 100 {
				t.Errorf("only %d changes: this test has lost its point", changes)
			}
			return
		}
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(appendRecord(appendRecord(nil, 1, entryIDs(2, 3), []byte("rest")), 2, entryIDs(2, ledgerKeyEntry), testKey))
	f.Fuzz(func(t *testing.T, records []byte) {
		_ = eachRecord(records, func(record []byte, _ int) error {
			recordIDs(record)
			return commitlog.Verify(recordFraming{}, record)
		})
	})
}
