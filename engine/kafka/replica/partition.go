package replica

import (
	"slices"
	"time"
)

// Role is what a broker is for a partition.
type Role int

const (
	// RoleNone: the controller has not said yet, or the replica was stopped.
	RoleNone Role = iota
	RoleLeader
	RoleFollower
)

func (r Role) String() string {
	switch r {
	case RoleLeader:
		return "leader"
	case RoleFollower:
		return "follower"
	}
	return "offline"
}

// Settings are the limits that a partition's decisions depend on.
type Settings struct {
	// LagMax is replica.lag.time.max.ms: a follower that was not caught up for longer leaves the ISR.
	LagMax time.Duration
	// MinISR is min.insync.replicas. The effective value is never above the replication factor.
	MinISR int
}

// Assignment is what the controller says about a partition in LeaderAndIsr.
type Assignment struct {
	Leader         int32 // -1: none
	LeaderEpoch    int32
	PartitionEpoch int32
	ISR            []int32
	Replicas       []int32
	Recovering     bool
}

// Proposal asks the controller to change the ISR (AlterPartition). Only one is under way at a time.
type Proposal struct {
	LeaderEpoch    int32
	PartitionEpoch int32
	ISR            []int32
	// BrokerEpochs are the incarnations of the ISR's members as the leader saw them fetch, in the same order; -1: not seen.
	BrokerEpochs []int64
}

// Effects is what an event led to, for the driver to carry out.
type Effects struct {
	// HighWatermarkAdvanced: consumers may read more, and produce requests may be complete.
	HighWatermarkAdvanced bool
	// ISRChanged: the committed ISR is another one now.
	ISRChanged bool
	// Propose is to be sent to the controller; nil when there is nothing to ask.
	Propose *Proposal
}

// Partition is one broker's view of one partition. One goroutine owns it.
//
// Invariants: the high watermark of a leader never goes down; it never passes the log end of a member of the maximal ISR; the ISR that
// counts for acks=all is the committed one, and the maximal ISR (with members that are being added) is the one that counts for the high
// watermark, so that whatever the controller decides about a proposal, all that is below the high watermark is in every ISR member's log.
type Partition struct {
	local    int32
	settings Settings

	role       Role
	assigned   Assignment // ISR is the committed one
	epochStart int64      // LEO when the leader's epoch began
	proposal   *Proposal  // in flight

	logStart, leo, highWatermark int64
	followers                    map[int32]*follower
}

// follower is what a leader knows about another replica.
type follower struct {
	leo         int64 // Undefined until its first fetch
	brokerEpoch int64
	// lastCaughtUp is the last time at which the follower had all that the leader had.
	lastCaughtUp time.Time
	lastFetch    time.Time
	leaderLEO    int64 // at lastFetch
	alive        bool
}

// NewPartition returns the state of a replica whose log was just opened. The high watermark is the checkpointed one.
func NewPartition(local int32, settings Settings, logStart, leo, highWatermark int64) *Partition {
	return &Partition{
		local: local, settings: settings, assigned: Assignment{Leader: -1, LeaderEpoch: -1, PartitionEpoch: -1},
		logStart: logStart, leo: leo, highWatermark: max(logStart, min(highWatermark, leo)), followers: map[int32]*follower{},
	}
}

// View is what others may know of the partition: plain values, safe to keep.
type View struct {
	Role           Role
	Leader         int32
	LeaderEpoch    int32
	PartitionEpoch int32
	ISR            []int32 // committed
	Replicas       []int32
	LogStart       int64
	LEO            int64
	HighWatermark  int64
	// EffectiveMinISR is min.insync.replicas, at most the replication factor.
	EffectiveMinISR int
}

// View returns the present state. Its slices never change.
func (p *Partition) View() View {
	return View{
		Role: p.role, Leader: p.assigned.Leader, LeaderEpoch: p.assigned.LeaderEpoch, PartitionEpoch: p.assigned.PartitionEpoch,
		ISR: p.assigned.ISR, Replicas: p.assigned.Replicas,
		LogStart: p.logStart, LEO: p.leo, HighWatermark: p.highWatermark, EffectiveMinISR: p.effectiveMinISR(),
	}
}

func (p *Partition) effectiveMinISR() int {
	return max(1, min(p.settings.MinISR, max(1, len(p.assigned.Replicas))))
}

// UnderMinISR tells whether acks=all must be refused.
func (v View) UnderMinISR() bool { return len(v.ISR) < v.EffectiveMinISR }

// SetSettings changes the limits.
func (p *Partition) SetSettings(settings Settings, now time.Time) Effects {
	p.settings = settings
	return p.advance(now)
}

