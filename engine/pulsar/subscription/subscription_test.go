package subscription

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func at(entry int64) Position { return Position{Ledger: 1, Entry: entry} }

func entries(from, to int64) []Entry {
	var list []Entry
	for i := from; i <= to; i++ {
		list = append(list, Entry{Position: at(i), Messages: 1})
	}
	return list
}

func join(t *testing.T, s *State, consumers ...Consumer) (last Effects) {
	t.Helper()
	for _, consumer := range consumers {
		effects, err := s.AddConsumer(consumer)
		if err != nil {
			t.Fatal(err)
		}
		last = effects
	}
	return last
}

// who tells which consumer got each entry.
func who(deliveries []Delivery) map[int]ConsumerID {
	got := map[int]ConsumerID{}
	for _, delivery := range deliveries {
		got[delivery.Index] = delivery.Consumer
	}
	return got
}

// Values of the reference algorithm (MurmurHash3_x86_32, seed 0), all lengths of its tail.
func TestMurmur3(t *testing.T) {
	for key, want := range map[string]uint32{
		"":             0x0,
		"a":            0x3c2569b2,
		"ab":           0x9bbfd75f,
		"abc":          0xb3dd93fa,
		"abcd":         0x43ed676a,
		"abcde":        0xe89b9af6,
		"hello":        0x248bfa47,
		"hello, world": 0x149bbb7f,
		"The quick brown fox jumps over the lazy dog": 0x2e4ff723,
		"\xff\xfe\xfd": 0xd2bef2dc,
		"key-17":       0x35063857,
	} {
		if got := murmur([]byte(key)); got != want {
			t.Errorf("%q: %#x, want %#x", key, got, want)
		}
	}
	if slot := KeyHash([]byte("hello")); slot != 0xfa47 {
		t.Errorf("slot of hello: %#x", slot)
	}
}

func TestExclusiveHasOneConsumer(t *testing.T) {
	s := New(Config{Type: Exclusive})
	effects := join(t, s, Consumer{ID: 1})
	if !effects.Rewind || effects.ActiveID != 1 {
		t.Errorf("first consumer: %+v", effects)
	}
	if _, err := s.AddConsumer(Consumer{ID: 2}); !errors.Is(err, ErrBusy) {
		t.Errorf("second consumer: %v", err)
	}
	if err := s.SetType(Shared); !errors.Is(err, ErrOtherType) {
		t.Errorf("another type: %v", err)
	}
	s.RemoveConsumer(1)
	if err := s.SetType(Shared); err != nil {
		t.Errorf("another type without consumers: %v", err)
	}
}

func TestExclusiveStopsAtThePermits(t *testing.T) {
	s := New(Config{Type: Exclusive})
	join(t, s, Consumer{ID: 1})
	s.Flow(1, 3)
	deliveries, rest := s.Dispatch(entries(0, 9), time.Time{})
	if len(deliveries) != 3 || rest != 3 {
		t.Errorf("%d deliveries, rest at %d", len(deliveries), rest)
	}
	if plan := s.Plan(); plan.Forward != 0 {
		t.Errorf("plan without permits: %+v", plan)
	}
	if rewind := s.Redeliver(1, []Position{at(1)}); !rewind {
		t.Error("redelivery of an exclusive consumer is a rewind")
	}
}

// A batch counts as many permits as it has messages, and may overdraw them; then the consumer waits until it is even.
func TestPermitsAreMessages(t *testing.T) {
	s := New(Config{Type: Shared})
	join(t, s, Consumer{ID: 1})
	s.Flow(1, 5)
	batch := []Entry{{Position: at(0), Messages: 4}, {Position: at(1), Messages: 4}, {Position: at(2), Messages: 4}}
	deliveries, _ := s.Dispatch(batch, time.Time{})
	if len(deliveries) != 2 || s.Consumers()[0].Permits != -3 || s.Consumers()[0].Unacked != 8 {
		t.Errorf("%d deliveries, %+v", len(deliveries), s.Consumers()[0])
	}
	s.Flow(1, 3)
	if plan := s.Plan(); len(plan.Replay) != 0 || plan.Forward != 0 {
		t.Errorf("plan at 0 permits: %+v", plan)
	}
	s.Flow(1, 1)
	if plan := s.Plan(); len(plan.Replay) != 1 || plan.Replay[0] != at(2) {
		t.Errorf("plan: %+v", plan)
	}
	s.AckedPart(at(0), 1)
	if unacked := s.Consumers()[0].Unacked; unacked != 5 {
		t.Errorf("unacked after a partial acknowledgement: %d", unacked)
	}
}

