package managedledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/offloaded"
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
		p, info, writer, err := m.locate(from)
		available := info.Entries - p.Entry
		if info.Entries == 0 || err != nil {
			return nil, err
		}
		count := min(int64(maxEntries), available)
		if cached := m.factory.cache.run(p, int(count), maxBytes); len(cached) > 0 {
			return cached, nil
		}
		// What the entries weigh is known on the average only; what is too much is cut off afterwards.
		count = min(count, max(1, maxBytes/max(1, info.Bytes/info.Entries)))
		entries, err := m.readLedger(ctx, p, count, info, writer)
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

// source reads a ledger: the writer of the current one, or a reader of a sealed one.
type source interface {
	// Read reads the entries first to last; a source that has much may stop earlier.
	Read(ctx context.Context, first, last int64) ([]bookkeeper.Entry, error)
}

// locate finds the first entry at or after from and its ledger, with the writer if that is the current one; a ledger without entries: there
// is none.
func (m *ManagedLedger) locate(from Position) (Position, LedgerInfo, *bookkeeper.Writer, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if errors.Is(m.err, ErrClosed) {
		return Position{}, LedgerInfo{}, nil, m.err
	}
	p := m.ledgers.valid(from)
	if !m.ledgers.contains(p) {
		return p, LedgerInfo{}, nil, nil
	}
	info := m.ledgers[m.ledgers.at(p.Ledger)]
	if m.writer != nil && m.writer.ID() == p.Ledger {
		return p, info, m.writer, nil
	}
	return p, info, nil, nil
}

// readLedger reads entries of one ledger. As Pulsar does by default (managedLedgerDataReadPriority=tiered-storage-first), it reads an
// offloaded ledger from the medium although bookies may still have it; should that fail, and only then, from bookies.
func (m *ManagedLedger) readLedger(ctx context.Context, p Position, count int64, info LedgerInfo, writer *bookkeeper.Writer) ([]Entry, error) {
	last := p.Entry + count - 1
	if writer != nil {
		return m.readFrom(ctx, p, last, func() (source, error) { return writer, nil })
	}
	if info.Offloaded() {
		entries, err := m.readFrom(ctx, p, last, func() (source, error) { return m.readers.get(ctx, m.openOffloaded, info) })
		if err == nil || info.Offload.DeletedFromBookies || ctx.Err() != nil {
			return entries, err
		}
		m.logger.Warn("an offloaded ledger is read from bookies", "managed ledger", m.name, "ledger", p.Ledger, "error", err)
		info.Offload = nil
	}
	return m.readFrom(ctx, p, last, func() (source, error) { return m.readers.get(ctx, m.openInBookies, info) })
}

func (m *ManagedLedger) readFrom(ctx context.Context, p Position, last int64, open func() (source, error)) ([]Entry, error) {
	s, err := open()
	if err != nil {
		return nil, err
	}
	read, err := s.Read(ctx, p.Entry, last)
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

func (m *ManagedLedger) openInBookies(ctx context.Context, info LedgerInfo) (source, error) {
	return m.factory.config.Bookies.OpenLedger(ctx, info.Ledger, bookkeeper.OpenOptions{})
}

func (m *ManagedLedger) openOffloaded(ctx context.Context, info LedgerInfo) (source, error) {
	if m.factory.config.Medium == nil {
		return nil, fmt.Errorf("ledger %d was offloaded (%s): %w", info.Ledger, info.Offload.Driver, ErrNoMedium)
	}
	reader, err := offloaded.Open(ctx, m.factory.config.Medium, m.objectName(info))
	if err != nil {
		return nil, err
	}
	return mediumReader{reader}, nil
}

// mediumReader reads an offloaded ledger as one in bookies is read.
type mediumReader struct{ *offloaded.Reader }

func (r mediumReader) Read(ctx context.Context, first, last int64) ([]bookkeeper.Entry, error) {
	payloads, err := r.Reader.Read(ctx, first, last)
	entries := make([]bookkeeper.Entry, len(payloads))
	for i, payload := range payloads {
		entries[i] = bookkeeper.Entry{Entry: first + int64(i), Payload: payload}
	}
	return entries, err
}

func limitBytes(entries []Entry, maxBytes int64) []Entry {
	for i, e := range entries {
		if maxBytes -= int64(len(e.Data)); maxBytes < 0 && i > 0 {
			return entries[:i]
		}
	}
	return entries
}

// readerCache keeps the readers of sealed ledgers.
type readerCache struct {
	mu      *sync.Mutex
	readers map[readerKey]source
	order   *[]readerKey // oldest first
}

// readerKey: a ledger that is offloaded, or given up on the medium, gets another reader.
type readerKey struct {
	ledger  int64
	offload *Offload
}

func newReaderCache() readerCache {
	return readerCache{mu: &sync.Mutex{}, readers: make(map[readerKey]source), order: &[]readerKey{}}
}

func (c readerCache) get(ctx context.Context, open func(context.Context, LedgerInfo) (source, error), info LedgerInfo) (source, error) {
	key := readerKey{info.Ledger, info.Offload}
	c.mu.Lock()
	reader := c.readers[key]
	c.mu.Unlock()
	if reader != nil {
		return reader, nil
	}
	reader, err := open(ctx, info)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.readers[key] == nil {
		*c.order = append(*c.order, key)
		if len(*c.order) > maxOpenReaders {
			delete(c.readers, (*c.order)[0])
			*c.order = (*c.order)[1:]
		}
	}
	c.readers[key] = reader
	return reader, nil
}

// drop forgets the readers of a ledger.
func (c readerCache) drop(ledger int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.readers, func(key readerKey, _ source) bool { return key.ledger == ledger })
	*c.order = slices.DeleteFunc(*c.order, func(key readerKey) bool { return key.ledger == ledger })
}
