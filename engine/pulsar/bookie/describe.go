package bookie

import (
	"encoding/binary"
	"fmt"

	"twinlog/engine/commitlog"
)

// Framing finds the records of a journal or an entry log.
var Framing commitlog.Framing = recordFraming{}

// Describe says in words what a whole record holds. What is inside an entry's payload only its writer knows; payload says it, or
// nothing.
func Describe(record []byte, payload func(entry []byte) string) string {
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
	whole := recordEntry(record)
	if entry < 0 || len(whole) < 32 {
		return fmt.Sprintf("ledger %d, entry %d: %d bytes", ledger, entry, len(whole))
	}
	confirmed := int64(binary.BigEndian.Uint64(whole[16:]))
	text := fmt.Sprintf("ledger %d, entry %d, ", ledger, entry)
	if confirmed < 0 {
		text += "nothing confirmed before it"
	} else {
		text += fmt.Sprintf("last add confirmed %d", confirmed)
	}
	if inside := payload(whole); inside != "" {
		text += ": " + inside
	}
	return text
}
