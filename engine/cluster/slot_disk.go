package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"twinlog/engine/disk"
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

// Crash kills the node as the end of its machine would: what it had written and not synced is gone from its disk. It returns when the
// node's goroutines have ended and the disk is as it will be found.
func (s *Slot) Crash(ctx context.Context) error {
	files, can := s.files.(disk.Crashable)
	if !can {
		return sentence.Error(ErrRefused, "cannotCrash", "cannot crash {node}: its disk keeps no account of what is synced; kill it instead", s.Name())
	}
	release, err := s.act(ctx, "crash")
	if err != nil {
		return err
	}
	defer release()
	// A process that was killed left what it wrote with the system; a crash of the machine takes that too.
	l, err := s.current("crash", StateStarting, StateRunning, StatePaused, StateKilled)
	if err != nil {
		return err
	}
	if s.Status().State != StateKilled {
		if err := s.killLife("crash", l); err != nil {
			return err
		}
	}
	if err := s.awaitEnd(ctx, "crash", l); err != nil {
		return err
	}
	lost, err := files.LoseUnsynced()
	s.tracer.Emit(trace.UnsyncedLost{Bytes: lost.Bytes, Files: lost.Files})
	if err != nil {
		return sentence.Error(nil, "takingBackUnsynced", "crash {node}: taking back what it had not synced: {why}", s.Name(), err)
	}
	return nil
}

// Fault is what is wrong with the node's disk.
func (s *Slot) Fault() disk.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

// SetDisk sets what is wrong with the node's disk, in this life and the next ones.
func (s *Slot) SetDisk(fault disk.Fault) error {
	if fault.Delay < 0 {
		return sentence.Error(ErrInvalid, "negativeDelay", "the disk of {node} cannot have a delay of {given}: it must not be negative", s.Name(), fault.Delay)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == fault {
		return nil
	}
	s.fault = fault
	if s.life != nil {
		s.life.disk.Set(fault)
	}
	s.tracer.Emit(diskEvent(fault))
	return nil
}

func diskEvent(fault disk.Fault) trace.DiskChanged {
	return trace.DiskChanged{DelayMS: fault.Delay.Milliseconds(), Full: fault.Full, FailSync: fault.FailSync != nil}
}

// mostFiles bounds what Files looks at.
const mostFiles = 2000

// Files lists the files of the node that hold data, the newest ones first.
func (s *Slot) Files() ([]StoredFile, error) {
	found := []StoredFile{}
	waiting := []string{"."}
	for len(waiting) > 0 && len(found) < mostFiles {
		directory := waiting[0]
		waiting = waiting[1:]
		entries, err := s.files.ReadDir(directory)
		if directory != "." && errors.Is(err, fs.ErrNotExist) {
			continue // the node has deleted it since
		}
		if err != nil {
			return nil, fmt.Errorf("the files of %s: %w", s.Name(), err)
		}
		for _, entry := range entries {
			name := path.Join(directory, entry.Name())
			if entry.IsDir() {
				waiting = append(waiting, name)
				continue
			}
			if info, err := entry.Info(); err == nil && info.Size() > 0 { // else it is gone by now
				found = append(found, StoredFile{Name: name, Bytes: info.Size(), Modified: info.ModTime()})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b StoredFile) int { return b.Modified.Compare(a.Modified) })
	return found, nil
}

// Corrupt turns over one bit of a file of the node's. It takes its turn as actions do: a crash that takes back what was not synced must not
// meet it.
func (s *Slot) Corrupt(ctx context.Context, c Corruption) error {
	if path.IsAbs(c.File) || path.Clean(c.File) != c.File || c.File == ".." || len(c.File) > 2 && c.File[:3] == "../" {
		return sentence.Error(ErrInvalid, "notAFileOf", `"{file}" is no file in the directory of {node}`, c.File, s.Name())
	}
	release, err := s.act(ctx, "corrupt")
	if err != nil {
		return err
	}
	defer release()
	info, err := s.files.Stat(c.File)
	if err != nil || info.IsDir() {
		return sentence.Error(ErrInvalid, "noSuchFile", `{node} has no file "{file}"`, s.Name(), c.File)
	}
	if c.Offset < 0 || c.Offset >= info.Size() || c.Bit < 0 || c.Bit > 7 {
		return sentence.Error(ErrInvalid, "notABit", "{file} of {node} has offsets from 0 to {last}, and a byte has bits from 0 to 7", c.File, s.Name(), info.Size()-1)
	}
	if err := disk.NewFaults(s.files).FlipBit(c.File, c.Offset, uint(c.Bit)); err != nil {
		return sentence.Error(nil, "corruptFile", "corrupt {file} of {node}: {why}", c.File, s.Name(), err)
	}
	s.tracer.Emit(trace.DiskCorrupted{File: c.File, Offset: c.Offset, Bit: c.Bit})
	return nil
}
