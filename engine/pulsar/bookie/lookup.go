package bookie

import (
	"errors"
	"fmt"
	"slices"
)

// read returns an entry. errNoLedger, errNoEntry.
func (s *storage) read(ledger, entry int64) ([]byte, error) {
	for {
		record, logs, known := s.lookup(ledger, entry)
		if record != nil {
			return recordEntry(record), nil
		}
		record, err := readFrom(logs, ledger, entry)
		switch {
		case errors.Is(err, errLogGone):
			continue // collected while we looked
		case err != nil:
			return nil, err
		case record != nil:
			return recordEntry(record), nil
		case !known:
			return nil, fmt.Errorf("ledger %d: %w", ledger, errNoLedger)
		}
		return nil, fmt.Errorf("ledger %d entry %d: %w", ledger, entry, errNoEntry)
	}
}

// candidate is an entry log that may hold an entry. Of a growing log the place is known already.
type candidate struct {
	log    *entryLog
	sealed *sealedIndex
	place  place
}

// lookup finds an entry in memory, or else the logs to look into, newest first.
func (s *storage) lookup(ledger, entry int64) (record []byte, logs []candidate, known bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if record = s.cache[entryKey{ledger, entry}]; record != nil {
		return record, nil, true
	}
	_, known = s.last[ledger]
	holders := s.ledgers[ledger]
	known = known || len(holders) > 0
	for _, e := range slices.Backward(holders) {
		if e.sealed != nil {
			logs = append(logs, candidate{log: e, sealed: e.sealed})
		} else if p, found := e.ledgers[ledger].get(entry); found {
			return nil, []candidate{{log: e, place: p}}, true
		}
	}
	return nil, logs, known
}

func readFrom(logs []candidate, ledger, entry int64) ([]byte, error) {
	for _, c := range logs {
		record, err := c.read(ledger, entry)
		if record != nil || err != nil {
			return record, err
		}
	}
	return nil, nil
}

// read returns the entry's record, or nil when the log has none.
func (c candidate) read(ledger, entry int64) ([]byte, error) {
	if c.sealed == nil {
		return c.log.readRecord(c.place, ledger, entry)
	}
	row, found := c.sealed.find(ledger)
	if !found || entry > row.last {
		return nil, nil
	}
	p, found, err := c.sealed.get(row, entry)
	if err != nil {
		return nil, err
	}
	var record []byte
	if found {
		record, err = c.log.readRecord(p, ledger, entry)
	}
	if record == nil && !errors.Is(err, errLogGone) {
		if damage := c.sealed.damage(); damage != nil {
			return nil, damage
		}
	}
	return record, err
}
