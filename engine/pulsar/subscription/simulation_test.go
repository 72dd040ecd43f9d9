package subscription

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// simulation drives a State as the broker does, over a log in memory, and checks at every delivery what must always hold.
type simulation struct {
	t        *rapid.T
	state    *State
	log      []Entry
	acked    map[Position]bool
	read     int // index into log
	next     ConsumerID
	alive    []ConsumerID
	holding  map[Position]ConsumerID // delivered and not acknowledged; Shared and Key_Shared
	permits  map[ConsumerID]int
	received map[Position]int // deliveries
	lastOf   map[uint16]Position
	nacked   map[Position]bool
	nacks    map[Position]uint32
	// meanwhile, if set, happens while a read is under way.
	meanwhile func()
}

func newSimulation(t *rapid.T, kind Type) *simulation {
	return &simulation{
		t: t, state: New(Config{Type: kind, MaxRead: 7, MaxUnacked: 1000}), acked: map[Position]bool{}, holding: map[Position]ConsumerID{},
		permits: map[ConsumerID]int{}, received: map[Position]int{}, lastOf: map[uint16]Position{}, nacked: map[Position]bool{}, nacks: map[Position]uint32{},
	}
}

func (s *simulation) publish(messages int, slot uint16) {
	s.log = append(s.log, Entry{Position: Position{Ledger: 1, Entry: int64(len(s.log))}, Messages: messages, Slot: slot})
	s.pump()
}

func (s *simulation) join(priority int) {
	s.next++
	id := s.next
	effects, err := s.state.AddConsumer(Consumer{ID: id, Name: fmt.Sprintf("c%03d", id), Priority: priority})
	if err != nil {
		if s.state.Type() == Exclusive && len(s.alive) > 0 {
			return
		}
		s.t.Fatalf("join: %v", err)
	}
	s.alive = append(s.alive, id)
	s.rewindIf(effects.Rewind)
	s.pump()
}

func (s *simulation) leave(at int) {
	id := s.alive[at]
	s.alive = slices.Delete(s.alive, at, at+1)
	effects := s.state.RemoveConsumer(id)
	delete(s.permits, id)
	for position, holder := range s.holding {
		if holder == id {
			delete(s.holding, position)
			s.nacked[position] = true
		}
	}
	s.rewindIf(effects.Rewind)
	s.pump()
}

// rewindIf starts again at the first entry that is not acknowledged.
func (s *simulation) rewindIf(rewind bool) {
	if rewind {
		s.read = 0
		clear(s.lastOf)
	}
}

func (s *simulation) flow(id ConsumerID, n int) {
	s.permits[id] += n
	s.state.Flow(id, n)
}

func (s *simulation) ack(position Position) {
	s.acked[position] = true
	delete(s.holding, position)
	s.state.Acked(position)
}

func (s *simulation) nack(position Position) {
	holder := s.holding[position]
	delete(s.holding, position)
	s.nacked[position] = true
	s.nacks[position]++
	s.rewindIf(s.state.Redeliver(holder, []Position{position}))
	s.pump()
}

// pump reads and dispatches until nothing more can be sent.
func (s *simulation) pump() {
	for rounds := 0; ; rounds++ {
		if rounds > 10_000 {
			s.t.Fatalf("dispatch does not come to rest: plan %+v", s.state.Plan())
		}
		plan := s.state.Plan()
		var entries []Entry
		switch {
		case len(plan.Replay) > 0:
			if !slices.IsSortedFunc(plan.Replay, Position.Compare) {
				s.t.Fatalf("replay is not in order: %v", plan.Replay)
			}
			for _, position := range plan.Replay {
				entries = append(entries, s.log[position.Entry])
			}
			s.dispatch(entries)
			if len(s.state.Plan().Replay) > 0 && slices.Equal(s.state.Plan().Replay, plan.Replay) {
				s.t.Fatalf("replay makes no progress: %v", plan.Replay)
			}
		case plan.Forward > 0 && s.read < len(s.log):
			for s.read < len(s.log) && len(entries) < plan.Forward {
				if !s.acked[s.log[s.read].Position] {
					entries = append(entries, s.log[s.read])
				}
				s.read++
			}
			if s.meanwhile != nil {
				s.meanwhile()
			}
			if rest := s.dispatch(entries); rest < len(entries) {
				s.read = int(entries[rest].Position.Entry)
			}
		default:
			return
		}
	}
}

func (s *simulation) dispatch(entries []Entry) int {
	deliveries, rest := s.state.Dispatch(entries, time.Unix(0, 0))
	for _, delivery := range deliveries {
		s.delivered(delivery, entries[delivery.Index])
	}
	return rest
}

