package bundle

import (
	"fmt"
	"slices"
)

// Split algorithms, by the names that the admin interface gives them.
const (
	RangeEquallyDivide       = "range_equally_divide"
	TopicCountEquallyDivide  = "topic_count_equally_divide"
	SpecifiedPositionsDivide = "specified_positions_divide"
)

// Midpoint halves the range, whatever is in it.
func Midpoint(r Range) uint32 { return r.Lower + (r.Upper-r.Lower)/2 }

// TopicCountMidpoint puts the cut between the middle topics, so that both halves hold as many; hashes are those of the bundle's
// topics in any order.
func TopicCountMidpoint(r Range, hashes []uint32) (uint32, error) {
	if len(hashes) < 2 {
		return 0, fmt.Errorf("%w: %v holds %d topics, and a split by topic count needs two", ErrCannotSplit, r, len(hashes))
	}
	sorted := slices.Sorted(slices.Values(hashes))
	left, right := sorted[len(sorted)/2-1], sorted[len(sorted)/2]
	return left + (right-left)/2, nil
}

// SplitAt replaces one bundle by those that the cuts make of it. Every cut lies strictly inside the bundle.
func (b Bundles) SplitAt(r Range, cuts []uint32) (Bundles, []Range, error) {
	if !b.Has(r) {
		return Bundles{}, nil, fmt.Errorf("%w: %v", ErrUnknownBundle, r)
	}
	cuts = slices.Compact(slices.Sorted(slices.Values(cuts)))
	if len(cuts) == 0 {
		return Bundles{}, nil, fmt.Errorf("%w: no boundary given for %v", ErrCannotSplit, r)
	}
	for _, cut := range cuts {
		if cut <= r.Lower || cut >= r.Upper {
			return Bundles{}, nil, fmt.Errorf("%w: 0x%08x is not inside %v", ErrCannotSplit, cut, r)
		}
	}
	boundaries := slices.Concat(b.boundaries, cuts)
	slices.Sort(boundaries)
	children := make([]Range, 0, len(cuts)+1)
	lower := r.Lower
	for _, cut := range append(cuts, r.Upper) {
		children = append(children, Range{Lower: lower, Upper: cut})
		lower = cut
	}
	return Bundles{boundaries: boundaries}, children, nil
}
