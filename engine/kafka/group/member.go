package group

import (
	"bytes"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/sentence"
)

// Protocol is a way of assigning partitions that a member supports, such as "range", with what the leader must know about the member.
type Protocol struct {
	Name     string
	Metadata []byte
}

type member struct {
	id         string
	instanceID string // "": a dynamic member
	clientID   string
	clientHost string

	rebalanceTimeout time.Duration
	sessionTimeout   time.Duration
	protocols        []Protocol
	assignment       []byte

	join Ticket // the JoinGroup request that waits; 0: none
	sync Ticket // the SyncGroup request that waits; 0: none
	// isNew: it has not been told its id yet.
	isNew bool
	// deadline is when the member is taken for dead unless it was heard from.
	deadline time.Time
}

// expires says whether silence counts against the member now: while it waits for an answer it has nothing to say.
func (m *member) expires() bool { return m.isNew || m.join == 0 && m.sync == 0 }

func (m *member) heardFrom(now time.Time) { m.deadline = now.Add(m.sessionTimeout) }

func (m *member) supports(protocol string) bool {
	return slices.ContainsFunc(m.protocols, func(p Protocol) bool { return p.Name == protocol })
}

func (m *member) metadata(protocol string) []byte {
	for _, p := range m.protocols {
		if p.Name == protocol {
			return p.Metadata
		}
	}
	return nil
}

func (m *member) joinsUnchanged(protocols []Protocol) bool {
	return slices.EqualFunc(m.protocols, protocols, func(a, b Protocol) bool { return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata) })
}

// check finds out whether a request comes from whom it says. A static member whose instance id has moved on to another member id is a
// zombie: it is fenced, and must not try again.
func (g *Group) check(memberID, instanceID string) *kerr.Error {
	if instanceID != "" {
		current, known := g.static[instanceID]
		if !known {
			return kerr.UnknownMemberID
		}
		if current != memberID {
			return kerr.FencedInstanceID
		}
	}
	if g.members[memberID] == nil {
		return kerr.UnknownMemberID
	}
	return nil
}

func (g *Group) add(m *member) {
	g.members[m.id] = m
	g.order = append(g.order, m.id)
	if m.instanceID != "" {
		g.static[m.instanceID] = m.id
	}
	delete(g.pending, m.id)
	if g.leader == "" {
		g.leader = m.id
	}
}

// remove takes a member out. Whoever still waits under its id is told that it is not a member: if it lives it joins again.
func (g *Group) remove(m *member) {
	if m.join != 0 {
		g.refuseJoin(m.join, m.id, kerr.UnknownMemberID)
		m.join = 0
	}
	if m.sync != 0 {
		g.refuseSync(m.sync, kerr.UnknownMemberID)
		m.sync = 0
	}
	delete(g.members, m.id)
	delete(g.toSync, m.id)
	g.order = slices.DeleteFunc(g.order, func(id string) bool { return id == m.id })
	if m.instanceID != "" && g.static[m.instanceID] == m.id {
		delete(g.static, m.instanceID)
	}
	if g.leader == m.id {
		g.leader = ""
		if len(g.order) > 0 {
			g.leader = g.order[0]
		}
	}
}

// removeAndUpdate removes a member of a live group and lets the others go on without it.
func (g *Group) removeAndUpdate(m *member, now time.Time, why sentence.Sentence) {
	g.remove(m)
	switch g.state {
	case Stable, CompletingRebalance:
		g.prepareRebalance(now, why)
	case PreparingRebalance:
		g.show(why)
	}
	g.tryCompleteJoin(now)
}

// supportsProtocols says whether a member with these protocols can be in the group: there must be one that all members support.
func (g *Group) supportsProtocols(protocolType string, protocols []Protocol) bool {
	if len(g.members) == 0 {
		return protocolType != "" && len(protocols) > 0
	}
	return protocolType == g.protocolType && slices.ContainsFunc(protocols, func(p Protocol) bool { return g.allSupport(p.Name) })
}

func (g *Group) allSupport(protocol string) bool {
	for _, m := range g.members {
		if !m.supports(protocol) {
			return false
		}
	}
	return true
}

// selectProtocol lets each member vote for the first of its protocols that all support. Equal votes go to the protocol that was voted for
// first.
func (g *Group) selectProtocol() string {
	votes := map[string]int{}
	winner := ""
	for _, id := range g.order {
		for _, p := range g.members[id].protocols {
			if g.allSupport(p.Name) {
				votes[p.Name]++
				if winner == "" {
					winner = p.Name
				}
				break
			}
		}
	}
	for _, id := range g.order {
		for _, p := range g.members[id].protocols {
			if votes[p.Name] > votes[winner] {
				winner = p.Name
			}
		}
	}
	return winner
}

// rebalanceTimeout is how long a rebalance may wait for members: the longest that any of them asks for.
func (g *Group) rebalanceTimeout() time.Duration {
	var longest time.Duration
	for _, m := range g.members {
		longest = max(longest, m.rebalanceTimeout)
	}
	return longest
}