// Stale tells whether an assignment is older than what is known.
func (p *Partition) Stale(a Assignment) bool {
	return a.LeaderEpoch < p.assigned.LeaderEpoch || p.role != RoleNone && a.PartitionEpoch < p.assigned.PartitionEpoch
}

// Known tells whether an assignment is about the epoch that the replica is in: its role stays.
func (p *Partition) Known(a Assignment) bool {
	return p.role != RoleNone && a.LeaderEpoch == p.assigned.LeaderEpoch
}

// Refresh takes over a newer ISR of the same leader epoch, such as a new controller tells everybody. It also ends the wait for the answer
// to a proposal that the controller carried out and whose answer was lost.
func (p *Partition) Refresh(a Assignment, now time.Time) Effects {
	if a.PartitionEpoch <= p.assigned.PartitionEpoch {
		return Effects{}
	}
	changed := !slices.Equal(p.assigned.ISR, a.ISR)
	p.assigned.ISR, p.assigned.Replicas, p.assigned.PartitionEpoch, p.proposal = a.ISR, a.Replicas, a.PartitionEpoch, nil
	effects := p.advance(now)
	effects.ISRChanged = changed
	return effects
}

// BecomeLeader takes the leader's role. The driver has noted the new epoch at the log end in the epoch cache, also when nothing was
// written yet.
func (p *Partition) BecomeLeader(a Assignment, now time.Time) Effects {
	newLeader := p.role != RoleLeader
	p.role, p.proposal, p.epochStart = RoleLeader, nil, p.leo
	changed := !slices.Equal(p.assigned.ISR, a.ISR)
	p.assigned = a
	known := p.followers
	p.followers = make(map[int32]*follower, len(a.Replicas))
	for _, id := range a.Replicas {
		if id == p.local {
			continue
		}
		f := known[id]
		if f == nil || newLeader {
			f = &follower{leo: Undefined, leaderLEO: Undefined, alive: true}
		} else {
			f.leaderLEO = p.leo
		}
		f.lastCaughtUp, f.lastFetch = time.Time{}, time.Time{}
		if slices.Contains(a.ISR, id) { // it gets the whole lag time to prove that it is there
			f.lastCaughtUp = now
			if !newLeader {
				f.lastFetch = now
			}
		}
		p.followers[id] = f
	}
	effects := p.advance(now)
	effects.ISRChanged = changed
	return effects
}

// BecomeFollower takes the follower's role; the leader may be -1, none.
func (p *Partition) BecomeFollower(a Assignment) Effects {
	changed := !slices.Equal(p.assigned.ISR, a.ISR)
	p.role, p.assigned, p.proposal, p.followers = RoleFollower, a, nil, map[int32]*follower{}
	return Effects{ISRChanged: changed}
}

// Stop ends the replica's role: the controller sent StopReplica.
func (p *Partition) Stop(leaderEpoch int32) {
	p.role, p.proposal, p.followers = RoleNone, nil, map[int32]*follower{}
	p.assigned.Leader = -1
	p.assigned.LeaderEpoch = max(p.assigned.LeaderEpoch, leaderEpoch)
}

// Appended: the local log ends at leo now, as the leader.
func (p *Partition) Appended(leo int64, now time.Time) Effects {
	p.leo = leo
	return p.advance(now)
}

// Replicated: the follower appended what it fetched, and the leader told its high watermark and log start. Truncated logs pass here too.
func (p *Partition) Replicated(leo, leaderHighWatermark int64) Effects {
	p.leo = leo
	before := p.highWatermark
	// A leader that has just been elected may know less than this replica; the high watermark then waits for it.
	p.highWatermark = max(p.logStart, min(max(before, leaderHighWatermark), leo))
	return Effects{HighWatermarkAdvanced: p.highWatermark > before}
}

// Truncated: the follower cut its log back.
func (p *Partition) Truncated(leo int64) {
	p.leo = leo
	p.highWatermark = max(p.logStart, min(p.highWatermark, leo))
}

// LogStartAdvanced: the records before start are gone.
func (p *Partition) LogStartAdvanced(start, leo int64) Effects {
	before := p.highWatermark
	p.logStart, p.leo = max(p.logStart, start), max(leo, p.leo)
	p.highWatermark = max(p.highWatermark, p.logStart)
	return Effects{HighWatermarkAdvanced: p.highWatermark > before}
}

// LogReset: the log was emptied and goes on at an offset, because the leader no longer has what would connect to it.
func (p *Partition) LogReset(at int64) {
	p.logStart, p.leo, p.highWatermark = at, at, at
}
