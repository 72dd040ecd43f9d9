package trace

import (
	"net/url"
	"strconv"
	"strings"
)

// BookieRegistered: the bookie's ephemeral znode under /ledgers/available is there. Bookies are named by host:port, as in BookKeeper.
type BookieRegistered struct {
	Bookie string `json:"bookie"`
	// ReadOnly: it is under /ledgers/available/readonly, where those are that only serve reads.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// BookieModeChanged: the bookie's disk is full, and it refuses adds (EREADONLY) and serves reads from now on; or there is room again.
type BookieModeChanged struct {
	ReadOnly bool   `json:"readOnly"`
	Reason   Reason `json:"reason"`
}

// LedgerOpened: a writer created a ledger.
type LedgerOpened struct {
	Ledger        int64    `json:"ledger"`
	Ensemble      []string `json:"ensemble"` // bookies by host:port, in striping order
	WriteQuorum   int      `json:"writeQuorum"`
	AckQuorum     int      `json:"ackQuorum"`
	ManagedLedger string   `json:"managedLedger"` // "public/default/persistent/orders", or empty
	Cursor        string   `json:"cursor,omitempty"`
}

// TopicOf is the topic whose messages a managed ledger holds: public/default/persistent/orders is persistent://public/default/orders.
// Empty: it is none's.
func TopicOf(managedLedger string) string {
	parts := strings.SplitN(managedLedger, "/", 4)
	if len(parts) < 4 {
		return ""
	}
	name, err := url.PathUnescape(parts[3])
	if err != nil {
		return ""
	}
	return parts[2] + "://" + parts[0] + "/" + parts[1] + "/" + name
}

// LedgerMetadataRead: a reader opened a ledger and found its metadata so. For readers of the trace that have not seen the ledger come
// about; whoever has learns nothing new.
type LedgerMetadataRead struct {
	Ledger        int64            `json:"ledger"`
	State         string           `json:"state"` // open, recovering, closed
	WriteQuorum   int              `json:"writeQuorum"`
	AckQuorum     int              `json:"ackQuorum"`
	Ensembles     []LedgerEnsemble `json:"ensembles"`
	LastEntry     int64            `json:"lastEntry"` // of a closed ledger; -1 when it is empty or not closed
	Length        int64            `json:"length"`    // of a closed ledger, bytes
	ManagedLedger string           `json:"managedLedger"`
	Cursor        string           `json:"cursor,omitempty"`
}

// LedgerEnsemble is the bookies that take a ledger's entries from FirstEntry on.
type LedgerEnsemble struct {
	FirstEntry int64    `json:"firstEntry"`
	Bookies    []string `json:"bookies"` // host:port, in striping order
}

// LedgerEnsembleChanged: from FirstEntry on, the ledger is on another ensemble.
type LedgerEnsembleChanged struct {
	Ledger     int64    `json:"ledger"`
	FirstEntry int64    `json:"firstEntry"`
	Ensemble   []string `json:"ensemble"`
	Replaced   []string `json:"replaced"`
}

// LedgerFenced: a bookie refuses adds to the ledger from now on.
type LedgerFenced struct {
	Ledger int64 `json:"ledger"`
}

// LedgerRecoveryStarted: a new owner is about to find out the ledger's last entry.
type LedgerRecoveryStarted struct {
	Ledger int64 `json:"ledger"`
}

// LedgerClosed: the ledger's last entry is decided for ever. LastEntry is -1 when it is empty.
type LedgerClosed struct {
	Ledger    int64 `json:"ledger"`
	LastEntry int64 `json:"lastEntry"`
	Length    int64 `json:"length"`
	Recovered bool  `json:"recovered"` // closed by recovery, not by its writer
}

// LedgerDeleted: the ledger's metadata is gone; bookies drop its entries when they next collect.
type LedgerDeleted struct {
	Ledger int64 `json:"ledger"`
}

// EntryStored: a bookie has the entry in its journal, synced. Hot.
type EntryStored struct {
	Ledger int64 `json:"ledger"`
	Entry  int64 `json:"entry"` // the last one, when folded
	Bytes  int64 `json:"bytes"`
	// Recovery: added by the recovery of the ledger or to replace a lost copy, which a fence does not refuse.
	Recovery bool   `json:"recovery,omitempty"`
	Folded   Folded `json:"folded,omitempty"`
}

// LastAddConfirmedAdvanced: the writer has the ack quorum for all entries up to LastAddConfirmed. Hot.
type LastAddConfirmedAdvanced struct {
	Ledger           int64  `json:"ledger"`
	LastAddConfirmed int64  `json:"lastAddConfirmed"`
	Folded           Folded `json:"folded,omitempty"`
}

func (BookieRegistered) Kind() string         { return "bookkeeper.bookieRegistered" }
func (BookieModeChanged) Kind() string        { return "bookkeeper.bookieModeChanged" }
func (LedgerOpened) Kind() string             { return "bookkeeper.ledgerOpened" }
func (LedgerMetadataRead) Kind() string       { return "bookkeeper.metadataRead" }
func (LedgerEnsembleChanged) Kind() string    { return "bookkeeper.ensembleChanged" }
func (LedgerFenced) Kind() string             { return "bookkeeper.ledgerFenced" }
func (LedgerRecoveryStarted) Kind() string    { return "bookkeeper.recoveryStarted" }
func (LedgerClosed) Kind() string             { return "bookkeeper.ledgerClosed" }
func (LedgerDeleted) Kind() string            { return "bookkeeper.ledgerDeleted" }
func (EntryStored) Kind() string              { return "bookkeeper.entryStored" }
func (LastAddConfirmedAdvanced) Kind() string { return "bookkeeper.lastAddConfirmedAdvanced" }

func (e EntryStored) FlowKey() string {
	if e.Recovery {
		return strconv.FormatInt(e.Ledger, 10) + "/recovery"
	}
	return strconv.FormatInt(e.Ledger, 10)
}
func (e LastAddConfirmedAdvanced) FlowKey() string { return strconv.FormatInt(e.Ledger, 10) }

func (e EntryStored) Merge(later Event) Event {
	merged := later.(EntryStored)
	merged.Bytes += e.Bytes
	merged.Folded = e.Folded.plus(merged.Folded)
	return merged
}

func (e LastAddConfirmedAdvanced) Merge(later Event) Event {
	merged := later.(LastAddConfirmedAdvanced)
	merged.Folded = e.Folded.plus(merged.Folded)
	return merged
}
