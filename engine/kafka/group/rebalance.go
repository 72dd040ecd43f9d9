package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/sentence"
)

// prepareRebalance begins a rebalance: every member has to join again.
func (g *Group) prepareRebalance(now time.Time, why sentence.Sentence) {
	if g.state == CompletingRebalance {
		g.cancelSync(kerr.RebalanceInProgress, now)
	}
	g.syncDeadline = time.Time{}
	clear(g.toSync)
	wasEmpty := g.state == Empty
	g.join = joinPhase{deadline: now.Add(g.rebalanceTimeout())}
	if wasEmpty {
		delay := g.settings.InitialRebalanceDelay
		g.join = joinPhase{deadline: now.Add(delay), initial: true, remaining: max(0, g.rebalanceTimeout()-delay)}
	}
	g.move(PreparingRebalance, now, why)
}

// cancelSync forgets assignments that were never handed out and sends those who wait for one away.
func (g *Group) cancelSync(err *kerr.Error, now time.Time) {
	for _, id := range g.order {
		m := g.members[id]
		m.assignment = nil
		if m.sync != 0 {
			g.refuseSync(m.sync, err)
			m.sync = 0
			m.heardFrom(now) // its silence until now was our doing
		}
	}
}

// tryCompleteJoin ends the wait when everybody is there: all members, and all who were given an id. The initial delay is waited out.
func (g *Group) tryCompleteJoin(now time.Time) {
	if g.state == PreparingRebalance && !g.join.initial && g.joined() == len(g.members) && len(g.pending) == 0 {
		g.completeJoin(now)
	}
}

// joinTimeIsUp ends the wait for those who did not come.
func (g *Group) joinTimeIsUp(now time.Time) {
	if g.join.initial && g.join.newMember && g.join.remaining > 0 {
		delay := min(g.settings.InitialRebalanceDelay, g.join.remaining)
		g.join.newMember = false
		g.join.remaining -= delay
		g.join.deadline = now.Add(delay)
		return
	}
	g.completeJoin(now)
}

// completeJoin begins the next generation with those who joined. Dynamic members that did not are out; static ones keep their place until
// their session ends.
func (g *Group) completeJoin(now time.Time) {
	for _, m := range g.inOrder() {
		if m.join == 0 && m.instanceID == "" {
			g.remove(m)
		}
	}
	g.join.initial = false
	if len(g.members) > 0 && !g.chooseJoinedLeader() {
		g.join.deadline = now.Add(g.rebalanceTimeout()) // only silent static members are left: wait for one of them
		return
	}
	g.join = joinPhase{}
	g.generation++
	if len(g.members) == 0 {
		g.protocol, g.leader = "", ""
		g.move(Empty, now, sentence.Of("nobodyIsLeft", "nobody is left"))
		g.store(store{kind: storeEmpty})
		return
	}
	g.protocol = g.selectProtocol()
	g.syncDeadline = now.Add(g.rebalanceTimeout())
	for _, m := range g.inOrder() {
		g.toSync[m.id] = true
	}
	g.move(CompletingRebalance, now, sentence.Of("allJoined", "all members joined"))
	for _, m := range g.inOrder() {
		if m.join != 0 {
			g.effects.Joins = append(g.effects.Joins, g.joinAnswer(m, m.join))
			m.join = 0
		}
		m.heardFrom(now)
		m.isNew = false
	}
}

// chooseJoinedLeader keeps the leader if it joined and else takes another member that did; false when none did.
func (g *Group) chooseJoinedLeader() bool {
	if leader := g.members[g.leader]; leader != nil && leader.join != 0 {
		return true
	}
	for _, m := range g.inOrder() {
		if m.join != 0 {
			g.leader = m.id
			return true
		}
	}
	return false
}

// inOrder lists the members as they are now, so that the caller may remove some.
func (g *Group) inOrder() []*member {
	list := make([]*member, 0, len(g.order))
	for _, id := range g.order {
		list = append(list, g.members[id])
	}
	return list
}

// syncTimeIsUp removes the members that joined and then never fetched their assignment, as a crashed client does.
func (g *Group) syncTimeIsUp(now time.Time) {
	g.syncDeadline = time.Time{}
	if g.state != CompletingRebalance && g.state != Stable {
		return
	}
	removed := false
	for _, m := range g.inOrder() {
		if g.toSync[m.id] {
			g.remove(m)
			removed = true
		}
	}
	if removed {
		g.prepareRebalance(now, sentence.Of("membersDidNotSync", "members did not sync in time"))
		g.tryCompleteJoin(now)
	}
}
