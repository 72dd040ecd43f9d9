package commitlog

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"twinlog/engine/disk"
)

func TestSyncPolicy(t *testing.T) {
	for name, c := range map[string]struct {
		policy         SyncPolicy
		bytes, offsets int64
		waited         time.Duration
		want           bool
	}{
		"never":                    {SyncPolicy{}, 1 << 40, 1 << 40, time.Hour, false},
		"every return":             {SyncPolicy{EveryReturn: true}, 1, 1, 0, true},
		"nothing to sync":          {SyncPolicy{EveryReturn: true, Interval: 1}, 0, 0, time.Hour, false},
		"not so many bytes":        {SyncPolicy{Bytes: 100}, 99, 1000, time.Hour, false},
		"so many bytes":            {SyncPolicy{Bytes: 100}, 100, 1, 0, true},
		"so many offsets":          {SyncPolicy{Offsets: 10}, 1, 10, 0, true},
		"not so long":              {SyncPolicy{Interval: time.Second}, 1, 1, time.Second - 1, false},
		"so long":                  {SyncPolicy{Interval: time.Second}, 1, 1, time.Second, true},
		"one of two bounds is met": {SyncPolicy{Interval: time.Second, Offsets: 5}, 1, 5, 0, true},
	} {
		if got := c.policy.Due(c.bytes, c.offsets, c.waited); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// countingDisk counts syncs of segment files and can hold them.
type countingDisk struct {
	disk.Disk
	mu    sync.Mutex
	syncs int
	hold  chan struct{}
}

func (d *countingDisk) OpenFile(name string, flag int) (disk.File, error) {
	file, err := d.Disk.OpenFile(name, flag)
	return countedFile{file, d}, err
}

type countedFile struct {
	disk.File
	disk *countingDisk
}

func (f countedFile) Sync() error {
	f.disk.mu.Lock()
	f.disk.syncs++
	hold := f.disk.hold
	f.disk.mu.Unlock()
	if hold != nil {
		<-hold
	}
	return f.File.Sync()
}

func (d *countingDisk) count() int { d.mu.Lock(); defer d.mu.Unlock(); return d.syncs }

func startCommitter(t *testing.T, d disk.Disk, policy SyncPolicy) (*Committer, *Log, func() error) {
	t.Helper()
	log, err := Open(d, "log", testFraming{}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	c := NewCommitter(log, CommitterConfig{Sync: policy, Place: renumber})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	return c, log, func() error { cancel(); return <-ended }
}

// TestGroupCommit: 63 writers come while a sync is under way. One more sync makes all of theirs durable, and none returns before it.
func TestGroupCommit(t *testing.T) {
	defer goleak.VerifyNone(t)
	d := &countingDisk{Disk: disk.NewMemory()}
	c, log, stop := startCommitter(t, d, SyncPolicy{EveryReturn: true})
	defer log.Abandon()
	d.mu.Lock()
	before, hold := d.syncs, make(chan struct{})
	d.hold = hold
	d.mu.Unlock()
	var writers sync.WaitGroup
	write := func() {
		defer writers.Done()
		frame := makeFrame(0, 1, 20, 1)
		place, err := c.Append(t.Context(), frame)
		if err != nil {
			t.Error(err)
			return
		}
		section, err := log.ReadAt(place)
		if err != nil {
			t.Error(err)
			return
		}
		defer section.Close()
		got, _ := section.ReadAll()
		parsed, _ := parse(testFraming{}, got)
		if !bytes.Equal(got[testHeader:], frame[testHeader:]) || parsed.LastOffset >= log.Synced() {
			t.Errorf("offset %d was answered while %d is synced", parsed.LastOffset, log.Synced())
		}
	}
	writers.Add(64)
	go write()
	for d.count() == before { // the first one is in its sync
		time.Sleep(time.Millisecond)
	}
	for range 63 {
		go write()
	}
	for waiting := 0; waiting < 63; {
		c.mu.Lock()
		waiting = len(c.open.appends)
		c.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	d.mu.Lock()
	d.hold = nil
	d.mu.Unlock()
	close(hold)
	writers.Wait()
	if got := d.count() - before; got != 2 {
		t.Errorf("%d syncs", got)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := c.Append(t.Context(), makeFrame(0, 1, 20, 1)); !errors.Is(err, ErrClosed) {
		t.Errorf("an append after the end: %v", err)
	}
}

func TestSyncByInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, log, stop := startCommitter(t, disk.NewMemory(), SyncPolicy{Interval: time.Second})
		defer log.Abandon()
		defer stop()
		for range 2 {
			for range 3 {
				if _, err := c.Append(t.Context(), makeFrame(0, 1, 20, 1)); err != nil {
					t.Fatal(err)
				}
			}
			synced := log.Synced()
			time.Sleep(time.Second - 1)
			synctest.Wait()
			if log.Synced() != synced {
				t.Fatal("synced too early")
			}
			time.Sleep(1)
			synctest.Wait()
			if log.Synced() != log.Next() {
				t.Fatalf("%d of %d are synced", log.Synced(), log.Next())
			}
		}
	})
}

func TestABadFrameFailsAlone(t *testing.T) {
	c, log, stop := startCommitter(t, disk.NewMemory(), SyncPolicy{EveryReturn: true})
	defer log.Abandon()
	var writers sync.WaitGroup
	for i := range 32 {
		writers.Go(func() {
			frame := makeFrame(0, 1, 20, 1)
			if i%4 == 0 {
				frame[15] = 0 // no offsets: this is no frame
			}
			if _, err := c.Append(t.Context(), frame); (err != nil) != (i%4 == 0) {
				t.Errorf("writer %d: %v", i, err)
			}
		})
	}
	writers.Wait()
	if err := stop(); err != nil || log.Next() != 24 {
		t.Error(err, log.Next())
	}
}

// TestAFailedSyncAnswersNobody: what was to be durable is refused, and so is all that comes after.
func TestAFailedSyncAnswersNobody(t *testing.T) {
	faults := disk.NewFaults(disk.NewMemory())
	c, log, stop := startCommitter(t, faults, SyncPolicy{EveryReturn: true})
	defer log.Abandon()
	faults.Set(disk.Fault{FailSync: errDrive})
	if _, err := c.Append(t.Context(), makeFrame(0, 1, 20, 1)); !errors.Is(err, errDrive) {
		t.Errorf("got %v", err)
	}
	faults.Set(disk.Fault{})
	if _, err := c.Append(t.Context(), makeFrame(0, 1, 20, 1)); err == nil {
		t.Error("acknowledged after a failed sync")
	}
	if err := stop(); !errors.Is(err, errDrive) {
		t.Errorf("run ended with %v", err)
	}
}
