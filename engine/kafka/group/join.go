package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/sentence"
)

// JoinRequest is a JoinGroup request.
type JoinRequest struct {
	Ticket           Ticket
	MemberID         string // "": the member is new
	InstanceID       string // "": a dynamic member
	ClientID         string
	ClientHost       string
	SessionTimeout   time.Duration
	RebalanceTimeout time.Duration
	ProtocolType     string
	Protocols        []Protocol
	// RequireKnownMember: a new dynamic member is first given its id and must join again with it (v4 and later, KIP-394), so that clients
	// that lose the answer do not leave members behind.
	RequireKnownMember bool
	// CanSkipAssignment: the member understands that it leads and need not assign (v9 and later, KIP-814).
	CanSkipAssignment bool
	// NewMemberID is the id that the member gets if it needs one.
	NewMemberID string
}

// Join takes a JoinGroup request. The answer comes as an effect, at once or when the rebalance has got that far.
func (g *Group) Join(r JoinRequest, now time.Time) {
	switch {
	case r.SessionTimeout < g.settings.MinSessionTimeout || r.SessionTimeout > g.settings.MaxSessionTimeout:
		g.refuseJoin(r.Ticket, r.MemberID, kerr.InvalidSessionTimeout)
	case g.state == Dead:
		// The group is being removed; the client finds the coordinator anew and with it a new group.
		g.refuseJoin(r.Ticket, r.MemberID, kerr.CoordinatorNotAvailable)
	case !g.accepts(r.MemberID):
		if m := g.members[r.MemberID]; m != nil {
			g.remove(m)
		}
		delete(g.pending, r.MemberID)
		g.refuseJoin(r.Ticket, r.MemberID, kerr.GroupMaxSizeReached)
	case !g.supportsProtocols(r.ProtocolType, r.Protocols):
		g.refuseJoin(r.Ticket, r.MemberID, kerr.InconsistentGroupProtocol)
	case r.MemberID == "":
		g.joinNew(r, now)
	default:
		g.joinKnown(r, now)
	}
	g.tryCompleteJoin(now)
}

// accepts keeps group.max.size. While the group rebalances only those count that have joined already: the first ones to come stay.
func (g *Group) accepts(memberID string) bool {
	if g.settings.MaxSize == 0 {
		return true
	}
	switch g.state {
	case PreparingRebalance:
		m := g.members[memberID]
		return m != nil && m.join != 0 || g.joined() < g.settings.MaxSize
	case Empty, Dead:
		return true
	}
	return g.members[memberID] != nil || len(g.members) < g.settings.MaxSize
}

func (g *Group) joined() (count int) {
	for _, m := range g.members {
		if m.join != 0 {
			count++
		}
	}
	return count
}

func (g *Group) joinNew(r JoinRequest, now time.Time) {
	switch {
	case r.InstanceID != "" && g.static[r.InstanceID] != "":
		g.replaceStatic(r, now)
	case r.InstanceID == "" && r.RequireKnownMember && len(g.pending) >= maxPending:
		g.refuseJoin(r.Ticket, r.MemberID, kerr.GroupMaxSizeReached)
	case r.InstanceID == "" && r.RequireKnownMember:
		g.pending[r.NewMemberID] = now.Add(r.SessionTimeout)
		g.refuseJoin(r.Ticket, r.NewMemberID, kerr.MemberIDRequired)
	default:
		g.addAndRebalance(r, r.NewMemberID, now)
	}
}

func (g *Group) joinKnown(r JoinRequest, now time.Time) {
	if _, isPending := g.pending[r.MemberID]; isPending {
		g.addAndRebalance(r, r.MemberID, now)
		return
	}
	if err := g.check(r.MemberID, r.InstanceID); err != nil {
		g.refuseJoin(r.Ticket, r.MemberID, err)
		return
	}
	m := g.members[r.MemberID]
	unchanged := m.joinsUnchanged(r.Protocols)
	switch {
	case g.state == PreparingRebalance:
		g.rejoin(m, r, now, sentence.Of("memberJoinsAgain", "member {member} joins again", m.id))
	case g.state == CompletingRebalance && unchanged:
		g.repeatJoin(m, r) // it missed the answer to the request that began this generation
	case g.state == CompletingRebalance:
		g.rejoin(m, r, now, sentence.Of("memberChangedProtocols", "member {member} changed its protocols", m.id))
	case g.state == Stable && m.id == g.leader:
		// The leader asks for a rebalance: only it sees that the partitions of a topic have changed.
		g.rejoin(m, r, now, sentence.Of("groupLeaderJoinsAgain", "the leader {member} joins again", m.id))
	case g.state == Stable && !unchanged:
		g.rejoin(m, r, now, sentence.Of("memberChangedProtocols", "member {member} changed its protocols", m.id))
	case g.state == Stable:
		g.repeatJoin(m, r)
	default:
		g.refuseJoin(r.Ticket, r.MemberID, kerr.UnknownMemberID)
	}
}

// repeatJoin tells a member again how the last rebalance ended.
func (g *Group) repeatJoin(m *member, r JoinRequest) {
	g.effects.Joins = append(g.effects.Joins, g.joinAnswer(m, r.Ticket))
}

func (g *Group) joinAnswer(m *member, ticket Ticket) JoinAnswer {
	answer := JoinAnswer{
		Ticket: ticket, MemberID: m.id, Generation: g.generation, ProtocolType: g.protocolType, Protocol: g.protocol, Leader: g.leader,
	}
	if m.id == g.leader && g.state == CompletingRebalance {
		answer.Members = g.joinedMembers()
	}
	return answer
}

func (g *Group) joinedMembers() []JoinedMember {
	list := make([]JoinedMember, 0, len(g.order))
	for _, id := range g.order {
		m := g.members[id]
		list = append(list, JoinedMember{ID: m.id, InstanceID: m.instanceID, Metadata: m.metadata(g.protocol)})
	}
	return list
}

func (g *Group) addAndRebalance(r JoinRequest, id string, now time.Time) {
	m := &member{id: id, instanceID: r.InstanceID, isNew: true, deadline: now.Add(newMemberTimeout)}
	m.update(r)
	m.join = r.Ticket
	if len(g.members) == 0 {
		g.protocolType = r.ProtocolType
	}
	g.add(m)
	if g.state == PreparingRebalance && g.generation == 0 {
		g.join.newMember = true
	}
	if g.state == PreparingRebalance {
		g.show(sentence.Of("memberJoins", "member {member} joins", id))
		return
	}
	g.prepareRebalance(now, sentence.Of("memberJoins", "member {member} joins", id))
}

func (m *member) update(r JoinRequest) {
	m.clientID, m.clientHost = r.ClientID, r.ClientHost
	m.sessionTimeout, m.rebalanceTimeout, m.protocols = r.SessionTimeout, r.RebalanceTimeout, r.Protocols
}

// rejoin lets a member wait for the rebalance that it causes or that is on its way. A request of the same member that still waits is from a
// connection that it gave up.
func (g *Group) rejoin(m *member, r JoinRequest, now time.Time, why sentence.Sentence) {
	if m.join != 0 {
		g.refuseJoin(m.join, m.id, kerr.RebalanceInProgress)
	}
	m.update(r)
	m.join = r.Ticket
	if g.state != PreparingRebalance {
		g.prepareRebalance(now, why)
		return
	}
	g.show(why)
}
