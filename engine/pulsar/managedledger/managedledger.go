package managedledger

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/offloaded"
)

// ManagedLedger is one open managed ledger, owned by this broker until [ErrFenced] says otherwise.
//
// Its owner is one goroutine: adds, their answers, and changes of the list of ledgers go through its mailbox, in order. What readers
// see is under mu, which is held for memory operations only.
type ManagedLedger struct {
	factory *Factory
	name    string
	options Options
	logger  *slog.Logger
	mailbox *mailbox
	ended   chan struct{}

	pendingBytes atomic.Int64
	pendingAdds  atomic.Int64

	// Of the owner alone.
	adds     []*pendingAdd // not done, in order
	sent     int           // the first so many are with the writer
	given    fill          // what the current ledger's writer was given
	broken   bool          // the writer failed: it takes no more adds
	rolling  bool          // no adds are sent until there is a new ledger
	tasks    []task        // changes of the znode, one at a time
	busy     bool
	retiring bool // Close, Terminate or Delete has begun: no more adds
	released bool // Close or Delete is done
	// Offloading: the run that is under way, objects that nothing refers to any more, and what an administrator asked for.
	offloading    *offloadRun
	unwanted      []offloaded.Name
	offloadBefore *Position

	mu         sync.RWMutex
	ledgers    ledgerList
	writer     *bookkeeper.Writer // of the current ledger; nil when there is none
	created    time.Time          // of the current ledger
	version    int32              // of the znode
	terminated *Position
	properties map[string]string
	retention  Retention
	err        error // why no adds are taken any more
	changed    chan struct{}
	cursors    map[string]*Cursor
	stats      Stats // the counters that only grow

	offloadStatus OffloadStatus

	cursorTurn chan struct{} // one token: cursors are opened and deleted one at a time
	readers    readerCache
}

// Entry is one entry as it was added. Data is shared with the cache and must not be changed.
type Entry struct {
	Position  Position
	Data      []byte
	FromCache bool // served from the broker's memory, not from a bookie
}

// Stats is what a broker reports about a managed ledger.
type Stats struct {
	Entries        int64 // kept, in all ledgers
	Bytes          int64
	OffloadedBytes int64 // of Bytes, in ledgers that are on the medium
	EntriesAdded   int64 // since it was opened here
	MessagesAdded  int64
	BytesAdded     int64
	PendingAdds    int // that are not done
	PendingBytes   int64
	CurrentEntries int64
	CurrentBytes   int64
	Created        string // when the current ledger was created, RFC 3339
	State          string // as in Pulsar's internal statistics: LedgerOpened, ClosedLedger, Fenced, Terminated, Closed
}

// Name is the persistence name.
func (m *ManagedLedger) Name() string { return m.name }

// AddEntry appends an entry and returns at once. Done is called exactly once: in the order of the AddEntry calls when the ack quorum
// has the entry on disk (Position is valid then), or when it failed. Data must not be changed afterwards. Messages is how many
// messages the entry carries, for the statistics.
//
// A dead bookie is no error: the ledger's ensemble changes and the add goes on. Errors are ErrFenced, ErrTerminated, ErrClosed,
// ErrTooManyPending (told at once) and ErrStorage (all adds that wait fail together, and a later add tries a new ledger).
func (m *ManagedLedger) AddEntry(data []byte, messages int, done func(Position, error)) {
	add := &pendingAdd{data: data, messages: messages, done: done}
	if m.pendingBytes.Add(add.weight()) > m.factory.config.MaxPendingBytes+add.weight() {
		m.pendingBytes.Add(-add.weight())
		done(Position{}, fmt.Errorf("managed ledger %s: %w", m.name, ErrTooManyPending))
		return
	}
	m.pendingAdds.Add(1)
	if !m.mailbox.post(event{add: add}) {
		m.pendingBytes.Add(-add.weight())
		m.pendingAdds.Add(-1)
		done(Position{}, m.refusal())
	}
}

// refusal is the error of an add that comes after the end.
func (m *ManagedLedger) refusal() error {
	if err := m.Err(); err != nil {
		return err
	}
	return fmt.Errorf("managed ledger %s: %w", m.name, ErrClosed)
}

// LastConfirmed is the position of the last entry whose add is done. Entry is -1 when the managed ledger holds no entry; Ledger is
// then the current ledger.
func (m *ManagedLedger) LastConfirmed() Position { return viewed(m, ledgerList.last) }

