package subscription

import (
	"math"
	"slices"
	"time"
)

// Plan is what to read next. Replay goes first; both empty: nothing can be sent now.
type Plan struct {
	Replay  []Position
	Forward int // entries to read from the read position on
}

// Entry is an entry that was read.
type Entry struct {
	Position Position
	Messages int       // messages in it that are not acknowledged, at least 1
	Slot     uint16    // KeyHash of its key; only Key_Shared looks at it
	Chunk    string    // uuid of the chunked message that it is part of
	Last     bool      // of the chunks
	NotYet   time.Time // deliver at this time, zero for now; only Shared and Key_Shared look at it
}

// Delivery: send the entry with this index of Dispatch's argument to a consumer.
type Delivery struct {
	Index        int
	Consumer     ConsumerID
	Redeliveries uint32
}

// maxBatch is how many messages in a row one Shared consumer gets while others wait.
const maxBatch = 20

// Plan says what to read.
func (s *State) Plan() Plan {
	permits := s.dispatchable()
	if permits == 0 {
		return Plan{}
	}
	want := max(1, min(s.config.MaxRead, int(math.Ceil(float64(permits)/s.average))))
	if positions := s.replayable(want); len(positions) > 0 {
		return Plan{Replay: positions}
	}
	if s.config.Type.singleActive() {
		return Plan{Forward: want}
	}
	if s.replay.len()+len(s.delayed) >= s.config.MaxReplay {
		return Plan{}
	}
	return Plan{Forward: want}
}

// dispatchable adds up the permits that can be used now. A negative balance of one consumer takes nothing from the others.
func (s *State) dispatchable() int {
	total := 0
	for _, m := range s.members {
		if s.config.Type.singleActive() && (!s.hasActive || m.ID != s.active) {
			continue
		}
		total += s.available(m)
	}
	return total
}

func (s *State) available(m *member) int {
	if m.held {
		return 0
	}
	if !s.config.Type.singleActive() && m.unacked >= s.config.MaxUnacked {
		return 0
	}
	return max(0, m.permits)
}

// replayable picks the first positions whose turn it may be. For Key_Shared, a slot whose first position cannot go yet holds back
// the others of the slot.
func (s *State) replayable(want int) []Position {
	if s.config.Type != KeyShared {
		return slices.Clone(s.replay.sorted[:min(want, s.replay.len())])
	}
	var positions []Position
	stuck := map[uint16]bool{}
	for _, position := range s.replay.sorted {
		if len(positions) == want {
			break
		}
		slot := s.replay.slots[position]
		if stuck[slot] {
			continue
		}
		if m := s.slotMember(slot); m == nil || s.available(m) == 0 {
			stuck[slot] = true
			continue
		}
		positions = append(positions, position)
	}
	return positions
}

// slotMember is the consumer that may get an entry of a slot now: the slot's owner, unless somebody else still holds some of it.
func (s *State) slotMember(slot uint16) *member {
	owner, ok := stickyOwner(slot, s.members)
	if !ok {
		owner, ok = s.ranges.owner(slot)
	}
	if !ok {
		return nil
	}
	m := s.member(owner)
	if h, held := s.holders[slot]; held && h.consumer != owner && m != nil && !m.OutOfOrder {
		return nil
	}
	return m
}

// Dispatch hands out entries that were read, in the order of their positions. Entries that nobody can take now are kept for replay
// (Shared, Key_Shared), or the read position is to be set back: rest is the index of the first entry that was not handed out and is
// not kept, len(entries) when there is none.
func (s *State) Dispatch(entries []Entry, now time.Time) (deliveries []Delivery, rest int) {
	if s.config.Type.singleActive() {
		return s.dispatchActive(entries)
	}
	round := round{state: s}
	for i, entry := range entries {
		if _, held := s.pending[entry.Position]; held {
			continue
		}
		if entry.NotYet.After(now) {
			s.replay.remove(entry.Position)
			s.delayed.push(delayedEntry{at: entry.NotYet, position: entry.Position, slot: entry.Slot})
			continue
		}
		m := round.take(entry)
		if m == nil {
			s.replay.add(entry.Position, entry.Slot)
			continue
		}
		s.hand(m, entry)
		deliveries = append(deliveries, Delivery{Index: i, Consumer: m.ID, Redeliveries: s.redeliveries[entry.Position]})
	}
	if round.given > 0 {
		s.turn++ // entries that come one at a time take turns too
	}
	return deliveries, len(entries)
}

