package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrSevered is the error of everything that is done with a severed disk.
var ErrSevered = errors.New("the node's disk is severed")

// Fault is what is wrong with a disk. The zero Fault is a healthy one.
type Fault struct {
	Delay    time.Duration // more time for each read, write and sync
	Full     bool          // writes and creations fail with ENOSPC
	FailSync error         // what Sync and SyncDir fail with
}

// Faults is a Disk over another one, with faults that can be set at any time. Severing it is what a crash of its node does to it:
// what was written stays written, and nothing more comes after it.
type Faults struct {
	inner Disk
	sick  atomic.Bool // anything at all is to be done: the only thing that a healthy disk looks at

	mu      sync.Mutex
	fault   Fault
	severed bool
	thawed  chan struct{} // closed by Thaw and Sever; nil while not frozen
}

// NewFaults returns a healthy disk over inner.
func NewFaults(inner Disk) *Faults { return &Faults{inner: inner} }

// Set replaces the fault.
func (f *Faults) Set(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
	f.update()
}

// Sever makes every operation fail with [ErrSevered] from now on, those that wait in Freeze included. Open files can still be closed.
func (f *Faults) Sever() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.severed = true
	f.update()
	f.thaw()
}

// Freeze makes every operation wait until Thaw or Sever.
func (f *Faults) Freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.thawed == nil && !f.severed {
		f.thawed = make(chan struct{})
		f.update()
	}
}

// Thaw ends Freeze.
func (f *Faults) Thaw() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.thaw()
}

func (f *Faults) thaw() {
	if f.thawed != nil {
		close(f.thawed)
		f.thawed = nil
		f.update()
	}
}

func (f *Faults) update() { f.sick.Store(f.severed || f.thawed != nil || f.fault != Fault{}) }

// FlipBit turns one bit of a file over, behind everybody's back: bit 0 to 7 of the byte at offset.
func (f *Faults) FlipBit(name string, offset int64, bit uint) error {
	file, err := f.inner.OpenFile(name, os.O_RDWR)
	if err != nil {
		return err
	}
	defer file.Close()
	var b [1]byte
	if _, err := file.ReadAt(b[:], offset); err != nil {
		return fmt.Errorf("flip a bit of %s at %d: %w", name, offset, err)
	}
	b[0] ^= 1 << (bit % 8)
	if _, err := file.WriteAt(b[:], offset); err != nil {
		return err
	}
	return file.Sync() // it must not be healed by a crash
}

type operation int

const (
	looking operation = iota // names and sizes
	reading
	writing // bytes or entries
	syncing
)

// check does to an operation what the faults do to it.
func (f *Faults) check(kind operation, op, name string) error {
	for f.sick.Load() {
		f.mu.Lock()
		fault, severed, thawed := f.fault, f.severed, f.thawed
		f.mu.Unlock()
		switch {
		case severed:
			return &fs.PathError{Op: op, Path: name, Err: ErrSevered}
		case thawed != nil:
			<-thawed
			continue
		}
		if fault.Delay > 0 && kind != looking {
			time.Sleep(fault.Delay)
		}
		switch {
		case kind == writing && fault.Full:
			return &fs.PathError{Op: op, Path: name, Err: syscall.ENOSPC}
		case kind == syncing && fault.FailSync != nil:
			return &fs.PathError{Op: op, Path: name, Err: fault.FailSync}
		}
		return nil
	}
	return nil
}

// OpenFile implements [Disk].
func (f *Faults) OpenFile(name string, flag int) (File, error) {
	kind := looking
	if flag&(os.O_CREATE|os.O_TRUNC) != 0 {
		kind = writing
		if _, err := f.inner.Stat(name); err == nil && flag&os.O_TRUNC == 0 {
			kind = looking // nothing is created: a full disk does not mind
		}
	}
	if err := f.check(kind, "open", name); err != nil {
		return nil, err
	}
	file, err := f.inner.OpenFile(name, flag)
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: file, faults: f}, nil
}

// MkdirAll implements [Disk].
func (f *Faults) MkdirAll(name string) error {
	if err := f.check(writing, "mkdir", name); err != nil {
		return err
	}
	return f.inner.MkdirAll(name)
}

// Rename implements [Disk].
func (f *Faults) Rename(from, to string) error {
	if err := f.check(writing, "rename", from); err != nil {
		return err
	}
	return f.inner.Rename(from, to)
}

// Remove implements [Disk]. It works on a full disk.
func (f *Faults) Remove(name string) error {
	if err := f.check(looking, "remove", name); err != nil {
		return err
	}
	return f.inner.Remove(name)
}

// RemoveAll implements [Disk]. It works on a full disk.
func (f *Faults) RemoveAll(name string) error {
	if err := f.check(looking, "remove", name); err != nil {
		return err
	}
	return f.inner.RemoveAll(name)
}

// ReadDir implements [Disk].
func (f *Faults) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := f.check(looking, "readdir", name); err != nil {
		return nil, err
	}
	return f.inner.ReadDir(name)
}

// Stat implements [Disk].
func (f *Faults) Stat(name string) (fs.FileInfo, error) {
	if err := f.check(looking, "stat", name); err != nil {
		return nil, err
	}
	return f.inner.Stat(name)
}

// SyncDir implements [Disk].
func (f *Faults) SyncDir(name string) error {
	if err := f.check(syncing, "sync", name); err != nil {
		return err
	}
	return f.inner.SyncDir(name)
}

type faultyFile struct {
	File
	faults *Faults
}

func (f *faultyFile) ReadAt(p []byte, offset int64) (int, error) {
	if err := f.faults.check(reading, "read", f.Name()); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, offset)
}

func (f *faultyFile) WriteAt(p []byte, offset int64) (int, error) {
	if err := f.faults.check(writing, "write", f.Name()); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, offset)
}

func (f *faultyFile) Size() (int64, error) {
	if err := f.faults.check(looking, "stat", f.Name()); err != nil {
		return 0, err
	}
	return f.File.Size()
}

// Truncate works on a full disk: it only gives bytes back, or makes a hole.
func (f *faultyFile) Truncate(size int64) error {
	if err := f.faults.check(looking, "truncate", f.Name()); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *faultyFile) Sync() error {
	if err := f.faults.check(syncing, "sync", f.Name()); err != nil {
		return err
	}
	return f.File.Sync()
}

// OSFile is nil while anything is wrong with the disk: nothing may go past it.
func (f *faultyFile) OSFile() *os.File {
	if f.faults.sick.Load() {
		return nil
	}
	return f.File.OSFile()
}
