package trace

// What BookKeeper's autorecovery says: the auditor marks ledgers that lack copies, replication workers make the copies. Bookies are named
// by host:port.

// AuditorElected: the autorecovery of this bookie is the auditor now: it looks which bookies are lost, and marks the ledgers that counted
// on them.
type AuditorElected struct {
	Bookie string `json:"bookie"`
}

// LedgerUnderReplicated: the auditor has marked the ledger under /ledgers/underreplication/ledgers, or has added to the mark. Missing is
// the whole mark: the bookies whose copies are lost.
type LedgerUnderReplicated struct {
	Ledger  int64    `json:"ledger"`
	Missing []string `json:"missing"`
}

// ReplicationStarted: a worker, which has the ledger's lock, begins to copy what the lost bookies held of the entries FirstEntry to
// LastEntry. Replacements[i] gets what Lost[i] had.
type ReplicationStarted struct {
	Ledger       int64    `json:"ledger"`
	FirstEntry   int64    `json:"firstEntry"`
	LastEntry    int64    `json:"lastEntry"`
	Lost         []string `json:"lost"`
	Replacements []string `json:"replacements"`
}

// FragmentReplicated: the copies are there, and the ledger's metadata names the new bookies for its entries from FirstEntry on.
type FragmentReplicated struct {
	Ledger       int64    `json:"ledger"`
	FirstEntry   int64    `json:"firstEntry"`
	LastEntry    int64    `json:"lastEntry"`
	Ensemble     []string `json:"ensemble"` // in striping order
	Lost         []string `json:"lost"`
	Replacements []string `json:"replacements"`
	Entries      int64    `json:"entries"` // copies made
	Bytes        int64    `json:"bytes"`
}

// ReplicationPostponed: the ledger stays marked, and the worker tries again later.
type ReplicationPostponed struct {
	Ledger int64 `json:"ledger"`
	// Reason: open (its writer may replace the lost bookie itself, and gets time to), noCopy (no bookie that is there has an entry),
	// noBookie (none is there to take the copies), failed.
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// LedgerReplicated: nothing of the ledger lacks copies any more, and its mark is gone. Without a fragment that was replicated before, the
// lost bookie has come back, or the ledger was deleted.
type LedgerReplicated struct {
	Ledger int64 `json:"ledger"`
}

func (AuditorElected) Kind() string        { return "bookkeeper.auditorElected" }
func (LedgerUnderReplicated) Kind() string { return "bookkeeper.underReplicated" }
func (ReplicationStarted) Kind() string    { return "bookkeeper.replicationStarted" }
func (FragmentReplicated) Kind() string    { return "bookkeeper.fragmentReplicated" }
func (ReplicationPostponed) Kind() string  { return "bookkeeper.replicationPostponed" }
func (LedgerReplicated) Kind() string      { return "bookkeeper.replicated" }
