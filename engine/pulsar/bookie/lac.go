package bookie

import (
	"context"
	"errors"

	"twinlog/engine/pulsar/bookkeeper/wire"
	"twinlog/engine/pulsar/ledger"
)

// noteLAC takes the LAC from an entry's header and wakes those who wait for it. It is called with mu held.
func (s *storage) noteLAC(id int64, entry []byte) {
	header, err := ledger.ParseEntryHeader(entry)
	if err != nil {
		return // an entry without a header has no LAC to tell
	}
	known, found := s.lacs[id]
	if found && header.LastAddConfirmed <= known {
		return
	}
	if !found && len(s.lacs) >= maxLACs {
		for victim := range s.lacs { // any one: it is found again in its ledger's last entry
			delete(s.lacs, victim)
			break
		}
	}
	s.lacs[id] = header.LastAddConfirmed
	if waiter := s.waiters[id]; waiter != nil {
		close(waiter)
		delete(s.waiters, id)
	}
}

// lastAddConfirmed is the newest LAC that the bookie has been told; wire.NoLAC when none.
func (s *storage) lastAddConfirmed(id int64) (int64, error) {
	s.mu.RLock()
	lac, found := s.lacs[id]
	s.mu.RUnlock()
	if found {
		return lac, nil
	}
	last, err := s.lastEntry(id)
	if err != nil {
		if errors.Is(err, errNoEntry) {
			return wire.NoLAC, nil
		}
		return wire.NoLAC, err
	}
	entry, err := s.read(id, last)
	if err != nil {
		return wire.NoLAC, err
	}
	header, err := ledger.ParseEntryHeader(entry)
	if err != nil {
		return wire.NoLAC, nil
	}
	return header.LastAddConfirmed, nil
}

// awaitLAC waits until the LAC is beyond previous or ctx ends.
func (s *storage) awaitLAC(ctx context.Context, id, previous int64) {
	for {
		s.mu.Lock()
		if lac, found := s.lacs[id]; found && lac > previous {
			s.mu.Unlock()
			return
		}
		waiter := s.waiters[id]
		if waiter == nil {
			if len(s.waiters) >= maxLACs { // mostly of ledgers that nobody writes any more: those who do wait look again
				for ledger, forgotten := range s.waiters {
					close(forgotten)
					delete(s.waiters, ledger)
				}
			}
			waiter = make(chan struct{})
			s.waiters[id] = waiter
		}
		s.mu.Unlock()
		select {
		case <-waiter:
		case <-ctx.Done():
			return
		}
	}
}
