package managedledger

import (
	"context"
)

// Entry is one entry as it was added. Data is shared with the cache and must not be changed.
type Entry struct {
	Position  Position
	Data      []byte
	FromCache bool // served from the broker's memory, not from a bookie
}

// ManagedLedger is one open managed ledger, owned by this broker until [ErrFenced] says otherwise.
type ManagedLedger struct {
	name string
}

// Name is the persistence name.
func (m *ManagedLedger) Name() string { return m.name }

// AddEntry appends an entry and returns at once. Done is called exactly once, in the order of the AddEntry calls, when the ack
// quorum has the entry on disk or when it failed; Position is valid only without an error. Data must not be changed afterwards.
// Messages is how many messages the entry carries, for the statistics.
//
// A dead bookie is no error: the ledger's ensemble changes and the add goes on. Errors are ErrFenced, ErrTerminated, ErrClosed,
// ErrTooManyPending and ErrStorage (all adds that wait fail together, and a later add tries a new ledger).
func (m *ManagedLedger) AddEntry(data []byte, messages int, done func(Position, error)) {}

// ReadEntries reads up to maxEntries entries from a position on (or from the next valid one after it), at least one and then as many
// as maxBytes allows. It never reads beyond LastConfirmed; when nothing is there it returns no entries and no error. Entries of
// several ledgers are not mixed in one answer: ask again from Next of the last one.
func (m *ManagedLedger) ReadEntries(ctx context.Context, from Position, maxEntries int, maxBytes int64) ([]Entry, error) {
	return nil, ErrStorage
}

// LastConfirmed is the position of the last entry whose add is done. Entry is -1 when the managed ledger holds no entry; Ledger is
// then the current ledger.
func (m *ManagedLedger) LastConfirmed() Position { return Position{} }

// First is the place before the first entry that is kept: the mark-delete position of a cursor that has everything before it.
func (m *ManagedLedger) First() Position { return Position{} }

// Changed returns a channel that is closed at the next change of LastConfirmed or of the state (terminated, fenced, closed). Take
// it before looking at LastConfirmed, so that no change is missed.
func (m *ManagedLedger) Changed() <-chan struct{} { return nil }

// Err is why the managed ledger takes no more adds: ErrFenced, ErrTerminated, ErrClosed; nil while it does.
func (m *ManagedLedger) Err() error { return nil }

// Next is the position of the entry after p: an entry that is there, or the place where the next entry will be.
func (m *ManagedLedger) Next(p Position) Position { return Position{} }

// Previous is the position of the entry before p, or First when there is none.
func (m *ManagedLedger) Previous(p Position) Position { return Position{} }

// Contains tells whether the entry at p is there.
func (m *ManagedLedger) Contains(p Position) bool { return false }

// CountEntries is the number of entries after from, up to and including to.
func (m *ManagedLedger) CountEntries(from, to Position) int64 { return 0 }

// Advance is the position of the n-th entry after p (n > 0) or before it (n < 0), clamped to First and LastConfirmed.
func (m *ManagedLedger) Advance(p Position, n int64) Position { return Position{} }

// FindLast returns the position of the last entry that matches, when matching entries come before all others (such as "published
// before t"); found is false when the first entry does not match. It reads about log2(entries) entries.
func (m *ManagedLedger) FindLast(ctx context.Context, match func(Entry) (bool, error)) (last Position, found bool, err error) {
	return Position{}, false, ErrStorage
}

// Ledgers lists the ledgers, oldest first; the last one is the current ledger unless the managed ledger is terminated.
func (m *ManagedLedger) Ledgers() []LedgerInfo { return nil }

// Stats is what a broker reports about a managed ledger.
type Stats struct {
	Entries        int64 // kept, in all ledgers
	Bytes          int64
	EntriesAdded   int64 // since it was opened here
	MessagesAdded  int64
	BytesAdded     int64
	PendingAdds    int
	PendingBytes   int64
	CurrentEntries int64
	CurrentBytes   int64
	Created        string // when the current ledger was created, RFC 3339
	State          string // as in Pulsar's internal statistics: LedgerOpened, ClosedLedger, Fenced, Terminated, Closed
}

// Stats counts.
func (m *ManagedLedger) Stats() Stats { return Stats{} }

// Properties are the topic's own key-value pairs.
func (m *ManagedLedger) Properties() map[string]string { return nil }

// SetProperties replaces them.
func (m *ManagedLedger) SetProperties(ctx context.Context, properties map[string]string) error {
	return ErrStorage
}

// SetRetention takes effect at the next trim.
func (m *ManagedLedger) SetRetention(retention Retention) {}

// Trim deletes the ledgers that every cursor has acknowledged and retention does not keep. It also runs by itself when a ledger is
// closed and when the slowest cursor leaves a ledger. Deleted ledgers are returned.
func (m *ManagedLedger) Trim(ctx context.Context) ([]int64, error) { return nil, ErrStorage }

// Roll closes the current ledger when it holds entries and opens a new one.
func (m *ManagedLedger) Roll(ctx context.Context) error { return ErrStorage }

// Terminate waits for the adds that are pending, seals the managed ledger for ever and returns its last position.
func (m *ManagedLedger) Terminate(ctx context.Context) (Position, error) {
	return Position{}, ErrStorage
}

// Close waits for pending adds, stores the cursors and closes the current ledger. The managed ledger can then be opened elsewhere
// without recovery work. It is safe to call after fencing or a crash of the network: it then only lets go.
func (m *ManagedLedger) Close(ctx context.Context) error { return nil }

// Delete closes and removes the managed ledger: its ledgers, its cursors, its znodes.
func (m *ManagedLedger) Delete(ctx context.Context) error { return ErrStorage }
