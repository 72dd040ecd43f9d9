package managedledger

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// What the cache returns is what was put, in order and without gaps; the newest entries are there as long as the ring has room.
func TestTailCacheReturnsWhatWasPut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(64, 4096).Draw(t, "limit")
		c := newTailCache(int64(limit))
		defer c.close()
		stored := map[Position][]byte{}
		next := map[int64]int64{}
		var newest []Position
		for i := range rapid.IntRange(1, 200).Draw(t, "puts") {
			ledger := int64(rapid.IntRange(1, 3).Draw(t, "ledger"))
			p := Position{Ledger: ledger, Entry: next[ledger]}
			next[ledger]++
			data := bytes.Repeat([]byte{byte(i)}, rapid.IntRange(1, limit/largestShare).Draw(t, "bytes"))
			stored[p] = data
			c.put(p, data)
			held := int64(0)
			for _, one := range c.places {
				held += int64(one.length)
			}
			if state := c.state(); state.Bytes != held || state.Bytes > state.Limit || state.Limit != int64(limit) {
				t.Fatalf("the cache says that it holds %d bytes of %d; it holds %d", state.Bytes, state.Limit, held)
			}
			newest = append(newest, p)
			checkNewest(t, c, stored, newest, limit)
			from := Position{Ledger: ledger, Entry: int64(rapid.IntRange(0, int(p.Entry)).Draw(t, "from"))}
			maxEntries, maxBytes := rapid.IntRange(1, 20).Draw(t, "entries"), int64(rapid.IntRange(0, limit).Draw(t, "max bytes"))
			run := c.run(from, maxEntries, maxBytes)
			total := int64(0)
			for j, entry := range run {
				want := Position{Ledger: from.Ledger, Entry: from.Entry + int64(j)}
				if entry.Position != want || !bytes.Equal(entry.Data, stored[want]) || !entry.FromCache {
					t.Fatalf("entry %d of the run from %v is %v with %d bytes", j, from, entry.Position, len(entry.Data))
				}
				total += int64(len(entry.Data))
			}
			if len(run) > maxEntries || len(run) > 1 && total > maxBytes {
				t.Fatalf("a run of %d entries and %d bytes, where %d and %d are allowed", len(run), total, maxEntries, maxBytes)
			}
		}
	})
}

// checkNewest: entries that together take no more than half of the ring, newest first, cannot have been driven out.
func checkNewest(t *rapid.T, c *tailCache, stored map[Position][]byte, newest []Position, limit int) {
	total := 0
	for i := len(newest) - 1; i >= 0; i-- {
		total += len(stored[newest[i]])
		if total > limit/2 {
			return
		}
		if run := c.run(newest[i], 1, 0); len(run) != 1 {
			t.Fatalf("%v is gone, %d bytes after it was put into a ring of %d", newest[i], total, limit)
		}
	}
}

func TestTailCacheRefusesGiants(t *testing.T) {
	c := newTailCache(100)
	defer c.close()
	c.put(Position{Ledger: 1}, make([]byte, 26))
	if run := c.run(Position{Ledger: 1}, 1, 100); run != nil {
		t.Error("an entry of more than a quarter of the ring was kept")
	}
	c.put(Position{Ledger: 1, Entry: 1}, []byte("small"))
	c.close()
	if run := c.run(Position{Ledger: 1, Entry: 1}, 1, 100); run != nil {
		t.Error("a closed cache returns something")
	}
	c.put(Position{Ledger: 1, Entry: 2}, []byte("late"))
}
