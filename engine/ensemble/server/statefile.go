package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"

	"twinlog/engine/disk"
)

// promise is what a server must never forget: under which Raft id it takes part, the vote it gave in which term, and up to which change of
// the members it knows them to be committed.
type promise struct {
	raftID uint64
	term   uint64
	vote   uint64
	commit uint64 // an index up to which all is committed, that of the last known change of the members or behind it
}

// promiseFile keeps the newest promise. It is written in two places by turns, a sector apart, so that a torn write leaves the one
// before whole:
//
//	byte 0    slot 0: crc32c uint32, version uint32 (1), count uint64, raft id, term, vote, commit uint64
//	byte 512  slot 1: the same
//
// Big-endian; the checksum covers what follows it. The slot with the larger count holds.
type promiseFile struct {
	file  disk.File
	count uint64
	last  promise
}

const (
	promiseName     = "promise"
	promiseSize     = 48
	promiseDistance = 512
	promiseVersion  = 1
)

// openPromises opens the file; found is false when the server has never promised anything.
func openPromises(d disk.Disk, dir string) (file *promiseFile, found bool, err error) {
	name := dir + "/" + promiseName
	f, err := d.OpenFile(name, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = d.OpenFile(name, os.O_RDWR|os.O_CREATE); err == nil {
			err = d.SyncDir(dir)
		}
	}
	if err != nil {
		return nil, false, fmt.Errorf("opening the file of Raft votes %s: %w", name, err)
	}
	file = &promiseFile{file: f}
	written := false
	for slot := range int64(2) {
		var bytes [promiseSize]byte
		n, err := f.ReadAt(bytes[:], slot*promiseDistance)
		if err != nil && err != io.EOF {
			return nil, false, fmt.Errorf("reading the Raft votes in %s: %w", name, err)
		}
		written = written || n > 0
		if n == promiseSize && file.adopt(bytes[:]) {
			found = true
		}
	}
	if written && !found {
		size, _ := f.Size()
		if size > promiseDistance {
			return nil, false, fmt.Errorf("the Raft votes in %s are damaged in both places; remove the server's directory, so that it joins anew", name)
		}
	}
	return file, found, nil
}

func (f *promiseFile) adopt(slot []byte) bool {
	if binary.BigEndian.Uint32(slot) != crc32.Checksum(slot[4:], castagnoli) || binary.BigEndian.Uint32(slot[4:]) != promiseVersion {
		return false
	}
	if count := binary.BigEndian.Uint64(slot[8:]); count > f.count {
		f.count = count
		f.last = promise{
			raftID: binary.BigEndian.Uint64(slot[16:]), term: binary.BigEndian.Uint64(slot[24:]),
			vote: binary.BigEndian.Uint64(slot[32:]), commit: binary.BigEndian.Uint64(slot[40:]),
		}
	}
	return true
}

// save makes a promise durable.
func (f *promiseFile) save(p promise) error {
	f.count++
	slot := make([]byte, 4, promiseSize)
	slot = binary.BigEndian.AppendUint32(slot, promiseVersion)
	for _, field := range []uint64{f.count, p.raftID, p.term, p.vote, p.commit} {
		slot = binary.BigEndian.AppendUint64(slot, field)
	}
	binary.BigEndian.PutUint32(slot, crc32.Checksum(slot[4:], castagnoli))
	if _, err := f.file.WriteAt(slot, int64(f.count%2)*promiseDistance); err != nil {
		return fmt.Errorf("writing the Raft vote of term %d: %w", p.term, err)
	}
	if err := f.file.Sync(); err != nil {
		return fmt.Errorf("syncing the Raft vote of term %d: %w", p.term, err)
	}
	f.last = p
	return nil
}

func (f *promiseFile) close() error { return f.file.Close() }
