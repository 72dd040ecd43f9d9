package replicalog

import (
	"errors"
	"fmt"
	"time"

	"twinlog/engine/commitlog"
	"twinlog/engine/disk"
	"twinlog/engine/kafka/broker/records"
)

// Damaged is where a log on disk does not hold what was written, when an error says so; nil when it says something else.
func Damaged(err error) *commitlog.CorruptError {
	var corrupt *commitlog.CorruptError
	if errors.As(err, &corrupt) {
		return corrupt
	}
	return nil
}

// Lost is where [Open] cut the log's damaged tail; nil when it was whole.
func (l *Log) Lost() *commitlog.CorruptError {
	recovery := l.records.Recovery()
	if recovery.CutBytes == 0 {
		return nil
	}
	return &commitlog.CorruptError{File: recovery.CutFile, Position: recovery.CutPosition, Err: errors.New(recovery.CutReason)}
}

// ClosedInOrder tells whether the log, when it was opened, was as [Log.Close] had left it; also when it was empty.
func (l *Log) ClosedInOrder() bool { return l.records.Recovery().Scanned == 0 }

// mostCuts bounds the damaged places that are cut one after the other; with more of them nothing of the log is worth keeping.
const mostCuts = 3

// OpenCut opens a damaged log without what is damaged and all behind it. The caller knows that another replica has it all and fetches it
// from there. Where even the beginning cannot be kept, because what is spoiled tells how to read it, the log is empty afterwards.
func OpenCut(d disk.Disk, dir string, config commitlog.Config, damage *commitlog.CorruptError, now time.Time) (*Log, error) {
	for range mostCuts {
		err := commitlog.AcceptLoss(d, dir, records.Framing{}, damage)
		if errors.Is(err, commitlog.ErrNoSegment) {
			break
		}
		if err != nil {
			return nil, err
		}
		l, err := Open(d, dir, config, now)
		if damage = Damaged(err); damage == nil {
			return l, err
		}
	}
	return openEmptied(d, dir, config, now)
}

// openEmptied throws a log away and begins it again, for the same topic.
func openEmptied(d disk.Disk, dir string, config commitlog.Config, now time.Time) (*Log, error) {
	before := Log{disk: d, dir: dir}
	err := before.loadTopicID()
	if err == nil {
		err = d.RemoveAll(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("empty the log %s: %w", dir, err)
	}
	l, err := Open(d, dir, config, now)
	if err != nil {
		return nil, err
	}
	if err := l.SetTopicID(before.topicID); err != nil {
		l.Abandon()
		return nil, err
	}
	return l, nil
}
