package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/sentence"
)

// replaceStatic lets a static member that restarted take its place again under a new member id. While the group is stable and would choose
// the same protocol, nobody else notices: that is what static membership is for.
func (g *Group) replaceStatic(r JoinRequest, now time.Time) {
	m := g.members[g.static[r.InstanceID]]
	before := *m
	leaderBefore := g.leader
	// Whoever waits under the old id is a duplicate.
	if m.join != 0 {
		g.refuseJoin(m.join, m.id, kerr.FencedInstanceID)
	}
	if m.sync != 0 {
		g.refuseSync(m.sync, kerr.FencedInstanceID)
	}
	g.rename(m, r.NewMemberID)
	m.update(r)
	m.join, m.sync = r.Ticket, 0
	m.heardFrom(now)
	switch g.state {
	case Stable:
		if g.selectProtocol() != g.protocol {
			g.prepareRebalance(now, sentence.Of("staticMemberChanged", "static member {member} comes back with other protocols", m.instanceID))
			return
		}
		g.store(store{kind: storeStatic, memberID: m.id, before: before, leaderBefore: leaderBefore, canSkip: r.CanSkipAssignment})
	case CompletingRebalance:
		g.prepareRebalance(now, sentence.Of("staticMemberDuring", "static member {member} comes back during the rebalance", m.instanceID))
	case PreparingRebalance:
		g.show(sentence.Of("staticMemberBack", "static member {member} comes back", m.instanceID))
	}
}

func (g *Group) rename(m *member, id string) {
	for i := range g.order {
		if g.order[i] == m.id {
			g.order[i] = id
		}
	}
	delete(g.members, m.id)
	if g.toSync[m.id] {
		delete(g.toSync, m.id)
		g.toSync[id] = true
	}
	if g.leader == m.id {
		g.leader = id
	}
	m.id = id
	g.members[id] = m
	g.static[m.instanceID] = id
}

// staticStored ends a silent replacement.
func (g *Group) staticStored(s store, err *kerr.Error, now time.Time) {
	m := g.members[s.memberID]
	if m == nil || m.join == 0 {
		return // it has left, or a rebalance has begun and will answer it
	}
	if g.state != Stable {
		return // the rebalance answers
	}
	ticket := m.join
	m.join = 0
	if err != nil {
		g.rename(m, s.before.id)
		m.protocols, m.sessionTimeout, m.rebalanceTimeout = s.before.protocols, s.before.sessionTimeout, s.before.rebalanceTimeout
		g.refuseJoin(ticket, "", err)
		return
	}
	m.heardFrom(now)
	answer := g.joinAnswer(m, ticket)
	switch {
	case !s.canSkip:
		// Before v9 a leader that learned that it leads would assign, and a stable group would not hear of it. So it is told the leader's old
		// id, in which it does not recognise itself.
		answer.Leader = s.leaderBefore
	case m.id == g.leader:
		answer.SkipAssignment = true
		answer.Members = g.joinedMembers()
	}
	g.effects.Joins = append(g.effects.Joins, answer)
	g.show(sentence.Of("staticMemberNewID", "static member {member} is back under another id", m.instanceID))
}
