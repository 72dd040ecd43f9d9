package ledger

import "fmt"

// Outcome is a bookie's answer, as far as the rules care.
type Outcome int

const (
	// OK: done, or here it is.
	OK Outcome = iota
	// NoSuchEntry: the bookie knows the ledger and does not have the entry.
	NoSuchEntry
	// NoSuchLedger: the bookie has never heard of the ledger.
	NoSuchLedger
	// Fenced: the bookie takes no more adds from the ledger's writer.
	Fenced
	// Unauthorized: the master key is not the one that the ledger was begun with.
	Unauthorized
	// Failed: no answer in time, a broken connection, an I/O error, a read-only bookie: it may or may not have done it.
	Failed
)

func (o Outcome) String() string {
	names := [...]string{"ok", "no such entry", "no such ledger", "fenced", "unauthorized", "failed"}
	if int(o) < len(names) && o >= 0 {
		return names[o]
	}
	return fmt.Sprintf("outcome %d", int(o))
}
