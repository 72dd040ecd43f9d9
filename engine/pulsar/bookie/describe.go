package bookie

import (
	"encoding/binary"
	"strconv"

	"twinlog/engine/commitlog"
	"twinlog/engine/sentence"
)

// Framing finds the records of a journal or an entry log.
var Framing commitlog.Framing = recordFraming{}

// Describe says in words what a whole record holds. What is inside an entry's payload only its writer knows; payload says it.
func Describe(record []byte, payload func(entry []byte) sentence.Sentence) sentence.Sentence {
	id, number := recordIDs(record)
	ledger, entry := strconv.FormatInt(id, 10), strconv.FormatInt(number, 10)
	rest := len(record) - minimumRecord
	switch number {
	case ledgerKeyEntry:
		return sentence.Of("recordLedgerKey", "ledger {ledger}: master key of {count} {count|byte|bytes}", ledger, rest)
	case fenceEntry:
		return sentence.Of("recordFence", "ledger {ledger}: fenced, no adds from here on", ledger)
	case explicitLACEntry:
		return sentence.Of("recordExplicitLAC", "ledger {ledger}: last add confirmed as its writer stored it, {count} {count|byte|bytes}", ledger, rest)
	}
	whole := recordEntry(record)
	if number < 0 || len(whole) < 32 {
		return sentence.Of("recordShort", "ledger {ledger}, entry {entry}: {count} {count|byte|bytes}", ledger, entry, len(whole))
	}
	if confirmed := int64(binary.BigEndian.Uint64(whole[16:])); confirmed >= 0 {
		return sentence.Of("recordEntry", "ledger {ledger}, entry {entry}, last add confirmed {confirmed}: {inside}", ledger, entry, strconv.FormatInt(confirmed, 10), payload(whole))
	}
	return sentence.Of("recordFirstEntry", "ledger {ledger}, entry {entry}, nothing confirmed before it: {inside}", ledger, entry, payload(whole))
}
