// Package group is the decisions of Kafka's group coordinator, for one consumer group of the classic protocol: who is a member, when a
// rebalance begins and ends, who leads, and which offsets are committed. It is pure: requests and the time go in; what is to be answered,
// stored and shown comes out of [Group.Take]. The driver is engine/kafka/groupcoordinator.
//
//	        a member joins          all have joined, or time is up          the leader's assignment is stored
//	Empty ----------------> PreparingRebalance ----------------> CompletingRebalance ----------------> Stable
//	  ^                          |   ^   ^                              |                                |
//	  +--- nobody is left -------+   |   +--- joins, leaves, expires ---+                                |
//	  |                              +------- a member joins anew, leaves or expires ---------------------+
//	  +--> Dead (the group is deleted)
//
// In PreparingRebalance, JoinGroup requests wait until every member has sent one; in CompletingRebalance, SyncGroup requests wait for the
// leader's. The coordinator never assigns partitions: it chooses a protocol that all members support and lets the leader, a client, do the
// work. Eager and cooperative rebalancing differ only in what clients do: here they are the same.
//
// A member that rejoins with group.instance.id (static membership) gets a new member id and keeps its place, without a rebalance; its old
// member id is fenced.
//
// Source: Apache Kafka 3.9 (GroupCoordinator, GroupMetadata); KIP-62, KIP-134, KIP-345, KIP-394, KIP-559, KIP-800, KIP-814.
package group

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

// State is where a group is in its life. The names are those that DescribeGroups answers.
type State string

// The states of a group.
const (
	Empty               State = "Empty"
	PreparingRebalance  State = "PreparingRebalance"
	CompletingRebalance State = "CompletingRebalance"
	Stable              State = "Stable"
	Dead                State = "Dead"
)

var mayComeFrom = map[State][]State{
	PreparingRebalance:  {Stable, CompletingRebalance, Empty},
	CompletingRebalance: {PreparingRebalance},
	Stable:              {CompletingRebalance},
	Empty:               {PreparingRebalance},
	Dead:                {Stable, PreparingRebalance, CompletingRebalance, Empty, Dead},
}

// Settings are the broker configurations that a group obeys.
type Settings struct {
	MinSessionTimeout     time.Duration // group.min.session.timeout.ms
	MaxSessionTimeout     time.Duration // group.max.session.timeout.ms
	InitialRebalanceDelay time.Duration // group.initial.rebalance.delay.ms
	MaxSize               int           // group.max.size; 0: no bound
}

// newMemberTimeout is how long a JoinGroup request of a new member may wait. Such a member cannot send heartbeats, since it does not know
// its id yet.
const newMemberTimeout = 5 * time.Minute

// maxPending bounds the member ids that were given out and not used: a client that asks for ever new ones must not fill the memory.
const maxPending = 10_000

// noGeneration is the generation in answers that have none.
const noGeneration = int32(-1)

// Group is a consumer group. One goroutine owns it.
type Group struct {
	id       string
	settings Settings

	state        State
	since        time.Time // of the state
	generation   int32
	protocolType string
	protocol     string // "" while none is chosen
	leader       string
	members      map[string]*member
	order        []string          // member ids in the order in which they joined
	static       map[string]string // member id by instance id
	// pending are ids that were given out with MEMBER_ID_REQUIRED; they expire.
	pending map[string]time.Time
	// toSync are the members that have not sent SyncGroup in this generation.
	toSync map[string]bool

	join         joinPhase
	syncDeadline time.Time // zero: none

	offsets  map[trace.KafkaPartition]*committed
	stores   map[uint64]store
	sequence uint64

	effects Effects
}

// joinPhase is what is special to PreparingRebalance.
type joinPhase struct {
	deadline time.Time // zero: none
	// initial: the group was empty, and the first members wait a while for more of them to come (KIP-134).
	initial   bool
	remaining time.Duration // how much longer the initial delay may be extended
	newMember bool          // somebody came since the delay began
}

// New returns an empty group.
func New(id string, settings Settings, now time.Time) *Group {
	return &Group{
		id: id, settings: settings, state: Empty, since: now, members: map[string]*member{}, static: map[string]string{},
		pending: map[string]time.Time{}, toSync: map[string]bool{}, offsets: map[trace.KafkaPartition]*committed{}, stores: map[uint64]store{},
	}
}

// ID is the group's name.
func (g *Group) ID() string { return g.id }

// State is where the group is in its life.
func (g *Group) State() State { return g.state }

// Generation counts the rebalances.
func (g *Group) Generation() int32 { return g.generation }

// move changes the state. A move that the machine does not have is a mistake in this package.
func (g *Group) move(to State, now time.Time, why sentence.Sentence) {
	if !slices.Contains(mayComeFrom[to], g.state) {
		panic(fmt.Sprintf("group: %s cannot go from %s to %s", g.id, g.state, to))
	}
	g.state, g.since = to, now
	g.show(why)
}

// Ticket names a request that waits for its answer. The caller chooses it; 0 is not a ticket.
type Ticket uint64

// Effects are what the driver has to do after an event.
type Effects struct {
	Joins  []JoinAnswer
	Syncs  []SyncAnswer
	Stores []Store
	Events []trace.Event
}

// Take returns what is to be done and forgets it.
func (g *Group) Take() Effects {
	effects := g.effects
	g.effects = Effects{}
	return effects
}

// JoinAnswer answers a JoinGroup request.
type JoinAnswer struct {
	Ticket         Ticket
	Err            *kerr.Error // nil: none
	MemberID       string
	Generation     int32
	ProtocolType   string
	Protocol       string
	Leader         string
	SkipAssignment bool
	Members        []JoinedMember // for the leader
}

// JoinedMember is what the leader must know of a member to assign partitions to it.
type JoinedMember struct {
	ID         string
	InstanceID string // "": dynamic
	Metadata   []byte
}

// SyncAnswer answers a SyncGroup request.
type SyncAnswer struct {
	Ticket       Ticket
	Err          *kerr.Error
	ProtocolType string
	Protocol     string
	Assignment   []byte
}

// Store asks the driver to write the group's metadata to its log. When that is done, or failed, the driver calls [Group.Stored].
type Store struct {
	ID       uint64
	Metadata Metadata
}

func (g *Group) refuseJoin(ticket Ticket, memberID string, err *kerr.Error) {
	g.effects.Joins = append(g.effects.Joins, JoinAnswer{Ticket: ticket, Err: err, MemberID: memberID, Generation: noGeneration})
}

func (g *Group) refuseSync(ticket Ticket, err *kerr.Error) {
	g.effects.Syncs = append(g.effects.Syncs, SyncAnswer{Ticket: ticket, Err: err})
}

// show records the group's present picture for the trace.
func (g *Group) show(why sentence.Sentence) {
	event := trace.KafkaGroupChanged{
		Group: g.id, State: string(g.state), Generation: g.generation, Strategy: g.protocol, Leader: g.leader, Reason: why.String(), Why: &why,
		Members: []trace.KafkaGroupMember{}, Pending: len(g.pending),
	}
	for _, id := range g.order {
		m := g.members[id]
		event.Members = append(event.Members, trace.KafkaGroupMember{
			ID: m.id, InstanceID: m.instanceID, ClientID: m.clientID, Joined: m.join != 0, Assigned: assignedPartitions(g.protocolType, m.assignment),
		})
	}
	g.effects.Events = append(g.effects.Events, event)
}
