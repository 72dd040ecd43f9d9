package managedledger

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"twinlog/engine/pulsar/offloaded"
)

// drawList draws a list of ledgers, some of them empty, and all positions of entries in it.
func drawList(t *rapid.T) (list ledgerList, all []Position) {
	id := int64(0)
	for range rapid.IntRange(0, 5).Draw(t, "ledgers") {
		id += rapid.Int64Range(1, 3).Draw(t, "gap")
		entries := rapid.Int64Range(0, 4).Draw(t, "entries")
		list = append(list, LedgerInfo{Ledger: id, Entries: entries})
		for entry := range entries {
			all = append(all, Position{Ledger: id, Entry: entry})
		}
	}
	return list, all
}

func drawPosition(t *rapid.T) Position {
	return Position{Ledger: rapid.Int64Range(-1, 18).Draw(t, "ledger"), Entry: rapid.Int64Range(-1, 6).Draw(t, "entry")}
}

// The arithmetic of positions is that of indexes into the list of all entries.
func TestPositionArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, all := drawList(t)
		p, q := drawPosition(t), drawPosition(t)
		upTo := func(p Position) int64 { // entries up to and including p
			return int64(len(slices.DeleteFunc(slices.Clone(all), func(e Position) bool { return p.Before(e) })))
		}
		firstFrom := func(p Position) (Position, bool) {
			i := slices.IndexFunc(all, func(e Position) bool { return !e.Before(p) })
			if i < 0 {
				return Position{}, false
			}
			return all[i], true
		}
		if got := list.contains(p); got != slices.Contains(all, p) {
			t.Fatalf("contains %v: %v", p, got)
		}
		if got := list.rank(p); got != upTo(p) {
			t.Fatalf("rank of %v: got %d, want %d", p, got, upTo(p))
		}
		if got, want := list.count(p, q), max(0, upTo(q)-upTo(p)); got != want {
			t.Fatalf("count from %v to %v: got %d, want %d", p, q, got, want)
		}
		if want, found := firstFrom(p); found && list.valid(p) != want {
			t.Fatalf("valid %v: got %v, want %v", p, list.valid(p), want)
		} else if !found && list.contains(list.valid(p)) {
			t.Fatalf("valid %v: got %v, nothing is there", p, list.valid(p))
		}
		if want, found := firstFrom(Position{Ledger: p.Ledger, Entry: p.Entry + 1}); found && list.next(p) != want {
			t.Fatalf("next %v: got %v, want %v", p, list.next(p), want)
		}
		if before := slices.DeleteFunc(slices.Clone(all), func(e Position) bool { return !e.Before(p) }); len(before) > 0 {
			if got := list.previous(p); got != before[len(before)-1] {
				t.Fatalf("previous %v: got %v, want %v", p, got, before[len(before)-1])
			}
		} else if got := list.previous(p); got != list.first() {
			t.Fatalf("previous %v: got %v, want the first place %v", p, got, list.first())
		}
		for i, e := range all {
			if got := list.ranked(int64(i) + 1); got != e {
				t.Fatalf("entry %d: got %v, want %v", i, got, e)
			}
		}
		if len(all) > 0 && list.last() != all[len(all)-1] {
			t.Fatalf("last: got %v, want %v", list.last(), all[len(all)-1])
		}
	})
}

