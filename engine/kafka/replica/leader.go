package replica

import (
	"slices"
	"time"
)

// Fetched: a follower asks the leader for what comes at offset, so it has all below. Alive says whether its broker is registered, in the
// incarnation that fetches. A follower that is no replica of the partition changes nothing and is reported as unknown.
func (p *Partition) Fetched(id int32, brokerEpoch, offset int64, alive bool, now time.Time) (effects Effects, known bool) {
	f := p.followers[id]
	if p.role != RoleLeader || f == nil {
		return Effects{}, false
	}
	if brokerEpoch < f.brokerEpoch { // the broker's former life
		return Effects{}, true
	}
	switch {
	case offset >= p.leo:
		f.lastCaughtUp = now
	case f.leaderLEO != Undefined && offset >= f.leaderLEO:
		// It has now all that there was at its previous fetch, so it was caught up then.
		f.lastCaughtUp = later(f.lastCaughtUp, f.lastFetch)
	}
	f.leo, f.brokerEpoch, f.alive = offset, brokerEpoch, alive
	f.leaderLEO, f.lastFetch = p.leo, now

	proposal := p.expand(id, f)
	effects = p.advance(now)
	effects.Propose = proposal
	return effects, true
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// expand proposes to add a follower that has caught up: it holds all that is committed and all that was there when the leader's epoch
// began, and its broker lives.
func (p *Partition) expand(id int32, f *follower) *Proposal {
	if p.proposal != nil || slices.Contains(p.assigned.ISR, id) || !f.alive || f.leo < p.highWatermark || f.leo < p.epochStart {
		return nil
	}
	return p.propose(append(slices.Clone(p.assigned.ISR), id))
}

// CheckLag proposes to remove the followers that were not caught up for longer than the lag time. The driver calls it every half of that.
func (p *Partition) CheckLag(now time.Time) Effects {
	if p.role != RoleLeader {
		return Effects{}
	}
	effects := p.advance(now) // a follower outside the ISR that fell behind no longer holds the high watermark back
	if p.proposal != nil {
		return effects
	}
	kept := slices.DeleteFunc(slices.Clone(p.assigned.ISR), func(id int32) bool {
		f := p.followers[id]
		return id != p.local && (f == nil || !p.caughtUp(f, now))
	})
	if len(kept) < len(p.assigned.ISR) {
		effects.Propose = p.propose(kept)
	}
	return effects
}

func (p *Partition) caughtUp(f *follower, now time.Time) bool {
	return f.leo == p.leo || now.Sub(f.lastCaughtUp) <= p.settings.LagMax
}

func (p *Partition) propose(isr []int32) *Proposal {
	p.proposal = &Proposal{LeaderEpoch: p.assigned.LeaderEpoch, PartitionEpoch: p.assigned.PartitionEpoch, ISR: isr}
	for _, id := range isr {
		p.proposal.BrokerEpochs = append(p.proposal.BrokerEpochs, p.brokerEpoch(id))
	}
	return p.proposal
}

// Answer is what the controller said to a proposal.
type Answer int

const (
	// AnswerCommitted: the ISR is in the partition's state znode.
	AnswerCommitted Answer = iota
	// AnswerRefused: the proposal was not tried or named a broker that is not eligible; the committed ISR holds.
	AnswerRefused
	// AnswerSuperseded: the controller knows a newer epoch; its LeaderAndIsr is on the way, and nothing is proposed before it.
	AnswerSuperseded
)

// ISRAnswered: the controller answered a proposal. For AnswerCommitted, isr and partitionEpoch are what it wrote. An answer that is
// about another leader epoch or an older partition epoch is ignored.
func (p *Partition) ISRAnswered(answered Proposal, answer Answer, isr []int32, partitionEpoch int32, now time.Time) Effects {
	current := p.role == RoleLeader && p.proposal != nil && answered.LeaderEpoch == p.assigned.LeaderEpoch &&
		answered.PartitionEpoch == p.proposal.PartitionEpoch
	if !current {
		return Effects{}
	}
	switch answer {
	case AnswerRefused:
		p.proposal = nil
		return p.advance(now)
	case AnswerSuperseded:
		return Effects{}
	}
	if partitionEpoch < p.assigned.PartitionEpoch {
		return Effects{}
	}
	changed := !slices.Equal(p.assigned.ISR, isr)
	p.assigned.ISR, p.assigned.PartitionEpoch, p.proposal = isr, partitionEpoch, nil
	effects := p.advance(now)
	effects.ISRChanged = changed
	return effects
}

// advance moves the leader's high watermark to the smallest log end of all that count: the leader, the maximal ISR, and followers that
// are about to join it. Under min.insync.replicas it stands still (KIP-966).
func (p *Partition) advance(now time.Time) Effects {
	if p.role != RoleLeader || len(p.assigned.ISR) < p.effectiveMinISR() {
		return Effects{}
	}
	candidate := p.leo
	for id, f := range p.followers {
		if f.leo < candidate && (p.inMaximalISR(id) || f.alive && f.leo != Undefined && p.caughtUp(f, now)) {
			candidate = f.leo
		}
	}
	if candidate <= p.highWatermark {
		return Effects{}
	}
	p.highWatermark = candidate
	return Effects{HighWatermarkAdvanced: true}
}

func (p *Partition) inMaximalISR(id int32) bool {
	return slices.Contains(p.assigned.ISR, id) || p.proposal != nil && slices.Contains(p.proposal.ISR, id)
}

// FollowerEnd is a follower's log end as the leader knows it; false when it has not fetched in this epoch.
func (p *Partition) FollowerEnd(id int32) (int64, bool) {
	f := p.followers[id]
	if f == nil || f.leo == Undefined {
		return Undefined, false
	}
	return f.leo, true
}

// brokerEpoch is the incarnation in which a follower fetches; -1 when it has not fetched.
func (p *Partition) brokerEpoch(id int32) int64 {
	if f := p.followers[id]; f != nil && f.leo != Undefined {
		return f.brokerEpoch
	}
	return -1
}