// One consumer that owes permits does not stop the others (availablePermits of the subscription is not a sum with negative parts).
func TestOverdrawnConsumerDoesNotBlockOthers(t *testing.T) {
	s := New(Config{Type: Shared})
	join(t, s, Consumer{ID: 1}, Consumer{ID: 2})
	s.Flow(1, 1)
	s.Dispatch([]Entry{{Position: at(0), Messages: 1000}}, time.Time{})
	s.Flow(2, 1)
	if plan := s.Plan(); plan.Forward == 0 {
		t.Fatalf("plan: %+v", plan)
	}
	if got := who(first(s.Dispatch(entries(1, 1), time.Time{}))); got[0] != 2 {
		t.Errorf("the entry went to %d", got[0])
	}
}

func first(deliveries []Delivery, _ int) []Delivery { return deliveries }

func TestSharedTakesTurns(t *testing.T) {
	s := New(Config{Type: Shared})
	join(t, s, Consumer{ID: 1}, Consumer{ID: 2})
	s.Flow(1, 100)
	s.Flow(2, 100)
	counts := map[ConsumerID]int{}
	for i := range int64(10) { // one at a time, as a slow producer sends them
		for _, consumer := range who(first(s.Dispatch(entries(i, i), time.Time{}))) {
			counts[consumer]++
		}
	}
	if counts[1] != 5 || counts[2] != 5 {
		t.Errorf("single entries: %v", counts)
	}
	clear(counts)
	for _, consumer := range who(first(s.Dispatch(entries(10, 89), time.Time{}))) {
		counts[consumer]++
	}
	if counts[1] != 40 || counts[2] != 40 {
		t.Errorf("a read of 80: %v", counts)
	}
}

func TestSharedPrefersTheBetterPriority(t *testing.T) {
	s := New(Config{Type: Shared})
	join(t, s, Consumer{ID: 1, Priority: 1}, Consumer{ID: 2, Priority: 0})
	s.Flow(1, 10)
	s.Flow(2, 2)
	got := who(first(s.Dispatch(entries(0, 3), time.Time{})))
	if got[0] != 2 || got[1] != 2 || got[2] != 1 || got[3] != 1 {
		t.Errorf("%v", got)
	}
}

// Redelivery counts grow by negative acknowledgements only; the end of a consumer is nobody's fault.
func TestRedeliveryCounts(t *testing.T) {
	s := New(Config{Type: Shared})
	join(t, s, Consumer{ID: 1}, Consumer{ID: 2})
	s.Flow(1, 10)
	s.Dispatch(entries(0, 0), time.Time{})
	s.Redeliver(2, []Position{at(0)}) // not its entry
	if s.Replay() != 0 {
		t.Error("an entry was replayed for a consumer that does not hold it")
	}
	s.Redeliver(1, []Position{at(0)})
	deliveries, _ := s.Dispatch(entries(0, 0), time.Time{})
	if len(deliveries) != 1 || deliveries[0].Redeliveries != 1 {
		t.Fatalf("%+v", deliveries)
	}
	s.RemoveConsumer(1)
	s.Flow(2, 10)
	deliveries, _ = s.Dispatch(entries(0, 0), time.Time{})
	if len(deliveries) != 1 || deliveries[0].Redeliveries != 1 || deliveries[0].Consumer != 2 {
		t.Fatalf("after its consumer left: %+v", deliveries)
	}
	if s.Redeliver(2, nil); s.Replay() != 1 {
		t.Error("an empty list means everything")
	}
}

func TestFailoverSpreadsPartitions(t *testing.T) {
	active := map[ConsumerID]int{}
	for partition := range 6 {
		s := New(Config{Type: Failover, Partition: partition})
		join(t, s, Consumer{ID: 1, Name: "a"}, Consumer{ID: 2, Name: "b"}, Consumer{ID: 3, Name: "c"})
		for _, status := range s.Consumers() {
			if status.Active {
				active[status.ID]++
			}
		}
	}
	if active[1] != 2 || active[2] != 2 || active[3] != 2 {
		t.Errorf("active consumers of 6 partitions: %v", active)
	}
}

