package managedledger

import "sync"

// tailCache keeps the entries that were added last, of all managed ledgers of a broker: whoever reads the tail, as most consumers do,
// asks no bookie. The oldest go first.
type tailCache struct {
	limit int64

	mu      sync.Mutex
	entries map[Position][]byte
	order   []Position // oldest first, from head on
	head    int
	bytes   int64
}

func newTailCache(limit int64) *tailCache {
	return &tailCache{limit: limit, entries: make(map[Position][]byte)}
}

// entryOverhead is what an entry costs besides its bytes, about.
const entryOverhead = 128

func (c *tailCache) put(p Position, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, found := c.entries[p]; found {
		return
	}
	c.entries[p] = data
	c.order = append(c.order, p)
	c.bytes += int64(len(data)) + entryOverhead
	for c.bytes > c.limit && c.head < len(c.order) {
		oldest := c.order[c.head]
		c.head++
		c.bytes -= int64(len(c.entries[oldest])) + entryOverhead
		delete(c.entries, oldest)
	}
	if c.head > len(c.order)/2 && c.head > 1024 {
		c.order = append(c.order[:0], c.order[c.head:]...)
		c.head = 0
	}
}

// run returns the entries from a position on that are there without a gap.
func (c *tailCache) run(from Position, maxEntries int, maxBytes int64) (run []Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(run) < maxEntries {
		data, found := c.entries[from]
		if !found || len(run) > 0 && int64(len(data)) > maxBytes {
			return run
		}
		maxBytes -= int64(len(data))
		run = append(run, Entry{Position: from, Data: data, FromCache: true})
		from.Entry++
	}
	return run
}
