package replicalog

import (
	"errors"
	"fmt"
	"time"

	"twinlog/engine/commitlog"
	"twinlog/engine/disk"
)

// Damaged tells whether an error of [Open] means that the log on disk does not hold what was written, and where; nil when it does not.
func Damaged(err error) *commitlog.CorruptError {
	var corrupt *commitlog.CorruptError
	if errors.As(err, &corrupt) {
		return corrupt
	}
	return nil
}

// OpenCut opens a damaged log without what is damaged and all behind it. The caller knows that another replica has it all and fetches it
// from there. From is the first offset that is known not to be readable, -1 when only opening will tell. Where even the beginning cannot
// be kept, because what is spoiled tells how to read it, the log is empty afterwards.
func OpenCut(d disk.Disk, dir string, config commitlog.Config, from int64, now time.Time) (*Log, error) {
	if err := commitlog.AcceptLoss(d, dir); err != nil {
		return nil, err
	}
	l, err := Open(d, dir, config, now)
	if err == nil && from >= 0 {
		if err = l.TruncateTo(max(from, l.Start()), now); err != nil {
			l.Abandon()
		}
	}
	if Damaged(err) == nil {
		return l, err
	}
	return openEmptied(d, dir, config, now)
}

// openEmptied throws a log away and begins it again, for the same topic.
func openEmptied(d disk.Disk, dir string, config commitlog.Config, now time.Time) (*Log, error) {
	before := Log{disk: d, dir: dir}
	if err := before.loadTopicID(); err != nil {
		return nil, fmt.Errorf("empty the log %s: %w", dir, err)
	}
	if err := d.RemoveAll(dir); err != nil {
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
