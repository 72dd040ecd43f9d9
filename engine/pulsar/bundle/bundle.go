// Package bundle is the arithmetic of Pulsar's namespace bundles: a namespace's topics are spread over hash ranges, a broker owns whole
// ranges, and ownership moves a range at a time. Everything here is pure; the broker does what it says.
//
//	hash of a topic = CRC-32 (IEEE) of its full name, "persistent://tenant/namespace/topic-partition-3", as an unsigned 32-bit number
//
//	0x00000000      0x40000000      0x80000000      0xc0000000      0xffffffff
//	     |               |               |               |               |
//	     [   bundle 0    [   bundle 1    [   bundle 2    [   bundle 3    ]
//
// A range contains its lower bound; it contains its upper bound only when that is 0xffffffff.
package bundle

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
)

const fullUpper = 0xffffffff

var (
	// ErrBadRange: a text is not of the form 0x40000000_0x80000000, or its bounds are in the wrong order.
	ErrBadRange = errors.New("not a bundle range")
	// ErrBadBoundaries: a list of boundaries does not cut the whole hash space in order.
	ErrBadBoundaries = errors.New("boundaries do not cover the hash space")
	// ErrUnknownBundle: the namespace has no such bundle, or no longer.
	ErrUnknownBundle = errors.New("the namespace has no such bundle")
	// ErrCannotSplit: no boundary lies inside the bundle.
	ErrCannotSplit = errors.New("the bundle cannot be split")
)

// Hash places a topic in the hash space. Topic is the full name, with domain and partition suffix.
func Hash(topic string) uint32 { return crc32.ChecksumIEEE([]byte(topic)) }

// Range is one bundle.
type Range struct {
	Lower uint32
	Upper uint32
}

// Contains tells whether a hash belongs to the bundle.
func (r Range) Contains(hash uint32) bool {
	return hash >= r.Lower && (hash < r.Upper || r.Upper == fullUpper)
}

// String is the bundle's name in znodes, URLs and events: 0x40000000_0x80000000.
func (r Range) String() string { return fmt.Sprintf("0x%08x_0x%08x", r.Lower, r.Upper) }

// ParseRange reads a bundle's name.
func ParseRange(name string) (Range, error) {
	lowerText, upperText, found := strings.Cut(name, "_")
	if !found {
		return Range{}, fmt.Errorf("%w: %q", ErrBadRange, name)
	}
	lower, err := parseBoundary(lowerText)
	if err != nil {
		return Range{}, fmt.Errorf("%w: %q", ErrBadRange, name)
	}
	upper, err := parseBoundary(upperText)
	if err != nil || upper <= lower {
		return Range{}, fmt.Errorf("%w: %q", ErrBadRange, name)
	}
	return Range{Lower: lower, Upper: upper}, nil
}

func parseBoundary(text string) (uint32, error) {
	digits, found := strings.CutPrefix(text, "0x")
	if !found || len(digits) == 0 || len(digits) > 8 {
		return 0, ErrBadRange
	}
	value, err := strconv.ParseUint(digits, 16, 32)
	return uint32(value), err
}

// Bundles cuts the hash space of one namespace. The zero value has none; use Even or FromBoundaries.
type Bundles struct {
	boundaries []uint32 // ascending, first 0, last 0xffffffff
}

// Even cuts the hash space in count bundles of the same width. Count is at least 1.
func Even(count int) Bundles {
	count = max(1, count)
	width := uint64(1<<32) / uint64(count)
	boundaries := make([]uint32, 0, count+1)
	for i := range count {
		boundaries = append(boundaries, uint32(uint64(i)*width))
	}
	return Bundles{boundaries: append(boundaries, fullUpper)}
}

// FromBoundaries reads the boundaries of a policies znode: ["0x00000000", …, "0xffffffff"].
func FromBoundaries(texts []string) (Bundles, error) {
	boundaries := make([]uint32, 0, len(texts))
	for _, text := range texts {
		boundary, err := parseBoundary(text)
		if err != nil {
			return Bundles{}, fmt.Errorf("%w: %q is not a boundary", ErrBadBoundaries, text)
		}
		boundaries = append(boundaries, boundary)
	}
	if len(boundaries) < 2 || boundaries[0] != 0 || boundaries[len(boundaries)-1] != fullUpper {
		return Bundles{}, fmt.Errorf("%w: %v", ErrBadBoundaries, texts)
	}
	for i := 1; i < len(boundaries); i++ {
		if boundaries[i] <= boundaries[i-1] {
			return Bundles{}, fmt.Errorf("%w: %v is not ascending", ErrBadBoundaries, texts)
		}
	}
	return Bundles{boundaries: boundaries}, nil
}

// Boundaries is the inverse of FromBoundaries.
func (b Bundles) Boundaries() []string {
	texts := make([]string, 0, len(b.boundaries))
	for _, boundary := range b.boundaries {
		texts = append(texts, fmt.Sprintf("0x%08x", boundary))
	}
	return texts
}

// Count is the number of bundles.
func (b Bundles) Count() int { return max(0, len(b.boundaries)-1) }

// Ranges lists the bundles in order.
func (b Bundles) Ranges() []Range {
	ranges := make([]Range, 0, b.Count())
	for i := 1; i < len(b.boundaries); i++ {
		ranges = append(ranges, Range{Lower: b.boundaries[i-1], Upper: b.boundaries[i]})
	}
	return ranges
}

// Of is the bundle of a topic.
func (b Bundles) Of(topic string) Range { return b.OfHash(Hash(topic)) }

// OfHash is the bundle that contains a hash.
func (b Bundles) OfHash(hash uint32) Range {
	// The first boundary above the hash closes its bundle; 0xffffffff itself belongs to the last bundle.
	at, _ := slices.BinarySearch(b.boundaries, hash)
	if at < len(b.boundaries) && b.boundaries[at] == hash {
		at++
	}
	at = min(max(at, 1), len(b.boundaries)-1)
	return Range{Lower: b.boundaries[at-1], Upper: b.boundaries[at]}
}

// Has tells whether the namespace is cut so that r is one of its bundles.
func (b Bundles) Has(r Range) bool { return slices.Contains(b.Ranges(), r) }
