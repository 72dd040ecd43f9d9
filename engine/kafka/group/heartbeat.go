package group

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/sentence"
)

// Heartbeat takes a Heartbeat request. The error REBALANCE_IN_PROGRESS is how members learn that they have to join again.
func (g *Group) Heartbeat(memberID, instanceID string, generation int32, now time.Time) *kerr.Error {
	if g.state == Dead {
		return kerr.CoordinatorNotAvailable
	}
	if err := g.check(memberID, instanceID); err != nil {
		return err
	}
	if generation != g.generation {
		return kerr.IllegalGeneration
	}
	if g.state == Empty {
		return kerr.UnknownMemberID
	}
	g.members[memberID].heardFrom(now)
	if g.state == PreparingRebalance {
		return kerr.RebalanceInProgress
	}
	return nil
}

// Leaver is a member in a LeaveGroup request. An administrator names a static member by its instance id alone.
type Leaver struct {
	MemberID   string
	InstanceID string
	Reason     string
}

// Leave takes a LeaveGroup request and answers for each leaver; whole is an error for all of them.
func (g *Group) Leave(leavers []Leaver, now time.Time) (whole *kerr.Error, each []*kerr.Error) {
	if g.state == Dead {
		return kerr.CoordinatorNotAvailable, nil
	}
	for _, leaver := range leavers {
		each = append(each, g.leave(leaver, now))
	}
	return nil, each
}

func (g *Group) leave(leaver Leaver, now time.Time) *kerr.Error {
	id := leaver.MemberID
	if id == "" {
		current, known := g.static[leaver.InstanceID]
		if leaver.InstanceID == "" || !known {
			return kerr.UnknownMemberID
		}
		id = current
	}
	if _, isPending := g.pending[id]; isPending {
		delete(g.pending, id)
		g.tryCompleteJoin(now)
		return nil
	}
	if err := g.check(id, leaver.InstanceID); err != nil {
		return err
	}
	why := sentence.Of("memberLeaves", "member {member} leaves", id)
	if leaver.Reason != "" {
		why = sentence.Of("memberLeavesSaying", "member {member} leaves: {reason}", id, leaver.Reason)
	}
	g.removeAndUpdate(g.members[id], now, why)
	return nil
}

// NextDeadline is when [Group.Tick] has something to do; the zero time: never, unless something happens first.
func (g *Group) NextDeadline() time.Time {
	var next time.Time
	if g.state == Dead {
		return next
	}
	consider := func(deadline time.Time) {
		if !deadline.IsZero() && (next.IsZero() || deadline.Before(next)) {
			next = deadline
		}
	}
	consider(g.syncDeadline)
	if g.state == PreparingRebalance {
		consider(g.join.deadline)
	}
	for _, deadline := range g.pending {
		consider(deadline)
	}
	for _, m := range g.members {
		if m.expires() {
			consider(m.deadline)
		}
	}
	return next
}

// Tick lets time do its work: silent members are out, and waits that took too long end.
func (g *Group) Tick(now time.Time) {
	if g.state == Dead {
		return
	}
	due := func(deadline time.Time) bool { return !deadline.IsZero() && !deadline.After(now) }
	var forgotten []string
	for id, deadline := range g.pending {
		if due(deadline) {
			forgotten = append(forgotten, id)
		}
	}
	slices.Sort(forgotten)
	for _, id := range forgotten {
		delete(g.pending, id)
	}
	g.tryCompleteJoin(now)
	for _, m := range g.inOrder() {
		if g.members[m.id] == m && m.expires() && due(m.deadline) {
			g.removeAndUpdate(m, now, sentence.Of("memberExpired", "the session of member {member} expired", m.id))
		}
	}
	if g.state == PreparingRebalance && due(g.join.deadline) {
		g.joinTimeIsUp(now)
	}
	if due(g.syncDeadline) {
		g.syncTimeIsUp(now)
	}
}
