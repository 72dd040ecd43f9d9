package world

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"twinlog/engine/trace"
)

// The states of a ledger.
const (
	ledgerOpen       = "open"
	ledgerRecovering = "recovering"
	ledgerClosed     = "closed"
)

func (s *State) applyBookKeeper(node string, event trace.Event) {
	switch event := event.(type) {
	case trace.BookieRegistered:
		// A bookie that comes back under another address is another bookie to BookKeeper, and the old one is gone.
		maps.DeleteFunc(s.Pulsar.Bookies, func(_ string, bookie *Bookie) bool { return bookie.Node == node })
		s.Pulsar.Bookies[event.Bookie] = &Bookie{Node: node, Registered: true, ReadOnly: event.ReadOnly}
	case trace.BookieModeChanged:
		if bookie := s.Pulsar.Bookies[s.bookieOf(node)]; bookie != nil {
			bookie.ReadOnly = event.ReadOnly
		}
	case trace.LedgerOpened:
		s.ledgerOpened(node, event)
	case trace.LedgerMetadataRead:
		s.ledgerMetadataRead(event)
	case trace.LedgerDeleted:
		s.ledgerDeleted(event.Ledger)
	case trace.LedgerEnsembleChanged:
		if ledger := s.ledger(event.Ledger); ledger != nil {
			ledger.placed(event.FirstEntry, event.Ensemble)
		}
	case trace.LedgerFenced:
		if ledger := s.ledger(event.Ledger); ledger != nil {
			bookie := s.bookieOf(node)
			if at, found := slices.BinarySearch(ledger.FencedBy, bookie); !found {
				ledger.FencedBy = slices.Insert(ledger.FencedBy, at, bookie)
			}
		}
	case trace.LedgerRecoveryStarted:
		if ledger := s.ledger(event.Ledger); ledger != nil && ledger.State == ledgerOpen {
			ledger.State = ledgerRecovering
		}
	case trace.LedgerClosed:
		if ledger := s.ledger(event.Ledger); ledger != nil {
			ledger.State, ledger.LastEntry, ledger.LastAddConfirmed = ledgerClosed, event.LastEntry, event.LastEntry
			ledger.Length, ledger.Recovered = event.Length, event.Recovered
		}
	case trace.LastAddConfirmedAdvanced:
		if ledger := s.ledger(event.Ledger); ledger != nil && ledger.State != ledgerClosed {
			ledger.LastAddConfirmed = max(ledger.LastAddConfirmed, event.LastAddConfirmed)
		}
	case trace.EntryStored:
		if ledger := s.ledger(event.Ledger); ledger != nil {
			ledger.entryStored(s.bookieOf(node), event)
		}
	}
}

func (s *State) ledger(id int64) *Ledger { return s.Pulsar.Ledgers[strconv.FormatInt(id, 10)] }

// ledgerOpened: a ledger is opened once; its id is never used again, so that a second report says nothing new.
func (s *State) ledgerOpened(node string, event trace.LedgerOpened) {
	if s.ledger(event.Ledger) != nil {
		return
	}
	s.Pulsar.Ledgers[strconv.FormatInt(event.Ledger, 10)] = &Ledger{
		State: ledgerOpen, WriteQuorum: event.WriteQuorum, AckQuorum: event.AckQuorum, Writer: node,
		Ensembles:        []LedgerEnsemble{{FirstEntry: 0, Bookies: present(event.Ensemble)}},
		LastAddConfirmed: -1, LastEntry: -1, ManagedLedger: event.ManagedLedger, Cursor: event.Cursor,
		FencedBy: []string{}, Stored: map[string]*Stored{},
	}
	if topic := s.topicOf(event.ManagedLedger); topic != nil && event.Cursor == "" && !slices.Contains(topic.Ledgers, event.Ledger) {
		topic.Ledgers = append(topic.Ledgers, event.Ledger)
	}
}

// ledgerMetadataRead takes on a ledger that came about before this state began to watch. Its writer is gone or not known.
func (s *State) ledgerMetadataRead(event trace.LedgerMetadataRead) {
	if s.ledger(event.Ledger) != nil {
		return
	}
	ledger := &Ledger{
		State: event.State, WriteQuorum: event.WriteQuorum, AckQuorum: event.AckQuorum, Ensembles: []LedgerEnsemble{},
		LastAddConfirmed: event.LastEntry, LastEntry: event.LastEntry, Length: event.Length, ManagedLedger: event.ManagedLedger,
		Cursor: event.Cursor, FencedBy: []string{}, Stored: map[string]*Stored{},
	}
	for _, ensemble := range event.Ensembles {
		ledger.Ensembles = append(ledger.Ensembles, LedgerEnsemble{FirstEntry: ensemble.FirstEntry, Bookies: present(ensemble.Bookies)})
	}
	s.Pulsar.Ledgers[strconv.FormatInt(event.Ledger, 10)] = ledger
}

func (s *State) ledgerDeleted(id int64) {
	if ledger := s.ledger(id); ledger != nil && ledger.Offload != nil && ledger.Offload.Complete {
		ledger.leftBookies() // its owner tells when the medium's copy is gone, too
		return
	}
	s.ledgerForgotten(id)
}

// placed: a writer whose bookie died goes on with another ensemble from its next entry on; when that entry is the first of the present
// ensemble, or when autorecovery copied an old fragment, an ensemble is replaced.
func (ledger *Ledger) placed(first int64, bookies []string) {
	changed := LedgerEnsemble{FirstEntry: first, Bookies: present(bookies)}
	at, found := slices.BinarySearchFunc(ledger.Ensembles, first, func(one LedgerEnsemble, first int64) int {
		return cmp.Compare(one.FirstEntry, first)
	})
	if found {
		ledger.Ensembles[at] = changed
		return
	}
	ledger.Ensembles = slices.Insert(ledger.Ensembles, at, changed)
}

func (ledger *Ledger) entryStored(bookie string, event trace.EntryStored) {
	stored := ledger.Stored[bookie]
	if stored == nil {
		stored = &Stored{LastEntry: -1}
		ledger.Stored[bookie] = stored
	}
	stored.LastEntry = max(stored.LastEntry, event.Entry)
	stored.Entries += int64(event.Folded.Events())
	stored.Bytes += event.Bytes
}

// bookieOf is BookKeeper's name of the bookie that runs on a node; the node's name until it has registered.
func (s *State) bookieOf(node string) string {
	for name, bookie := range s.Pulsar.Bookies {
		if bookie.Node == node {
			return name
		}
	}
	return node
}
