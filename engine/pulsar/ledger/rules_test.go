package ledger

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestWriteSet(t *testing.T) {
	for _, test := range []struct {
		entry       int64
		ensemble    int
		writeQuorum int
		want        []int
	}{
		{0, 3, 2, []int{0, 1}},
		{1, 3, 2, []int{1, 2}},
		{2, 3, 2, []int{2, 0}},
		{3, 3, 2, []int{0, 1}},
		{1 << 40, 5, 3, []int{1, 2, 3}},
		{7, 1, 1, []int{0}},
		{5, 3, 3, []int{2, 0, 1}},
	} {
		if got := WriteSet(test.entry, test.ensemble, test.writeQuorum); !slices.Equal(got, test.want) {
			t.Errorf("entry %d of ensemble %d, write quorum %d: got %v, want %v", test.entry, test.ensemble, test.writeQuorum, got, test.want)
		}
	}
}

func threeBookies() Metadata {
	return Metadata{
		Ensemble: 3, WriteQuorum: 2, AckQuorum: 2, State: Open, LastEntry: NoEntry, Digest: CRC32C,
		Segments: []Segment{{Bookies: []string{"a", "b", "c"}}}, Created: time.UnixMilli(1_700_000_000_000),
	}
}

func TestAcknowledgementsInOrder(t *testing.T) {
	w := NewWriter(threeBookies(), NoEntry)
	_, first := w.Add(nil)
	_, second := w.Add(nil)
	for _, send := range second {
		w.Answer(send, OK)
	}
	if w.LastAddConfirmed() != NoEntry {
		t.Errorf("entry 1 was acknowledged before entry 0: LAC %d", w.LastAddConfirmed())
	}
	w.Answer(first[0], OK)
	w.Answer(first[0], OK)
	if w.LastAddConfirmed() != NoEntry {
		t.Error("one bookie that answers twice is no quorum")
	}
	w.Answer(first[1], OK)
	if w.LastAddConfirmed() != 1 {
		t.Errorf("LAC %d, want 1", w.LastAddConfirmed())
	}
}

func TestEnsembleChange(t *testing.T) {
	w := NewWriter(threeBookies(), NoEntry)
	_, zero := w.Add(nil) // a, b
	_, one := w.Add(nil)  // b, c
	w.Answer(zero[0], OK)
	w.Answer(zero[1], OK)
	w.Answer(one[0], OK)
	change := w.Answer(one[1], Failed)
	if change == nil || change.FirstEntry != 1 || !slices.Equal(change.Failed, []int{2}) {
		t.Fatalf("change %+v", change)
	}
	if again := w.Answer(one[0], Failed); again != nil {
		t.Errorf("a second change began before the first one ended: %+v", again)
	}
	_, two := w.Add(nil) // c, a: c has failed
	if len(two) != 1 || two[0].Bookie != "a" {
		t.Errorf("entry 2 is sent to %+v", two)
	}
	w.Answer(two[0], OK)
	ensemble, err := ReplaceFailed(*change, []string{"a", "b", "c", "d"}, func(string) bool { return false }, func(int) int { return 0 })
	if err != nil || !slices.Equal(ensemble, []string{"a", "b", "d"}) {
		t.Fatalf("replacement %v, %v", ensemble, err)
	}
	sends, next := w.Changed(ensemble, nil)
	if len(sends) != 2 || sends[0].Entry != 1 || sends[1].Entry != 2 || sends[0].Bookie != "d" || sends[1].Bookie != "d" {
		t.Errorf("the new bookie gets %+v", sends)
	}
	if next == nil || !slices.Equal(next.Failed, []int{1}) || next.FirstEntry != 1 {
		t.Errorf("the bookie that failed meanwhile: %+v", next)
	}
	if w.Answer(one[1], OK); w.LastAddConfirmed() != 0 {
		t.Error("the replaced bookie's late answer counts")
	}
}

func TestFencedWriterStops(t *testing.T) {
	w := NewWriter(threeBookies(), NoEntry)
	_, sends := w.Add(nil)
	w.Answer(sends[0], OK)
	if change := w.Answer(sends[1], Fenced); change != nil || !errors.Is(w.Err(), ErrFenced) {
		t.Errorf("change %v, error %v", change, w.Err())
	}
	if w.Answer(sends[1], OK); w.LastAddConfirmed() != NoEntry {
		t.Error("acknowledged after the fence")
	}
}