func (s *State) dispatchActive(entries []Entry) (deliveries []Delivery, rest int) {
	m := s.member(s.active)
	for i, entry := range entries {
		if m == nil || !s.hasActive || s.available(m) <= 0 {
			return deliveries, i
		}
		m.permits -= entry.Messages
		s.observe(entry.Messages)
		deliveries = append(deliveries, Delivery{Index: i, Consumer: m.ID})
	}
	return deliveries, len(entries)
}

func (s *State) hand(m *member, entry Entry) {
	s.replay.remove(entry.Position)
	m.permits -= entry.Messages
	m.unacked += entry.Messages
	s.pending[entry.Position] = pendingEntry{consumer: m.ID, messages: entry.Messages, slot: entry.Slot}
	if s.config.Type == KeyShared {
		h := s.holders[entry.Slot]
		s.holders[entry.Slot] = holder{consumer: m.ID, entries: h.entries + 1}
	}
	s.observe(entry.Messages)
}

func (s *State) observe(messages int) {
	const weight = 0.1
	s.average = s.average*(1-weight) + float64(max(1, messages))*weight
}

// round is one call of Dispatch.
type round struct {
	state *State
	given int // messages that the member whose turn it is got in a row
}

func (r *round) take(entry Entry) *member {
	if r.state.config.Type == KeyShared {
		return r.takeKey(entry)
	}
	if entry.Chunk != "" {
		return r.takeChunk(entry)
	}
	return r.next(entry.Messages)
}

func (r *round) takeKey(entry Entry) *member {
	m := r.state.slotMember(entry.Slot)
	if m == nil || r.state.available(m) == 0 {
		return nil
	}
	// An entry of the slot that waits goes before one that was just read. Among those that wait the order is kept by itself: they are
	// read in order, and what stops the first of a slot stops the others of the round too.
	if _, waits := r.state.replay.slots[entry.Position]; !waits && r.state.replay.counts[entry.Slot] > 0 && !m.OutOfOrder {
		return nil
	}
	return m
}

// takeChunk keeps the chunks of one message on one consumer. A chunk whose message began elsewhere (the first chunk is
// acknowledged, or its consumer is gone) goes to anybody rather than nowhere.
func (r *round) takeChunk(entry Entry) *member {
	s := r.state
	if owner, known := s.chunks[entry.Chunk]; known {
		m := s.member(owner)
		if m == nil || s.available(m) == 0 {
			return nil
		}
		if entry.Last {
			delete(s.chunks, entry.Chunk)
		}
		return m
	}
	m := r.next(entry.Messages)
	if m != nil && !entry.Last {
		s.chunks[entry.Chunk] = m.ID
	}
	return m
}

// next is round robin among the consumers of the best priority level that has permits, up to maxBatch messages each.
func (r *round) next(messages int) *member {
	s := r.state
	level, found := 0, false
	for _, m := range s.members {
		if s.available(m) > 0 && (!found || m.Priority < level) {
			level, found = m.Priority, true
		}
	}
	if !found {
		return nil
	}
	if r.given >= maxBatch {
		r.given = 0
		s.turn++
	}
	for range len(s.members) {
		m := s.members[s.turn%len(s.members)]
		if m.Priority == level && s.available(m) > 0 {
			r.given += messages
			return m
		}
		r.given = 0
		s.turn++
	}
	return nil
}
