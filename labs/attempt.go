package labs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"twinlog/engine/sentence"
	"twinlog/labs/action"
	"twinlog/labs/lab"
)

var (
	// ErrUnknownTask: the lab has no task, question or step of that name.
	ErrUnknownTask = sentence.Error(nil, "unknownTask", "the lab has no such task, question or step")
	// ErrAnswered: a question is answered once.
	ErrAnswered = sentence.Error(nil, "answeredAlready", "the question has been answered already")
)

// Attempt is one go at a lab by one student.
type Attempt struct {
	ID        int64     `json:"id"`
	Lab       string    `json:"lab"`
	Student   string    `json:"student"`
	StartedAt time.Time `json:"startedAt"`
	FirstN    uint64    `json:"firstN"` // the attempt sees the records after this one
	// BeganAt is the task that the attempt jumped to: what comes before it was played, not done. Empty: it began at the first.
	BeganAt string `json:"beganAt"`
	// Values are those that were drawn for the student.
	Values map[string]string `json:"values"`
	// PassedAt is set once every task has passed in one check.
	PassedAt *time.Time     `json:"passedAt"`
	Failures map[string]int `json:"failures"` // checks that did not pass, by task
	Verdicts []lab.Verdict  `json:"verdicts"` // of the last check
	// Opened says since when a task is or was open; Answers are the student's to the questions, by their ids.
	Opened  map[string]time.Time `json:"opened"`
	Answers map[string]Answer    `json:"answers"`
	// Played counts the solution's steps that were played in this attempt.
	Played int `json:"played"`
}

// whole returns the attempt with all its maps and lists. One that progress has kept can be without them: it was begun before they were kept, or
// the program ended between its beginning and its first update.
func (a Attempt) whole() Attempt {
	if a.Values == nil {
		a.Values = map[string]string{}
	}
	if a.Failures == nil {
		a.Failures = map[string]int{}
	}
	if a.Verdicts == nil {
		a.Verdicts = []lab.Verdict{}
	}
	if a.Opened == nil {
		a.Opened = map[string]time.Time{}
	}
	if a.Answers == nil {
		a.Answers = map[string]Answer{}
	}
	return a
}

// Answer is what a student says will happen, and what then happened.
type Answer struct {
	Choice string    `json:"choice"` // empty: skipped
	At     time.Time `json:"at"`
	// Late: it had happened already; the answer opens the task, and does not count.
	Late bool `json:"late"`
	// Outcome is what really happened; null as long as it has not.
	Outcome *lab.Outcome `json:"outcome"`
	// Right tells that the answer counts and was right.
	Right bool `json:"right"`
}

// The kinds of what progress logs.
const (
	EntryStart  = "start"
	EntryCheck  = "check"
	EntryAnswer = "answer"
	EntryStep   = "step" // a step of the solution was played
)

// Progress keeps attempts over restarts, in a log that can only grow.
type Progress interface {
	// Begin stores a new attempt and returns its id.
	Begin(ctx context.Context, attempt Attempt) (int64, error)
	// Update stores what has become of an attempt, and logs it as an entry of a kind.
	Update(ctx context.Context, kind string, attempt Attempt) error
	// Latest returns a student's latest attempt at each lab, by lab.
	Latest(ctx context.Context, student string) (map[string]Attempt, error)
	// ExportProgress returns the verified log of a student, or of all with an empty name; ImportProgress merges verified logs.
	ExportProgress(ctx context.Context, student string) ([]Head, []Entry, error)
	ImportProgress(ctx context.Context, heads []Head, entries []Entry) (Imported, error)
}

// running is an attempt with the moment at which it began; the zero moment, for one that an earlier run of the program began, is before
// everything.
type running struct {
	Attempt
	start action.Start
}

// current is the attempt that is under way. One of an earlier run of the classroom goes on: its records are numbered anew, and all of
// them count.
func (s *Service) current(ctx context.Context, id, student string) (running, error) {
	s.mu.Lock()
	attempt := s.attempts[attemptKey{student, id}]
	s.mu.Unlock()
	if attempt != nil {
		return *attempt, nil
	}
	latest, err := s.latest(ctx, student)
	if err != nil {
		return running{}, err
	}
	earlier, started := latest[id]
	if !started {
		return running{}, fmt.Errorf("lab %s: %w", id, ErrNotStarted)
	}
	earlier.FirstN = 0
	return running{Attempt: earlier}, nil
}

// keep stores what has become of an attempt.
func (s *Service) keep(ctx context.Context, kind string, r running) error {
	if err := s.config.Progress.Update(ctx, kind, r.Attempt); err != nil {
		return fmt.Errorf("store the %s of lab %s: %w", kind, r.Lab, err)
	}
	s.remember(r)
	return nil
}

func (s *Service) remember(r running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts[attemptKey{r.Student, r.Lab}] = &r
}

// Start makes the classroom whole, runs the lab's set-up and begins an attempt; an older one is given up. With a task to begin at, the
// solution of all tasks before it is really played first.
func (s *Service) Start(ctx context.Context, id, student, task string) (attempt Attempt, err error) {
	l, err := s.Lab(id, student)
	if err != nil {
		return Attempt{}, err
	}
	first := 0
	if task != "" {
		if first = slices.IndexFunc(l.Tasks, func(t *lab.Task) bool { return t.ID == task }); first < 0 {
			return Attempt{}, sentence.Error(ErrUnknownTask, "noSuchTask", `lab {lab} has no task "{task}"`, id, task)
		}
	}
	err = s.act(ctx, func(ctx context.Context) error {
		s.endBackground()
		if err := s.runner.Restore(ctx); err != nil {
			return sentence.Error(nil, "settingUpLab", "set up lab {lab}: {why}", id, err)
		}
		if err := s.runner.Run(ctx, s.runner.Now(), l.Setup); err != nil {
			return sentence.Error(nil, "settingUpLab", "set up lab {lab}: {why}", id, err)
		}
		r := running{start: s.runner.Now(), Attempt: Attempt{
			Lab: id, Student: student, StartedAt: time.Now().UTC(), BeganAt: task, Values: l.Drawn, Failures: map[string]int{}, Verdicts: []lab.Verdict{},
			Opened: map[string]time.Time{}, Answers: map[string]Answer{},
		}}
		r.FirstN = r.start.N
		if r.ID, err = s.config.Progress.Begin(ctx, r.Attempt); err != nil {
			return fmt.Errorf("store the attempt at lab %s: %w", id, err)
		}
		s.remember(r)
		if err := s.open(ctx, l, &r, nil); err != nil {
			return err
		}
		if first > 0 {
			if err := s.playUpTo(ctx, l, &r, first); err != nil {
				return err
			}
		}
		attempt = r.Attempt
		return s.keep(ctx, EntryStart, r)
	})
	return attempt, err
}

// change does something with the attempt that is under way, and stores what has become of it.
func (s *Service) change(ctx context.Context, id, student, kind string, do func(ctx context.Context, l *lab.Lab, r *running) error) (attempt Attempt, err error) {
	l, err := s.Lab(id, student)
	if err != nil {
		return Attempt{}, err
	}
	err = s.act(ctx, func(ctx context.Context) error {
		r, err := s.current(ctx, id, student)
		if err != nil {
			return err
		}
		if err := do(ctx, l, &r); err != nil {
			return err
		}
		attempt = r.Attempt
		return s.keep(ctx, kind, r)
	})
	return attempt, err
}
