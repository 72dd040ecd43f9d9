package commitlog

import (
	"time"

	"twinlog/engine/disk"
)

// expectation is what may be on the disk after an accident at this moment.
type expectation struct {
	frames      []modelFrame // everything written and not dropped, in order; what survives is a prefix of it
	durable     int          // so many of the frames must survive
	lowestStart int64
	start       int64
	or          *expectation // what may be there instead, while a replacement is under way
}

// session is a script under way.
type session struct {
	disk   disk.Disk
	log    *Log
	config Config
	want   *expectation
}

// step is one operation of the script. It changes the expectation in two stages: before it begins to what may be true while it runs,
// and after it returned to what must be true from then on.
type step struct {
	name string
	run  func(s *session) error
}

func appendStep(count, payload int) step {
	return step{"append", func(s *session) error {
		base := s.log.Next()
		frame := makeFrame(base, count, payload, 1+base)
		s.want.frames = append(s.want.frames, modelFrame{base, base + int64(count) - 1, frame})
		_, err := s.log.Append(frame)
		return err
	}}
}

func syncStep() step {
	return step{"sync", func(s *session) error {
		if err := s.log.Sync(); err != nil {
			return err
		}
		s.want.durable = len(s.want.frames)
		return nil
	}}
}

func rollStep() step {
	return step{"roll", func(s *session) error {
		if err := s.log.Roll(); err != nil {
			return err
		}
		s.want.durable = len(s.want.frames)
		return nil
	}}
}

// reopenStep is a clean stop and start: the checkpoint.
func reopenStep() step {
	return step{"reopen", func(s *session) error {
		if err := s.log.Close(); err != nil {
			return err
		}
		s.want.durable = len(s.want.frames)
		log, err := Open(s.disk, "log", testFraming{}, s.config)
		if err == nil {
			s.log = log
		}
		return err
	}}
}

func truncateStep(back int64) step {
	return step{"truncate", func(s *session) error {
		to := max(s.log.Start(), s.log.Next()-back)
		keep := 0
		for keep < len(s.want.frames) && s.want.frames[keep].last < to {
			keep++
		}
		s.want.durable = min(s.want.durable, keep)
		if err := s.log.TruncateTo(to); err != nil {
			return err
		}
		s.want.frames = s.want.frames[:keep]
		return nil
	}}
}

func retainStep(bytes int64) step {
	return step{"retain", func(s *session) error {
		s.want.start = max(s.log.Start(), Retention{Bytes: bytes}.Start(s.log.Segments(), time.Time{}))
		if err := s.log.DeleteBefore(s.want.start); err != nil {
			return err
		}
		s.want.lowestStart = s.want.start
		return nil
	}}
}

func deleteStep(keep int64) step {
	return step{"delete", func(s *session) error {
		s.want.start = max(s.log.Start(), s.log.Next()-keep)
		if err := s.log.DeleteBefore(s.want.start); err != nil {
			return err
		}
		s.want.lowestStart = s.want.start
		return nil
	}}
}

// replaceStep replaces all sealed segments by one without every other frame.
func replaceStep() step {
	return step{"replace", func(s *session) error {
		segments := s.log.Segments()
		from, to := segments[0].Base, segments[len(segments)-1].Base
		if from == to {
			return nil
		}
		rewrite, err := s.log.Rewrite(from, to)
		if err != nil {
			return err
		}
		defer rewrite.Abort()
		after := *s.want
		after.frames = nil
		dropped := 0
		for i, frame := range s.want.frames {
			if frame.base >= to || frame.base < from || (i+int(from))%2 == 0 {
				after.frames = append(after.frames, frame)
				if frame.base >= from && frame.base < to {
					if err := rewrite.Append(frame.bytes); err != nil {
						return err
					}
				}
			} else if i < s.want.durable {
				dropped++
			}
		}
		after.durable -= dropped
		s.want.or = &after
		if err := rewrite.Commit(); err != nil {
			return err
		}
		*s.want = after
		return nil
	}}
}

func script() (steps []step) {
	for round := range 3 {
		for range 4 {
			steps = append(steps, appendStep(1+round, 150), appendStep(1, 40))
		}
		steps = append(steps,
			syncStep(), appendStep(2, 60), truncateStep(3), appendStep(1, 90), replaceStep(), appendStep(1, 30), deleteStep(12), appendStep(1, 10), syncStep(),
			appendStep(3, 600), reopenStep(), appendStep(1, 70), rollStep(), appendStep(1, 20), syncStep(), retainStep(900), truncateStep(9), appendStep(1, 5), replaceStep())
	}
	return steps
}
