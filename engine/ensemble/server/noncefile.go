package server

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"

	"twinlog/engine/disk"
)

// The nonce file tells one blank disk from another: this server's disk from the one that it lost. It is written before the server says a
// word, and removed once the server has promised something under a Raft id:
//
//	crc32c uint32, nonce uint64
//
// A server that restarts before it was welcomed is therefore still the one that the others may have made a member already, and may count
// on: were it another one at each start, it would need another change of the members each time, and the members that count on it might
// have no majority without it. Whose nonce is on the disk has never voted, so that to be welcomed twice under one Raft id does no harm.
const (
	nonceName = storageDirectory + "/nonce"
	nonceSize = 12
)

// blankNonce is the nonce of a blank disk. It is durable when blankNonce returns.
func blankNonce(d disk.Disk) (int64, error) {
	f, err := d.OpenFile(nonceName, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return 0, fmt.Errorf("opening the blank server's nonce %s: %w", nonceName, err)
	}
	defer f.Close()
	var bytes [nonceSize]byte
	n, err := f.ReadAt(bytes[:], 0)
	if err != nil && err != io.EOF {
		return 0, fmt.Errorf("reading the blank server's nonce in %s: %w", nonceName, err)
	}
	if nonce, whole := decodeNonce(bytes[:n]); whole {
		return nonce, nil
	}
	nonce := newNonce()
	binary.BigEndian.PutUint64(bytes[4:], uint64(nonce))
	binary.BigEndian.PutUint32(bytes[:], crc32.Checksum(bytes[4:], castagnoli))
	if _, err = f.WriteAt(bytes[:], 0); err == nil {
		if err = f.Sync(); err == nil {
			err = d.SyncDir(storageDirectory)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("writing the blank server's nonce to %s: %w", nonceName, err)
	}
	return nonce, nil
}

func decodeNonce(file []byte) (nonce int64, whole bool) {
	if len(file) != nonceSize || binary.BigEndian.Uint32(file) != crc32.Checksum(file[4:], castagnoli) {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(file[4:])), true
}

// forgetNonce is for a disk that is blank no longer. Should the promises be lost later, the server is another one.
func forgetNonce(d disk.Disk) error {
	err := d.Remove(nonceName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = d.SyncDir(storageDirectory)
	}
	if err != nil {
		return fmt.Errorf("removing the nonce of a server that is blank no longer: %w", err)
	}
	return nil
}

func newNonce() int64 {
	var bytes [8]byte
	_, _ = rand.Read(bytes[:]) // it cannot fail
	return int64(binary.BigEndian.Uint64(bytes[:])>>1) + 1
}