// A cursor's state is that of a set of acknowledged entries.
func TestAcknowledged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, all := drawList(t)
		if len(all) == 0 {
			return
		}
		a := acknowledged{markDelete: list.first()}
		acked := map[Position]bool{}
		batches := map[Position]int64{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			p := all[rapid.IntRange(0, len(all)-1).Draw(t, "entry")]
			switch rapid.IntRange(0, 12).Draw(t, "action") {
			case 0:
				a.markDeleted(p, list.next)
				for _, e := range all {
					if e.Compare(p) <= 0 {
						acked[e] = true
					}
				}
			case 1:
				a.reset(list.previous(p))
				acked, batches = map[Position]bool{}, map[Position]int64{}
				for _, e := range all {
					acked[e] = e.Before(p)
				}
			case 2:
				n := rapid.Int64Range(1, 4).Draw(t, "skip")
				a.markDeleted(a.skip(n, list), list.next)
				for _, e := range all {
					if !acked[e] && n > 0 {
						n--
						acked[e] = true
					}
				}
			case 3, 4:
				word := rapid.Int64Range(0, 7).Draw(t, "ack set")
				left, known := batches[p]
				if !known {
					left = 7
				}
				left &= word
				complete := a.deleteBatch(p, []int64{word})
				if complete != (!acked[p] && left == 0) {
					t.Fatalf("batch at %v complete: %v, left are %b", p, complete, left)
				}
				if complete {
					a.delete(p)
					a.advance(list.next)
					acked[p] = true
				} else if !acked[p] {
					batches[p] = left
				}
			default:
				a.delete(p)
				a.advance(list.next)
				acked[p] = true
			}
			checkAcknowledged(t, a, list, all, acked, batches)
			stored := a.positionInfo()
			back := acknowledgedFrom(a.markDelete, stored.GetIndividualDeletedMessages(), stored.GetBatchedEntryDeletionIndexInfo(), nil, list)
			checkAcknowledged(t, back, list, all, acked, batches)
		}
	})
}

func checkAcknowledged(t *rapid.T, a acknowledged, list ledgerList, all []Position, acked map[Position]bool, batches map[Position]int64) {
	t.Helper()
	prefix, single := true, int64(0)
	for _, e := range all {
		if a.has(e) != acked[e] {
			t.Fatalf("%v is acknowledged: %v, want %v (mark-delete %v, ranges %v)", e, a.has(e), acked[e], a.markDelete, a.ranges)
		}
		prefix = prefix && acked[e]
		if prefix && a.markDelete.Before(e) {
			t.Fatalf("everything up to %v is acknowledged, mark-delete is %v", e, a.markDelete)
		}
		if acked[e] && a.markDelete.Before(e) {
			single++
		}
		if left, found := batches[e]; found && !acked[e] && (len(a.batches[e]) != 1 || a.batches[e][0] != left) {
			t.Fatalf("batch at %v: left %v, want %b", e, a.batches[e], left)
		}
		if acked[e] && a.batches[e] != nil {
			t.Fatalf("batch at %v is kept although it is acknowledged", e)
		}
	}
	if a.single != single {
		t.Fatalf("%d single acknowledgements are counted, there are %d in %v", a.single, single, a.ranges)
	}
}

func FuzzStoredValues(f *testing.F) {
	value, _ := info{ledgers: ledgerList{{Ledger: 3, Entries: 4}}, properties: map[string]string{"a": "b"}}.encode()
	f.Add(value)
	state := acknowledged{markDelete: Position{Ledger: 3}, ranges: []Range{{First: Position{3, 2}, Last: Position{3, 3}}}}
	value, _ = cursorInfo{ledger: -1, state: state}.encode()
	f.Add(value)
	value, _ = info{ledgers: ledgerList{
		{Ledger: 3, Entries: 4, Closed: sealedAt, Offload: &Offload{UID: offloaded.UID{High: 1, Low: 2}, Driver: "filesystem"}},
		{Ledger: 5, Entries: 4, Closed: sealedAt, Offload: &Offload{UID: offloaded.UID{High: -1}, Complete: true, At: sealedAt, Driver: "S3"}},
	}}.encode()
	f.Add(value)
	list := ledgerList{{Ledger: 3, Entries: 4}, {Ledger: 5, Entries: 9}}
	f.Fuzz(func(t *testing.T, value []byte) {
		_, _ = decodeCursorInfo(value, list)
		read, err := decodeInfo(value)
		if err != nil {
			return
		}
		for _, one := range read.ledgers { // what a broker writes back of another's offload says the same
			if again := decodeOffload(one.Offload.encode()); !sameOffload(again, one.Offload) {
				t.Fatalf("ledger %d: %+v is written as %+v", one.Ledger, one.Offload, again)
			}
		}
	})
}
