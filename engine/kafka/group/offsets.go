package group

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

// Offset is a committed offset.
type Offset struct {
	Offset      int64
	LeaderEpoch int32 // -1: not known
	Metadata    string
	CommittedAt time.Time
	// ExpiresAt is set when the client asked for a retention time of its own (before v5); zero otherwise.
	ExpiresAt time.Time
}

type committed struct {
	offset   Offset
	exists   bool   // false while only commits that are not in the log yet are known
	sequence uint64 // of the commit that set it
	inFlight int    // commits that are not in the log yet
}

// CheckCommit decides whether an OffsetCommit request may go on. Generation -1 without a member id comes from who does not use the group to
// share partitions, and is allowed as long as nobody else does.
func (g *Group) CheckCommit(memberID, instanceID string, generation int32, now time.Time) *kerr.Error {
	switch {
	case g.state == Dead:
		return kerr.CoordinatorNotAvailable
	case generation < 0 && g.state == Empty:
		return nil
	case generation < 0 && memberID == "" && instanceID == "":
		return kerr.UnknownMemberID
	}
	if err := g.check(memberID, instanceID); err != nil {
		return err
	}
	if generation != g.generation {
		return kerr.IllegalGeneration
	}
	if g.state == CompletingRebalance {
		return kerr.RebalanceInProgress // the member knows the new generation; it has to sync first
	}
	g.members[memberID].heardFrom(now) // in PreparingRebalance too: members commit before they join again
	return nil
}

// Commit is a set of offsets on its way to the log.
type Commit struct {
	sequence uint64
	offsets  map[trace.KafkaPartition]Offset
}

// BeginCommit notes offsets that are being written to the log. They count when [Group.EndCommit] says so.
func (g *Group) BeginCommit(offsets map[trace.KafkaPartition]Offset) Commit {
	g.sequence++
	for partition := range offsets {
		if g.offsets[partition] == nil {
			g.offsets[partition] = &committed{}
		}
		g.offsets[partition].inFlight++
	}
	return Commit{g.sequence, offsets}
}

// EndCommit makes offsets count that are in the log, or forgets them. Whichever commit was begun last wins, whatever the order of the ends.
func (g *Group) EndCommit(commit Commit, succeeded bool) {
	for _, partition := range sortedPartitions(commit.offsets) {
		c := g.offsets[partition]
		if c == nil {
			continue // deleted meanwhile
		}
		c.inFlight = max(0, c.inFlight-1)
		if succeeded && (!c.exists || commit.sequence > c.sequence) {
			c.offset, c.exists, c.sequence = commit.offsets[partition], true, commit.sequence
			g.effects.Events = append(g.effects.Events, trace.KafkaOffsetCommitted{KafkaPartition: partition, Group: g.id, Offset: c.offset.Offset})
		}
		if !c.exists && c.inFlight == 0 {
			delete(g.offsets, partition)
		}
	}
}

// RestoreOffset takes an offset from the log. It is traced as it was when it was committed, for readers of the trace that have not seen that.
func (g *Group) RestoreOffset(partition trace.KafkaPartition, offset Offset) {
	g.offsets[partition] = &committed{offset: offset, exists: true}
	g.effects.Events = append(g.effects.Events, trace.KafkaOffsetCommitted{KafkaPartition: partition, Group: g.id, Offset: offset.Offset})
}

// Offset is the committed offset of a partition.
func (g *Group) Offset(partition trace.KafkaPartition) (Offset, bool) {
	if c := g.offsets[partition]; c != nil && c.exists && g.state != Dead {
		return c.offset, true
	}
	return Offset{}, false
}

// Partitions lists the partitions with a committed offset.
func (g *Group) Partitions() []trace.KafkaPartition {
	var list []trace.KafkaPartition
	for _, partition := range sortedPartitions(g.offsets) {
		if g.offsets[partition].exists {
			list = append(list, partition)
		}
	}
	return list
}

