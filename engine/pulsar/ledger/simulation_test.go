package ledger

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The simulation plays one writer, several recoveries and a handful of bookies against each other: messages are delayed, reordered,
// answered too late or not at all, bookies go away and come back, every step in an order that rapid chooses. After each step the three
// promises of the package must hold.
type simulation struct {
	t       *rapid.T
	bookies []*simulatedBookie
	calls   []*simulatedCall // under way, in any order
	shared  Metadata         // in ZooKeeper

	writer     *Writer
	change     *Change // waits to be written
	acked      int64   // told to the writer's client
	recoveries []*simulatedRecovery
}

type simulatedBookie struct {
	id      string
	up      bool
	fenced  bool
	known   bool
	entries map[int64]int64 // to the LAC that it carries
}

// simulatedCall is a request. It reaches its bookie at most once, maybe long after the caller gave up.
type simulatedCall struct {
	bookie  string
	work    func(*simulatedBookie) (Outcome, EntryHeader, []byte)
	answer  func(Outcome, EntryHeader, []byte) // nil once it was called
	reply   func()                             // the answer on its way back
	reached bool
}

type simulatedRecovery struct {
	local    Metadata
	rules    *Recovery
	writer   *Writer
	last     int64
	finished bool
}

func (s *simulation) bookie(id string) *simulatedBookie {
	return s.bookies[slices.IndexFunc(s.bookies, func(b *simulatedBookie) bool { return b.id == id })]
}

func (s *simulation) call(bookie string, work func(*simulatedBookie) (Outcome, EntryHeader, []byte), answer func(Outcome, EntryHeader, []byte)) {
	s.calls = append(s.calls, &simulatedCall{bookie: bookie, work: work, answer: answer})
}

// step moves one call on: to its bookie, back to its caller, or its caller gives up.
func (s *simulation) step(call *simulatedCall, giveUp bool) {
	b := s.bookie(call.bookie)
	switch {
	case giveUp && call.answer != nil:
		answer := call.answer
		call.answer, call.reply = nil, nil
		answer(Failed, EntryHeader{}, nil)
	case call.reply != nil:
		reply := call.reply
		call.reply = nil
		reply()
	case !call.reached && b.up:
		call.reached = true
		outcome, header, sealed := call.work(b)
		if answer := call.answer; answer != nil {
			call.reply = func() {
				call.answer = nil
				answer(outcome, header, sealed)
			}
		}
	case !b.up && call.answer != nil:
		answer := call.answer
		call.answer = nil
		answer(Failed, EntryHeader{}, nil)
	}
	s.calls = slices.DeleteFunc(s.calls, func(c *simulatedCall) bool { return c.answer == nil && c.reached })
}

func (s *simulation) sendAdds(sends []Send, lac func() int64, recovery bool, answer func(Send, Outcome)) {
	for _, send := range sends {
		carried := lac()
		s.call(send.Bookie, func(b *simulatedBookie) (Outcome, EntryHeader, []byte) {
			if b.fenced && !recovery {
				return Fenced, EntryHeader{}, nil
			}
			b.known = true
			b.entries[send.Entry] = carried
			return OK, EntryHeader{}, nil
		}, func(outcome Outcome, _ EntryHeader, _ []byte) { answer(send, outcome) })
	}
}

func (s *simulation) available() (up []string) {
	for _, b := range s.bookies {
		if b.up {
			up = append(up, b.id)
		}
	}
	return up
}

func (s *simulation) pick(n int) int { return rapid.IntRange(0, n-1).Draw(s.t, "pick") }

func (s *simulation) noSuspect(string) bool { return false }

// The writer.

func (s *simulation) writerAdd() {
	if s.writer.Err() != nil || s.writer.Next()-s.writer.LastAddConfirmed() > 6 {
		return
	}
	_, sends := s.writer.Add(nil)
	s.writerSend(sends)
}

func (s *simulation) writerSend(sends []Send) {
	s.sendAdds(sends, s.writer.LastAddConfirmed, false, func(send Send, outcome Outcome) {
		if change := s.writer.Answer(send, outcome); change != nil {
			s.change = change
		}
		s.writerMoved()
	})
}

