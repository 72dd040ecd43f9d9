package managedledger

import "context"

// CursorOptions say how a cursor begins when it does not exist yet.
type CursorOptions struct {
	// Initial is where it begins: Earliest (everything that is kept is backlog), Latest (only what comes later), or the position of
	// the first entry to read.
	Initial Position
	// Properties are stored with the first mark-delete position (name to number), CursorProperties with the cursor itself.
	Properties       map[string]int64
	CursorProperties map[string]string
}

// Range is entries from First to Last, both included.
type Range struct{ First, Last Position }

// OpenCursor opens a durable cursor, creating it when it does not exist. Opening the same name twice returns the same cursor.
func (m *ManagedLedger) OpenCursor(ctx context.Context, name string, options CursorOptions) (*Cursor, error) {
	return nil, ErrStorage
}

// OpenNonDurableCursor makes a cursor that lives in memory only (a reader's). Initial is the first position to read, or Earliest or Latest.
func (m *ManagedLedger) OpenNonDurableCursor(name string, initial Position) (*Cursor, error) {
	return nil, ErrStorage
}

// Cursor returns an open cursor; after Open, every durable cursor is open.
func (m *ManagedLedger) Cursor(name string) (*Cursor, bool) { return nil, false }

// Cursors lists the open cursors, durable ones first, by name.
func (m *ManagedLedger) Cursors() []*Cursor { return nil }

// DeleteCursor removes a cursor and what is stored about it.
func (m *ManagedLedger) DeleteCursor(ctx context.Context, name string) error { return ErrStorage }

// Cursor is what a subscription has acknowledged: everything up to and including the mark-delete position, single entries after it,
// and single messages of batches.
//
// Acknowledgements count at once in memory. They are stored in the cursor's ledger, one write at a time, each holding the newest
// state; done (which may be nil) is called when a write that includes the call is on disk. Without a done the write may wait up to
// Config.CursorFlush: after a crash the messages concerned are delivered again.
type Cursor struct {
	name string
}

// Name is the subscription's name, url-escaped in its znode.
func (c *Cursor) Name() string { return c.name }

// Durable tells whether the cursor is stored.
func (c *Cursor) Durable() bool { return false }

// MarkDeleted is the mark-delete position: it and everything before it is acknowledged.
func (c *Cursor) MarkDeleted() Position { return Position{} }

// MarkDelete acknowledges everything up to and including p (cumulative acknowledgement). Properties replace those stored with the
// position; nil keeps them. A p at or before the mark-delete position changes nothing and succeeds.
func (c *Cursor) MarkDelete(p Position, properties map[string]int64, done func(error)) {}

// Delete acknowledges single entries; the mark-delete position follows when they close a gap.
func (c *Cursor) Delete(positions []Position, done func(error)) {}

// DeleteBatch acknowledges single messages of the batch at p. AckSet is Pulsar's: bit i of word i/64 is 1 while message i is NOT
// acknowledged; it is merged by AND with what is known. Complete tells that no message of the batch is left: the entry is then deleted.
func (c *Cursor) DeleteBatch(p Position, ackSet []int64, done func(error)) (complete bool) {
	return false
}

// AckSet is what is still unacknowledged of the batch at p, nil when nothing of it is acknowledged singly.
func (c *Cursor) AckSet(p Position) []int64 { return nil }

// IsDeleted tells whether the entry at p is acknowledged.
func (c *Cursor) IsDeleted(p Position) bool { return false }

// Read reads entries that are not acknowledged, from a position on, and returns the position to go on from. When all entries that
// are there are acknowledged it returns none, and next is after them.
func (c *Cursor) Read(ctx context.Context, from Position, maxEntries int, maxBytes int64) (entries []Entry, next Position, err error) {
	return nil, Position{}, ErrStorage
}

// Backlog is the number of entries that are not acknowledged.
func (c *Cursor) Backlog() int64 { return 0 }

// BacklogBytes estimates their size.
func (c *Cursor) BacklogBytes() int64 { return 0 }

// Reset makes p the first position that is not acknowledged (seek): Earliest, Latest or a position; acknowledgements after it are
// forgotten. It returns when that is stored.
func (c *Cursor) Reset(ctx context.Context, p Position) error { return ErrStorage }

// Skip acknowledges the next n entries that are not acknowledged.
func (c *Cursor) Skip(ctx context.Context, n int64) error { return ErrStorage }

// ClearBacklog acknowledges everything that is there.
func (c *Cursor) ClearBacklog(ctx context.Context) error { return ErrStorage }

// DeletedRanges lists the entries after the mark-delete position that are acknowledged singly.
func (c *Cursor) DeletedRanges() []Range { return nil }

// Properties are the numbers stored with the mark-delete position.
func (c *Cursor) Properties() map[string]int64 { return nil }

// CursorProperties are the subscription's own key-value pairs.
func (c *Cursor) CursorProperties() map[string]string { return nil }

// SetCursorProperties replaces them.
func (c *Cursor) SetCursorProperties(ctx context.Context, properties map[string]string) error {
	return ErrStorage
}

// LastActive is when the cursor last moved or was opened, in Unix milliseconds.
func (c *Cursor) LastActive() int64 { return 0 }

// CursorLedger is the ledger that holds the cursor's positions, -1 when the znode holds the position itself.
func (c *Cursor) CursorLedger() int64 { return -1 }

// Close stores the position and lets go of the cursor.
func (c *Cursor) Close(ctx context.Context) error { return nil }
