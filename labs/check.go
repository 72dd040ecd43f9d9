package labs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"twinlog/engine/sentence"
	"twinlog/labs/lab"
	"twinlog/labs/observe"
)

// Check looks at the world and gives a verdict for every task. Tasks that open by it are opened.
func (s *Service) Check(ctx context.Context, id, student, language string) (attempt Attempt, err error) {
	return s.change(ctx, id, student, EntryCheck, func(ctx context.Context, l *lab.Lab, r *running) error {
		r.note(s.judge(ctx, l, r, language))
		return s.open(ctx, l, r, passedIn(r.Verdicts))
	})
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

func passedIn(verdicts []lab.Verdict) map[string]bool {
	passed := map[string]bool{}
	for _, verdict := range verdicts {
		passed[verdict.Task] = verdict.Verdict == lab.Passed
	}
	return passed
}
