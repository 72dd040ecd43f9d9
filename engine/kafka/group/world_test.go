package group

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var testSettings = Settings{MinSessionTimeout: 6 * time.Second, MaxSessionTimeout: 30 * time.Minute, InitialRebalanceDelay: 3 * time.Second}

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world is a group with a clock and a log that stores at once unless told to wait.
type world struct {
	t       *testing.T
	group   *Group
	now     time.Time
	ticket  Ticket
	joins   map[Ticket]JoinAnswer
	syncs   map[Ticket]SyncAnswer
	stored  []Store
	holding bool
}

func newWorld(t *testing.T) *world {
	return &world{t: t, group: New("g", testSettings, began), now: began, joins: map[Ticket]JoinAnswer{}, syncs: map[Ticket]SyncAnswer{}}
}

// settle takes the effects; the log answers until nothing is left.
func (w *world) settle() {
	for {
		effects := w.group.Take()
		for _, answer := range effects.Joins {
			if _, twice := w.joins[answer.Ticket]; twice {
				w.t.Fatalf("ticket %d is answered twice", answer.Ticket)
			}
			w.joins[answer.Ticket] = answer
		}
		for _, answer := range effects.Syncs {
			if _, twice := w.syncs[answer.Ticket]; twice {
				w.t.Fatalf("ticket %d is answered twice", answer.Ticket)
			}
			w.syncs[answer.Ticket] = answer
		}
		w.stored = append(w.stored, effects.Stores...)
		if w.holding || len(effects.Stores) == 0 {
			return
		}
		for _, store := range effects.Stores {
			w.group.Stored(store.ID, nil, w.now)
		}
	}
}

// pass lets time pass, in the steps that the group asks for.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	end := w.now.Add(d)
	for steps := 0; ; steps++ {
		next := w.group.NextDeadline()
		if next.IsZero() || next.After(end) {
			break
		}
		if next.After(w.now) {
			w.now = next
		}
		w.group.Tick(w.now)
		w.settle()
		if after := w.group.NextDeadline(); !after.IsZero() && !after.After(w.now) && steps > 100 {
			w.t.Fatalf("the deadline %v stays due", after)
		}
	}
	w.now = end
}

// passJoin lets time pass until the members that wait have joined.
func (w *world) passJoin() {
	w.t.Helper()
	for range 600 {
		if w.group.State() != PreparingRebalance {
			return
		}
		w.pass(100 * time.Millisecond)
	}
	w.t.Fatal("the rebalance does not end")
}

func subscription(topics ...string) []byte {
	metadata := kmsg.NewConsumerMemberMetadata()
	metadata.Topics = topics
	return metadata.AppendTo(nil)
}

func (w *world) join(change func(*JoinRequest)) Ticket {
	w.ticket++
	r := JoinRequest{
		Ticket: w.ticket, ClientID: "client", ClientHost: "/127.0.0.1", SessionTimeout: 10 * time.Second, RebalanceTimeout: time.Minute,
		ProtocolType: "consumer", Protocols: []Protocol{{"range", subscription("t")}}, NewMemberID: fmt.Sprintf("client-%d", w.ticket),
	}
	if change != nil {
		change(&r)
	}
	w.group.Join(r, w.now)
	w.settle()
	return w.ticket
}

func (w *world) sync(id string, generation int32, change func(*SyncRequest)) Ticket {
	w.ticket++
	r := SyncRequest{Ticket: w.ticket, MemberID: id, Generation: generation}
	if change != nil {
		change(&r)
	}
	w.group.Sync(r, w.now)
	w.settle()
	return w.ticket
}

func (w *world) joined(ticket Ticket) JoinAnswer {
	w.t.Helper()
	answer, answered := w.joins[ticket]
	if !answered {
		w.t.Fatalf("join %d is not answered", ticket)
	}
	return answer
}

func (w *world) synced(ticket Ticket) SyncAnswer {
	w.t.Helper()
	answer, answered := w.syncs[ticket]
	if !answered {
		w.t.Fatalf("sync %d is not answered", ticket)
	}
	return answer
}

func (w *world) waits(ticket Ticket) {
	w.t.Helper()
	_, joined := w.joins[ticket]
	_, synced := w.syncs[ticket]
	if joined || synced {
		w.t.Fatalf("ticket %d is answered, and should wait", ticket)
	}
}

func (w *world) is(state State) {
	w.t.Helper()
	if got := w.group.State(); got != state {
		w.t.Fatalf("the group is %s, want %s", got, state)
	}
}

// stable makes a stable group of members, the first of which leads; instances name static ones.
func stable(t *testing.T, instances ...string) (*world, []string) {
	t.Helper()
	w := newWorld(t)
	var tickets []Ticket
	for _, instance := range instances {
		tickets = append(tickets, w.join(func(r *JoinRequest) { r.InstanceID = instance }))
	}
	w.passJoin()
	var ids []string
	assignments := map[string][]byte{}
	for _, ticket := range tickets {
		id := w.joined(ticket).MemberID
		ids = append(ids, id)
		assignments[id] = []byte("for " + id)
	}
	for i, id := range ids {
		w.sync(id, w.group.Generation(), func(r *SyncRequest) {
			r.InstanceID = instances[i]
			if i == 0 {
				r.Assignments = assignments
			}
		})
	}
	w.is(Stable)
	return w, ids
}

func name(err *kerr.Error) string {
	if err == nil {
		return "NONE"
	}
	return err.Message
}

func (w *world) wants(what string, got, want *kerr.Error) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("%s: %s, want %s", what, name(got), name(want))
	}
}
