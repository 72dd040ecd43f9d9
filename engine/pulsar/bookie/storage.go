package bookie

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"twinlog/engine/commitlog"
	"twinlog/engine/disk"
)

const entryLogsDir = "entrylog"

var (
	errNoLedger = errors.New("no such ledger")
	errNoEntry  = errors.New("no such entry")
)

// batch is records that became durable in the journal together, as one run of bytes.
type batch struct {
	bytes   []byte
	records []batchRecord
	fenced  []int64 // ledgers that it fences
}

type batchRecord struct {
	ledger int64
	entry  int64
	at     int // in bytes
	size   int
}

func (b *batch) record(r batchRecord) []byte { return b.bytes[r.at : r.at+r.size] }

type entryKey struct{ ledger, entry int64 }

// storage is where entries stay: the write cache (records that are in the journal, but not yet in an entry log), the growing entry
// log, and the sealed ones. It is filled by the journal, in order, and can always be made good again from it: the journal keeps
// everything that an entry log has not synced.
//
// One goroutine (run) writes entry logs. Readers and it share mu, which is held for memory operations only.
type storage struct {
	disk     disk.Disk
	logBytes int64

	cached  *queue[*batch]   // to be appended to the growing log
	stored  func(next int64) // told that everything before next is synced in entry logs
	flushed time.Duration    // the growing log is synced at least this often

	mu      sync.RWMutex
	cache   map[entryKey][]byte   // records in cached batches
	last    map[int64]int64       // highest entry in the cache, by ledger
	lacs    map[int64]int64       // highest LAC seen since the start, by ledger; bounded by maxLACs
	ledgers map[int64][]*entryLog // oldest first
	logs    []*entryLog           // oldest first
	growing *entryLog
	waiters map[int64]chan struct{} // closed when the ledger's LAC moves
}

const (
	writeCacheBytes = 64 << 20
	maxLACs         = 1 << 16
	syncBytes       = 16 << 20 // entry log bytes after which the log is synced, so that the journal can be trimmed
)

// openStorage opens the entry logs. It returns the sequence from which on the journal has to be replayed.
func openStorage(d disk.Disk, logBytes int64, flushed time.Duration) (*storage, int64, error) {
	s := &storage{
		disk: d, logBytes: logBytes, flushed: flushed,
		cached: newQueue[*batch](writeCacheBytes), stored: func(int64) {},
		cache: make(map[entryKey][]byte), last: make(map[int64]int64), lacs: make(map[int64]int64),
		ledgers: make(map[int64][]*entryLog), waiters: make(map[int64]chan struct{}),
	}
	bases, err := listEntryLogs(d)
	if err != nil {
		return nil, 0, fmt.Errorf("list entry logs: %w", err)
	}
	next := int64(0)
	for _, base := range bases {
		e, err := openEntryLog(d, base)
		if err != nil {
			s.close()
			return nil, 0, err
		}
		s.logs = append(s.logs, e)
		next = max(next, e.next())
		for _, ledger := range e.ledgerIDs() {
			s.ledgers[ledger] = append(s.ledgers[ledger], e)
		}
	}
	if err := s.settle(next); err != nil {
		s.close()
		return nil, 0, err
	}
	return s, next, nil
}

// settle seals every unsealed log but the last, and makes a growing one where there is none.
func (s *storage) settle(next int64) error {
	for i, e := range s.logs {
		if e.sealed != nil {
			continue
		}
		if i == len(s.logs)-1 {
			s.growing = e
			return nil
		}
		if err := s.sealLog(e); err != nil {
			return err
		}
	}
	return s.grow(next)
}

// grow begins a new entry log.
func (s *storage) grow(base int64) error {
	e := &entryLog{disk: s.disk, dir: entryLogDir(base), base: base, ledgers: make(map[int64]*ledgerPlaces)}
	if err := s.disk.MkdirAll(e.dir); err != nil {
		return fmt.Errorf("new entry log %d: %w", base, err)
	}
	log, err := commitlog.Open(s.disk, e.dir, recordFraming{}, entryLogConfig)
	if err == nil {
		err = s.disk.SyncDir(entryLogsDir)
	}
	if err != nil {
		return fmt.Errorf("new entry log %d: %w", base, err)
	}
	e.use(log)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.growing = e
	s.logs = append(s.logs, e)
	return nil
}

