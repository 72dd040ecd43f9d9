package commitlog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"twinlog/engine/disk"
)

// openCountingDisk counts the files that are open.
type openCountingDisk struct {
	disk.Disk
	open, most atomic.Int64
}

func (d *openCountingDisk) OpenFile(name string, flag int) (disk.File, error) {
	file, err := d.Disk.OpenFile(name, flag)
	if err != nil {
		return nil, err
	}
	n := d.open.Add(1)
	for most := d.most.Load(); n > most && !d.most.CompareAndSwap(most, n); most = d.most.Load() {
	}
	return &openCountedFile{File: file, disk: d}, nil
}

type openCountedFile struct {
	disk.File
	disk   *openCountingDisk
	closed atomic.Bool
}

func (f *openCountedFile) Close() error {
	if f.closed.Swap(true) {
		return errors.New("closed twice")
	}
	f.disk.open.Add(-1)
	return f.File.Close()
}

// TestTenThousandLogsShareAHundredFiles: logs that nobody uses hold no file; each takes appends, serves reads and is synced all the same.
func TestTenThousandLogsShareAHundredFiles(t *testing.T) {
	const logs, limit = 10_000, 100
	d := &openCountingDisk{Disk: disk.NewMemory()}
	config := Config{SegmentBytes: 100, Files: NewFilePool(limit)}
	all := make([]*Log, logs)
	for i := range all {
		var err error
		if all[i], err = Open(d, fmt.Sprintf("log-%d", i), testFraming{}, config); err != nil {
			t.Fatal(err)
		}
		appendFrames(t, all[i], 1, 20)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		log := all[random.IntN(logs)]
		appendFrames(t, log, 1+random.IntN(4), 30)
		readAllFrames(t, log)
	}
	// Each open segment may have its log's durable file beside it, and an opening has a few files for itself.
	if most := d.most.Load(); most > 2*limit+8 || config.Files.Open() > limit {
		t.Errorf("%d files were open at once, %d segments are in the pool of %d", most, config.Files.Open(), limit)
	}
	for _, log := range all {
		log.Abandon()
	}
	if d.open.Load() != 0 || config.Files.Open() != 0 {
		t.Errorf("%d files are open in the end, %d in the pool", d.open.Load(), config.Files.Open())
	}
}

func readAllFrames(t *testing.T, log *Log) {
	t.Helper()
	content, err := readEverything(log)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(content); {
		frame, err := parse(testFraming{}, content[at:])
		if err == nil {
			err = Verify(testFraming{}, content[at:at+frame.Size])
		}
		if err != nil {
			t.Fatal(err)
		}
		at += frame.Size
	}
}

// TestLogsThatTakeEachOthersFiles: owners and readers of a few logs with a pool that is far too small for them.
func TestLogsThatTakeEachOthersFiles(t *testing.T) {
	d := &openCountingDisk{Disk: disk.NewMemory()}
	pool := NewFilePool(2)
	var running sync.WaitGroup
	for i := range 6 {
		log, err := Open(d, fmt.Sprintf("log-%d", i), testFraming{}, Config{SegmentBytes: 400, IndexInterval: 60, Files: pool})
		if err != nil {
			t.Fatal(err)
		}
		defer log.Abandon()
		done := make(chan struct{})
		running.Go(func() {
			defer close(done)
			if err := appendAndCut(log); err != nil {
				t.Error(err)
			}
		})
		for range 2 {
			running.Go(func() {
				if err := readWhatIsThere(log, done); err != nil {
					t.Error(err)
				}
			})
		}
	}
	running.Wait()
}

// appendAndCut lets a log roll, and loses files at either end.
func appendAndCut(log *Log) (err error) {
	for n := 0; n < 120 && err == nil; n++ {
		if _, err = log.Append(makeFrame(log.Next(), 1, 40, 1)); err != nil {
			return err
		}
		switch n % 20 {
		case 7:
			err = log.Sync()
		case 13:
			err = log.TruncateTo(log.Next() - 8)
		case 19:
			err = log.DeleteBefore(max(log.Start(), log.Next()-30))
		}
	}
	return err
}

// readWhatIsThere reads a log from its start to its end, again and again. That what it is about to read was just cut off is no error.
func readWhatIsThere(log *Log, done <-chan struct{}) error {
	for offset := int64(0); ; {
		select {
		case <-done:
			return nil
		default:
		}
		section, err := log.Read(offset, 100)
		if errors.Is(err, ErrOutOfRange) {
			offset = log.Start()
			continue
		}
		if err != nil {
			return err
		}
		_, err = section.ReadAll()
		if offset++; section.Size() == 0 {
			offset = log.Start()
		}
		section.Close()
		if err != nil && !errors.Is(err, ErrOutOfRange) {
			return err
		}
	}
}
