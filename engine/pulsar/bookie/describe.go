package bookie

import (
	"fmt"

	"twinlog/engine/commitlog"
)

// Framing finds the records of a journal or an entry log.
var Framing commitlog.Framing = recordFraming{}

// Describe says in words what a whole record holds.
func Describe(record []byte) string {
	ledger, entry := recordIDs(record)
	rest := len(record) - minimumRecord
	switch entry {
	case ledgerKeyEntry:
		return fmt.Sprintf("ledger %d: master key of %d bytes", ledger, rest)
	case fenceEntry:
		return fmt.Sprintf("ledger %d: fenced, no adds from here on", ledger)
	case explicitLACEntry:
		return fmt.Sprintf("ledger %d: last add confirmed as its writer stored it, %d bytes", ledger, rest)
	}
	return fmt.Sprintf("ledger %d, entry %d: %d bytes", ledger, entry, len(recordEntry(record)))
}