func TestFailoverChangesAndTells(t *testing.T) {
	s := New(Config{Type: Failover, Partition: -1})
	join(t, s, Consumer{ID: 1, Name: "b"})
	effects := join(t, s, Consumer{ID: 2, Name: "c"})
	if effects.Rewind || len(effects.Active) != 1 || effects.Active[0] != (ActiveChange{Consumer: 2}) {
		t.Errorf("a consumer that waits: %+v", effects)
	}
	effects = join(t, s, Consumer{ID: 3, Name: "a"})
	if !effects.Rewind || effects.ActiveID != 3 || len(effects.Active) != 3 {
		t.Errorf("a consumer that comes first: %+v", effects)
	}
	effects = s.RemoveConsumer(3)
	if !effects.Rewind || effects.ActiveID != 1 {
		t.Errorf("the active one left: %+v", effects)
	}
	effects = join(t, s, Consumer{ID: 4, Name: "a", Priority: 1})
	if effects.Rewind {
		t.Errorf("a lower priority took over: %+v", effects)
	}
}

func TestKeySharedKeepsAKeyWithItsHolder(t *testing.T) {
	s := New(Config{Type: KeyShared})
	join(t, s, Consumer{ID: 1})
	s.Flow(1, 10)
	s.Dispatch([]Entry{{Position: at(0), Messages: 1, Slot: 100}}, time.Time{})
	join(t, s, Consumer{ID: 2}) // takes the lower half of the slots, 100 among them
	s.Flow(2, 10)
	second := Entry{Position: at(1), Messages: 1, Slot: 100}
	other := Entry{Position: at(2), Messages: 1, Slot: 200}
	deliveries, _ := s.Dispatch([]Entry{second, other}, time.Time{})
	if got := who(deliveries); len(got) != 1 || got[1] != 2 {
		t.Fatalf("while consumer 1 holds the key: %v", got)
	}
	if plan := s.Plan(); len(plan.Replay) != 0 {
		t.Errorf("plan while the key is busy: %+v", plan)
	}
	s.Acked(at(0))
	if plan := s.Plan(); len(plan.Replay) != 1 || plan.Replay[0] != at(1) {
		t.Fatalf("plan once the key is free: %+v", plan)
	}
	if got := who(first(s.Dispatch([]Entry{second}, time.Time{}))); got[0] != 2 {
		t.Errorf("the key's next entry went to %v", got)
	}
}

func TestStickyRanges(t *testing.T) {
	s := New(Config{Type: KeyShared})
	join(t, s, Consumer{ID: 1, Name: "one", Sticky: []HashRange{{0, 99}}})
	for name, ranges := range map[string][]HashRange{
		"overlap": {{99, 200}}, "itself": {{200, 300}, {300, 400}}, "order": {{300, 200}}, "bounds": {{0, HashSpace}}, "negative": {{-1, 5}},
	} {
		if _, err := s.AddConsumer(Consumer{ID: 2, Sticky: ranges}); !errors.Is(err, ErrRanges) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.AddConsumer(Consumer{ID: 2}); !errors.Is(err, ErrOtherType) {
		t.Errorf("automatic beside sticky: %v", err)
	}
	join(t, s, Consumer{ID: 3, Sticky: []HashRange{{100, HashSpace - 1}}})
	s.Flow(1, 1)
	s.Flow(3, 1)
	got := who(first(s.Dispatch([]Entry{{Position: at(0), Messages: 1, Slot: 99}, {Position: at(1), Messages: 1, Slot: 100}}, time.Time{})))
	if got[0] != 1 || got[1] != 3 {
		t.Errorf("%v", got)
	}
}

// However consumers come and go, every slot has exactly one owner, and shares stay within a factor of the fair ones.
func TestKeyRangesCoverTheSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ranges keyRanges
		var alive []ConsumerID
		for i := range rapid.IntRange(1, 30).Draw(t, "steps") {
			if len(alive) == 0 || rapid.Bool().Draw(t, "join") {
				id := ConsumerID(i + 1)
				ranges.add(id)
				alive = append(alive, id)
			} else {
				at := rapid.IntRange(0, len(alive)-1).Draw(t, "who")
				ranges.remove(alive[at])
				alive = append(alive[:at], alive[at+1:]...)
			}
			if len(ranges.parts) != len(alive) {
				t.Fatalf("%d ranges for %d consumers", len(ranges.parts), len(alive))
			}
			for _, slot := range []uint16{0, 1, 100, 0x7fff, 0x8000, 0xffff, uint16(rapid.IntRange(0, 0xffff).Draw(t, "slot"))} {
				if owner, ok := ranges.owner(slot); ok != (len(alive) > 0) {
					t.Fatalf("slot %d: owner %d, %v", slot, owner, ok)
				}
			}
		}
	})
}

