package managedledger

import (
	"cmp"
	"math"
	"strconv"
)

// Position names an entry of a managed ledger: a ledger and an entry of it. Entry -1 is the place before a ledger's first entry.
type Position struct {
	Ledger int64
	Entry  int64
}

var (
	// Earliest is before every position.
	Earliest = Position{Ledger: -1, Entry: -1}
	// Latest is after every position.
	Latest = Position{Ledger: math.MaxInt64, Entry: math.MaxInt64}
)

// Compare orders positions: -1 when p is before q, 0 when they are the same, +1 when p is after q.
func (p Position) Compare(q Position) int {
	if c := cmp.Compare(p.Ledger, q.Ledger); c != 0 {
		return c
	}
	return cmp.Compare(p.Entry, q.Entry)
}

// Before tells whether p comes before q.
func (p Position) Before(q Position) bool { return p.Compare(q) < 0 }

// String is Pulsar's notation, "12:7".
func (p Position) String() string {
	return strconv.FormatInt(p.Ledger, 10) + ":" + strconv.FormatInt(p.Entry, 10)
}