func (s *simulation) delivered(delivery Delivery, entry Entry) {
	position := entry.Position
	if s.acked[position] {
		s.t.Fatalf("%v was delivered after it was acknowledged", position)
	}
	if s.permits[delivery.Consumer] <= 0 {
		s.t.Fatalf("consumer %d got %v without a permit", delivery.Consumer, position)
	}
	s.permits[delivery.Consumer] -= entry.Messages
	s.received[position]++
	if s.state.Type().singleActive() {
		return
	}
	if holder, held := s.holding[position]; held {
		s.t.Fatalf("%v went to consumer %d while consumer %d holds it", position, delivery.Consumer, holder)
	}
	if delivery.Redeliveries != s.nacks[position] {
		s.t.Fatalf("%v came with redelivery count %d after %d negative acknowledgements", position, delivery.Redeliveries, s.nacks[position])
	}
	s.holding[position] = delivery.Consumer
	if s.state.Type() != KeyShared {
		return
	}
	for other, holder := range s.holding {
		if s.log[other.Entry].Slot == entry.Slot && holder != delivery.Consumer {
			s.t.Fatalf("slot %d is with consumers %d and %d at once", entry.Slot, holder, delivery.Consumer)
		}
	}
	if s.nacked[position] {
		return // wanted again: it may come after later ones
	}
	if last, seen := s.lastOf[entry.Slot]; seen && position.Compare(last) < 0 {
		s.t.Fatalf("of slot %d, %v came after %v", entry.Slot, position, last)
	}
	s.lastOf[entry.Slot] = position
}

// Whatever consumers do, nothing is lost, nothing is with two consumers, permits are respected, keys keep their order; and once a
// consumer takes and acknowledges everything, everything has been delivered.
func TestNothingIsLost(t *testing.T) {
	for _, kind := range []Type{Shared, KeyShared, Exclusive, Failover} {
		t.Run(kind.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { simulate(newSimulation(t, kind)) })
		})
	}
}

func simulate(s *simulation) {
	t := s.t
	held := func() []Position {
		var positions []Position
		for position := range s.holding {
			positions = append(positions, position)
		}
		slices.SortFunc(positions, Position.Compare)
		return positions
	}
	// The steps come from a seed, evenly: rapid's own draws prefer small numbers, which would publish most of the time.
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	permit := func() {
		if len(s.alive) > 0 {
			s.flow(s.alive[random.IntN(len(s.alive))], 1+random.IntN(10))
		}
	}
	acknowledge := func() {
		if positions := held(); len(positions) > 0 {
			s.ack(positions[random.IntN(len(positions))])
		}
	}
	s.meanwhile = func() {
		switch random.IntN(6) {
		case 0:
			permit()
		case 1:
			acknowledge()
		}
	}
	for range rapid.IntRange(1, 200).Draw(t, "steps") {
		switch random.IntN(8) {
		case 0, 1:
			s.publish(1+random.IntN(4), uint16(random.IntN(6))*9000)
		case 2:
			if len(s.alive) < 5 {
				s.join(random.IntN(2))
			}
		case 3:
			if len(s.alive) > 0 && random.IntN(2) == 0 {
				s.leave(random.IntN(len(s.alive)))
			}
		case 4:
			permit()
			s.pump()
		case 5, 6:
			acknowledge()
			s.pump()
		case 7:
			if positions := held(); len(positions) > 0 {
				s.nack(positions[random.IntN(len(positions))])
			}
		}
	}
	s.finish()
}

// finish lets one last consumer take everything that is left.
func (s *simulation) finish() {
	s.meanwhile = nil
	for len(s.alive) > 1 {
		s.leave(0)
	}
	if len(s.alive) == 0 {
		s.join(0)
	}
	for rounds := 0; ; rounds++ {
		s.flow(s.alive[0], 1000)
		s.pump()
		if s.state.Type().singleActive() {
			break
		}
		if len(s.holding) == 0 {
			break
		}
		for position := range s.holding {
			s.ack(position)
			s.pump()
			break
		}
		if rounds > len(s.log)+10 {
			s.t.Fatalf("%d entries are still held", len(s.holding))
		}
	}
	for _, entry := range s.log {
		if s.received[entry.Position] == 0 {
			s.t.Fatalf("%v was never delivered", entry.Position)
		}
		if !s.state.Type().singleActive() && !s.acked[entry.Position] {
			s.t.Fatalf("%v was not delivered to the last consumer", entry.Position)
		}
	}
	if s.state.Pending() != 0 || s.state.Replay() != 0 {
		if !s.state.Type().singleActive() {
			s.t.Fatalf("%d entries are pending and %d wait for replay when all is acknowledged", s.state.Pending(), s.state.Replay())
		}
	}
}