func TestChunksStayTogether(t *testing.T) {
	s := New(Config{Type: Shared})
	join(t, s, Consumer{ID: 1}, Consumer{ID: 2})
	s.Flow(1, 100)
	s.Flow(2, 100)
	var owner ConsumerID
	for i := range int64(4) {
		chunk := Entry{Position: at(2 * i), Messages: 1, Chunk: "u", Last: i == 3}
		between := Entry{Position: at(2*i + 1), Messages: 1}
		got := who(first(s.Dispatch([]Entry{chunk, between}, time.Time{})))
		if i > 0 && got[0] != owner {
			t.Errorf("chunk %d went to %d, the first to %d", i, got[0], owner)
		}
		owner = got[0]
	}
	if len(s.chunks) != 0 {
		t.Errorf("the message is complete and still remembered: %v", s.chunks)
	}
	// A last chunk alone, its first one acknowledged long ago, is not held back.
	if got := who(first(s.Dispatch([]Entry{{Position: at(50), Messages: 1, Chunk: "v", Last: true}}, time.Time{}))); len(got) != 1 {
		t.Error("an orphan chunk is held back")
	}
}

func TestDelayedEntriesComeInTime(t *testing.T) {
	s := New(Config{Type: Shared})
	join(t, s, Consumer{ID: 1})
	s.Flow(1, 10)
	now := time.Unix(1000, 0)
	deliveries, _ := s.Dispatch([]Entry{{Position: at(0), Messages: 1, NotYet: now.Add(time.Minute)}, {Position: at(1), Messages: 1, NotYet: now.Add(time.Second)}, {Position: at(2), Messages: 1}}, now)
	if got := who(deliveries); len(got) != 1 || got[2] != 1 {
		t.Fatalf("%v", got)
	}
	if next := s.Due(now); !next.Equal(now.Add(time.Second)) {
		t.Errorf("next is due at %v", next)
	}
	later := now.Add(time.Second)
	s.Due(later)
	if plan := s.Plan(); len(plan.Replay) != 1 || plan.Replay[0] != at(1) {
		t.Errorf("plan: %+v", plan)
	}
	if s.Delayed() != 1 {
		t.Errorf("%d are delayed", s.Delayed())
	}
}

func TestHeldConsumerGetsNothing(t *testing.T) {
	s := New(Config{Type: Shared})
	join(t, s, Consumer{ID: 1})
	s.Flow(1, 10)
	s.Hold(1, true)
	if plan := s.Plan(); plan.Forward != 0 {
		t.Errorf("plan: %+v", plan)
	}
	s.Hold(1, false)
	if plan := s.Plan(); plan.Forward == 0 {
		t.Errorf("plan after it was let go: %+v", plan)
	}
}

func TestTooManyUnackedStopAConsumer(t *testing.T) {
	s := New(Config{Type: Shared, MaxUnacked: 2})
	join(t, s, Consumer{ID: 1})
	s.Flow(1, 10)
	if deliveries, _ := s.Dispatch(entries(0, 4), time.Time{}); len(deliveries) != 2 {
		t.Errorf("%d deliveries", len(deliveries))
	}
	s.Acked(at(0))
	if plan := s.Plan(); len(plan.Replay) == 0 {
		t.Errorf("plan after an acknowledgement: %+v", plan)
	}
}

func TestAckedThroughSettlesEverythingBefore(t *testing.T) {
	s := New(Config{Type: Shared})
	join(t, s, Consumer{ID: 1})
	s.Flow(1, 3)
	s.Dispatch(entries(0, 5), time.Time{}) // 3 pending, 3 in replay
	s.AckedThrough(at(4))
	if s.Pending() != 0 || s.Replay() != 1 || s.Consumers()[0].Unacked != 0 {
		t.Errorf("pending %d, replay %d, %+v", s.Pending(), s.Replay(), s.Consumers()[0])
	}
}

func ExamplePosition_Compare() {
	fmt.Println(Earliest.Compare(at(0)), at(0).Compare(at(0).Next()), Latest.Compare(at(5)))
	// Output: -1 -1 1
}
