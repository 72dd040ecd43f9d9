package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/sentence"
)

// Metadata is what the log says about a group: the value of its group metadata record.
type Metadata struct {
	ProtocolType string
	Generation   int32
	Protocol     string // "": none
	Leader       string // "": none
	Since        time.Time
	Members      []MemberMetadata
}

// MemberMetadata is a member in [Metadata].
type MemberMetadata struct {
	ID               string
	InstanceID       string
	ClientID         string
	ClientHost       string
	RebalanceTimeout time.Duration
	SessionTimeout   time.Duration
	Subscription     []byte // the metadata of the chosen protocol
	Assignment       []byte
}

type storeKind int

const (
	storeEmpty      storeKind = iota // nobody is left
	storeAssignment                  // the leader assigned
	storeStatic                      // a static member changed its id
)

// store is what to do when the log has the metadata.
type store struct {
	kind        storeKind
	generation  int32
	assignments map[string][]byte

	memberID     string
	before       member
	leaderBefore string
	canSkip      bool
}

func (g *Group) store(s store) {
	g.sequence++
	s.generation = g.generation
	g.stores[g.sequence] = s
	metadata := g.Metadata()
	if s.kind == storeAssignment {
		for i := range metadata.Members {
			metadata.Members[i].Assignment = s.assignments[metadata.Members[i].ID]
		}
	}
	g.effects.Stores = append(g.effects.Stores, Store{ID: g.sequence, Metadata: metadata})
}

// Metadata is what is to be written about the group now.
func (g *Group) Metadata() Metadata {
	metadata := Metadata{ProtocolType: g.protocolType, Generation: g.generation, Protocol: g.protocol, Leader: g.leader, Since: g.since}
	for _, m := range g.inOrder() {
		metadata.Members = append(metadata.Members, MemberMetadata{
			ID: m.id, InstanceID: m.instanceID, ClientID: m.clientID, ClientHost: m.clientHost, RebalanceTimeout: m.rebalanceTimeout,
			SessionTimeout: m.sessionTimeout, Subscription: m.metadata(g.protocol), Assignment: m.assignment,
		})
	}
	return metadata
}

// Stored tells the group that its metadata are in the log, or why not. A group that has moved on meanwhile does not care.
func (g *Group) Stored(id uint64, err *kerr.Error, now time.Time) {
	s, known := g.stores[id]
	if !known {
		return
	}
	delete(g.stores, id)
	switch s.kind {
	case storeStatic:
		g.staticStored(s, err, now)
	case storeAssignment:
		if g.state != CompletingRebalance || g.generation != s.generation {
			return
		}
		if err != nil {
			g.cancelSync(err, now)
			g.prepareRebalance(now, sentence.Of("assignmentNotStored", "the assignment could not be stored: {error}", err.Message))
			g.tryCompleteJoin(now)
			return
		}
		g.assigned(s.assignments, now)
	}
}

// Restore makes a group out of what the log says. Its members get a full session: how long they were silent nobody knows.
func Restore(id string, metadata Metadata, settings Settings, now time.Time) *Group {
	g := New(id, settings, now)
	g.since, g.generation, g.protocolType, g.protocol = metadata.Since, metadata.Generation, metadata.ProtocolType, metadata.Protocol
	if g.since.IsZero() {
		g.since = now
	}
	for _, stored := range metadata.Members {
		m := &member{
			id: stored.ID, instanceID: stored.InstanceID, clientID: stored.ClientID, clientHost: stored.ClientHost,
			rebalanceTimeout: stored.RebalanceTimeout, sessionTimeout: stored.SessionTimeout, assignment: stored.Assignment,
			protocols: []Protocol{{Name: metadata.Protocol, Metadata: stored.Subscription}},
		}
		m.heardFrom(now)
		g.add(m)
	}
	if len(g.members) > 0 {
		g.state = Stable
		if g.members[metadata.Leader] != nil {
			g.leader = metadata.Leader
		}
	}
	g.show(sentence.Of("groupLoaded", "loaded from the log"))
	return g
}