func (s *simulation) writerMoved() {
	s.acked = max(s.acked, s.writer.LastAddConfirmed())
	if s.shared.State == Closed && s.acked > s.shared.LastEntry {
		s.t.Fatalf("entry %d was acknowledged, the ledger was closed at %d", s.acked, s.shared.LastEntry)
	}
}

// writerChange writes the ensemble change that the writer wants, by compare and set.
func (s *simulation) writerChange() {
	if s.change == nil || s.writer.Err() != nil {
		return
	}
	change := *s.change
	s.change = nil
	if s.shared.State != Open {
		s.writer.Stop(ErrFenced)
		return
	}
	ensemble, err := ReplaceFailed(change, s.available(), s.noSuspect, s.pick)
	if err != nil {
		s.writer.Stop(err)
		return
	}
	s.shared = s.shared.WithEnsemble(change.FirstEntry, ensemble)
	sends, next := s.writer.Changed(ensemble, nil)
	s.change = next
	s.writerSend(sends)
	s.writerMoved()
}

// writerClose closes at the LAC, as a writer does whose bookies have failed or who has nothing more to say.
func (s *simulation) writerClose() {
	if s.writer.Err() == nil {
		s.writer.Stop(ErrNotEnoughBookies)
	}
	if s.shared.State == Open {
		s.close(s.shared.WithClosed(s.writer.LastAddConfirmed(), 0))
	}
}

// Recoveries.

func (s *simulation) recover() {
	if s.shared.State == Closed || len(s.recoveries) >= 3 {
		return
	}
	s.shared = s.shared.WithState(InRecovery)
	r := &simulatedRecovery{local: s.shared}
	rules, reads := NewRecovery(r.local)
	r.rules = rules
	r.rules.window = 1 + s.pick(3)
	s.recoveries = append(s.recoveries, r)
	s.recoveryReads(r, reads)
}

func (s *simulation) recoveryReads(r *simulatedRecovery, reads []Read) {
	for _, read := range reads {
		s.call(read.Bookie, func(b *simulatedBookie) (Outcome, EntryHeader, []byte) { return b.fencingRead(read.Entry) },
			func(outcome Outcome, header EntryHeader, sealed []byte) {
				if read.Entry == NoEntry {
					s.recoveryReads(r, r.rules.FenceAnswer(read, outcome, header))
				} else {
					r.rules.EntryAnswer(read, outcome, sealed)
				}
				s.recoveryMove(r)
			})
	}
}

func (b *simulatedBookie) fencingRead(entry int64) (Outcome, EntryHeader, []byte) {
	known := b.known
	b.fenced, b.known = true, true
	if entry == NoEntry {
		last := NoEntry
		for stored := range b.entries {
			last = max(last, stored)
		}
		entry = last
	}
	lac, found := b.entries[entry]
	switch {
	case found:
		return OK, EntryHeader{Entry: entry, LastAddConfirmed: lac}, fmt.Append(nil, entry)
	case known:
		return NoSuchEntry, EntryHeader{}, nil
	}
	return NoSuchLedger, EntryHeader{}, nil
}

func (s *simulation) recoveryMove(r *simulatedRecovery) {
	if r.finished || r.rules.Err() != nil || r.rules.Fencing() || r.writer != nil && r.writer.Err() != nil {
		return
	}
	if r.writer == nil {
		r.last = r.rules.LastAddConfirmed()
		r.writer = NewWriter(r.local, r.last)
	}
	for {
		entry, _, reads := r.rules.Found()
		s.recoveryReads(r, reads)
		if entry == NoEntry {
			break
		}
		added, sends := r.writer.Add(nil)
		if added != entry {
			s.t.Fatalf("recovery found entry %d and writes it back as %d", entry, added)
		}
		r.last = entry
		s.recoverySend(r, sends)
	}
	if r.rules.Ended() && r.writer.LastAddConfirmed() == r.last && !r.writer.Changing() {
		r.finished = true
		if s.shared.State != Closed {
			s.close(r.local.WithClosed(r.last, 0))
		}
	}
}

