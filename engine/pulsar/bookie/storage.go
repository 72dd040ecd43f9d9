package bookie

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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
	space    *space
	logBytes int64

	cached  *queue[*batch]   // to be appended to the growing log
	stored  func(next int64) // told that everything before next is synced in entry logs
	flushed time.Duration    // the growing log is synced at least this often

	// waiting are batches taken from cached that are not stored yet, because the disk is full: then blocked is set, and retry gets a token
	// when it is worth trying again. They are of run alone, and of open before it.
	waiting  []*batch
	unsynced int64 // bytes in the growing log
	blocked  atomic.Bool
	retry    chan struct{}

	mu      sync.RWMutex
	cache   map[entryKey][]byte   // records in cached batches
	last    map[int64]int64       // highest entry in the cache, by ledger
	lacs    map[int64]int64       // highest LAC seen since the start, by ledger; bounded by maxLACs
	ledgers map[int64][]*entryLog // oldest first
	logs    []*entryLog           // oldest first
	growing *entryLog             // nil: the disk had no room for a new one, which is to begin at nextLog
	nextLog int64
	waiters map[int64]chan struct{} // closed when the ledger's LAC moves
}

const (
	writeCacheBytes = 64 << 20
	maxLACs         = 1 << 16
	syncBytes       = 16 << 20 // entry log bytes after which the log is synced, so that the journal can be trimmed
)

// openStorage opens the entry logs. It returns the sequence from which on the journal has to be replayed.
func openStorage(d disk.Disk, room *space, logBytes int64, flushed time.Duration) (*storage, int64, error) {
	s := &storage{
		disk: d, space: room, logBytes: logBytes, flushed: flushed, retry: make(chan struct{}, 1),
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
	s.nextLog = next
	if err := s.grow(); err != nil && !isDiskFull(err) {
		return err
	}
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

// add makes durable records visible to readers. It waits while the write cache is full, but not for room on the disk.
func (s *storage) add(ctx context.Context, b *batch) {
	s.show(b)
	s.cached.putUnless(b, int64(len(b.bytes)), s.space.whenFull(), ctx.Done())
}

func (s *storage) show(b *batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// close lets go of the files.
func (s *storage) close() {
	s.cached.close()
	for _, e := range s.logs {
		e.close()
	}
}
