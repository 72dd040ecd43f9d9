package labs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"twinlog/engine/sentence"
	"twinlog/labs/lab"
)

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

// Play does actions as the student of an attempt would.
func (s *Service) Play(ctx context.Context, id, student string, actions []lab.Action) (Attempt, error) {
	return s.change(ctx, id, student, EntryStep, func(ctx context.Context, _ *lab.Lab, r *running) error {
		return s.runner.Run(ctx, r.start, actions)
	})
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