// First is the place before the first entry that is kept: the mark-delete position of a cursor that has everything before it.
func (m *ManagedLedger) First() Position { return viewed(m, ledgerList.first) }

func viewed[T any](m *ManagedLedger, look func(ledgerList) T) T {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return look(m.ledgers)
}

// Changed returns a channel that is closed at the next change of LastConfirmed or of the state (terminated, fenced, closed). Take
// it before looking at LastConfirmed, so that no change is missed.
func (m *ManagedLedger) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changed == nil {
		m.changed = make(chan struct{})
	}
	return m.changed
}

// tellChange is called with mu held.
func (m *ManagedLedger) tellChange() {
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

// Err is why the managed ledger takes no more adds: ErrFenced, ErrTerminated, ErrClosed; nil while it does.
func (m *ManagedLedger) Err() error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.err
}

// Next is the position of the entry after p: an entry that is there, or the place where the next entry will be.
func (m *ManagedLedger) Next(p Position) Position {
	return viewed(m, func(l ledgerList) Position { return l.next(p) })
}

// Valid is p when there is an entry at p, else the next entry, else the place where the next entry will be.
func (m *ManagedLedger) Valid(p Position) Position {
	return viewed(m, func(l ledgerList) Position { return l.valid(p) })
}

// Previous is the position of the entry before p, or First when there is none.
func (m *ManagedLedger) Previous(p Position) Position {
	return viewed(m, func(l ledgerList) Position { return l.previous(p) })
}

// Contains tells whether the entry at p is there.
func (m *ManagedLedger) Contains(p Position) bool {
	return viewed(m, func(l ledgerList) bool { return l.contains(p) })
}

// CountEntries is the number of entries after from, up to and including to.
func (m *ManagedLedger) CountEntries(from, to Position) int64 {
	return viewed(m, func(l ledgerList) int64 { return l.count(from, to) })
}

// Advance is the position of the n-th entry after p (n > 0) or before it (n < 0), clamped to First and LastConfirmed.
func (m *ManagedLedger) Advance(p Position, n int64) Position {
	return viewed(m, func(l ledgerList) Position { return l.ranked(l.rank(p) + n) })
}

// Ledgers lists the ledgers, oldest first; the last one is the current ledger unless the managed ledger is terminated.
func (m *ManagedLedger) Ledgers() []LedgerInfo {
	return viewed(m, func(l ledgerList) []LedgerInfo { return append([]LedgerInfo(nil), l...) })
}

// Stats counts.
func (m *ManagedLedger) Stats() Stats {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.stats
	s.Entries, s.Bytes = m.ledgers.entries()
	for _, info := range m.ledgers {
		if info.Offloaded() {
			s.OffloadedBytes += info.Bytes
		}
	}
	s.PendingBytes = m.pendingBytes.Load()
	s.PendingAdds = int(m.pendingAdds.Load())
	s.Created = m.created.UTC().Format(time.RFC3339Nano)
	if m.writer != nil && len(m.ledgers) > 0 {
		current := m.ledgers[len(m.ledgers)-1]
		s.CurrentEntries, s.CurrentBytes = current.Entries, current.Bytes
	}
	s.State = m.state()
	return s
}

// Properties are the topic's own key-value pairs.
func (m *ManagedLedger) Properties() map[string]string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return maps.Clone(m.properties)
}

// SetRetention takes effect at the next trim.
func (m *ManagedLedger) SetRetention(retention Retention) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.retention = retention
}

// FindLast returns the position of the last entry that matches, when matching entries come before all others (such as "published
// before t"); found is false when the first entry does not match. It reads about log2(entries) entries.
func (m *ManagedLedger) FindLast(ctx context.Context, match func(Entry) (bool, error)) (last Position, found bool, err error) {
	low, high := m.CountEntries(m.First(), Position{Ledger: -1}), m.CountEntries(m.First(), m.LastConfirmed())
	// Entries up to rank low match, those after rank high do not.
	for low < high {
		middle := (low + high + 1) / 2
		p := m.Advance(m.First(), middle)
		entries, err := m.ReadEntries(ctx, p, 1, 1)
		if err != nil {
			return Position{}, false, err
		}
		matches := false
		if len(entries) > 0 {
			if matches, err = match(entries[0]); err != nil {
				return Position{}, false, fmt.Errorf("entry %v: %w", entries[0].Position, err)
			}
		}
		if matches {
			low = middle
		} else {
			high = middle - 1
		}
	}
	if low == 0 {
		return Position{}, false, nil
	}
	return m.Advance(m.First(), low), true, nil
}
