package labs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"twinlog/engine/sentence"
	"twinlog/labs/action"
	"twinlog/labs/lab"
	"twinlog/labs/observe"
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
	l, err := s.labOf(id, student)
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

// playUpTo plays the solution of every task before one, as a student would: each is checked before the next begins.
func (s *Service) playUpTo(ctx context.Context, l *lab.Lab, r *running, first int) error {
	for _, task := range l.Tasks[:first] {
		s.skip(l, r, task.ID)
		if err := s.open(ctx, l, r, passedIn(r.Verdicts)); err != nil {
			return err
		}
		if err := s.runner.Run(ctx, r.start, l.Solution[task.ID]); err != nil {
			return sentence.Error(nil, "playingSolution", "play the solution of task {task} of lab {lab}: {why}", task.ID, l.ID, err)
		}
		if err := s.settle(ctx, l, r, task.ID); err != nil {
			return err
		}
	}
	return s.open(ctx, l, r, passedIn(r.Verdicts))
}

// settle checks until a task has passed: what was done may take its time to be seen.
func (s *Service) settle(ctx context.Context, l *lab.Lab, r *running, task string) error {
	const patience = 45 * time.Second
	deadline := time.Now().Add(patience)
	for {
		r.Verdicts = s.judge(ctx, l, r, "en")
		at := slices.IndexFunc(r.Verdicts, func(v lab.Verdict) bool { return v.Task == task })
		verdict := r.Verdicts[at]
		if verdict.Verdict == lab.Passed {
			return nil
		}
		if time.Now().After(deadline.Add(time.Duration(verdict.HoldMS) * time.Millisecond)) {
			return fmt.Errorf("%w: %s: %s", sentence.Error(nil, "solutionNotPassed",
				"the solution of task {task} of lab {lab} was played, and the task has not passed", task, l.ID), verdict.Verdict, verdict.Observed)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// skip answers nothing to the questions before a task that have not been answered.
func (s *Service) skip(l *lab.Lab, r *running, task string) {
	for _, question := range l.Questions {
		if _, answered := r.Answers[question.ID]; question.Before == task && !answered {
			r.Answers = maps.Clone(r.Answers)
			r.Answers[question.ID] = Answer{At: time.Now().UTC(), Late: true}
		}
	}
}

func passedIn(verdicts []lab.Verdict) map[string]bool {
	passed := map[string]bool{}
	for _, verdict := range verdicts {
		passed[verdict.Task] = verdict.Verdict == lab.Passed
	}
	return passed
}

// judge looks at the world and gives a verdict for every task; what has happened since is noted with the answers.
func (s *Service) judge(ctx context.Context, l *lab.Lab, r *running, language string) []lab.Verdict {
	world := s.runner.Look(ctx, r.start)
	r.Answers = outcomes(l, r.Answers, world)
	standing := s.standing(&r.Attempt)
	if s.config.Observed != nil {
		s.config.Observed(l, world, standing)
	}
	verdicts := l.Check(world, standing, language)
	keepDecided(r.Verdicts, verdicts)
	return verdicts
}

// outcomes adds to the answers what really happened, once it has.
func outcomes(l *lab.Lab, answers map[string]Answer, world observe.World) map[string]Answer {
	known := maps.Clone(answers)
	for _, question := range l.Questions {
		answer, answered := known[question.ID]
		if !answered || answer.Outcome != nil {
			continue
		}
		if outcome, err := question.Outcome(world); err == nil && outcome != nil {
			answer.Outcome, answer.Right = outcome, !answer.Late && answer.Choice == outcome.Right
			known[question.ID] = answer
		}
	}
	return known
}

// Check looks at the world and gives a verdict for every task. Tasks that open by it are opened.
func (s *Service) Check(ctx context.Context, id, student, language string) (attempt Attempt, err error) {
	return s.change(ctx, id, student, EntryCheck, func(ctx context.Context, l *lab.Lab, r *running) error {
		r.note(s.judge(ctx, l, r, language))
		return s.open(ctx, l, r, passedIn(r.Verdicts))
	})
}

// change does something with the attempt that is under way, and stores what has become of it.
func (s *Service) change(ctx context.Context, id, student, kind string, do func(ctx context.Context, l *lab.Lab, r *running) error) (attempt Attempt, err error) {
	l, err := s.labOf(id, student)
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

// keepDecided leaves with a task that had passed before what decided then: what comes afterwards does not move it.
func keepDecided(before, now []lab.Verdict) {
	decided := map[string]uint64{}
	for _, verdict := range before {
		if verdict.Verdict == lab.Passed {
			decided[verdict.Task] = verdict.Event
		}
	}
	for i, verdict := range now {
		if event := decided[verdict.Task]; event != 0 && verdict.Verdict == lab.Passed {
			now[i].Event = event
		}
	}
}

// note takes the verdicts of a check. A failure is counted on a copy: the old map may be on its way to a reader.
func (a *Attempt) note(verdicts []lab.Verdict) {
	failures := map[string]int{}
	for task, count := range a.Failures {
		failures[task] = count
	}
	allPassed := true
	for _, verdict := range verdicts {
		if verdict.Verdict != lab.Passed {
			allPassed = false
		}
		// Who only waits for a condition to have held for long enough has not failed.
		if verdict.Verdict == lab.NotYet && verdict.HeldMS == 0 {
			failures[verdict.Task]++
		}
	}
	a.Failures, a.Verdicts = failures, verdicts
	if allPassed && a.PassedAt == nil {
		now := time.Now().UTC()
		a.PassedAt = &now
	}
}

// Answer takes a student's answer to a question; an empty choice skips it.
func (s *Service) Answer(ctx context.Context, id, student, question, choice string) (Attempt, error) {
	return s.change(ctx, id, student, EntryAnswer, func(ctx context.Context, l *lab.Lab, r *running) error {
		at := slices.IndexFunc(l.Questions, func(q *lab.Question) bool { return q.ID == question })
		if at < 0 || choice != "" && !l.Questions[at].Has(choice) {
			return sentence.Error(ErrUnknownTask, "noSuchChoice", `lab {lab} has no question "{question}" with the choice "{choice}"`, id, question, choice)
		}
		if _, answered := r.Answers[question]; answered {
			return fmt.Errorf("lab %s, question %s: %w", id, question, ErrAnswered)
		}
		outcome, err := l.Questions[at].Outcome(s.runner.Look(ctx, r.start))
		if err != nil {
			return fmt.Errorf("lab %s: %w", id, err)
		}
		answers := maps.Clone(r.Answers)
		answers[question] = Answer{Choice: choice, At: time.Now().UTC(), Late: outcome != nil || choice == "", Outcome: outcome}
		r.Answers = answers
		if len(r.Verdicts) > 0 {
			r.Verdicts = s.judge(ctx, l, r, "en")
		}
		return s.open(ctx, l, r, passedIn(r.Verdicts))
	})
}

// Step plays one step of the solution on the running clusters.
func (s *Service) Step(ctx context.Context, id, student string, number int) (Attempt, error) {
	return s.change(ctx, id, student, EntryStep, func(ctx context.Context, l *lab.Lab, r *running) error {
		steps := l.Steps("en")
		if number < 0 || number >= len(steps) {
			return sentence.Error(ErrUnknownTask, "noSuchStep", "lab {lab} has no step {step}; it has {count}", id, number, len(steps))
		}
		step := steps[number]
		s.skip(l, r, step.Task)
		if err := s.open(ctx, l, r, passedIn(r.Verdicts)); err != nil {
			return err
		}
		if err := s.runner.Run(ctx, r.start, step.Actions()); err != nil {
			return sentence.Error(nil, "playingStep", "step {step} of the solution of lab {lab}: {why}", number+1, id, err)
		}
		r.Played++
		if number+1 == len(steps) || steps[number+1].Task != step.Task {
			return s.settle(ctx, l, r, step.Task)
		}
		return nil
	})
}

// Solve plays the lab's whole solution, one task after the other, from the attempt's present state on.
func (s *Service) Solve(ctx context.Context, id, student string) (Attempt, error) {
	return s.change(ctx, id, student, EntryStep, func(ctx context.Context, l *lab.Lab, r *running) error {
		r.Played += len(l.Steps("en"))
		return s.playUpTo(ctx, l, r, len(l.Tasks))
	})
}

// Lab returns a lab with a student's values.
func (s *Service) Lab(id, student string) (*lab.Lab, error) { return s.labOf(id, student) }

// Labs returns all labs with everybody's values.
func (s *Service) Labs() []*lab.Lab { return s.labs }

// Play does actions as the student of an attempt would.
func (s *Service) Play(ctx context.Context, id, student string, actions []lab.Action) (Attempt, error) {
	return s.change(ctx, id, student, EntryStep, func(ctx context.Context, _ *lab.Lab, r *running) error {
		return s.runner.Run(ctx, r.start, actions)
	})
}
