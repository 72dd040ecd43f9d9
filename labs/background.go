package labs

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"twinlog/labs/lab"
)

// background is what goes on while a task is open: its helper, and the watch over a condition that must hold for some time.
type background struct {
	cancel context.CancelFunc
	ended  chan struct{}

	mu        sync.Mutex
	heldSince time.Time // zero: the condition does not hold
	seenAt    time.Time // the last look at which it held
}

type backgroundKey struct {
	attemptKey
	task, what string
}

// watchPause is between two looks at a condition that must hold.
const watchPause = 250 * time.Millisecond

// open opens the tasks whose needs have passed and whose questions are answered: their init runs, their helper starts, and their
// condition is watched when it must hold. The helpers of tasks that have passed end; a watch ends by itself.
func (s *Service) open(ctx context.Context, l *lab.Lab, r *running, passed map[string]bool) error {
	for _, task := range l.Tasks {
		key := attemptKey{r.Student, r.Lab}
		if passed[task.ID] {
			s.end(backgroundKey{key, task.ID, "helper"})
			continue
		}
		if !isOpen(l, task, r, passed) {
			continue
		}
		if _, opened := r.Opened[task.ID]; !opened {
			if err := s.runner.Run(ctx, r.start, task.Init); err != nil {
				return fmt.Errorf("open task %s of lab %s: %w", task.ID, l.ID, err)
			}
			r.Opened = maps.Clone(r.Opened)
			r.Opened[task.ID] = time.Now().UTC()
		}
		if task.Helper != nil {
			s.begin(backgroundKey{key, task.ID, "helper"}, func(ctx context.Context, _ *background) { s.help(ctx, task, *r) })
		}
		if task.Hold > 0 {
			s.begin(backgroundKey{key, task.ID, "hold"}, func(ctx context.Context, b *background) { s.watch(ctx, b, task, *r) })
		}
	}
	s.remember(*r)
	return nil
}

func isOpen(l *lab.Lab, task *lab.Task, r *running, passed map[string]bool) bool {
	for _, need := range task.Needs {
		if !passed[need] {
			return false
		}
	}
	for _, question := range l.Questions {
		if _, answered := r.Answers[question.ID]; question.Before == task.ID && !answered {
			return false
		}
	}
	return true
}

func (s *Service) begin(key backgroundKey, do func(context.Context, *background)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.behind[key] != nil {
		return // a watch that has ended has seen enough
	}
	ctx, cancel := context.WithCancel(context.Background())
	b := &background{cancel: cancel, ended: make(chan struct{})}
	s.behind[key] = b
	go func() {
		defer close(b.ended)
		do(ctx, b)
	}()
}

func (s *Service) end(key backgroundKey) {
	s.mu.Lock()
	b := s.behind[key]
	delete(s.behind, key)
	s.mu.Unlock()
	if b != nil {
		b.cancel()
		<-b.ended
	}
}

// endBackground ends everything that goes on, of every attempt: the classroom is about to be made whole.
func (s *Service) endBackground() {
	s.mu.Lock()
	keys := maps.Clone(s.behind)
	s.mu.Unlock()
	for key := range keys {
		s.end(key)
	}
}

// help does a helper's actions again and again. After a round that fails the next one follows; the log tells of the first in a row.
func (s *Service) help(ctx context.Context, task *lab.Task, r running) {
	failing := false
	for ctx.Err() == nil {
		err := s.runner.Run(ctx, r.start, task.Helper.Actions)
		if err != nil && ctx.Err() == nil && !failing {
			s.config.Logger.Warn("the helper of a lab's task cannot do its actions; it goes on trying", "lab", r.Lab, "task", task.ID, "student", r.Student, "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
		case <-time.After(task.Helper.Every):
		}
	}
}

// watch notes since when a condition holds, until it has held for long enough. What cannot be looked at does not hold.
func (s *Service) watch(ctx context.Context, b *background, task *lab.Task, r running) {
	for ctx.Err() == nil {
		world := s.runner.Look(ctx, r.start, task.Looks())
		at := s.traceTime()
		if ctx.Err() != nil {
			return // what was seen of a look that was broken off is nothing
		}
		holds := task.Holds(world)
		b.mu.Lock()
		switch {
		case !holds:
			b.heldSince = time.Time{}
		case b.heldSince.IsZero():
			b.heldSince = at
		}
		b.seenAt = at
		enough := holds && at.Sub(b.heldSince) >= task.Hold
		b.mu.Unlock()
		if enough {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(watchPause):
		}
	}
}

// traceTime is the time now on the clock that stamps the trace's records, which all of a classroom's nodes share with this process.
func (s *Service) traceTime() time.Time { return time.Now() }

// standing is how an attempt stands now.
func (s *Service) standing(a *Attempt) lab.Standing {
	standing := lab.Standing{Failures: a.Failures, Open: map[string]time.Duration{}, Held: s.held(a), Answered: map[string]bool{}}
	for task, at := range a.Opened {
		standing.Open[task] = time.Since(at)
	}
	for question := range a.Answers {
		standing.Answered[question] = true
	}
	return standing
}

func (s *Service) held(a *Attempt) map[string]time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := map[string]time.Duration{}
	for _, verdict := range a.Verdicts {
		// Also when the program that watched it has ended since.
		if verdict.Verdict == lab.Passed && verdict.HoldMS > 0 {
			held[verdict.Task] = time.Duration(verdict.HoldMS) * time.Millisecond
		}
	}
	for key, b := range s.behind {
		if key.attemptKey != (attemptKey{a.Student, a.Lab}) || key.what != "hold" {
			continue
		}
		b.mu.Lock()
		if !b.heldSince.IsZero() {
			held[key.task] = max(held[key.task], b.seenAt.Sub(b.heldSince))
		}
		b.mu.Unlock()
	}
	return held
}

// standingNow is an attempt with how long conditions have held by now, for who looks on between two checks.
func (s *Service) standingNow(a Attempt) Attempt {
	held := s.held(&a)
	verdicts := append([]lab.Verdict{}, a.Verdicts...)
	for i := range verdicts {
		if verdicts[i].HoldMS > 0 && verdicts[i].Verdict == lab.NotYet {
			verdicts[i] = verdicts[i].WithHeld(held[verdicts[i].Task])
		}
	}
	a.Verdicts = verdicts
	return a
}
