package broker

import (
	"errors"
	"fmt"
	"time"

	"twinlog/engine/commitlog"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/kafka/broker/replicalog"
	"twinlog/engine/kafka/replica"
	"twinlog/engine/trace"
)

// errStaleFetch: the partition is no longer a follower in the epoch in which it was fetched.
var errStaleFetch = errors.New("the partition has another role now")

// followerAt is where a follower has to fetch; false when it is none in that epoch, or its log takes nothing.
func (p *partition) followerAt(epoch int32) (*partitionView, bool) {
	view := p.view.Load()
	return view, view.Role == replica.RoleFollower && view.LeaderEpoch == epoch && (p.damaged == nil || p.damaged.Readable)
}

// appendAsFollower takes over what the leader sent.
func (p *partition) appendAsFollower(epoch int32, batches []byte, leaderHighWatermark, leaderLogStart int64) error {
	if _, is := p.followerAt(epoch); !is {
		return errStaleFetch
	}
	now := time.Now()
	before := p.log.Next()
	whole, count, err := wholeBatches(batches, before, epoch)
	if err != nil {
		return err
	}
	if len(whole) > 0 {
		if err := p.log.Append(whole, now); err != nil {
			p.storageFailed("append", err)
			return err
		}
		p.appended("follower", before, int64(len(whole)), count)
	}
	effects := p.state.Replicated(p.log.Next(), leaderHighWatermark)
	if leaderLogStart > p.log.Start() && leaderLogStart <= p.log.Next() {
		if err := p.advanceLogStart(leaderLogStart); err != nil {
			return err
		}
	}
	if len(whole) > 0 || effects.HighWatermarkAdvanced {
		p.apply(effects, change{appended: len(whole) > 0})
	}
	p.syncByPolicy(int64(count), now)
	return nil
}

// wholeBatches verifies what came over the network and leaves out a batch that is cut off at the end. The leader epoch is in no checksum;
// one after the leader's own is damaged, and in the log it would make this replica part from its leader at every fetch.
func wholeBatches(batches []byte, next int64, epoch int32) (whole []byte, count int, err error) {
	size := 0
	err = records.Each(batches, func(h records.Header, batch []byte) error {
		if err := commitlog.Verify(records.Framing{}, batch); err != nil {
			return err
		}
		switch {
		case h.BaseOffset < next:
			return errors.New("the leader sent what the log has already")
		case h.LeaderEpoch > epoch:
			return fmt.Errorf("the leader of epoch %d sent a batch of epoch %d: its header is damaged", epoch, h.LeaderEpoch)
		}
		size += len(batch)
		count += int(h.Count)
		return nil
	})
	return batches[:size], count, err
}

// truncateTo cuts a follower's log back.
func (p *partition) truncateTo(epoch int32, offset int64) error {
	view, is := p.followerAt(epoch)
	if !is {
		return errStaleFetch
	}
	var err error
	if offset < p.log.Start() {
		err = p.log.ResetTo(offset, time.Now())
	} else {
		err = p.log.TruncateTo(offset, time.Now())
	}
	if corrupt := replicalog.Damaged(err); corrupt != nil {
		p.cannotTruncate(corrupt)
		return err
	}
	if err != nil {
		p.storageFailed("truncate", err)
		return err
	}
	if p.log.Next() < view.LEO {
		p.state.Truncated(p.log.Next())
		p.deps.tracer.Emit(trace.KafkaTruncated{KafkaPartition: p.name, From: view.LEO, To: p.log.Next(), LeaderEpoch: epoch})
	}
	p.apply(replica.Effects{}, change{})
	return nil
}

// resetTo empties a follower's log: the leader's begins after its end.
func (p *partition) resetTo(epoch int32, offset int64) error {
	view, is := p.followerAt(epoch)
	if !is {
		return errStaleFetch
	}
	if err := p.log.ResetTo(offset, time.Now()); err != nil {
		p.storageFailed("reset", err)
		return err
	}
	p.state.LogReset(offset)
	p.deps.tracer.Emit(trace.KafkaTruncated{KafkaPartition: p.name, From: view.LEO, To: offset, LeaderEpoch: epoch})
	p.deps.tracer.Emit(trace.KafkaLogStartAdvanced{KafkaPartition: p.name, LogStart: offset})
	p.apply(replica.Effects{}, change{})
	return nil
}