func sortedPartitions[V any](byPartition map[trace.KafkaPartition]V) []trace.KafkaPartition {
	return slices.SortedFunc(maps.Keys(byPartition), func(a, b trace.KafkaPartition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
}

// CheckOffsetDelete decides whether an offset may be deleted: not while a member subscribes to its topic. Whole is an error for all.
func (g *Group) CheckOffsetDelete() (whole *kerr.Error, mayDelete func(topic string) bool) {
	switch g.state {
	case Dead:
		return kerr.GroupIDNotFound, nil
	case Empty:
		return nil, func(string) bool { return true }
	}
	if g.protocolType != consumerProtocol {
		return kerr.NonEmptyGroup, nil
	}
	subscribed := g.subscribedTopics()
	return nil, func(topic string) bool { return subscribed != nil && !subscribed[topic] }
}

// subscribedTopics are the topics that any member subscribes to; nil when that cannot be known.
func (g *Group) subscribedTopics() map[string]bool {
	topics := map[string]bool{}
	for _, m := range g.members {
		for _, p := range m.protocols {
			subscription, known := subscribedTopics(p.Metadata)
			if !known {
				return nil
			}
			for _, topic := range subscription {
				topics[topic] = true
			}
		}
	}
	return topics
}

// ForgetOffsets removes offsets whose tombstones are in the log.
func (g *Group) ForgetOffsets(partitions []trace.KafkaPartition) {
	for _, partition := range partitions {
		if c := g.offsets[partition]; c != nil {
			c.exists, c.sequence = false, g.sequence
			if c.inFlight == 0 {
				delete(g.offsets, partition)
			}
		}
	}
}

// ExpiredOffsets lists the offsets that were kept long enough: of a group with members those of topics that nobody subscribes to, of an empty
// one all, counted from when it became empty; of a group that never had members, counted from their commit.
func (g *Group) ExpiredOffsets(retention time.Duration, now time.Time) []trace.KafkaPartition {
	var expired []trace.KafkaPartition
	var subscribed map[string]bool
	if g.protocolType == consumerProtocol && g.state == Stable {
		subscribed = g.subscribedTopics()
	}
	for _, partition := range sortedPartitions(g.offsets) {
		c := g.offsets[partition]
		if !c.exists || c.inFlight > 0 {
			continue
		}
		base := c.offset.CommittedAt
		switch {
		case g.protocolType == "":
		case g.state == Empty:
			if g.since.After(base) {
				base = g.since
			}
		case subscribed != nil && !subscribed[partition.Topic]:
		default:
			continue
		}
		limit := base.Add(retention)
		if !c.offset.ExpiresAt.IsZero() {
			limit = c.offset.ExpiresAt
		}
		if !limit.After(now) {
			expired = append(expired, partition)
		}
	}
	return expired
}

// Abandoned says whether nothing speaks for keeping the group: no member, no offset, and nothing on its way.
func (g *Group) Abandoned() bool {
	return g.state == Empty && len(g.offsets) == 0 && len(g.pending) == 0 && len(g.stores) == 0
}

// CheckDelete decides whether the group may be deleted.
func (g *Group) CheckDelete() *kerr.Error {
	switch g.state {
	case Dead:
		return kerr.GroupIDNotFound
	case Empty:
		return nil
	}
	return kerr.NonEmptyGroup
}

// Kill makes the group dead: it is deleted, or another broker coordinates it from now on. Whoever waits gets the error.
func (g *Group) Kill(err *kerr.Error, now time.Time, why sentence.Sentence) {
	for _, m := range g.inOrder() {
		if m.join != 0 {
			g.refuseJoin(m.join, m.id, err)
			m.join = 0
		}
		if m.sync != 0 {
			g.refuseSync(m.sync, err)
			m.sync = 0
		}
	}
	g.join, g.syncDeadline = joinPhase{}, time.Time{}
	clear(g.pending)
	g.move(Dead, now, why)
}
