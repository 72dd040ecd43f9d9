package managedledger

import (
	"cmp"
	"maps"
	"slices"
)

// Range is entries of one ledger from First to Last, both included.
type Range struct{ First, Last Position }

func (r Range) size() int64 { return r.Last.Entry - r.First.Entry + 1 }

// acknowledged is what a cursor has acknowledged: a plain value with the rules, guarded by the cursor.
//
//	mark-delete position      deleted ranges
//	        v                 v         v
//	████████|·····|███|·······|█████|···········     █ acknowledged  · backlog
//
// The mark-delete position moves only over entries that are acknowledged without a gap, across ledgers too.
type acknowledged struct {
	markDelete Position
	ranges     []Range              // after markDelete, sorted, not touching within a ledger
	single     int64                // entries in ranges
	batches    map[Position][]int64 // of batches that are acknowledged in part: what is left, bit by bit
	properties map[string]int64
}

func (a *acknowledged) clone() acknowledged {
	c := *a
	c.ranges = slices.Clone(a.ranges)
	c.batches = maps.Clone(a.batches) // the words are never changed in place
	c.properties = maps.Clone(a.properties)
	return c
}

// search is the index of the first range that ends at p or after it.
func (a *acknowledged) search(p Position) int {
	i, _ := slices.BinarySearchFunc(a.ranges, p, func(r Range, p Position) int { return r.Last.Compare(p) })
	return i
}

func (a *acknowledged) has(p Position) bool {
	if p.Compare(a.markDelete) <= 0 {
		return true
	}
	i := a.search(p)
	return i < len(a.ranges) && a.ranges[i].First.Compare(p) <= 0
}

// delete acknowledges one entry; false: it was acknowledged already.
func (a *acknowledged) delete(p Position) bool {
	if a.has(p) {
		return false
	}
	delete(a.batches, p)
	a.single++
	i := a.search(p)
	joinsLeft := i > 0 && a.ranges[i-1].Last == Position{Ledger: p.Ledger, Entry: p.Entry - 1}
	joinsRight := i < len(a.ranges) && a.ranges[i].First == Position{Ledger: p.Ledger, Entry: p.Entry + 1}
	switch {
	case joinsLeft && joinsRight:
		a.ranges[i-1].Last = a.ranges[i].Last
		a.ranges = slices.Delete(a.ranges, i, i+1)
	case joinsLeft:
		a.ranges[i-1].Last = p
	case joinsRight:
		a.ranges[i].First = p
	default:
		a.ranges = slices.Insert(a.ranges, i, Range{First: p, Last: p})
	}
	return true
}

// advance moves the mark-delete position over the ranges that follow it without a gap. Next is the managed ledger's.
func (a *acknowledged) advance(next func(Position) Position) {
	done := 0
	for done < len(a.ranges) && next(a.markDelete).Compare(a.ranges[done].First) >= 0 {
		a.markDelete = a.ranges[done].Last
		a.single -= a.ranges[done].size()
		done++
	}
	a.ranges = slices.Delete(a.ranges, 0, done)
	a.dropBatches()
}

// markDeleted acknowledges everything up to p; false: p is not after the mark-delete position.
func (a *acknowledged) markDeleted(p Position, next func(Position) Position) bool {
	if p.Compare(a.markDelete) <= 0 {
		return false
	}
	a.markDelete = p
	i := a.search(p)
	if i < len(a.ranges) && a.ranges[i].First.Compare(p) <= 0 { // p is in the middle of it
		a.markDelete = a.ranges[i].Last
		i++
	}
	for _, r := range a.ranges[:i] {
		a.single -= r.size()
	}
	a.ranges = slices.Delete(a.ranges, 0, i)
	a.advance(next)
	return true
}

func (a *acknowledged) dropBatches() {
	for p := range a.batches {
		if p.Compare(a.markDelete) <= 0 {
			delete(a.batches, p)
		}
	}
}

// deleteBatch acknowledges messages of a batch: bits that are 0 in ackSet are acknowledged. It returns true when none is left.
func (a *acknowledged) deleteBatch(p Position, ackSet []int64) (complete bool) {
	if a.has(p) {
		return false
	}
	left := slices.Clone(ackSet)
	if known, found := a.batches[p]; found {
		left = left[:min(len(left), len(known))] // a bit beyond the end of either is 0: acknowledged
		for i := range left {
			left[i] &= known[i]
		}
	}
	if !slices.ContainsFunc(left, func(word int64) bool { return word != 0 }) {
		return true
	}
	if a.batches == nil {
		a.batches = make(map[Position][]int64)
	}
	a.batches[p] = left
	return false
}

// reset forgets everything after p.
func (a *acknowledged) reset(p Position) {
	a.markDelete, a.ranges, a.single, a.batches = p, nil, 0, nil
}

// skip is the position of the n-th entry after the mark-delete position that is not acknowledged, or the last entry.
func (a *acknowledged) skip(n int64, l ledgerList) Position {
	rank := l.rank(a.markDelete)
	for _, r := range a.ranges {
		before := l.rank(r.First) - 1 // entries before the range
		if gap := before - rank; gap >= n {
			break
		} else if gap > 0 {
			n -= gap
		}
		rank = l.rank(r.Last)
	}
	return l.ranked(rank + n)
}

// sortedBatches lists the batches in order.
func (a *acknowledged) sortedBatches() []Position {
	return slices.SortedFunc(maps.Keys(a.batches), func(p, q Position) int {
		return cmp.Or(cmp.Compare(p.Ledger, q.Ledger), cmp.Compare(p.Entry, q.Entry))
	})
}
