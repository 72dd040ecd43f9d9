package subscription

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Config is what a subscription is made with. Zero numbers mean the defaults.
type Config struct {
	Type Type
	// Partition is the topic's partition index, -1 for a topic without partitions: it spreads the active consumers of a Failover
	// subscription over the partitions.
	Partition int
	// MaxUnacked is how many messages a Shared or Key_Shared consumer may hold unacknowledged before it gets no more; default 50,000.
	MaxUnacked int
	// MaxReplay bounds the entries that wait for replay before no new ones are read; default 20,000.
	MaxReplay int
	// MaxRead bounds the entries of one read; default 100.
	MaxRead int
}

func (c Config) withDefaults() Config {
	c.MaxUnacked = cmp.Or(c.MaxUnacked, 50_000)
	c.MaxReplay = cmp.Or(c.MaxReplay, 20_000)
	c.MaxRead = cmp.Or(c.MaxRead, 100)
	return c
}

// State is one subscription of one topic. It has no goroutine and no lock: its owner calls one method at a time.
type State struct {
	config  Config
	members []*member // in order of arrival
	ranges  keyRanges // Key_Shared with automatic ranges

	active    ConsumerID // Exclusive, Failover
	hasActive bool

	turn         int // round robin: the member that is served next
	pending      map[Position]pendingEntry
	holders      map[uint16]holder // Key_Shared: who holds unacknowledged messages of a slot
	replay       replaySet
	delayed      delayedHeap
	redeliveries map[Position]uint32
	chunks       map[string]ConsumerID // a chunked message on its way to one consumer

	average float64 // messages an entry, moving average
}

type pendingEntry struct {
	consumer ConsumerID
	messages int
	slot     uint16
}

// holder is the consumer that holds unacknowledged entries of a slot: until it has none, nobody else gets that slot (PIP-379).
type holder struct {
	consumer ConsumerID
	entries  int
}

// New returns a subscription without consumers.
func New(config Config) *State {
	return &State{
		config:       config.withDefaults(),
		pending:      map[Position]pendingEntry{},
		holders:      map[uint16]holder{},
		replay:       newReplaySet(),
		redeliveries: map[Position]uint32{},
		chunks:       map[string]ConsumerID{},
		average:      1,
	}
}

// Type is the type of the consumers that are (or were last) connected.
func (s *State) Type() Type { return s.config.Type }

// SetType changes the type of a subscription without consumers; the first consumer decides.
func (s *State) SetType(t Type) error {
	if s.config.Type == t {
		return nil
	}
	if len(s.members) > 0 {
		return ErrOtherType
	}
	s.config.Type = t
	s.ranges = keyRanges{}
	return nil
}

// Consumers lists the consumers in order of arrival.
func (s *State) Consumers() []Status {
	statuses := make([]Status, 0, len(s.members))
	for _, m := range s.members {
		statuses = append(statuses, Status{
			Consumer: m.Consumer, Permits: m.permits, Unacked: m.unacked,
			Active: s.hasActive && s.active == m.ID,
		})
	}
	return statuses
}

// Pending is the number of entries that consumers hold unacknowledged; Replay the number that waits to be sent again, Delayed the
// number whose time has not come.
func (s *State) Pending() int { return len(s.pending) }

// Replay is the number of entries that wait to be read and sent again.
func (s *State) Replay() int { return s.replay.len() }

// Delayed is the number of entries whose time has not come.
func (s *State) Delayed() int { return len(s.delayed) }

// AddConsumer lets a consumer join.
func (s *State) AddConsumer(consumer Consumer) (Effects, error) {
	if s.config.Type == Exclusive && len(s.members) > 0 {
		return Effects{}, ErrBusy
	}
	if s.config.Type == KeyShared {
		if err := s.checkKeyShared(consumer); err != nil {
			return Effects{}, err
		}
	}
	s.members = append(s.members, &member{Consumer: consumer})
	if s.config.Type == KeyShared && len(consumer.Sticky) == 0 {
		s.ranges.add(consumer.ID)
	}
	return s.elect(), nil
}

func (s *State) checkKeyShared(consumer Consumer) error {
	for _, m := range s.members {
		if (len(m.Sticky) == 0) != (len(consumer.Sticky) == 0) {
			return fmt.Errorf("%w: consumers with sticky and with automatic key ranges cannot share it", ErrOtherType)
		}
	}
	return checkSticky(consumer, s.members)
}

// RemoveConsumer lets a consumer go; what it held is replayed, without counting as a redelivery.
func (s *State) RemoveConsumer(id ConsumerID) Effects {
	at := s.index(id)
	if at < 0 {
		return Effects{}
	}
	for position, entry := range s.pending {
		if entry.consumer == id {
			s.settle(position, entry)
			s.replay.add(position, entry.slot)
		}
	}
	for uuid, owner := range s.chunks {
		if owner == id {
			delete(s.chunks, uuid)
		}
	}
	s.members = slices.Delete(s.members, at, at+1)
	s.ranges.remove(id)
	if len(s.members) == 0 && !s.config.Type.singleActive() {
		// Nobody is left: the next consumer starts from the cursor, as after a restart of the broker.
		s.forget()
		return Effects{Rewind: true}
	}
	return s.elect()
}

