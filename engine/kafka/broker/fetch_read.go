package broker

import (
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/commitlog"
	"twinlog/engine/kafka/replica"
)

// fetchResult is what one partition of a fetch answers.
type fetchResult struct {
	target        *fetchTarget
	err           *kerr.Error
	highWatermark int64
	logStart      int64
	divergence    *replica.Divergence
	section       *commitlog.Section // nil: no records
}

func (r *fetchResult) bytes() int64 {
	if r.section == nil {
		return 0
	}
	return r.section.Size()
}

// locate finds a target's partition and how far this client may read it, or why it may not.
func (op *fetchOperation) locate(target *fetchTarget) (p *partition, view *partitionView, limit int64, err *kerr.Error) {
	if target.topic == "" {
		return nil, nil, 0, kerr.UnknownTopicID
	}
	p = op.broker.replicas.find(target.topic, target.number)
	if p == nil {
		return nil, nil, 0, op.broker.missing(target.topic, target.number)
	}
	view = p.view.Load()
	if op.request.Version >= 13 && view.topicID != target.topicID {
		return p, view, 0, kerr.InconsistentTopicID
	}
	if err := checkEpoch(view, target.leaderEpoch); err != nil {
		return p, view, 0, err
	}
	switch {
	case view.Role == replica.RoleNone:
		return p, view, 0, kerr.NotLeaderForPartition
	case op.replica >= 0:
		if view.Role != replica.RoleLeader || !slices.Contains(view.Replicas, op.replica) {
			return p, view, 0, kerr.NotLeaderForPartition
		}
		limit = view.LEO
	default:
		// From version 11 on a consumer may read from a follower (KIP-392), which shows it the high watermark that it knows.
		if view.Role != replica.RoleLeader && op.request.Version < 11 {
			return p, view, 0, kerr.NotLeaderForPartition
		}
		limit = view.HighWatermark
	}
	// The whole log is a valid place to ask for, also between the high watermark and the log end, where there is nothing to see yet.
	if target.offset < view.LogStart || target.offset > view.LEO {
		if _, diverges := op.diverging(view, target); !diverges || target.offset < view.LogStart {
			return p, view, limit, kerr.OffsetOutOfRange
		}
	}
	return p, view, limit, nil
}

// checkEpoch compares the leader epoch that a client knows with the partition's (KIP-320).
func checkEpoch(view *partitionView, epoch int32) *kerr.Error {
	switch {
	case epoch < 0 || epoch == view.LeaderEpoch:
		return nil
	case epoch < view.LeaderEpoch:
		return kerr.FencedLeaderEpoch
	}
	return kerr.UnknownLeaderEpoch
}

// diverging tells whether the client's log is on another branch than this one.
func (op *fetchOperation) diverging(view *partitionView, target *fetchTarget) (replica.Divergence, bool) {
	if target.lastEpoch < 0 || view.Role != replica.RoleLeader {
		return replica.Divergence{}, false
	}
	divergence, diverges, known := view.epochs.Diverges(target.lastEpoch, target.offset, view.LEO)
	return divergence, diverges && known
}

// read reads one target, at most left bytes of it. The first records of a response may be more than that: else a batch that is larger
// than what the client asks for would stop it for ever.
func (op *fetchOperation) read(target *fetchTarget, left int32, first bool) *fetchResult {
	p, view, limit, err := op.locate(target)
	result := &fetchResult{target: target, err: err, highWatermark: -1, logStart: -1}
	if err != nil {
		if err == kerr.OffsetOutOfRange {
			result.highWatermark, result.logStart = view.HighWatermark, view.LogStart
		}
		return result
	}
	result.highWatermark, result.logStart = view.HighWatermark, view.LogStart
	if divergence, diverges := op.diverging(view, target); diverges {
		result.divergence = &divergence
		return result
	}
	if op.request.Version < 4 { // magic 0 and 1, to which nothing is converted
		if target.offset < limit {
			result.err = kerr.UnsupportedVersion
		}
		return result
	}
	most := min(target.maxBytes, left)
	if target.offset >= limit || most <= 0 && !first {
		return result
	}
	section, readErr := view.records.ReadBelow(target.offset, limit, int(most))
	switch {
	case errors.Is(readErr, commitlog.ErrOutOfRange):
		result.err = kerr.OffsetOutOfRange // the log was cut between the look and the read
	case readErr != nil:
		result.err = p.cannotRead(target.offset, readErr)
	case section.Size() == 0 || section.Size() > int64(most) && !first:
		section.Close()
	default:
		result.section = section
	}
	return result
}