func (s *simulation) recoverySend(r *simulatedRecovery, sends []Send) {
	s.sendAdds(sends, r.writer.LastAddConfirmed, true, func(send Send, outcome Outcome) {
		for change := r.writer.Answer(send, outcome); change != nil; {
			ensemble, err := ReplaceFailed(*change, s.available(), s.noSuspect, s.pick)
			if err != nil {
				r.writer.Stop(err)
				return
			}
			r.local = r.local.WithEnsemble(change.FirstEntry, ensemble)
			var more []Send
			more, change = r.writer.Changed(ensemble, nil)
			s.recoverySend(r, more)
		}
		s.recoveryMove(r)
	})
}

// close writes the closed metadata: from here on everybody must agree with it.
func (s *simulation) close(closed Metadata) {
	if closed.LastEntry < s.acked {
		s.t.Fatalf("closed at %d, entry %d was acknowledged", closed.LastEntry, s.acked)
	}
	s.shared = closed
	for entry := int64(0); entry <= closed.LastEntry; entry++ {
		segment := closed.SegmentOf(entry)
		copies := 0
		for _, index := range WriteSet(entry, closed.Ensemble, closed.WriteQuorum) {
			if _, found := s.bookie(segment.Bookies[index]).entries[entry]; found {
				copies++
			}
		}
		if copies < closed.AckQuorum {
			s.t.Fatalf("entry %d of a ledger closed at %d has %d copies, the ack quorum is %d", entry, closed.LastEntry, copies, closed.AckQuorum)
		}
	}
}

func (s *simulation) act() {
	switch action := rapid.IntRange(0, 19).Draw(s.t, "action"); {
	case action < 11:
		if len(s.calls) > 0 {
			s.step(s.calls[s.pick(len(s.calls))], false)
		}
	case action < 14:
		s.writerAdd()
	case action < 16:
		s.writerChange()
	case action == 16:
		if len(s.calls) > 0 {
			s.step(s.calls[s.pick(len(s.calls))], true)
		}
	case action == 17:
		b := s.bookies[s.pick(len(s.bookies))]
		b.up = !b.up
	case action == 18:
		s.recover()
	case rapid.IntRange(0, 9).Draw(s.t, "close") == 0:
		s.writerClose()
	}
}

// settle lets everything end well: bookies come back, messages arrive, one more recovery closes the ledger.
func (s *simulation) settle() {
	for _, b := range s.bookies {
		b.up = true
	}
	s.recoveries = nil
	s.recover()
	for len(s.calls) > 0 {
		s.step(s.calls[s.pick(len(s.calls))], false)
	}
	if s.shared.State != Closed {
		s.t.Fatal("with every bookie alive the recovery did not close the ledger")
	}
}

func TestPromises(t *testing.T) {
	closedByRecovery, acknowledged := 0, int64(0)
	play := func(t *rapid.T) {
		ensemble := rapid.IntRange(1, 4).Draw(t, "ensemble")
		writeQuorum := rapid.IntRange(1, ensemble).Draw(t, "write quorum")
		ackQuorum := rapid.IntRange(1, writeQuorum).Draw(t, "ack quorum")
		s := &simulation{t: t, acked: NoEntry}
		var first []string
		for i := range ensemble + 2 {
			b := &simulatedBookie{id: fmt.Sprint("bookie-", i), up: true, entries: map[int64]int64{}}
			s.bookies = append(s.bookies, b)
			if i < ensemble {
				first = append(first, b.id)
			}
		}
		s.shared = Metadata{
			Ensemble: ensemble, WriteQuorum: writeQuorum, AckQuorum: ackQuorum, State: Open, LastEntry: NoEntry, Digest: CRC32C,
			Segments: []Segment{{Bookies: first}},
		}
		s.writer = NewWriter(s.shared, NoEntry)
		for range rapid.IntRange(20, 300).Draw(t, "steps") {
			s.act()
		}
		s.settle()
		if slices.ContainsFunc(s.recoveries, func(r *simulatedRecovery) bool { return r.finished }) {
			closedByRecovery++
		}
		acknowledged += s.acked + 1
	}
	rapid.Check(t, func(t *rapid.T) {
		for range 10 {
			play(t)
		}
	})
	if closedByRecovery == 0 || acknowledged == 0 {
		t.Errorf("the simulation proves nothing: %d recoveries, %d entries acknowledged", closedByRecovery, acknowledged)
	}
}