// Which answers are enough to begin with step 3.
func TestFenceCoverage(t *testing.T) {
	for _, test := range []struct {
		name                             string
		ensemble, writeQuorum, ackQuorum int
		silent                           []int
		covered                          bool
	}{
		{"all answer", 3, 2, 2, nil, true},
		{"one of three is silent", 3, 2, 2, []int{1}, true},
		{"two of three are silent, both hold entry 1", 3, 2, 2, []int{1, 2}, false},
		{"ack quorum 1 needs everybody", 3, 2, 1, []int{0}, false},
		{"three copies, two acks, one silent", 3, 3, 2, []int{0}, true},
		{"three copies, two acks, two silent", 3, 3, 2, []int{0, 1}, false},
		{"far apart in a wide ensemble", 5, 2, 2, []int{0, 2}, true},
		{"neighbours in a wide ensemble", 5, 2, 2, []int{4, 0}, false},
	} {
		m := Metadata{Ensemble: test.ensemble, WriteQuorum: test.writeQuorum, AckQuorum: test.ackQuorum}
		segment := Segment{}
		for i := range test.ensemble {
			segment.Bookies = append(segment.Bookies, string(rune('a'+i)))
		}
		m.Segments = []Segment{segment}
		r, reads := NewRecovery(m)
		for _, read := range reads {
			outcome := NoSuchLedger
			if slices.Contains(test.silent, read.Index) {
				outcome = Failed
			}
			r.FenceAnswer(read, outcome, EntryHeader{})
		}
		if covered := !r.Fencing(); covered != test.covered || (r.Err() == nil) != test.covered {
			t.Errorf("%s: covered %v, error %v", test.name, covered, r.Err())
		}
	}
}

func TestMetadataSurvives(t *testing.T) {
	closed := threeBookies().WithEnsemble(10, []string{"a", "d", "c"}).WithClosed(41, 12345)
	closed.Custom = map[string][]byte{"application": []byte("pulsar"), "component": []byte("managed-ledger")}
	closed.Password = []byte("secret")
	for _, m := range []Metadata{threeBookies(), threeBookies().WithState(InRecovery), closed, threeBookies().WithClosed(NoEntry, 0)} {
		value, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeMetadata(value)
		if back.Password = slices.Clip(back.Password); len(back.Password) == 0 {
			back.Password = nil
		}
		if err != nil || !reflect.DeepEqual(m, back) {
			t.Errorf("wrote %+v\nread  %+v, %v", m, back, err)
		}
	}
	if got := closed.SegmentOf(9).Bookies[1] + closed.SegmentOf(10).Bookies[1] + closed.SegmentOf(1000).Bookies[1]; got != "bdd" {
		t.Errorf("segments of entries 9, 10, 1000: %s", got)
	}
	for _, bad := range []string{"", "BookieMetadataFormatVersion\t2\n", "BookieMetadataFormatVersion\t3\n", "BookieMetadataFormatVersion\t3\n\x02\x08\x01"} {
		if _, err := DecodeMetadata([]byte(bad)); err == nil {
			t.Errorf("decoded %q", bad)
		}
	}
}

func FuzzDecodeMetadata(f *testing.F) {
	value, _ := threeBookies().WithClosed(3, 4).Encode()
	f.Add(value)
	f.Fuzz(func(t *testing.T, value []byte) {
		m, err := DecodeMetadata(value)
		if err != nil {
			return
		}
		if _, err := m.Encode(); err != nil {
			t.Fatalf("decoded metadata cannot be encoded: %v", err)
		}
	})
}

func TestSeal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		digest := Digest(rapid.IntRange(1, 4).Draw(t, "digest"))
		s, err := NewSealer(7, digest, rapid.SliceOf(rapid.Byte()).Draw(t, "password"))
		if err != nil {
			t.Fatal(err)
		}
		payload := rapid.SliceOf(rapid.Byte()).Draw(t, "payload")
		sealed := s.Seal(3, 2, 99, payload)
		header, back, err := s.Unseal(sealed, 3)
		if err != nil || !slices.Equal(payload, back) || header != (EntryHeader{Ledger: 7, Entry: 3, LastAddConfirmed: 2, Length: 99}) {
			t.Fatalf("%+v %v %v", header, back, err)
		}
		if _, _, err := s.Unseal(sealed, 4); !errors.Is(err, ErrDigest) {
			t.Fatalf("entry 3 was taken for entry 4: %v", err)
		}
		if digest == Dummy {
			return
		}
		sealed[rapid.IntRange(0, len(sealed)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, _, err := s.Unseal(sealed, 3); err == nil {
			t.Fatal("a flipped bit was not noticed")
		}
	})
}

func FuzzUnseal(f *testing.F) {
	s, _ := NewSealer(7, CRC32C, nil)
	f.Add(s.Seal(3, 2, 99, []byte("payload")))
	f.Fuzz(func(t *testing.T, sealed []byte) { _, _, _ = s.Unseal(sealed, 3) })
}
