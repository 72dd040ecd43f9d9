package subscription

import (
	"cmp"
	"fmt"
	"math"
)

// Position is the place of an entry: the ledger and the entry in it. Positions of a topic are ordered, by ledger first.
type Position struct {
	Ledger int64
	Entry  int64
}

// Earliest and Latest are how clients write "before everything" and "after everything".
var (
	Earliest = Position{Ledger: -1, Entry: -1}
	Latest   = Position{Ledger: math.MaxInt64, Entry: math.MaxInt64}
)

// Compare orders positions.
func (p Position) Compare(q Position) int {
	if p.Ledger != q.Ledger {
		return cmp.Compare(p.Ledger, q.Ledger)
	}
	return cmp.Compare(p.Entry, q.Entry)
}

// Next is the position after p in the same ledger; the ledger may hold no such entry.
func (p Position) Next() Position { return Position{Ledger: p.Ledger, Entry: p.Entry + 1} }

// Before is the position just before p, entry -1 of the ledger for its first entry.
func (p Position) Before() Position { return Position{Ledger: p.Ledger, Entry: p.Entry - 1} }

// String is ledger:entry, as Pulsar's tools print it.
func (p Position) String() string { return fmt.Sprintf("%d:%d", p.Ledger, p.Entry) }
