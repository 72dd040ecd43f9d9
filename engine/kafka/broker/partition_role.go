package broker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/kafka/metadata"
	"twinlog/engine/kafka/replica"
	"twinlog/engine/trace"
)

// take gives the replica the role that the controller assigned; same: it is the one that it has.
func (p *partition) take(a replica.Assignment, topicID metadata.TopicID) (refusal *kerr.Error, same bool) {
	if p.state.Stale(a) {
		return kerr.StaleControllerEpoch, false
	}
	course := p.course(a)
	switch {
	case course == replica.StepAside:
		return p.stepAside(), false
	case p.state.Known(a):
		p.refresh(a)
		same = true
	case a.Leader == p.deps.broker:
		refusal = p.becomeLeader(a, topicID)
	default:
		refusal = p.becomeFollower(a, topicID)
	}
	if refusal == nil && course == replica.BeginAnew {
		refusal = p.beginAnew()
	}
	if refusal == nil {
		p.damaged = nil
	}
	return refusal, same
}

// becomeLeader takes the leader's role in a new epoch.
func (p *partition) becomeLeader(a replica.Assignment, topicID metadata.TopicID) *kerr.Error {
	if err := p.setTopicID(topicID); err != nil {
		return err
	}
	if err := p.log.BeginEpoch(a.LeaderEpoch); err != nil {
		return p.storageFailed("begin a leader epoch", err)
	}
	effects := p.state.BecomeLeader(a, time.Now())
	p.publish()
	p.emitRole()
	p.apply(effects, change{role: true})
	return nil
}

// becomeFollower takes the follower's role; the fetcher does the rest.
func (p *partition) becomeFollower(a replica.Assignment, topicID metadata.TopicID) *kerr.Error {
	if err := p.setTopicID(topicID); err != nil {
		return err
	}
	effects := p.state.BecomeFollower(a)
	p.publish()
	p.emitRole()
	p.apply(effects, change{role: true})
	return nil
}

// refresh takes over what is new about the epoch that the replica is in.
func (p *partition) refresh(a replica.Assignment) {
	before := p.view.Load()
	effects := p.state.Refresh(a, time.Now())
	p.apply(effects, change{})
	if effects.ISRChanged && before.Role == replica.RoleLeader {
		p.isrChanged(before.ISR, a.ISR, a.PartitionEpoch)
	}
}

func (p *partition) isrChanged(before, isr []int32, partitionEpoch int32) {
	p.deps.tracer.Emit(trace.KafkaISRChanged{
		KafkaPartition: p.name, ISR: isr, PartitionEpoch: partitionEpoch, Added: without(isr, before), Removed: without(before, isr),
	})
}

// becomeStopped gives the role up; the log stays.
func (p *partition) becomeStopped(leaderEpoch int32) {
	p.state.Stop(leaderEpoch)
	p.publish()
	p.emitRole()
	p.apply(replica.Effects{}, change{role: true})
}

func (p *partition) setTopicID(id metadata.TopicID) *kerr.Error {
	known := p.log.TopicID()
	if known != (metadata.TopicID{}) && id != (metadata.TopicID{}) && known != id {
		p.logger.Error("the log on disk belongs to another topic of the same name", "on disk", known, "in the cluster", id)
		return kerr.InconsistentTopicID
	}
	if err := p.log.SetTopicID(id); err != nil {
		return p.storageFailed("note the topic id", err)
	}
	return nil
}