func (s *storage) sealLog(e *entryLog) error {
	index, err := e.seal()
	if err != nil {
		return fmt.Errorf("seal entry log %d: %w", e.base, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.sealed, e.ledgers = index, nil
	return nil
}

func (e *entryLog) ledgerIDs() []int64 {
	var ids []int64
	if e.sealed != nil {
		for _, l := range e.sealed.ledgers {
			ids = append(ids, l.ledger)
		}
		return ids
	}
	for id := range e.ledgers {
		ids = append(ids, id)
	}
	return ids
}

// add makes durable records visible to readers. It waits while the write cache is full.
func (s *storage) add(ctx context.Context, b *batch) {
	s.mu.Lock()
	for _, r := range b.records {
		record := b.record(r)
		s.cache[entryKey{r.ledger, r.entry}] = record
		if last, found := s.last[r.ledger]; !found || r.entry > last {
			s.last[r.ledger] = r.entry
		}
		if r.entry >= 0 {
			s.noteLAC(r.ledger, recordEntry(record))
		}
	}
	s.mu.Unlock()
	s.cached.put(b, int64(len(b.bytes)), ctx.Done())
}

// run moves records from the write cache to entry logs until ctx ends.
func (s *storage) run(ctx context.Context) error {
	timer := time.NewTicker(s.flushed)
	defer timer.Stop()
	var spare []*batch
	unsynced := int64(0)
	for {
		due := false
		select {
		case <-ctx.Done():
			return nil
		case <-s.cached.filled:
		case <-timer.C:
			due = unsynced > 0
		}
		batches := s.cached.takeAll(spare)
		for _, b := range batches {
			if err := s.store(b); err != nil {
				return err
			}
			unsynced += int64(len(b.bytes))
			s.cached.release(int64(len(b.bytes)))
		}
		clear(batches)
		spare = batches
		if due || unsynced >= syncBytes {
			if err := s.sync(); err != nil {
				return err
			}
			unsynced = 0
		}
	}
}

// store appends a batch to the growing log and moves its records from the cache to the log's index.
func (s *storage) store(b *batch) error {
	location, err := s.growing.log.Append(b.bytes)
	if err != nil {
		return fmt.Errorf("write entry log %d: %w", s.growing.base, err)
	}
	s.mu.Lock()
	for _, r := range b.records {
		record := b.record(r)
		before := s.growing.live
		s.growing.note(record, location.Position+int64(r.at))
		if s.growing.live != before {
			s.ledgers[r.ledger] = append(s.ledgers[r.ledger], s.growing)
		}
		if key := (entryKey{r.ledger, r.entry}); len(s.cache[key]) > 0 && &s.cache[key][0] == &record[0] {
			delete(s.cache, key)
			if s.last[r.ledger] == r.entry {
				delete(s.last, r.ledger)
			}
		}
	}
	s.mu.Unlock()
	if s.growing.log.Size() >= s.logBytes {
		return s.roll()
	}
	return nil
}

func (s *storage) roll() error {
	full := s.growing
	if err := s.sealLog(full); err != nil {
		return err
	}
	if err := s.grow(full.next()); err != nil {
		return err
	}
	s.stored(full.next())
	return nil
}

func (s *storage) sync() error {
	if err := s.growing.log.Sync(); err != nil {
		return fmt.Errorf("sync entry log %d: %w", s.growing.base, err)
	}
	s.stored(s.growing.log.Synced())
	return nil
}

// lastEntry is the highest entry of a ledger. errNoLedger, errNoEntry.
func (s *storage) lastEntry(ledger int64) (int64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	highest, known := s.last[ledger]
	if !known {
		highest = -1
	}
	for _, e := range s.ledgers[ledger] {
		known = true
		if e.sealed == nil {
			highest = max(highest, e.ledgers[ledger].last())
		} else if row, found := e.sealed.find(ledger); found {
			highest = max(highest, row.last)
		}
	}
	switch {
	case !known:
		return 0, fmt.Errorf("ledger %d: %w", ledger, errNoLedger)
	case highest < 0:
		return 0, fmt.Errorf("ledger %d is empty: %w", ledger, errNoEntry)
	}
	return highest, nil
}

// ledgerIDs lists the ledgers in the entry logs.
func (s *storage) ledgerIDs() []int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	ids := make([]int64, 0, len(s.ledgers))
	for id := range s.ledgers {
		ids = append(ids, id)
	}
	return ids
}

// size is the bytes in all entry logs.
func (s *storage) size() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var total int64
	for _, e := range s.logs {
		if e.sealed == nil {
			total += e.log.Size()
			continue
		}
		for _, l := range e.sealed.ledgers {
			total += l.bytes
		}
	}
	return total
}

// forget drops deleted ledgers and removes the sealed logs that hold no others. It returns how many logs were removed.
func (s *storage) forget(deleted []int64) (int, error) {
	var empty []*entryLog
	s.mu.Lock()
	for _, ledger := range deleted {
		for _, e := range s.ledgers[ledger] {
			e.live--
			delete(e.ledgers, ledger)
		}
		delete(s.ledgers, ledger)
		delete(s.lacs, ledger)
	}
	s.logs = slices.DeleteFunc(s.logs, func(e *entryLog) bool {
		if e.sealed == nil || e.live > 0 {
			return false
		}
		empty = append(empty, e)
		return true
	})
	s.mu.Unlock()
	for _, e := range empty {
		e.close()
		if err := s.disk.RemoveAll(e.dir); err != nil {
			return 0, fmt.Errorf("remove entry log %d: %w", e.base, err)
		}
	}
	return len(empty), nil
}

// closeInOrder stores what the write cache still has and syncs.
func (s *storage) closeInOrder() error {
	var err error
	for _, b := range s.cached.takeAll(nil) {
		if err = s.store(b); err != nil {
			break
		}
	}
	if err == nil {
		err = s.sync()
	}
	if err == nil {
		err = s.growing.log.Close()
	}
	s.close()
	return err
}

// close lets go of the files.
func (s *storage) close() {
	s.cached.close()
	for _, e := range s.logs {
		e.close()
	}
}
