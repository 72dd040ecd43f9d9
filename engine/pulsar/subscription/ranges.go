package subscription

import (
	"fmt"
	"slices"
)

// HashRange is a closed range of slots: [Start, End], 0 to 65535.
type HashRange struct {
	Start int
	End   int
}

// keyRanges maps slots to consumers. A range is named by its upper end; it begins after the range below it.
//
//	after three consumers joined:     [0 .. 16384] c3   (16384 .. 32768] c2'   …
//
// A newcomer takes the lower half of the widest range; what a leaver held falls to the range above it, or below when it was the last.
type keyRanges struct {
	parts []keyRange // ascending by upper end
}

type keyRange struct {
	upper int // inclusive
	owner ConsumerID
}

func (r *keyRanges) lower(i int) int {
	if i == 0 {
		return 0
	}
	return r.parts[i-1].upper
}

func (r *keyRanges) add(id ConsumerID) {
	if len(r.parts) == 0 {
		r.parts = []keyRange{{upper: HashSpace, owner: id}}
		return
	}
	widest := 0
	for i := range r.parts {
		if r.parts[i].upper-r.lower(i) > r.parts[widest].upper-r.lower(widest) {
			widest = i
		}
	}
	upper, lower := r.parts[widest].upper, r.lower(widest)
	if upper-lower < 2 {
		return // more consumers than slots: the newcomer waits for a range to come free
	}
	r.parts = slices.Insert(r.parts, widest, keyRange{upper: upper - (upper-lower)/2, owner: id})
}

func (r *keyRanges) remove(id ConsumerID) {
	at := slices.IndexFunc(r.parts, func(part keyRange) bool { return part.owner == id })
	if at < 0 {
		return
	}
	if at == len(r.parts)-1 && at > 0 {
		r.parts[at].owner = r.parts[at-1].owner
		r.parts = slices.Delete(r.parts, at-1, at)
		return
	}
	r.parts = slices.Delete(r.parts, at, at+1)
}

func (r *keyRanges) owner(slot uint16) (ConsumerID, bool) {
	at, _ := slices.BinarySearchFunc(r.parts, int(slot), func(part keyRange, slot int) int { return part.upper - slot })
	if at >= len(r.parts) {
		return 0, false
	}
	return r.parts[at].owner, true
}

// checkSticky tells whether a consumer may have the ranges that it asks for.
func checkSticky(consumer Consumer, others []*member) error {
	for i, wanted := range consumer.Sticky {
		if wanted.Start < 0 || wanted.End >= HashSpace || wanted.Start > wanted.End {
			return fmt.Errorf("%w: [%d, %d] is no range of 0 to %d", ErrRanges, wanted.Start, wanted.End, HashSpace-1)
		}
		for _, other := range consumer.Sticky[:i] {
			if wanted.Start <= other.End && other.Start <= wanted.End {
				return fmt.Errorf("%w: [%d, %d] and [%d, %d] overlap", ErrRanges, wanted.Start, wanted.End, other.Start, other.End)
			}
		}
		for _, member := range others {
			for _, taken := range member.Sticky {
				if wanted.Start <= taken.End && taken.Start <= wanted.End {
					return fmt.Errorf("%w %s: [%d, %d] is taken", ErrRanges, member.Name, taken.Start, taken.End)
				}
			}
		}
	}
	return nil
}

func stickyOwner(slot uint16, members []*member) (ConsumerID, bool) {
	for _, member := range members {
		for _, r := range member.Sticky {
			if int(slot) >= r.Start && int(slot) <= r.End {
				return member.ID, true
			}
		}
	}
	return 0, false
}
