package group

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"pgregory.net/rapid"
)

// TestRandomHistories lets clients of all kinds do what they may do, in any order, and checks after each step what must always hold.
func TestRandomHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{group: New("g", testSettings, began), now: began, waiting: map[Ticket]string{}}
		t.Repeat(rapid.StateMachineActions(h))
		// In the end nobody waits for ever: silence alone empties the group.
		for step := 0; len(h.waiting) > 0 || h.group.State() != Empty; step++ {
			next := h.group.NextDeadline()
			if step > 1000 || next.IsZero() && len(h.stores) == 0 {
				t.Fatalf("%d requests wait for ever in a group that is %s", len(h.waiting), h.group.State())
			}
			if !next.IsZero() {
				h.now = next
			}
			h.group.Tick(h.now)
			h.take(t)
			h.StoreNext(t)
		}
	})
}

type history struct {
	group      *Group
	now        time.Time
	ticket     Ticket
	waiting    map[Ticket]string
	known      []string // member ids that were ever given out
	stores     []Store
	generation int32
}

func (h *history) take(t *rapid.T) {
	effects := h.group.Take()
	answered := func(ticket Ticket, kind string) {
		if h.waiting[ticket] != kind {
			t.Fatalf("the answer to %s %d comes to %q", kind, ticket, h.waiting[ticket])
		}
		delete(h.waiting, ticket)
	}
	leaders := map[int32]int{}
	for _, answer := range effects.Joins {
		answered(answer.Ticket, "join")
		if answer.MemberID != "" && !slices.Contains(h.known, answer.MemberID) {
			h.known = append(h.known, answer.MemberID)
		}
		if answer.Err == nil && (answer.Generation > h.group.generation || answer.Generation < h.generation) {
			t.Fatalf("a member is told generation %d, and it went from %d to %d", answer.Generation, h.generation, h.group.generation)
		}
		if answer.Err == nil && len(answer.Members) > 0 {
			if leaders[answer.Generation]++; leaders[answer.Generation] > 1 {
				t.Fatalf("two members are told to lead generation %d", answer.Generation)
			}
		}
	}
	for _, answer := range effects.Syncs {
		answered(answer.Ticket, "sync")
	}
	h.stores = append(h.stores, effects.Stores...)
}

func (h *history) draw(t *rapid.T) string {
	if len(h.known) == 0 || rapid.IntRange(0, 9).Draw(t, "stranger") == 0 {
		return "stranger"
	}
	return rapid.SampledFrom(h.known).Draw(t, "member")
}

func (h *history) Join(t *rapid.T) {
	h.ticket++
	h.waiting[h.ticket] = "join"
	r := JoinRequest{
		Ticket: h.ticket, SessionTimeout: rapid.SampledFrom([]time.Duration{6 * time.Second, 45 * time.Second}).Draw(t, "session"),
		RebalanceTimeout: rapid.SampledFrom([]time.Duration{5 * time.Second, time.Minute}).Draw(t, "rebalance"), ProtocolType: "consumer",
		Protocols:          []Protocol{{"range", []byte{byte(rapid.IntRange(0, 1).Draw(t, "metadata"))}}},
		RequireKnownMember: rapid.Bool().Draw(t, "known"), CanSkipAssignment: rapid.Bool().Draw(t, "skip"), NewMemberID: fmt.Sprintf("m%d", h.ticket),
	}
	if rapid.IntRange(0, 2).Draw(t, "new") > 0 {
		r.MemberID = h.draw(t)
	}
	if m := h.group.members[r.MemberID]; m != nil {
		r.InstanceID = m.instanceID
	} else if rapid.IntRange(0, 2).Draw(t, "static") == 0 {
		r.InstanceID = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "instance")
	}
	h.group.Join(r, h.now)
	h.take(t)
}

func (h *history) Sync(t *rapid.T) {
	h.ticket++
	h.waiting[h.ticket] = "sync"
	r := SyncRequest{Ticket: h.ticket, MemberID: h.draw(t), Generation: h.group.generation - rapid.Int32Range(0, 1).Draw(t, "old")}
	if rapid.Bool().Draw(t, "leader") && h.group.leader != "" {
		r.MemberID = h.group.leader
	}
	if m := h.group.members[r.MemberID]; m != nil {
		r.InstanceID = m.instanceID
	}
	h.group.Sync(r, h.now)
	h.take(t)
}

func (h *history) Heartbeat(t *rapid.T) {
	id := h.draw(t)
	instance := ""
	if m := h.group.members[id]; m != nil {
		instance = m.instanceID
	}
	h.group.Heartbeat(id, instance, h.group.generation, h.now)
	h.take(t)
}

func (h *history) Leave(t *rapid.T) {
	h.group.Leave([]Leaver{{MemberID: h.draw(t)}, {InstanceID: rapid.SampledFrom([]string{"", "a"}).Draw(t, "instance")}}, h.now)
	h.take(t)
}

func (h *history) StoreNext(t *rapid.T) {
	if len(h.stores) == 0 {
		return
	}
	var err *kerr.Error
	if rapid.IntRange(0, 5).Draw(t, "fails") == 0 {
		err = kerr.NotCoordinator
	}
	store := h.stores[0]
	h.stores = h.stores[1:]
	h.group.Stored(store.ID, err, h.now)
	h.take(t)
}

func (h *history) Wait(t *rapid.T) {
	h.now = h.now.Add(time.Duration(rapid.IntRange(1, 20_000).Draw(t, "ms")) * time.Millisecond)
	h.group.Tick(h.now)
	h.take(t)
}

// Check runs after every action.
func (h *history) Check(t *rapid.T) {
	g := h.group
	if g.generation < h.generation {
		t.Fatalf("the generation fell from %d to %d", h.generation, g.generation)
	}
	h.generation = g.generation
	if len(g.order) != len(g.members) {
		t.Fatalf("%d members in order, %d by id", len(g.order), len(g.members))
	}
	if (len(g.members) > 0) != (g.leader != "") || g.leader != "" && g.members[g.leader] == nil {
		t.Fatalf("the leader is %q of %v", g.leader, g.order)
	}
	if len(g.members) > 0 && g.state == Empty {
		t.Fatal("an empty group has members")
	}
	for instance, id := range g.static {
		if m := g.members[id]; m == nil || m.instanceID != instance {
			t.Fatalf("the static member %s is %s, which is not there", instance, id)
		}
	}
	tickets := 0
	for _, m := range g.members {
		if m.join != 0 {
			tickets++
			if g.state != PreparingRebalance && g.state != Stable {
				t.Fatalf("a join waits in a group that is %s", g.state)
			}
		}
		if m.sync != 0 {
			tickets++
			if g.state != CompletingRebalance {
				t.Fatalf("a sync waits in a group that is %s", g.state)
			}
		}
	}
	if tickets != len(h.waiting) {
		t.Fatalf("%d requests wait, and the group knows of %d", len(h.waiting), tickets)
	}
	if next := g.NextDeadline(); len(g.members) > 0 && next.IsZero() && len(h.stores) == 0 {
		t.Fatalf("a group with members that is %s waits for nothing", g.state)
	}
	g.Tick(h.now)
	h.take(t)
	if next := g.NextDeadline(); !next.IsZero() && !next.After(h.now) {
		t.Fatalf("after a tick the deadline %v is still due at %v", next, h.now)
	}
}
