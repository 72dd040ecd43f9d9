package commitlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path"

	"twinlog/engine/disk"
	"twinlog/engine/sentence"
)

// The durable file keeps how much of the active segment is known to be on the disk. With it, recovery tells a torn tail, which a crash
// leaves behind what was synced and which is cut, from damage to what was synced, which is reported and never cut. It has two slots,
// written in turn, so that a torn write of one leaves the other:
//
//	0      | "TLDM" | version u16 | 0 u16 | sequence i64 | segment base i64 | durable bytes i64 | next i64 | crc32c u32 |
//	4096   | the same                                                                                                   |
//
// Next is the offset after the last durable frame.
//
// The valid slot with the higher sequence holds. It may say less than is durable, never more: it is written after a sync, and lowered
// on the disk before anything is cut. So it needs no sync of its own; it gets one every durableSyncBytes to bound how far it can lag
// behind after a power cut. A process that is killed leaves it at the last sync or at the one before: it may die between a sync and its
// note, and syncs that overlap need not all be noted.
const (
	durableFile      = "durable"
	durableMagic     = "TLDM"
	durableVersion   = 1
	durableSlotSize  = 44
	durableSlotGap   = 4096
	durableSyncBytes = 16 << 20
)

// durableMark says that the first size bytes of the segment at base are durable, which hold the offsets before next.
type durableMark struct{ sequence, base, size, next int64 }

func (m durableMark) encode(slot *[durableSlotSize]byte) {
	copy(slot[:], durableMagic)
	binary.BigEndian.PutUint16(slot[4:], durableVersion)
	binary.BigEndian.PutUint64(slot[8:], uint64(m.sequence))
	binary.BigEndian.PutUint64(slot[16:], uint64(m.base))
	binary.BigEndian.PutUint64(slot[24:], uint64(m.size))
	binary.BigEndian.PutUint64(slot[32:], uint64(m.next))
	binary.BigEndian.PutUint32(slot[40:], crc32.Checksum(slot[:40], castagnoli))
}

func decodeDurableMark(slot []byte) (durableMark, error) {
	switch {
	case len(slot) < durableSlotSize || string(slot[:4]) != durableMagic:
		return durableMark{}, errors.New("no durable mark")
	case binary.BigEndian.Uint16(slot[4:]) != durableVersion:
		return durableMark{}, fmt.Errorf("durable mark of version %d", binary.BigEndian.Uint16(slot[4:]))
	case binary.BigEndian.Uint32(slot[40:]) != crc32.Checksum(slot[:40], castagnoli):
		return durableMark{}, errors.New("durable mark with a wrong checksum")
	}
	return durableMark{
		sequence: int64(binary.BigEndian.Uint64(slot[8:])), base: int64(binary.BigEndian.Uint64(slot[16:])),
		size: int64(binary.BigEndian.Uint64(slot[24:])), next: int64(binary.BigEndian.Uint64(slot[32:])),
	}, nil
}

// newestDurableMark is the one that holds among the slots of a durable file; the zero mark when there is none.
func newestDurableMark(bytes []byte) (newest durableMark) {
	for at := 0; at < len(bytes); at += durableSlotGap {
		if m, err := decodeDurableMark(bytes[at:]); err == nil && m.sequence > newest.sequence {
			newest = m
		}
	}
	return newest
}

// loadDurableMark reads the durable file. One that is missing or wholly unreadable vouches for nothing.
func loadDurableMark(d disk.Disk, dir string) (durableMark, error) {
	file, err := d.OpenFile(path.Join(dir, durableFile), os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return durableMark{}, nil
	}
	if err != nil {
		return durableMark{}, err
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		return durableMark{}, err
	}
	bytes := make([]byte, min(size, durableSlotGap+durableSlotSize))
	if _, err := file.ReadAt(bytes, 0); err != nil && len(bytes) > 0 {
		return durableMark{}, err
	}
	return newestDurableMark(bytes), nil
}

// raiseDurable notes that a segment's first size bytes were synced. Cuts is what l.cuts was before the sync: if the log was cut since,
// the note would be a lie. The note is an addition to a sync that has succeeded already, so that its failure is none of the log's.
func (l *Log) raiseDurable(base, size, next int64, cuts int) {
	// The lock is held across the write on purpose: it orders the writes of this small file. Who finds it taken leaves the mark lower.
	if !l.marking.TryLock() {
		return
	}
	defer l.marking.Unlock()
	l.mu.RLock()
	stale := l.cuts != cuts || l.closed
	l.mu.RUnlock()
	if stale {
		return
	}
	grown := size
	if base == l.mark.base {
		grown = size - l.mark.size
	}
	if l.writeDurable(durableMark{l.mark.sequence + 1, base, size, next}) != nil {
		return
	}
	if l.markLag += grown; l.markLag >= durableSyncBytes && l.markFile.Sync() == nil {
		l.markLag = 0
	}
}

// lowerDurable makes the mark say, durably and in both slots, that nothing of the segment at base or a later one is vouched for. It
// comes before everything that cuts the log.
func (l *Log) lowerDurable(base int64) error {
	l.mu.Lock()
	l.cuts++
	l.mu.Unlock()
	l.marking.Lock()
	defer l.marking.Unlock()
	if m := l.mark; m.sequence == 0 || m.base < base || m.base == base && m.size == 0 {
		return nil
	}
	for range 2 {
		err := l.writeDurable(durableMark{sequence: l.mark.sequence + 1, base: base, next: base})
		if err == nil {
			err = l.markFile.Sync()
		}
		if err != nil {
			return fmt.Errorf("lower the durable mark to segment %d: %w", base, err)
		}
	}
	l.markLag = 0
	return nil
}

// writeDurable is called with marking held.
func (l *Log) writeDurable(m durableMark) error {
	if l.markFile == nil {
		file, err := l.disk.OpenFile(path.Join(l.dir, durableFile), os.O_RDWR|os.O_CREATE)
		if err != nil {
			return err
		}
		l.markFile = file
	}
	l.mark = m // also when the write fails: nobody knows then what the slot says
	m.encode(&l.markBytes)
	_, err := l.markFile.WriteAt(l.markBytes[:], m.sequence%2*durableSlotGap)
	return err
}

func (l *Log) closeDurable() {
	l.marking.Lock()
	defer l.marking.Unlock()
	if l.markFile != nil {
		l.markFile.Close()
		l.markFile = nil
	}
}

// checkDurable tells whether a last segment of so many bytes can be what the mark vouches for.
func (l *Log) checkDurable(last *segment, size int64) error {
	switch m := l.mark; {
	case m.size == 0 || m.base < last.base:
		return nil
	case m.base > last.base:
		missing := &segment{base: m.base}
		return &CorruptError{File: missing.file(l.dir, logSuffix), Err: sentence.Error(nil, "segmentMissing", "the segment is missing, of which {size} {size|byte|bytes} were durable; restore it, or remove the file durable to accept the loss", m.size)}
	case size < m.size:
		return &CorruptError{File: last.file(l.dir, logSuffix), Position: size, Err: sentence.Error(nil, "segmentEnds", "the segment ends here, but {size} {size|byte|bytes} of it were durable; restore it, or remove the file durable to accept the loss", m.size)}
	}
	return nil
}
