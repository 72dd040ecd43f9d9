package commitlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path"
	"time"

	"twinlog/engine/disk"
)

// The moved file names the segments that are on the medium, replaced as a whole:
//
//	| "TLMV" | version u16 | 0 u16 | count u32 | crc32c u32 | count x (base i64, next i64, size i64, largest time i64) |
const (
	movedFile       = "moved"
	movedMagic      = "TLMV"
	movedVersion    = 1
	movedHeaderSize = 16
	movedEntrySize  = 32
)

func encodeMoved(segments []*segment) []byte {
	bytes := make([]byte, movedHeaderSize, movedHeaderSize+len(segments)*movedEntrySize)
	copy(bytes, movedMagic)
	binary.BigEndian.PutUint16(bytes[4:], movedVersion)
	binary.BigEndian.PutUint32(bytes[8:], uint32(len(segments)))
	for _, s := range segments {
		for _, value := range []int64{s.base, s.next, s.size, s.maxTime} {
			bytes = binary.BigEndian.AppendUint64(bytes, uint64(value))
		}
	}
	binary.BigEndian.PutUint32(bytes[12:], movedChecksum(bytes))
	return bytes
}

func movedChecksum(bytes []byte) uint32 {
	return crc32.Update(crc32.Checksum(bytes[:12], castagnoli), castagnoli, bytes[movedHeaderSize:])
}

func decodeMoved(bytes []byte) (segments []*segment, err error) {
	if len(bytes) < movedHeaderSize || string(bytes[:4]) != movedMagic {
		return nil, errors.New("no list of moved segments")
	}
	if version := binary.BigEndian.Uint16(bytes[4:]); version != movedVersion {
		return nil, fmt.Errorf("a list of moved segments of version %d", version)
	}
	count := int(binary.BigEndian.Uint32(bytes[8:]))
	if len(bytes) != movedHeaderSize+count*movedEntrySize || binary.BigEndian.Uint32(bytes[12:]) != movedChecksum(bytes) {
		return nil, fmt.Errorf("%d bytes for %d moved segments, or a wrong checksum", len(bytes), count)
	}
	for at := movedHeaderSize; at < len(bytes); at += movedEntrySize {
		value := func(i int) int64 { return int64(binary.BigEndian.Uint64(bytes[at+8*i:])) }
		s := &segment{base: value(0), next: value(1), size: value(2), maxTime: value(3), moved: true, began: time.Now()}
		segments = append(segments, s)
	}
	return segments, nil
}

const maxMovedFile = 64 << 20

func loadMoved(d disk.Disk, dir string) ([]*segment, error) {
	file, err := d.OpenFile(path.Join(dir, movedFile), os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		return nil, err
	}
	if size > maxMovedFile {
		return nil, &CorruptError{File: file.Name(), Err: fmt.Errorf("%d bytes long", size)}
	}
	bytes := make([]byte, size)
	if _, err := file.ReadAt(bytes, 0); err != nil && size > 0 {
		return nil, err
	}
	segments, err := decodeMoved(bytes)
	if err != nil {
		return nil, &CorruptError{File: file.Name(), Err: err}
	}
	return segments, nil
}

func saveMoved(d disk.Disk, dir string, segments []*segment) error {
	return replaceFile(d, dir, movedFile, encodeMoved(segments))
}
