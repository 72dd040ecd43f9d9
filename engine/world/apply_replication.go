package world

import "twinlog/engine/trace"

// applyReplication folds what autorecovery says. Marks and copies of a ledger that is not known are nothing to this state.
func (s *State) applyReplication(node string, event trace.Event) {
	switch event := event.(type) {
	case trace.AuditorElected:
		s.Pulsar.Auditor = node
	case trace.LedgerUnderReplicated:
		if ledger := s.ledger(event.Ledger); ledger != nil {
			ledger.underReplication(event.Missing).Missing = present(event.Missing)
		}
	case trace.ReplicationStarted:
		if ledger := s.ledger(event.Ledger); ledger != nil {
			*ledger.underReplication(event.Lost) = UnderReplication{
				Missing: ledger.UnderReplication.Missing, Worker: node, FirstEntry: event.FirstEntry, LastEntry: event.LastEntry,
				Lost: present(event.Lost), Replacements: present(event.Replacements),
			}
		}
	case trace.FragmentReplicated:
		if ledger := s.ledger(event.Ledger); ledger != nil {
			ledger.placed(event.FirstEntry, event.Ensemble)
			ledger.underReplication(event.Lost).rest("")
		}
	case trace.ReplicationPostponed:
		if ledger := s.ledger(event.Ledger); ledger != nil {
			ledger.underReplication(nil).rest(event.Reason)
		}
	case trace.LedgerReplicated:
		if ledger := s.ledger(event.Ledger); ledger != nil {
			ledger.UnderReplication = nil
		}
	}
}

// underReplication is what is known of a ledger that lacks copies. A state that began to watch late has not seen the mark.
func (ledger *Ledger) underReplication(missing []string) *UnderReplication {
	if ledger.UnderReplication == nil {
		ledger.UnderReplication = &UnderReplication{Missing: present(missing)}
		ledger.UnderReplication.rest("")
	}
	return ledger.UnderReplication
}

// rest: nobody copies.
func (u *UnderReplication) rest(postponed string) {
	*u = UnderReplication{Missing: u.Missing, FirstEntry: -1, LastEntry: -1, Lost: []string{}, Replacements: []string{}, Postponed: postponed}
}

// forgetAutorecovery: what a bookie's autorecovery was about to do when it died, somebody else will.
func (s *State) forgetAutorecovery(node string) {
	if s.Pulsar.Auditor == node {
		s.Pulsar.Auditor = ""
	}
	for _, ledger := range s.Pulsar.Ledgers {
		if ledger.UnderReplication != nil && ledger.UnderReplication.Worker == node {
			ledger.UnderReplication.rest("")
		}
	}
}
