package bookie

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"twinlog/engine/commitlog"
)

// run moves records from the write cache to entry logs until ctx ends.
func (s *storage) run(ctx context.Context) error {
	timer := time.NewTicker(s.flushed)
	defer timer.Stop()
	var spare []*batch
	for {
		due := false
		select {
		case <-ctx.Done():
			return nil
		case <-s.cached.filled:
		case <-s.retry:
		case <-timer.C:
			due = s.unsynced > 0
		}
		batches := s.cached.takeAll(spare)
		s.waiting = append(s.waiting, batches...)
		clear(batches)
		spare = batches
		if err := s.storeWaiting(); err != nil {
			return err
		}
		if due || s.unsynced >= syncBytes {
			if err := s.sync(); err != nil {
				return err
			}
		}
	}
}

// tryAgain: there may be room on the disk again.
func (s *storage) tryAgain() {
	select {
	case s.retry <- struct{}{}:
	default:
	}
}

// storeWaiting stores the batches that wait, in order. Those for which the disk has no room go on waiting: they are in the journal, and
// readers find them in the cache.
func (s *storage) storeWaiting() error {
	stored := 0
	defer func() { s.waiting = slices.Delete(s.waiting, 0, stored) }()
	for _, b := range s.waiting {
		err := s.store(b)
		if isDiskFull(err) {
			s.blocked.Store(true)
			s.space.exhausted()
			return nil
		}
		if err != nil {
			return err
		}
		s.cached.release(int64(len(b.bytes)))
		stored++
	}
	s.blocked.Store(false)
	return nil
}

// storeOrKeep is for the journal's replay, before run: what does not fit on the disk waits.
func (s *storage) storeOrKeep(b *batch) error {
	s.show(b)
	s.waiting = append(s.waiting, b)
	s.cached.weigh(int64(len(b.bytes)))
	if s.blocked.Load() {
		return nil
	}
	return s.storeWaiting()
}

// store appends a batch to the growing log and moves its records from the cache to the log's index. When the disk is full, nothing of
// the batch is stored.
func (s *storage) store(b *batch) error {
	if err := s.makeRoomInLog(); err != nil {
		return err
	}
	location, err := s.growing.log.Append(b.bytes)
	if err != nil {
		return fmt.Errorf("write entry log %d: %w", s.growing.base, err)
	}
	s.unsynced += int64(len(b.bytes))
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
	if err := s.makeRoomInLog(); err != nil && !isDiskFull(err) { // the next batch needs it
		return err
	}
	return nil
}

// makeRoomInLog makes sure that there is a growing log that is not full: a full one is sealed, and the next one begins.
func (s *storage) makeRoomInLog() error {
	if full := s.growing; full != nil {
		if full.log.Size() < s.logBytes {
			return nil
		}
		if err := s.sealLog(full); err != nil {
			return err
		}
		s.growing, s.nextLog, s.unsynced = nil, full.next(), 0
		s.stored(s.nextLog)
	}
	return s.grow()
}

// grow begins a new entry log.
func (s *storage) grow() error {
	e := &entryLog{disk: s.disk, dir: entryLogDir(s.nextLog), base: s.nextLog, ledgers: make(map[int64]*ledgerPlaces)}
	if err := s.disk.MkdirAll(e.dir); err != nil {
		return fmt.Errorf("new entry log %d: %w", e.base, err)
	}
	log, err := commitlog.Open(s.disk, e.dir, recordFraming{}, entryLogConfig)
	if err == nil {
		if err = s.disk.SyncDir(entryLogsDir); err != nil {
			log.Abandon()
		}
	}
	if err != nil {
		if isDiskFull(err) { // half a log would be in the way when the bookie starts on a disk that is still full
			err = errors.Join(err, s.disk.RemoveAll(e.dir))
		}
		return fmt.Errorf("new entry log %d: %w", e.base, err)
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

func (s *storage) sync() error {
	if s.growing == nil {
		return nil
	}
	if err := s.growing.log.Sync(); err != nil {
		return fmt.Errorf("sync entry log %d: %w", s.growing.base, err)
	}
	s.unsynced = 0
	s.stored(s.growing.log.Synced())
	return nil
}

// closeInOrder stores what the write cache still has and syncs. What a full disk cannot take is in the journal.
func (s *storage) closeInOrder() error {
	s.waiting = append(s.waiting, s.cached.takeAll(nil)...)
	err := s.storeWaiting()
	if err == nil {
		err = s.sync()
	}
	if err == nil && s.growing != nil {
		err = s.growing.log.Close()
	}
	s.close()
	if isDiskFull(err) {
		return nil
	}
	return err
}
