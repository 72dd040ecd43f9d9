package disk

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
)

// Crashable is a Disk that can lose what was not synced, as a power cut would.
type Crashable interface {
	Disk
	// LoseUnsynced takes everything back that was not synced. Nobody may use the disk meanwhile, and files that are open are not to be
	// used any more.
	LoseUnsynced() (Lost, error)
}

// Lost is what a crash took.
type Lost struct {
	Bytes int64 // that were written and not synced
	Files int   // that were created, and whose directory was not synced
}

// Volatile is a Disk over another one that takes note of what has not been synced, so that it can be lost. It takes the worst that the
// contract of [Disk] allows: nothing that was not synced survives. In one thing it is as kind as a file system that keeps a journal: what
// happens in a directory becomes durable in the order in which it happened. A removal, which cannot be taken back here, therefore makes
// the creations before it durable.
//
//	written to a file            lost: the file is cut back to its size at the last Sync, bytes that were written over come back
//	created, made, renamed       lost: the entry is gone, or has its old name again
//	removed, replaced, shortened survives, as if the system had just written it
type Volatile struct {
	inner Disk

	mu      sync.Mutex
	files   map[string]*unsyncedFile // by present name; those that were opened since the start
	entries []entryUndo              // not yet durable, oldest first
}

var _ Crashable = (*Volatile)(nil)

// NewVolatile returns a Disk that takes all that is there now for synced.
func NewVolatile(inner Disk) *Volatile {
	return &Volatile{inner: inner, files: map[string]*unsyncedFile{}}
}

// entryUndo takes the creation of an entry back, or its renaming when from is set.
type entryUndo struct {
	name, from string
	isFile     bool
}

func (u entryUndo) touches(directory string) bool {
	return path.Dir(u.name) == directory || u.from != "" && path.Dir(u.from) == directory
}

// OpenFile implements [Disk].
func (v *Volatile) OpenFile(name string, flag int) (File, error) {
	name = path.Clean(name)
	v.mu.Lock()
	defer v.mu.Unlock()
	info, err := v.inner.Stat(name)
	created := errors.Is(err, fs.ErrNotExist)
	file, err := v.inner.OpenFile(name, flag)
	if err != nil {
		return nil, err
	}
	tracked := v.files[name]
	switch {
	case created:
		tracked = &unsyncedFile{}
		v.entries = append(v.entries, entryUndo{name: name, isFile: true})
	case tracked == nil:
		tracked = &unsyncedFile{synced: info.Size()}
	}
	v.files[name] = tracked
	if flag&os.O_TRUNC != 0 {
		tracked.cut(0)
	}
	return &volatileFile{File: file, of: tracked}, nil
}

// MkdirAll implements [Disk].
func (v *Volatile) MkdirAll(name string) error {
	name = path.Clean(name)
	v.mu.Lock()
	defer v.mu.Unlock()
	var missing []string
	for at := name; at != "." && at != "/"; at = path.Dir(at) {
		if _, err := v.inner.Stat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, at)
	}
	if err := v.inner.MkdirAll(name); err != nil {
		return err
	}
	for i := len(missing) - 1; i >= 0; i-- {
		v.entries = append(v.entries, entryUndo{name: missing[i]})
	}
	return nil
}

// Rename implements [Disk].
func (v *Volatile) Rename(from, to string) error {
	from, to = path.Clean(from), path.Clean(to)
	v.mu.Lock()
	defer v.mu.Unlock()
	_, err := v.inner.Stat(to)
	replaces := err == nil
	if err := v.inner.Rename(from, to); err != nil {
		return err
	}
	if replaces {
		v.settle(path.Dir(to))
		v.settle(path.Dir(from))
		delete(v.files, to)
	} else {
		v.entries = append(v.entries, entryUndo{name: to, from: from})
	}
	v.rename(from, to)
	return nil
}

// rename moves what is known of a file, or of all files in a directory.
func (v *Volatile) rename(from, to string) {
	for name, tracked := range v.files {
		if name == from || strings.HasPrefix(name, from+"/") {
			delete(v.files, name)
			v.files[to+strings.TrimPrefix(name, from)] = tracked
		}
	}
}

// Remove implements [Disk].
func (v *Volatile) Remove(name string) error { return v.remove(name, v.inner.Remove) }

// RemoveAll implements [Disk].
func (v *Volatile) RemoveAll(name string) error { return v.remove(name, v.inner.RemoveAll) }

func (v *Volatile) remove(name string, remove func(string) error) error {
	name = path.Clean(name)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := remove(name); err != nil {
		return err
	}
	below := func(other string) bool { return name == "." || other == name || strings.HasPrefix(other, name+"/") }
	for other := range v.files {
		if below(other) {
			delete(v.files, other)
		}
	}
	v.settle(path.Dir(name))
	v.forget(func(u entryUndo) bool { return below(u.name) })
	return nil
}

// settle takes what happened in a directory for durable.
func (v *Volatile) settle(directory string) {
	v.forget(func(u entryUndo) bool { return u.touches(directory) })
}

func (v *Volatile) forget(which func(entryUndo) bool) {
	kept := v.entries[:0]
	for _, u := range v.entries {
		if !which(u) {
			kept = append(kept, u)
		}
	}
	clear(v.entries[len(kept):])
	v.entries = kept
}

// ReadDir implements [Disk].
func (v *Volatile) ReadDir(name string) ([]fs.DirEntry, error) { return v.inner.ReadDir(name) }

// Stat implements [Disk].
func (v *Volatile) Stat(name string) (fs.FileInfo, error) { return v.inner.Stat(name) }

// SyncDir implements [Disk]. What is created while it works is taken for unsynced.
func (v *Volatile) SyncDir(name string) error {
	name = path.Clean(name)
	v.mu.Lock()
	var covered []entryUndo
	for _, u := range v.entries {
		if u.touches(name) {
			covered = append(covered, u)
		}
	}
	v.mu.Unlock()
	if err := v.inner.SyncDir(name); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, u := range covered {
		first := true
		v.forget(func(other entryUndo) bool {
			same := first && other == u
			first = first && !same
			return same
		})
	}
	return nil
}

// LoseUnsynced implements [Crashable].
func (v *Volatile) LoseUnsynced() (Lost, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var lost Lost
	var failures []error
	for i := len(v.entries) - 1; i >= 0; i-- {
		u := v.entries[i]
		if u.from != "" {
			v.rename(u.name, u.from)
			failures = append(failures, missingIsFine(v.inner.Rename(u.name, u.from)))
			continue
		}
		if u.isFile {
			lost.Files++
			if info, err := v.inner.Stat(u.name); err == nil {
				lost.Bytes += info.Size()
			}
		}
		delete(v.files, u.name)
		failures = append(failures, missingIsFine(v.inner.RemoveAll(u.name)))
	}
	v.entries = nil
	for name, tracked := range v.files {
		bytes, err := tracked.lose(v.inner, name)
		lost.Bytes += bytes
		failures = append(failures, missingIsFine(err))
	}
	v.files = map[string]*unsyncedFile{}
	return lost, errors.Join(failures...)
}

// missingIsFine: what lay in a directory that is gone with the crash is gone too.
func missingIsFine(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
