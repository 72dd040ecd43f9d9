package bookie

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"sync"

	"twinlog/engine/commitlog"
	"twinlog/engine/disk"
)

// entryLog is one entry log: a directory with a commit log of one segment, in which the records of all ledgers lie as they came. The
// last one grows and has its index in memory; the others are sealed and have theirs in a file.
type entryLog struct {
	disk disk.Disk
	dir  string
	base int64 // first sequence that may be in it; its name

	// One of the two is set.
	ledgers map[int64]*ledgerPlaces // growing; guarded by the storage's mutex
	sealed  *sealedIndex

	live int // ledgers in it that are not deleted; guarded by the storage's mutex

	opening sync.Mutex // one reader opens a sealed log's file, the others need the same file and wait

	mu      sync.Mutex
	log     *commitlog.Log // nil: a sealed log that nobody has read yet
	segment int64          // name of the log's only segment
	users   int            // readers
	gone    bool           // removed: closed with the last reader
}

// entryLogConfig makes a commit log roll never: the storage seals an entry log instead.
var entryLogConfig = commitlog.Config{SegmentBytes: 1 << 31, IndexInterval: 1 << 20}

func entryLogDir(base int64) string { return path.Join(entryLogsDir, fmt.Sprintf("%020d", base)) }

func listEntryLogs(d disk.Disk) ([]int64, error) {
	children, err := d.ReadDir(entryLogsDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var bases []int64
	for _, child := range children {
		if base, err := strconv.ParseInt(child.Name(), 10, 64); err == nil && child.IsDir() {
			bases = append(bases, base)
		}
	}
	slices.Sort(bases)
	return bases, nil
}

// openEntryLog opens a log as it lies on the disk: sealed when its index is good, growing (with its index made anew) otherwise.
func openEntryLog(d disk.Disk, base int64) (*entryLog, error) {
	e := &entryLog{disk: d, dir: entryLogDir(base), base: base}
	index, err := openIndex(d, e.dir)
	switch {
	case err == nil:
		e.sealed, e.live = index, len(index.ledgers)
		return e, nil
	case !errors.Is(err, os.ErrNotExist) && !errors.Is(err, errBadIndex):
		return nil, fmt.Errorf("open entry log %d: %w", base, err)
	}
	log, err := commitlog.Open(d, e.dir, recordFraming{}, entryLogConfig)
	if err != nil {
		return nil, err
	}
	e.use(log)
	if err := e.rebuild(); err != nil {
		e.log.Abandon()
		return nil, fmt.Errorf("read entry log %d: %w", base, err)
	}
	return e, nil
}

// rebuild makes the index from the records.
func (e *entryLog) rebuild() error {
	e.ledgers = make(map[int64]*ledgerPlaces)
	return readRecords(e.log, e.log.Start(), func(records []byte, position int64) error {
		return eachRecord(records, func(record []byte, at int) error {
			e.note(record, position+int64(at))
			return nil
		})
	})
}

// note puts a record at a position into the index of a growing log.
func (e *entryLog) note(record []byte, position int64) {
	ledger, entry := recordIDs(record)
	places := e.ledgers[ledger]
	if places == nil {
		places = &ledgerPlaces{}
		e.ledgers[ledger] = places
		e.live++
	}
	places.put(place{entry: entry, position: uint32(position), size: uint32(len(record))})
}

// readRecords reads a log from an offset to its end, in runs of whole records. Position is a run's place in its segment.
func readRecords(log *commitlog.Log, from int64, visit func(records []byte, position int64) error) error {
	position := int64(0)
	for next := log.Next(); from < next; {
		section, err := log.Read(from, 1<<20)
		if err != nil {
			return err
		}
		records, err := section.ReadAll()
		section.Close()
		if err != nil {
			return err
		}
		if len(records) == 0 {
			return nil
		}
		last := from
		err = eachRecord(records, func(record []byte, _ int) error {
			frame, err := recordFraming{}.Parse(record)
			last = frame.LastOffset
			return err
		})
		if err == nil {
			err = visit(records, position)
		}
		if err != nil {
			return err
		}
		position += int64(len(records))
		from = last + 1
	}
	return nil
}

// seal writes the index file, after which the log never changes.
func (e *entryLog) seal() (*sealedIndex, error) {
	if err := e.log.Sync(); err != nil {
		return nil, err
	}
	if err := writeIndex(e.disk, e.dir, e.ledgers, e.log.Next()); err != nil {
		return nil, err
	}
	return openIndex(e.disk, e.dir)
}

// next is the sequence after the log's last record.
func (e *entryLog) next() int64 {
	if e.sealed != nil {
		return e.sealed.next
	}
	return e.log.Next()
}

var errLogGone = errors.New("entry log was removed")

// readRecord reads the record that an index has at a place.
func (e *entryLog) readRecord(p place, ledger, entry int64) ([]byte, error) {
	log, err := e.acquire()
	if err != nil {
		return nil, err
	}
	defer e.release()
	section, err := log.ReadAt(commitlog.Location{Segment: e.segment, Position: int64(p.position), Size: int64(p.size)})
	if err != nil {
		return nil, err
	}
	defer section.Close()
	record, err := section.ReadAll()
	if err != nil {
		return nil, err
	}
	if len(record) < minimumRecord {
		return nil, fmt.Errorf("entry log %d, byte %d: a record of %d bytes", e.base, p.position, len(record))
	}
	if l, n := recordIDs(record); l != ledger || n != entry {
		return nil, fmt.Errorf("entry log %d, byte %d: entry %d of ledger %d where entry %d of ledger %d is expected", e.base, p.position, n, l, entry, ledger)
	}
	return record, nil
}

func (e *entryLog) use(log *commitlog.Log) { e.log, e.segment = log, log.Segments()[0].Base }

// acquire opens a sealed log on its first use. The caller releases it.
func (e *entryLog) acquire() (*commitlog.Log, error) {
	log, err := e.enter()
	if log != nil || err != nil {
		return log, err
	}
	e.opening.Lock()
	defer e.opening.Unlock()
	if log = e.opened(); log != nil {
		return log, nil
	}
	if log, err = commitlog.Open(e.disk, e.dir, recordFraming{}, entryLogConfig); err != nil {
		e.release()
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.use(log)
	return log, nil
}

func (e *entryLog) enter() (*commitlog.Log, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gone {
		return nil, errLogGone
	}
	e.users++
	return e.log, nil
}

func (e *entryLog) opened() *commitlog.Log {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.log
}

func (e *entryLog) release() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.users--
	if e.gone && e.users == 0 {
		e.closeFiles()
	}
}

// close ends the log; readers that are under way finish first.
func (e *entryLog) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.gone {
		e.gone = true
		if e.users == 0 {
			e.closeFiles()
		}
	}
}

func (e *entryLog) closeFiles() {
	if e.log != nil {
		e.log.Abandon()
	}
	if e.sealed != nil {
		e.sealed.file.Close()
	}
}
