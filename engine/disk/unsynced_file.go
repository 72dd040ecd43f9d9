package disk

import (
	"bytes"
	"os"
	"sync"
	"sync/atomic"
)

const (
	// mostUndo and mostImages bound what a file remembers of bytes that were written over, in bytes and in places. Beyond them the file is
	// synced: a system may do that at any time.
	mostUndo   = 1 << 20
	mostImages = 1 << 14
	// mostScratch is how much memory a file keeps to look at what is written over next.
	mostScratch = 1 << 20
)

var zeros [16 << 10]byte

// unsyncedFile is a file's way from its last Sync to now. Writers hold the lock shared, so that a Sync knows which writes it covers.
type unsyncedFile struct {
	mu     sync.RWMutex
	synced int64       // size at the last Sync
	cuts   int         // how often the file was shortened
	dirty  atomic.Bool // anything at all was ever written

	images  sync.Mutex
	scratch []byte
	undo    []image // oldest first
	undone  int64   // bytes that undo brings back
	kept    int64   // bytes that it keeps for that
	dropped int     // images that Syncs have dropped from the front of undo: what a Sync covers is counted from the first one ever
}

// image is what was in a place before a write.
type image struct {
	offset int64
	length int64
	data   []byte // nil: zeros, which logs write ahead of their ends and then write over
}

// cut shortens the image to what lies below size.
func (i image) cut(size int64) image {
	i.length = min(i.length, size-i.offset)
	if i.data != nil {
		i.data = i.data[:i.length]
	}
	return i
}

func (i image) writeTo(file File) error {
	data := i.data
	if data == nil {
		data = make([]byte, i.length)
	}
	_, err := file.WriteAt(data, i.offset)
	return err
}

// lose brings the file back to its last Sync.
func (u *unsyncedFile) lose(inner Disk, name string) (lost int64, err error) {
	if !u.dirty.Load() {
		return 0, nil
	}
	file, err := inner.OpenFile(name, os.O_RDWR)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		return 0, err
	}
	lost = u.undone
	for i := len(u.undo) - 1; i >= 0; i-- {
		if err := u.undo[i].writeTo(file); err != nil {
			return lost, err
		}
	}
	if size > u.synced {
		lost += size - u.synced
		if err := file.Truncate(u.synced); err != nil {
			return lost, err
		}
	}
	return lost, file.Sync()
}

// cut notes that a file was shortened, which survives a crash.
func (u *unsyncedFile) cut(size int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.dirty.Store(true)
	if size >= u.synced {
		return
	}
	u.cuts++
	u.synced = size
	kept := u.undo[:0]
	u.undone, u.kept = 0, 0
	for _, before := range u.undo {
		if before.offset < size {
			before = before.cut(size)
			kept = append(kept, before)
			u.undone += before.length
			u.kept += int64(len(before.data))
		}
	}
	clear(u.undo[len(kept):])
	u.undo = kept
}

type volatileFile struct {
	File
	of *unsyncedFile
}

// WriteAt implements [File].
func (f *volatileFile) WriteAt(p []byte, offset int64) (int, error) {
	u := f.of
	u.mu.RLock()
	if offset >= u.synced && u.dirty.Load() { // the common case: it appends
		defer u.mu.RUnlock()
		return f.File.WriteAt(p, offset)
	}
	n, full, err := f.writeOver(p, offset)
	u.mu.RUnlock()
	if err == nil && full {
		err = f.Sync()
	}
	return n, err
}

// writeOver keeps what it writes over. Full says that it keeps more than it may.
func (f *volatileFile) writeOver(p []byte, offset int64) (n int, full bool, err error) {
	u := f.of
	u.images.Lock()
	defer u.images.Unlock()
	u.dirty.Store(true)
	if length := min(int64(len(p)), u.synced-offset); length > 0 && offset >= 0 {
		before, err := f.imageOf(offset, length)
		if err != nil {
			return 0, false, err
		}
		u.undo = append(u.undo, before)
		u.undone += length
		u.kept += int64(len(before.data))
	}
	n, err = f.File.WriteAt(p, offset)
	return n, u.kept > mostUndo || len(u.undo) > mostImages, err
}

// imageOf reads what is about to be written over. It is called with images held.
func (f *volatileFile) imageOf(offset, length int64) (image, error) {
	u := f.of
	if int64(cap(u.scratch)) < length {
		u.scratch = make([]byte, length)
	}
	data := u.scratch[:length]
	if n, err := f.File.ReadAt(data, offset); int64(n) < length {
		if err != nil {
			return image{}, err
		}
		clear(data[n:])
	}
	before := image{offset: offset, length: length}
	if !allZero(data) {
		before.data = bytes.Clone(data)
	}
	if length > mostScratch {
		u.scratch = nil
	}
	return before, nil
}

func allZero(data []byte) bool {
	for len(data) > 0 {
		n := min(len(data), len(zeros))
		if !bytes.Equal(data[:n], zeros[:n]) {
			return false
		}
		data = data[n:]
	}
	return true
}

// Truncate implements [File].
func (f *volatileFile) Truncate(size int64) error {
	if err := f.File.Truncate(size); err != nil {
		return err
	}
	f.of.cut(size)
	return nil
}

// Sync implements [File]. It covers the writes that were done when it began. Syncs of a file may overlap: each drops what it covers and
// another one has not dropped yet.
func (f *volatileFile) Sync() error {
	u := f.of
	u.mu.Lock()
	size, err := f.File.Size()
	covered, cuts := u.dropped+len(u.undo), u.cuts
	u.mu.Unlock()
	if err != nil {
		return err
	}
	if err := f.File.Sync(); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.cuts != cuts {
		return nil // what was covered is no longer the file's beginning: the next Sync tells
	}
	u.synced = max(u.synced, size)
	if n := covered - u.dropped; n > 0 {
		for _, done := range u.undo[:n] {
			u.undone -= done.length
			u.kept -= int64(len(done.data))
		}
		u.undo = append([]image(nil), u.undo[n:]...)
		u.dropped += n
	}
	return nil
}
