package commitlog

import (
	"bytes"
	"errors"
	"os"
	"syscall"
	"testing"

	"twinlog/engine/disk"
)

var aheadConfig = Config{SegmentBytes: 400 << 10, Preallocate: 100 << 10}

func openAhead(t *testing.T, d disk.Disk, config Config) *Log {
	t.Helper()
	log, err := Open(d, "log", testFraming{}, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Abandon)
	return log
}

func fileSize(t *testing.T, d disk.Disk, name string) int64 {
	t.Helper()
	info, err := d.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestTheActiveSegmentIsFilledAhead: between two steps an append does not change the file's size, which is what makes its sync cheap. What
// is filled does not count, and is gone from segments that are sealed or closed.
func TestTheActiveSegmentIsFilledAhead(t *testing.T) {
	memory := disk.NewMemory()
	log := openAhead(t, memory, aheadConfig)
	grown, before := 0, int64(0)
	for log.Size() < 390<<10 {
		appendFrames(t, log, 1, 1000)
		size := fileSize(t, memory, log.Segments()[0].File)
		if size != before {
			grown++
		}
		if before = size; size < log.Size() || size > log.Size()+aheadConfig.Preallocate || size > aheadConfig.SegmentBytes {
			t.Fatalf("a file of %d bytes with %d in use", size, log.Size())
		}
	}
	if grown > 8 {
		t.Errorf("the file grew %d times", grown)
	}
	appendFrames(t, log, 60, 1000)
	for i, s := range log.Segments() {
		if sealed := i == 0; sealed != (fileSize(t, memory, s.File) == s.Size) {
			t.Errorf("segment %d: a file of %d bytes with %d in use", i, fileSize(t, memory, s.File), s.Size)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	last := log.Segments()[1]
	if size := fileSize(t, memory, last.File); size != last.Size {
		t.Errorf("closed with %d bytes, %d in use", size, last.Size)
	}
	if log = openAhead(t, memory, aheadConfig); log.Recovery() != (Recovery{}) {
		t.Errorf("closed in order, and still: %+v", log.Recovery())
	}
}

// TestAKilledLogFindsItsEndAmongZeros, also one that is opened without being filled ahead any more, and goes on from there.
func TestAKilledLogFindsItsEndAmongZeros(t *testing.T) {
	for name, config := range map[string]Config{"filled ahead again": aheadConfig, "not any more": {}} {
		t.Run(name, func(t *testing.T) {
			memory := disk.NewMemory()
			log := openAhead(t, memory, aheadConfig)
			all := appendFrames(t, log, 30, 500)
			if err := log.Sync(); err != nil {
				t.Fatal(err)
			}
			log.Abandon()
			log = openAhead(t, memory, config)
			if cut := log.Recovery().CutBytes; config.Preallocate > 0 && cut != 0 || log.Next() != 30 {
				t.Errorf("%d bytes were cut, next is %d", cut, log.Next())
			}
			all = append(all, appendFrames(t, log, 300, 500)...)
			log.Abandon()
			if got, err := readEverything(openAhead(t, memory, config)); err != nil || !bytes.Equal(got, all) {
				t.Errorf("%d of %d bytes, %v", len(got), len(all), err)
			}
		})
	}
}

// TestATornTailAmongZerosIsCut: what lies behind a frame of which a part never reached the disk is gone for good.
func TestATornTailAmongZerosIsCut(t *testing.T) {
	memory := disk.NewMemory()
	log := openAhead(t, memory, aheadConfig)
	all := appendFrames(t, log, 10, 500)
	if err := log.Sync(); err != nil {
		t.Fatal(err)
	}
	appendFrames(t, log, 10, 500)
	name := log.Segments()[0].File
	log.Abandon()
	overwrite(t, memory, name, make([]byte, 200), int64(len(all))+100) // sectors of the first frame that was not synced
	log = openAhead(t, memory, aheadConfig)
	if r := log.Recovery(); log.Next() != 10 || r.CutPosition != int64(len(all)) || r.CutReason == "" {
		t.Fatalf("next is %d: %+v", log.Next(), r)
	}
	all = append(all, appendFrames(t, log, 1, 500)...)
	log.Abandon()
	if got, err := readEverything(openAhead(t, memory, aheadConfig)); err != nil || !bytes.Equal(got, all) {
		t.Errorf("%d of %d bytes, %v", len(got), len(all), err)
	}
}

// TestZerosWhereFramesWereSyncedAreDamage, not an end.
func TestZerosWhereFramesWereSyncedAreDamage(t *testing.T) {
	memory := disk.NewMemory()
	log := openAhead(t, memory, aheadConfig)
	all := appendFrames(t, log, 10, 500)
	if err := log.Sync(); err != nil {
		t.Fatal(err)
	}
	name := log.Segments()[0].File
	log.Abandon()
	at := int64(len(all) / 10 * 8)
	overwrite(t, memory, name, make([]byte, int64(len(all))-at), at)
	var corrupt *CorruptError
	if _, err := Open(memory, "log", testFraming{}, aheadConfig); !errors.As(err, &corrupt) || corrupt.File != name || corrupt.Position != at {
		t.Fatalf("opened with %v", err)
	}
}

func overwrite(t *testing.T, d disk.Disk, name string, content []byte, at int64) {
	t.Helper()
	file, err := d.OpenFile(name, os.O_RDWR)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt(content, at); err != nil {
		t.Fatal(err)
	}
}

// roomyDisk has room for so many bytes in each file.
type roomyDisk struct {
	disk.Disk
	room int64
}

func (d *roomyDisk) OpenFile(name string, flag int) (disk.File, error) {
	file, err := d.Disk.OpenFile(name, flag)
	return roomyFile{file, d.room}, err
}

type roomyFile struct {
	disk.File
	room int64
}

func (f roomyFile) WriteAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > f.room {
		n, _ := f.File.WriteAt(p[:max(0, f.room-at)], at)
		return n, syscall.ENOSPC
	}
	return f.File.WriteAt(p, at)
}

// TestAFullDiskKeepsTheRoomForFrames: a disk that has no room for zeros still takes frames, and gets back what the zeros took.
func TestAFullDiskKeepsTheRoomForFrames(t *testing.T) {
	d := &roomyDisk{disk.NewMemory(), 50 << 10}
	log := openAhead(t, d, aheadConfig)
	for log.Size() < 45<<10 {
		appendFrames(t, log, 1, 1000)
		if size := fileSize(t, d, log.Segments()[0].File); size != log.Size() {
			t.Fatalf("the file has %d bytes, %d in use", size, log.Size())
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if log = openAhead(t, d, aheadConfig); log.Recovery().CutBytes != 0 || log.Size() < 45<<10 {
		t.Errorf("%d bytes, %+v", log.Size(), log.Recovery())
	}
}
