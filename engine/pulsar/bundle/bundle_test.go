package bundle

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func TestHashIsCRC32OfTheFullName(t *testing.T) {
	// CRC-32/ISO-HDLC check value of the standard test vector.
	if got := Hash("123456789"); got != 0xcbf43926 {
		t.Fatalf("Hash = %#x", got)
	}
}

func TestEvenFourBundlesAreThoseOfPulsar(t *testing.T) {
	want := []string{"0x00000000_0x40000000", "0x40000000_0x80000000", "0x80000000_0xc0000000", "0xc0000000_0xffffffff"}
	for i, r := range Even(4).Ranges() {
		if r.String() != want[i] {
			t.Errorf("bundle %d = %v, want %s", i, r, want[i])
		}
	}
}

func TestEdgesOfRanges(t *testing.T) {
	bundles := Even(4)
	for hash, want := range map[uint32]string{
		0: "0x00000000_0x40000000", 0x3fffffff: "0x00000000_0x40000000", 0x40000000: "0x40000000_0x80000000",
		0xc0000000: "0xc0000000_0xffffffff", 0xffffffff: "0xc0000000_0xffffffff", 0xfffffffe: "0xc0000000_0xffffffff",
	} {
		if got := bundles.OfHash(hash); got.String() != want {
			t.Errorf("OfHash(%#x) = %v, want %s", hash, got, want)
		}
	}
}

func TestParseRangeRefuses(t *testing.T) {
	for _, name := range []string{"", "0x0", "0x00000000-0x40000000", "0x40000000_0x00000000", "00000000_40000000", "0x1_0x123456789", "0x_0x1", "0x1_0x1"} {
		if _, err := ParseRange(name); !errors.Is(err, ErrBadRange) {
			t.Errorf("ParseRange(%q) = %v", name, err)
		}
	}
}

func TestFromBoundariesRefuses(t *testing.T) {
	for _, texts := range [][]string{nil, {"0x00000000"}, {"0x00000001", "0xffffffff"}, {"0x00000000", "0xfffffffe"}, {"0x00000000", "0x2", "0x1", "0xffffffff"}, {"0x00000000", "x", "0xffffffff"}} {
		if _, err := FromBoundaries(texts); !errors.Is(err, ErrBadBoundaries) {
			t.Errorf("FromBoundaries(%v) = %v", texts, err)
		}
	}
}

// Whatever is split, the hash space stays covered exactly once and only the split bundle changes.
func TestSplitsKeepTheCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bundles := Even(rapid.IntRange(1, 16).Draw(t, "count"))
		for range rapid.IntRange(0, 8).Draw(t, "splits") {
			ranges := bundles.Ranges()
			victim := ranges[rapid.IntRange(0, len(ranges)-1).Draw(t, "victim")]
			next, children, err := bundles.SplitAt(victim, []uint32{Midpoint(victim)})
			if victim.Upper-victim.Lower < 2 {
				if !errors.Is(err, ErrCannotSplit) {
					t.Fatalf("split of %v: %v", victim, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(children) != 2 || children[0].Lower != victim.Lower || children[0].Upper != children[1].Lower || children[1].Upper != victim.Upper {
				t.Fatalf("children of %v: %v", victim, children)
			}
			if next.Count() != bundles.Count()+1 || next.Has(victim) {
				t.Fatalf("after the split of %v: %v", victim, next.Ranges())
			}
			bundles = next
		}
		again, err := FromBoundaries(bundles.Boundaries())
		if err != nil {
			t.Fatal(err)
		}
		hash := rapid.Uint32().Draw(t, "hash")
		owners := 0
		for _, r := range again.Ranges() {
			parsed, err := ParseRange(r.String())
			if err != nil || parsed != r {
				t.Fatalf("ParseRange(%v) = %v, %v", r, parsed, err)
			}
			if r.Contains(hash) {
				owners++
				if again.OfHash(hash) != r {
					t.Fatalf("OfHash(%#x) = %v, want %v", hash, again.OfHash(hash), r)
				}
			}
		}
		if owners != 1 {
			t.Fatalf("%#x has %d bundles", hash, owners)
		}
	})
}

func TestSplitByTopicCountHalvesTheTopics(t *testing.T) {
	r := Range{Lower: 0, Upper: fullUpper}
	cut, err := TopicCountMidpoint(r, []uint32{30, 10, 20, 40})
	if err != nil || cut != 25 {
		t.Fatalf("cut = %d, %v", cut, err)
	}
	if _, err := TopicCountMidpoint(r, []uint32{1}); !errors.Is(err, ErrCannotSplit) {
		t.Fatalf("one topic: %v", err)
	}
	if _, _, err := Even(1).SplitAt(r, []uint32{0}); !errors.Is(err, ErrCannotSplit) {
		t.Fatalf("cut at the edge: %v", err)
	}
	if _, _, err := Even(2).SplitAt(r, []uint32{5}); !errors.Is(err, ErrUnknownBundle) {
		t.Fatalf("unknown bundle: %v", err)
	}
}

func TestPlace(t *testing.T) {
	for _, c := range []struct {
		name    string
		brokers []Load
		want    string
	}{
		{"least rate", []Load{{Broker: "a", MessageRate: 1000}, {Broker: "b", MessageRate: 10, Bundles: 9}}, "b"},
		{"idle: fewest bundles", []Load{{Broker: "a", Bundles: 2}, {Broker: "b", Bundles: 1}}, "b"},
		{"promises count", []Load{{Broker: "a", Bundles: 1, Preallocated: 2}, {Broker: "b", Bundles: 2}}, "b"},
		{"overloaded last", []Load{{Broker: "a", Usage: 90}, {Broker: "b", Usage: 50, MessageRate: 1e6}}, "b"},
		{"all overloaded", []Load{{Broker: "a", Usage: 90, Bundles: 3}, {Broker: "b", Usage: 99, Bundles: 1}}, "b"},
	} {
		if got, ok := Place(c.brokers, 7); !ok || got != c.want {
			t.Errorf("%s: Place = %s, %v", c.name, got, ok)
		}
	}
	if _, ok := Place(nil, 0); ok {
		t.Error("placed on no broker")
	}
	seen := map[string]bool{}
	for draw := range uint64(4) {
		broker, _ := Place([]Load{{Broker: "a"}, {Broker: "b"}}, draw)
		seen[broker] = true
	}
	if len(seen) != 2 {
		t.Errorf("equal brokers are not drawn from: %v", seen)
	}
}
