package subscription

import (
	"container/heap"
	"slices"
	"time"
)

// replaySet is the entries that wait to be read again, in order, and how many there are of each slot: a later entry of a slot must
// not overtake one that waits.
type replaySet struct {
	sorted []Position
	slots  map[Position]uint16
	counts map[uint16]int
}

func newReplaySet() replaySet {
	return replaySet{slots: map[Position]uint16{}, counts: map[uint16]int{}}
}

func (r *replaySet) len() int { return len(r.sorted) }

func (r *replaySet) add(position Position, slot uint16) {
	if _, there := r.slots[position]; there {
		return
	}
	at, _ := slices.BinarySearchFunc(r.sorted, position, Position.Compare)
	r.sorted = slices.Insert(r.sorted, at, position)
	r.slots[position] = slot
	r.counts[slot]++
}

func (r *replaySet) remove(position Position) {
	slot, there := r.slots[position]
	if !there {
		return
	}
	at, _ := slices.BinarySearchFunc(r.sorted, position, Position.Compare)
	r.sorted = slices.Delete(r.sorted, at, at+1)
	r.forget(position, slot)
}

func (r *replaySet) removeThrough(position Position) {
	n := 0
	for n < len(r.sorted) && r.sorted[n].Compare(position) <= 0 {
		r.forget(r.sorted[n], r.slots[r.sorted[n]])
		n++
	}
	r.sorted = slices.Delete(r.sorted, 0, n)
}

func (r *replaySet) forget(position Position, slot uint16) {
	delete(r.slots, position)
	if r.counts[slot]--; r.counts[slot] == 0 {
		delete(r.counts, slot)
	}
}

// delayedEntry is an entry that its producer wants delivered later.
type delayedEntry struct {
	at       time.Time
	position Position
	slot     uint16
}

type delayedHeap []delayedEntry

func (h delayedHeap) Len() int { return len(h) }
func (h delayedHeap) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].position.Compare(h[j].position) < 0
}
func (h delayedHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push and Pop belong to heap.Interface; use push and pop.
func (h *delayedHeap) Push(entry any) { *h = append(*h, entry.(delayedEntry)) }

// Pop belongs to heap.Interface.
func (h *delayedHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func (h *delayedHeap) push(entry delayedEntry) { heap.Push(h, entry) }
func (h *delayedHeap) pop() delayedEntry       { return heap.Pop(h).(delayedEntry) }
