package managedledger

import "sync"

// tailCache keeps the entries that were added last, of all managed ledgers of a broker: whoever reads the tail, as most consumers do,
// asks no bookie. The oldest go first.
//
// The bytes lie in one ring of memory outside the Go heap (see arena), so that tens of megabytes of messages neither are collected
// nor make the heap grow to twice their size; a reader gets a copy. An entry lies in one piece: one that does not fit before the end
// of the ring goes to its beginning.
//
//	             oldest                        newest
//	┌───────────┬──────────┬───────┬──────────┬───────┬ next ────────┐
//	│ (free)    │ entry    │ entry │ entry    │ entry │ (free)       │
//	└───────────┴──────────┴───────┴──────────┴───────┴──────────────┘
type tailCache struct {
	limit int

	mu     sync.Mutex
	ring   []byte // of limit bytes; mapped at the first put, so that an idle broker has none
	closed bool
	next   int // where the next entry goes
	places map[Position]place
	order  []Position // oldest first, from head on
	head   int
	stats  CacheStats
}

// CacheStats is how full the cache is, in bytes, and how many entries were read from it and past it, from bookies.
type CacheStats struct {
	Bytes, Limit int64
	Hits, Misses int64
}

func (c *tailCache) state() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	stats := c.stats
	stats.Limit = int64(c.limit)
	return stats
}

// missed counts entries that had to be read from bookies.
func (c *tailCache) missed(entries int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Misses += int64(entries)
}

// place is where an entry lies in the ring.
type place struct{ at, length int }

func newTailCache(limit int64) *tailCache {
	return &tailCache{limit: int(limit), places: make(map[Position]place)}
}

// largestShare of the ring is what one entry may take: a larger one would drive out too many others.
const largestShare = 4

// put keeps a copy of an entry. Without memory to map it keeps none, and readers ask bookies.
func (c *tailCache) put(p Position, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, found := c.places[p]; found || c.closed || len(data) == 0 || len(data) > c.limit/largestShare {
		return
	}
	if c.ring == nil {
		if c.ring = mapArena(c.limit); c.ring == nil {
			c.closed = true
			return
		}
	}
	at := c.next
	if at+len(data) > c.limit {
		c.dropOverlapping(at, c.limit) // the rest up to the end stays free until the next round
		at = 0
	}
	c.dropOverlapping(at, at+len(data))
	copy(c.ring[at:], data)
	c.next = at + len(data)
	c.places[p] = place{at: at, length: len(data)}
	c.order = append(c.order, p)
	c.stats.Bytes += int64(len(data))
}

// dropOverlapping drops the oldest entries while they lie in ring[from:to]. Entries lie in the ring in the order of their age, so
// the first one that does not overlap ends it.
func (c *tailCache) dropOverlapping(from, to int) {
	for c.head < len(c.order) {
		oldest := c.places[c.order[c.head]]
		if oldest.at >= to || oldest.at+oldest.length <= from {
			break
		}
		delete(c.places, c.order[c.head])
		c.head++
		c.stats.Bytes -= int64(oldest.length)
	}
	if c.head > len(c.order)/2 && c.head > 1024 {
		c.order = append(c.order[:0], c.order[c.head:]...)
		c.head = 0
	}
}

// run returns copies of the entries from a position on that are there without a gap.
func (c *tailCache) run(from Position, maxEntries int, maxBytes int64) (run []Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	total, count := 0, 0
	for p := from; count < maxEntries; p.Entry++ {
		found, there := c.places[p]
		if !there || count > 0 && int64(total+found.length) > maxBytes {
			break
		}
		total += found.length
		count++
	}
	if count == 0 {
		return nil
	}
	c.stats.Hits += int64(count)
	copies := make([]byte, 0, total) // one piece for all: they are sent and forgotten together
	run = make([]Entry, 0, count)
	for range count {
		found := c.places[from]
		begin := len(copies)
		copies = append(copies, c.ring[found.at:found.at+found.length]...)
		run = append(run, Entry{Position: from, Data: copies[begin:len(copies):len(copies)], FromCache: true})
		from.Entry++
	}
	return run
}

// close gives the memory back.
func (c *tailCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	clear(c.places)
	c.order, c.head, c.stats.Bytes = nil, 0, 0
	if c.ring != nil {
		unmapArena(c.ring)
		c.ring = nil
	}
}
