package commitlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path"
	"slices"
	"time"

	"twinlog/engine/disk"
	"twinlog/engine/sentence"
)

// Recovery tells what Open had to repair.
type Recovery struct {
	// Scanned is how many bytes of segments had to be read because no index vouched for them.
	Scanned int64
	// CutBytes were removed from the end of CutFile, beginning at CutPosition, because CutReason. Zero for a clean log.
	CutBytes    int64
	CutFile     string
	CutPosition int64
	CutReason   string
	// RebuiltIndexes counts segments whose index files were missing or damaged.
	RebuiltIndexes int
}

// Open opens the log in a directory of d, or creates it. A torn tail (frames of the last segment that a crash left half-written) is
// cut and reported by [Log.Recovery]. Damage before the tail cannot come from a crash: it is a *CorruptError.
func Open(d disk.Disk, dir string, framing Framing, config Config) (*Log, error) {
	l := &Log{disk: d, dir: dir, framing: framing, config: config.withDefaults(), files: config.Files}
	if l.files == nil {
		l.files, l.ownFiles = NewFilePool(maxOpenSealed), true
	}
	if err := l.open(); err != nil {
		l.closeDurable()
		for _, s := range l.segments {
			s.handle.release()
		}
		return nil, fmt.Errorf("open log %s: %w", dir, err)
	}
	l.mu.Lock()
	victim := l.noteOpen(l.segments[len(l.segments)-1])
	l.mu.Unlock()
	victim.evict()
	return l, nil
}

func (l *Log) open() error {
	if err := l.disk.MkdirAll(l.dir); err != nil {
		return err
	}
	start, err := loadStart(l.disk, l.dir)
	if err != nil {
		return err
	}
	if l.mark, err = loadDurableMark(l.disk, l.dir); err != nil {
		return err
	}
	if err := l.finishRewrites(); err != nil {
		return err
	}
	// What is seen to be gone, or there, must be so after a crash, too, before anything is built on it.
	if err := l.disk.SyncDir(l.dir); err != nil {
		return err
	}
	bases, err := l.listSegments()
	if err != nil {
		return err
	}
	if bases, err = l.openMoved(bases); err != nil {
		return err
	}
	if len(l.segments) > 0 {
		start = max(start, l.segments[0].base)
	}
	if len(bases) == 0 {
		if err := l.beginOnDisk(start); err != nil {
			return err
		}
	}
	for i, base := range bases {
		last := i == len(bases)-1
		s, err := l.openSegment(base, last)
		if err != nil {
			return err
		}
		l.segments = append(l.segments, s)
	}
	l.start = max(start, l.segments[0].base)
	l.next = max(l.segments[len(l.segments)-1].next, l.start)
	l.synced = l.next
	if last := l.segments[len(l.segments)-1]; last.size > 0 && (l.mark.base != last.base || l.mark.size < last.size) {
		l.raiseDurable(last.base, last.size, last.next, l.cuts)
	}
	return nil
}

// beginOnDisk creates the first segment of a log that has none on the disk.
func (l *Log) beginOnDisk(start int64) error {
	if err := l.syncAncestors(); err != nil {
		return err
	}
	base := start
	if n := len(l.segments); n > 0 {
		base = max(base, l.segments[n-1].next)
		if err := l.checkDurable(l.segments[n-1], l.segments[n-1].size); err != nil {
			return err
		}
	}
	// What an earlier log in this directory left behind vouches for nothing.
	if err := l.lowerDurable(base); err != nil {
		return err
	}
	created, err := createSegment(l.disk, l.dir, base)
	if err != nil {
		return err
	}
	l.segments = append(l.segments, created)
	return nil
}

// syncAncestors makes the entries of a new log's directories durable: a synced file in a directory that a crash forgets is lost too.
func (l *Log) syncAncestors() error {
	for dir := path.Clean(l.dir); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if err := l.disk.SyncDir(path.Dir(dir)); err != nil {
			return err
		}
	}
	return nil
}

// openMoved begins the list of segments with those that are on the medium. A file that one of them has left is removed: the moved file
// has decided. It returns the bases of the segments that are on the disk.
func (l *Log) openMoved(bases []int64) ([]int64, error) {
	moved, err := loadMoved(l.disk, l.dir)
	if err != nil || len(moved) == 0 {
		return bases, err
	}
	if l.config.Tier == nil {
		return nil, fmt.Errorf("its segments up to offset %d are on a medium, and it is opened without one", moved[len(moved)-1].next-1)
	}
	l.segments = moved
	kept := bases[:0]
	for _, base := range bases {
		if slices.ContainsFunc(moved, func(s *segment) bool { return s.base == base }) {
			left := &segment{base: base}
			if err := l.disk.Remove(left.file(l.dir, logSuffix)); err != nil {
				return nil, err
			}
		} else {
			kept = append(kept, base)
		}
	}
	return kept, l.disk.SyncDir(l.dir)
}

func (l *Log) listSegments() ([]int64, error) {
	entries, err := l.disk.ReadDir(l.dir)
	if err != nil {
		return nil, err
	}
	var bases []int64
	for _, entry := range entries {
		if base, ok := baseOf(entry.Name()); ok {
			bases = append(bases, base)
		}
	}
	slices.Sort(bases)
	return bases, nil
}

