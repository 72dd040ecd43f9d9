package commitlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"sort"

	"twinlog/engine/disk"
)

// An index file, either kind, big-endian (FORMAT.md draws it):
//
//	| "TLIX" | version u16 | kind u16 | covered i64 | next i64 | count u32 | crc32c u32 | count x (key i64, value i64) |
//
// covered is the segment's size when the index was written, next the offset after its last frame, and the checksum is over the
// entries and the fields before it. The offset index maps a frame's base offset to its byte, the time index the largest time so
// far to a frame's base offset.
const (
	indexMagic      = "TLIX"
	indexVersion    = 1
	indexHeaderSize = 32
	indexEntrySize  = 16

	offsetIndexKind = 1
	timeIndexKind   = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errBadIndex = errors.New("not a valid index")

type indexEntry struct{ key, value int64 }

// segmentIndex holds a segment's sparse indexes. Slices only grow while readers hold them, so that a reader may go on with the
// headers that it copied under the log's mu.
type segmentIndex struct {
	offsets []indexEntry // base offset -> byte
	times   []indexEntry // largest time up to and including the frame, in ns since 1970 -> its base offset
	maxTime int64
}

// indexSample is an entry to be made in both indexes.
type indexSample struct{ base, position, maxTime int64 }

// due is the position from which on the next frame gets an entry: the first one, and then one every interval bytes.
func (x *segmentIndex) due(interval int64) int64 {
	if n := len(x.offsets); n > 0 {
		return x.offsets[n-1].value + interval
	}
	return 0
}

// add notes a frame that was written at position.
func (x *segmentIndex) add(frame Frame, position, interval int64) {
	x.maxTime = max(x.maxTime, frame.nanoseconds())
	if position >= x.due(interval) {
		x.addSample(indexSample{frame.BaseOffset, position, x.maxTime})
	}
}

func (x *segmentIndex) addSample(s indexSample) {
	x.offsets = append(x.offsets, indexEntry{s.base, s.position})
	if n := len(x.times); n == 0 || s.maxTime > x.times[n-1].key {
		x.times = append(x.times, indexEntry{s.maxTime, s.base})
	}
}

func (x *segmentIndex) addSamples(samples []indexSample, maxTime int64) {
	for _, s := range samples {
		x.addSample(s)
	}
	x.maxTime = maxTime
}

// floor returns the value of the last entry whose key is <= key; 0 when there is none.
func floor(entries []indexEntry, key int64) int64 {
	i := sort.Search(len(entries), func(i int) bool { return entries[i].key > key })
	if i == 0 {
		return 0
	}
	return entries[i-1].value
}

// floorPosition returns the position of the last indexed frame that begins at or before position.
func floorPosition(offsets []indexEntry, position int64) int64 {
	i := sort.Search(len(offsets), func(i int) bool { return offsets[i].value > position })
	if i == 0 {
		return 0
	}
	return offsets[i-1].value
}

// saveIndexes writes both index files of a segment whose contents are durable. They are caches: a missing or damaged one is made anew
// from the segment, so no sync is needed.
func (s *segment) saveIndexes(d disk.Disk, dir string) error {
	if err := writeIndex(d, s.file(dir, indexSuffix), offsetIndexKind, s, s.index.offsets); err != nil {
		return err
	}
	return writeIndex(d, s.file(dir, timeIndexSuffix), timeIndexKind, s, append(s.index.times[:len(s.index.times):len(s.index.times)], indexEntry{s.index.maxTime, s.next}))
}

// removeIndexes removes a segment's index files, durably. That matters: an index that a crash brings back after the segment was cut and
// grew to the same size again would vouch for bytes that it has never seen.
func (s *segment) removeIndexes(d disk.Disk, dir string) error {
	removed := false
	for _, suffix := range []string{indexSuffix, timeIndexSuffix} {
		err := d.Remove(s.file(dir, suffix))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		removed = removed || err == nil
	}
	if !removed {
		return nil
	}
	return d.SyncDir(dir)
}

func writeIndex(d disk.Disk, name string, kind uint16, s *segment, entries []indexEntry) error {
	bytes := make([]byte, indexHeaderSize, indexHeaderSize+len(entries)*indexEntrySize)
	copy(bytes, indexMagic)
	binary.BigEndian.PutUint16(bytes[4:], indexVersion)
	binary.BigEndian.PutUint16(bytes[6:], kind)
	binary.BigEndian.PutUint64(bytes[8:], uint64(s.size))
	binary.BigEndian.PutUint64(bytes[16:], uint64(s.next))
	binary.BigEndian.PutUint32(bytes[24:], uint32(len(entries)))
	for _, entry := range entries {
		bytes = binary.BigEndian.AppendUint64(bytes, uint64(entry.key))
		bytes = binary.BigEndian.AppendUint64(bytes, uint64(entry.value))
	}
	binary.BigEndian.PutUint32(bytes[28:], indexChecksum(bytes))
	file, err := d.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.WriteAt(bytes, 0)
	return err
}

func indexChecksum(bytes []byte) uint32 {
	sum := crc32.Update(0, castagnoli, bytes[:28])
	return crc32.Update(sum, castagnoli, bytes[indexHeaderSize:])
}

// savedIndex is what an index file says.
type savedIndex struct {
	covered int64
	next    int64
	entries []indexEntry
}

func readIndex(d disk.Disk, name string, kind uint16) (savedIndex, error) {
	file, err := d.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return savedIndex{}, err
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		return savedIndex{}, err
	}
	if size < indexHeaderSize || size > 1<<30 {
		return savedIndex{}, fmt.Errorf("%s: %w: %d bytes long", name, errBadIndex, size)
	}
	bytes := make([]byte, size)
	if _, err := file.ReadAt(bytes, 0); err != nil {
		return savedIndex{}, err
	}
	saved, err := decodeIndex(bytes, kind)
	if err != nil {
		return savedIndex{}, fmt.Errorf("%s: %w", name, err)
	}
	return saved, nil
}

func decodeIndex(bytes []byte, kind uint16) (savedIndex, error) {
	if len(bytes) < indexHeaderSize || string(bytes[:4]) != indexMagic {
		return savedIndex{}, fmt.Errorf("%w: no magic", errBadIndex)
	}
	if v, k := binary.BigEndian.Uint16(bytes[4:]), binary.BigEndian.Uint16(bytes[6:]); v != indexVersion || k != kind {
		return savedIndex{}, fmt.Errorf("%w: version %d, kind %d", errBadIndex, v, k)
	}
	count := int(binary.BigEndian.Uint32(bytes[24:]))
	if len(bytes) != indexHeaderSize+count*indexEntrySize {
		return savedIndex{}, fmt.Errorf("%w: %d bytes for %d entries", errBadIndex, len(bytes), count)
	}
	if binary.BigEndian.Uint32(bytes[28:]) != indexChecksum(bytes) {
		return savedIndex{}, fmt.Errorf("%w: checksum", errBadIndex)
	}
	saved := savedIndex{
		covered: int64(binary.BigEndian.Uint64(bytes[8:])),
		next:    int64(binary.BigEndian.Uint64(bytes[16:])),
		entries: make([]indexEntry, count),
	}
	for i := range saved.entries {
		at := bytes[indexHeaderSize+i*indexEntrySize:]
		saved.entries[i] = indexEntry{int64(binary.BigEndian.Uint64(at)), int64(binary.BigEndian.Uint64(at[8:]))}
	}
	return saved, nil
}
