package managedledger

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"twinlog/engine/pulsar/bookkeeper"
)

const (
	maxReadEntries = 512
	// maxOpenReaders bounds the closed ledgers of one managed ledger whose metadata is kept for readers.
	maxOpenReaders = 16
)

// ReadEntries reads up to maxEntries entries from a position on (or from the next valid one after it), at least one and then as many
// as maxBytes allows. It never reads beyond LastConfirmed; when nothing is there it returns no entries and no error. Entries of
// several ledgers are not mixed in one answer: ask again from Next of the last one.
func (m *ManagedLedger) ReadEntries(ctx context.Context, from Position, maxEntries int, maxBytes int64) ([]Entry, error) {
	if maxEntries <= 0 {
		return nil, fmt.Errorf("managed ledger %s: read of %d entries", m.name, maxEntries)
	}
	maxEntries = min(maxEntries, maxReadEntries)
	for {
		p, available, average, source, err := m.locate(from)
		if available == 0 || err != nil {
			return nil, err
		}
		count := min(int64(maxEntries), available)
		if cached := m.factory.cache.run(p, int(count), maxBytes); len(cached) > 0 {
			return cached, nil
		}
		// What the entries weigh is known on the average only; what is too much is cut off afterwards.
		count = min(count, max(1, maxBytes/max(1, average)))
		entries, err := m.readLedger(ctx, p, count, source)
		if err != nil && ctx.Err() == nil && !viewed(m, func(l ledgerList) bool { return l.has(p.Ledger) }) {
			from = Position{Ledger: p.Ledger + 1}
			continue // trimmed while we looked
		}
		if err != nil {
			return nil, fmt.Errorf("managed ledger %s: read %v: %w: %w", m.name, p, ErrStorage, err)
		}
		entries = limitBytes(entries, maxBytes)
		m.factory.cache.missed(len(entries))
		return entries, nil
	}
}

// source reads a ledger: the writer of the current one, or the reader of a closed one.
type source interface {
	Read(ctx context.Context, first, last int64) ([]bookkeeper.Entry, error)
}

// locate finds the first entry at or after from, how many are there in its ledger from it on, and their average size.
func (m *ManagedLedger) locate(from Position) (p Position, available, average int64, s source, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if errors.Is(m.err, ErrClosed) {
		return Position{}, 0, 0, nil, m.err
	}
	p = m.ledgers.valid(from)
	if !m.ledgers.contains(p) {
		return p, 0, 0, nil, nil
	}
	l := m.ledgers[m.ledgers.at(p.Ledger)]
	if m.writer != nil && m.writer.ID() == p.Ledger {
		s = m.writer
	}
	return p, l.Entries - p.Entry, l.Bytes / l.Entries, s, nil
}

func (m *ManagedLedger) readLedger(ctx context.Context, p Position, count int64, s source) ([]Entry, error) {
	if s == nil {
		reader, err := m.readers.get(ctx, m.factory.config.Bookies, p.Ledger)
		if err != nil {
			return nil, err
		}
		s = reader
	}
	read, err := s.Read(ctx, p.Entry, p.Entry+count-1)
	if err != nil {
		m.readers.drop(p.Ledger) // its ensembles may have been repaired since
		return nil, err
	}
	entries := make([]Entry, len(read))
	for i, e := range read {
		entries[i] = Entry{Position: Position{Ledger: p.Ledger, Entry: e.Entry}, Data: e.Payload}
	}
	return entries, nil
}

func limitBytes(entries []Entry, maxBytes int64) []Entry {
	for i, e := range entries {
		if maxBytes -= int64(len(e.Data)); maxBytes < 0 && i > 0 {
			return entries[:i]
		}
	}
	return entries
}

// readerCache keeps the readers of closed ledgers.
type readerCache struct {
	mu      *sync.Mutex
	readers map[int64]*bookkeeper.Reader
	order   *[]int64 // oldest first
}

func newReaderCache() readerCache {
	return readerCache{mu: &sync.Mutex{}, readers: make(map[int64]*bookkeeper.Reader), order: &[]int64{}}
}

func (c readerCache) get(ctx context.Context, bookies *bookkeeper.Client, id int64) (*bookkeeper.Reader, error) {
	c.mu.Lock()
	reader := c.readers[id]
	c.mu.Unlock()
	if reader != nil {
		return reader, nil
	}
	reader, err := bookies.OpenLedger(ctx, id, bookkeeper.OpenOptions{})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.readers[id] == nil {
		*c.order = append(*c.order, id)
		if len(*c.order) > maxOpenReaders {
			delete(c.readers, (*c.order)[0])
			*c.order = (*c.order)[1:]
		}
	}
	c.readers[id] = reader
	return reader, nil
}

func (c readerCache) drop(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.readers, id)
}