// Reset forgets everything that was read: after a seek, or when reading starts again from the cursor.
func (s *State) Reset() {
	s.forget()
	clear(s.redeliveries)
	for _, m := range s.members {
		m.unacked = 0
	}
}

func (s *State) forget() {
	clear(s.pending)
	clear(s.holders)
	clear(s.chunks)
	s.replay = newReplaySet()
	s.delayed = nil
}

// elect chooses the active consumer of Exclusive and Failover.
func (s *State) elect() Effects {
	if !s.config.Type.singleActive() {
		return Effects{}
	}
	previous, had := s.active, s.hasActive
	s.active, s.hasActive = s.choose()
	effects := Effects{ActiveID: s.active, HasActive: s.hasActive}
	changed := had != s.hasActive || previous != s.active
	effects.Rewind = changed
	switch {
	case !s.hasActive:
	case changed:
		for _, m := range s.members {
			effects.Active = append(effects.Active, ActiveChange{Consumer: m.ID, Active: m.ID == s.active})
		}
	default:
		// Only the newcomer does not know yet that it waits.
		newest := s.members[len(s.members)-1]
		effects.Active = []ActiveChange{{Consumer: newest.ID, Active: newest.ID == s.active}}
	}
	return effects
}

// choose orders the consumers by priority level and name; partitions take turns among those of the best level, so that the
// consumers of a partitioned topic share its partitions. Without partitions the first one is it.
func (s *State) choose() (ConsumerID, bool) {
	if len(s.members) == 0 {
		return 0, false
	}
	ordered := slices.Clone(s.members)
	slices.SortStableFunc(ordered, func(a, b *member) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Name, b.Name))
	})
	best := 1
	for best < len(ordered) && ordered[best].Priority == ordered[0].Priority {
		best++
	}
	return ordered[max(0, s.config.Partition)%best].ID, true
}

// Flow adds permits, counted in messages.
func (s *State) Flow(id ConsumerID, permits int) {
	if m := s.member(id); m != nil {
		m.permits += permits
	}
}

// Hold stops sending to a consumer, whose connection is full, until it is let go again.
func (s *State) Hold(id ConsumerID, held bool) {
	if m := s.member(id); m != nil {
		m.held = held
	}
}

// Owner tells which consumer holds the entry at a position.
func (s *State) Owner(position Position) (ConsumerID, bool) {
	entry, ok := s.pending[position]
	return entry.consumer, ok
}

// Acked: the entry at a position is acknowledged as a whole, by whomever.
func (s *State) Acked(position Position) {
	if entry, ok := s.pending[position]; ok {
		s.settle(position, entry)
	}
	s.replay.remove(position)
	delete(s.redeliveries, position)
}

// AckedPart: of the batch at a position, so many messages are left unacknowledged.
func (s *State) AckedPart(position Position, remaining int) {
	entry, ok := s.pending[position]
	if !ok {
		return
	}
	if m := s.member(entry.consumer); m != nil {
		m.unacked -= entry.messages - remaining
	}
	entry.messages = remaining
	s.pending[position] = entry
}

// AckedThrough: everything up to and including a position is acknowledged.
func (s *State) AckedThrough(position Position) {
	for p, entry := range s.pending {
		if p.Compare(position) <= 0 {
			s.settle(p, entry)
		}
	}
	for p := range s.redeliveries {
		if p.Compare(position) <= 0 {
			delete(s.redeliveries, p)
		}
	}
	s.replay.removeThrough(position)
}

// settle takes an entry off its holder.
func (s *State) settle(position Position, entry pendingEntry) {
	delete(s.pending, position)
	if m := s.member(entry.consumer); m != nil {
		m.unacked -= entry.messages
	}
	if s.config.Type != KeyShared {
		return
	}
	if h := s.holders[entry.slot]; h.entries > 1 {
		h.entries--
		s.holders[entry.slot] = h
	} else {
		delete(s.holders, entry.slot)
	}
}

// Redeliver: a consumer wants entries again, or everything that it holds when positions is empty. Exclusive and Failover can only
// rewind; then it reports true.
func (s *State) Redeliver(id ConsumerID, positions []Position) (rewind bool) {
	if s.config.Type.singleActive() {
		return s.hasActive && s.active == id
	}
	if len(positions) == 0 {
		for position, entry := range s.pending {
			if entry.consumer == id {
				positions = append(positions, position)
			}
		}
	}
	for _, position := range positions {
		entry, ok := s.pending[position]
		if !ok || entry.consumer != id {
			continue // acknowledged meanwhile, or with somebody else
		}
		s.settle(position, entry)
		s.replay.add(position, entry.slot)
		s.redeliveries[position]++
	}
	return false
}

// Due moves delayed entries whose time has come to replay. Next is when the earliest of the others comes; zero when there is none.
func (s *State) Due(now time.Time) (next time.Time) {
	for len(s.delayed) > 0 && !s.delayed[0].at.After(now) {
		entry := s.delayed.pop()
		s.replay.add(entry.position, entry.slot)
	}
	if len(s.delayed) == 0 {
		return time.Time{}
	}
	return s.delayed[0].at
}

func (s *State) index(id ConsumerID) int {
	return slices.IndexFunc(s.members, func(m *member) bool { return m.ID == id })
}

func (s *State) member(id ConsumerID) *member {
	if at := s.index(id); at >= 0 {
		return s.members[at]
	}
	return nil
}