// openSegment learns a segment's size and next offset: from its index files where they cover all of it, by reading it otherwise.
func (l *Log) openSegment(base int64, last bool) (*segment, error) {
	s := &segment{base: base, next: base, began: time.Now()}
	file, err := l.disk.OpenFile(s.file(l.dir, logSuffix), os.O_RDWR)
	if err != nil {
		return nil, err
	}
	s.handle = newHandle(file)
	size, err := file.Size()
	if err == nil && last {
		err = l.checkDurable(s, size)
	}
	if err == nil {
		err = l.loadOrScan(s, size, last)
	}
	if err != nil {
		s.handle.release()
		return nil, err
	}
	if !last {
		s.handle.release()
		s.maxTime = s.index.maxTime
		s.handle, s.index = nil, nil
		return s, nil
	}
	// From here on the index files lag behind the segment; a crash before the next clean close must not find them.
	if err := s.removeIndexes(l.disk, l.dir); err != nil {
		s.handle.release()
		return nil, err
	}
	return s, nil
}

func (l *Log) loadOrScan(s *segment, size int64, last bool) error {
	index, covered, next, err := loadIndexes(l.disk, l.dir, s)
	if err == nil && covered == size {
		s.index, s.size, s.next = index, size, next
		return nil
	}
	if size > 0 {
		l.recovery.RebuiltIndexes++
	}
	s.index = &segmentIndex{}
	scanErr := scan(s.handle.file, l.framing, 0, size, func(frame Frame, position int64) error {
		if frame.BaseOffset < s.next {
			return sentence.Error(nil, "frameOutOfOrder", "frame {first}-{last} follows offset {next}", frame.BaseOffset, frame.LastOffset, s.next)
		}
		if m := l.mark; last && m.base == s.base && position+int64(frame.Size) == m.size && frame.LastOffset+1 != m.next {
			return sentence.Error(nil, "frameNotAsSynced", "the frame ends at offset {last}, but was synced as the one before {next}", frame.LastOffset, m.next)
		}
		s.index.add(frame, position, l.config.IndexInterval)
		s.size, s.next = position+int64(frame.Size), frame.LastOffset+1
		return nil
	})
	l.recovery.Scanned += size
	if scanErr == nil {
		if !last {
			return s.saveIndexes(l.disk, l.dir)
		}
		// What a killed process left in the operating system's cache reads back, yet may not be on the disk. Synced must not lie.
		return s.handle.file.Sync()
	}
	var bad *frameError
	if !errors.As(scanErr, &bad) {
		return scanErr
	}
	switch {
	case !last:
		return &CorruptError{File: s.file(l.dir, logSuffix), Position: bad.position, Err: bad.err}
	case l.mark.base == s.base && bad.position < l.mark.size:
		return &CorruptError{File: s.file(l.dir, logSuffix), Position: bad.position, Err: sentence.Error(nil, "damagedWhereDurable",
			"{why}; {size} {size|byte|bytes} were durable, so that this is no torn tail; restore the segment, or remove the file durable to accept the loss", bad.err, l.mark.size)}
	}
	unused := false
	if l.config.Preallocate > 0 {
		if unused, err = onlyZeros(s.handle.file, bad.position, size); err != nil {
			return err
		}
	}
	if unused {
		s.filled = size
		return s.handle.file.Sync() // as for a whole one
	}
	return l.cutTail(s, size, bad)
}

func (l *Log) cutTail(s *segment, size int64, bad *frameError) error {
	l.recovery.CutFile, l.recovery.CutPosition = s.file(l.dir, logSuffix), bad.position
	l.recovery.CutBytes, l.recovery.CutReason = size-bad.position, bad.err.Error()
	if err := s.handle.file.Truncate(bad.position); err != nil {
		return err
	}
	return s.handle.file.Sync()
}

// loadIndexes reads both index files of a segment.
func loadIndexes(d disk.Disk, dir string, s *segment) (index *segmentIndex, covered, next int64, err error) {
	offsets, err := readIndex(d, s.file(dir, indexSuffix), offsetIndexKind)
	if err != nil {
		return nil, 0, 0, err
	}
	times, err := readIndex(d, s.file(dir, timeIndexSuffix), timeIndexKind)
	if err != nil {
		return nil, 0, 0, err
	}
	if times.covered != offsets.covered || len(times.entries) == 0 {
		return nil, 0, 0, fmt.Errorf("segment %d: %w: the two indexes differ", s.base, errBadIndex)
	}
	// The time index closes with the segment's largest time.
	last := len(times.entries) - 1
	index = &segmentIndex{offsets: offsets.entries, times: times.entries[:last:last], maxTime: times.entries[last].key}
	return index, offsets.covered, offsets.next, nil
}

// The start file keeps Start over restarts: | start i64 | crc32c u32 |, replaced as a whole.
const startFile = "start"

func loadStart(d disk.Disk, dir string) (int64, error) {
	file, err := d.OpenFile(path.Join(dir, startFile), os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	bytes := make([]byte, 12)
	if _, err := file.ReadAt(bytes, 0); err != nil {
		return 0, &CorruptError{File: file.Name(), Err: err}
	}
	if crc32.Checksum(bytes[:8], castagnoli) != binary.BigEndian.Uint32(bytes[8:]) {
		return 0, &CorruptError{File: file.Name(), Err: errors.New("checksum")}
	}
	return int64(binary.BigEndian.Uint64(bytes)), nil
}

func saveStart(d disk.Disk, dir string, start int64) error {
	bytes := binary.BigEndian.AppendUint64(nil, uint64(start))
	bytes = binary.BigEndian.AppendUint32(bytes, crc32.Checksum(bytes, castagnoli))
	return replaceFile(d, dir, startFile, bytes)
}

// replaceFile makes a small file's contents others, all at once and durably.
func replaceFile(d disk.Disk, dir, name string, bytes []byte) error {
	name = path.Join(dir, name)
	file, err := d.OpenFile(name+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(bytes, 0)
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if err := d.Rename(name+".new", name); err != nil {
		return err
	}
	return d.SyncDir(dir)
}
