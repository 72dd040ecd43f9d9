package world

import (
	"slices"
	"strconv"

	"twinlog/engine/trace"
)

// applyOffload takes what the owner of a managed ledger says about its ledgers on the medium of tiered storage.
func (s *State) applyOffload(node string, event trace.Event) {
	switch event := event.(type) {
	case trace.PulsarLedgerOffloadStarted:
		if ledger := s.ledger(event.Ledger); ledger != nil {
			ledger.Offload = &Offload{By: node, Medium: event.Medium}
		}
	case trace.PulsarLedgerOffloaded:
		if ledger := s.ledger(event.Ledger); ledger != nil {
			ledger.Offload = &Offload{By: node, Medium: event.Medium, Complete: true, Object: event.Object, Bytes: event.Bytes}
		}
	case trace.PulsarLedgerOffloadFailed:
		// Somebody else may have succeeded meanwhile.
		if ledger := s.ledger(event.Ledger); ledger != nil && ledger.Offload != nil && ledger.Offload.By == node {
			ledger.Offload = nil
		}
	case trace.PulsarLedgerDeletedFromBookies:
		if ledger := s.ledger(event.Ledger); ledger != nil {
			ledger.leftBookies()
		}
	case trace.PulsarOffloadedLedgerDeleted:
		s.ledgerForgotten(event.Ledger)
	}
}

// leftBookies: an offloaded ledger whose metadata in BookKeeper is gone is on the medium alone.
func (ledger *Ledger) leftBookies() {
	if ledger.Offload == nil || !ledger.Offload.Complete {
		return
	}
	ledger.Offload.DeletedFromBookies = true
	ledger.Ensembles, ledger.FencedBy, ledger.Stored, ledger.UnderReplication = []LedgerEnsemble{}, []string{}, map[string]*Stored{}, nil
}

// offloadedFound: the owner of a topic has read in the managed ledger's metadata which ledgers are on the medium. What its predecessor had
// begun and did not complete is nothing.
func (s *State) offloadedFound(node string, event trace.PulsarTopicLoaded) {
	for _, id := range event.Ledgers {
		if ledger := s.ledger(id); ledger != nil && ledger.Offload != nil && !ledger.Offload.Complete {
			ledger.Offload = nil
		}
	}
	for _, found := range event.Offloaded {
		ledger := s.ledger(found.Ledger)
		if ledger == nil { // it came about before this state began to watch
			ledger = &Ledger{State: ledgerClosed, LastAddConfirmed: found.Entries - 1, LastEntry: found.Entries - 1, Length: found.Bytes,
				ManagedLedger: found.ManagedLedger, Ensembles: []LedgerEnsemble{}, FencedBy: []string{}, Stored: map[string]*Stored{}}
			s.Pulsar.Ledgers[strconv.FormatInt(found.Ledger, 10)] = ledger
		}
		if ledger.Offload == nil {
			ledger.Offload = &Offload{Medium: found.Medium, Complete: true, Object: found.Object}
		}
		ledger.Offload.By = node
		if found.DeletedFromBookies {
			ledger.leftBookies()
		}
	}
}

// ledgerForgotten: nobody has the ledger any more.
func (s *State) ledgerForgotten(id int64) {
	ledger := s.ledger(id)
	if ledger == nil {
		return
	}
	delete(s.Pulsar.Ledgers, strconv.FormatInt(id, 10))
	if topic := s.topicOf(ledger.ManagedLedger); topic != nil {
		topic.Ledgers = slices.DeleteFunc(topic.Ledgers, func(one int64) bool { return one == id })
	}
}
