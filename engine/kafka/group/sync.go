package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/sentence"
)

// SyncRequest is a SyncGroup request.
type SyncRequest struct {
	Ticket     Ticket
	MemberID   string
	InstanceID string
	Generation int32
	// ProtocolType and Protocol are what the member believes (v5 and later, KIP-559); "" when it does not say.
	ProtocolType string
	Protocol     string
	// Assignments by member id, from the leader.
	Assignments map[string][]byte
}

// Sync takes a SyncGroup request. The answer comes as an effect: for all members when the leader's assignment is stored.
func (g *Group) Sync(r SyncRequest, now time.Time) {
	if err := g.checkSync(r); err != nil {
		g.refuseSync(r.Ticket, err)
		return
	}
	m := g.members[r.MemberID]
	switch g.state {
	case Empty:
		g.refuseSync(r.Ticket, kerr.UnknownMemberID)
	case PreparingRebalance:
		g.refuseSync(r.Ticket, kerr.RebalanceInProgress)
	case CompletingRebalance:
		if m.sync != 0 {
			g.refuseSync(m.sync, kerr.RebalanceInProgress) // from a connection that the member gave up
		}
		m.sync = r.Ticket
		g.synced(m)
		if m.id == g.leader {
			g.store(store{kind: storeAssignment, assignments: r.Assignments})
		}
	case Stable:
		g.synced(m)
		m.heardFrom(now)
		g.effects.Syncs = append(g.effects.Syncs, g.syncAnswer(m, r.Ticket))
	}
}

func (g *Group) checkSync(r SyncRequest) *kerr.Error {
	if g.state == Dead {
		return kerr.CoordinatorNotAvailable
	}
	if err := g.check(r.MemberID, r.InstanceID); err != nil {
		return err
	}
	switch {
	case r.Generation != g.generation:
		return kerr.IllegalGeneration
	case r.ProtocolType != "" && r.ProtocolType != g.protocolType, r.Protocol != "" && r.Protocol != g.protocol:
		return kerr.InconsistentGroupProtocol
	}
	return nil
}

func (g *Group) synced(m *member) {
	delete(g.toSync, m.id)
	if len(g.toSync) == 0 {
		g.syncDeadline = time.Time{}
	}
}

func (g *Group) syncAnswer(m *member, ticket Ticket) SyncAnswer {
	return SyncAnswer{Ticket: ticket, ProtocolType: g.protocolType, Protocol: g.protocol, Assignment: m.assignment}
}

// assigned hands out what the leader assigned. A member that the leader left out gets nothing.
func (g *Group) assigned(assignments map[string][]byte, now time.Time) {
	for _, m := range g.inOrder() {
		m.assignment = assignments[m.id]
	}
	g.move(Stable, now, sentence.Of("assignmentStored", "the leader's assignment is stored"))
	for _, m := range g.inOrder() {
		if m.sync != 0 {
			g.effects.Syncs = append(g.effects.Syncs, g.syncAnswer(m, m.sync))
			m.sync = 0
			m.heardFrom(now)
		}
	}
}
