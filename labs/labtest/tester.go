package labtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"twinlog/labs"
	"twinlog/labs/action"
	"twinlog/labs/lab"
	"twinlog/labs/observe"
)

// The properties that every lab is held to.
const (
	Untouched = "untouched" // the untouched world passes nothing
	Solution  = "solution"  // passes, twice, on the values of two students; each task by its own steps and not before
	Wrong     = "wrong"     // each of at least three wrong runs gets its recorded feedback
	Questions = "questions" // are open at the beginning and known at the end
	Random    = "random"    // actions in any order do not pass as long as one kind that the solution needs is left out
	Mutants   = "mutants"   // a condition that is inverted or dropped is found by one of the runs
)

// Properties in the order in which they are told.
var Properties = []string{Untouched, Wrong, Solution, Questions, Random, Mutants}

// Result is what a lab was found to be.
type Result struct {
	Lab string `json:"lab"`
	// Problems are by property; one that is missing was kept.
	Problems map[string][]string `json:"problems"`
	Runs     int                 `json:"runs"`
	Random   int                 `json:"random"` // random runs
	Mutants  int                 `json:"mutants"`
	// Notes tell what could not be tried.
	Notes   []string `json:"notes,omitempty"`
	Seed    uint64   `json:"seed"`
	Seconds float64  `json:"seconds"`
}

// Passed tells that every property was kept.
func (r Result) Passed() bool { return len(r.Problems) == 0 }

func (r *Result) fail(property, format string, arguments ...any) {
	r.Problems[property] = append(r.Problems[property], fmt.Sprintf(format, arguments...))
}

// moment is what a judgement was made of, with what the verdicts must be.
type moment struct {
	lab      *lab.Lab
	world    observe.World
	standing lab.Standing
	expect   func([]lab.Verdict) string // what is wrong with them; empty: nothing
}

// tester runs labs on one classroom.
type tester struct {
	room    *classroom
	service *labs.Service
	random  int
	seed    uint64

	lastLab      *lab.Lab
	lastWorld    observe.World
	lastStanding lab.Standing
	attempt      labs.Attempt // as the last check left it
	moments      []moment
}

func newTester(room *classroom, catalogue fs.FS, random int, seed uint64) (t *tester, err error) {
	t = &tester{room: room, random: random, seed: seed}
	t.service, err = labs.New(labs.Config{
		Catalogue: catalogue, Class: fmt.Sprint(seed), Addresses: room.addresses(), Nodes: room, Trace: room, Progress: forgetful{},
		Observed: func(l *lab.Lab, world observe.World, standing lab.Standing) {
			t.lastLab, t.lastWorld, t.lastStanding = l, world, standing
		},
	})
	return t, err
}

// forgetful is progress that is not kept.
type forgetful struct{}

func (forgetful) Begin(context.Context, labs.Attempt) (int64, error) { return 1, nil }
func (forgetful) Update(context.Context, string, labs.Attempt) error { return nil }
func (forgetful) Latest(context.Context, string) (map[string]labs.Attempt, error) {
	return map[string]labs.Attempt{}, nil
}
func (forgetful) ExportProgress(context.Context, string) ([]labs.Head, []labs.Entry, error) {
	return nil, nil, nil
}
func (forgetful) ImportProgress(context.Context, []labs.Head, []labs.Entry) (labs.Imported, error) {
	return labs.Imported{}, nil
}

// test holds a lab to every property.
func (t *tester) test(ctx context.Context, id string) Result {
	began := time.Now()
	result := Result{Lab: id, Problems: map[string][]string{}, Seed: t.seed}
	t.moments = nil
	t.untouched(ctx, id, &result)
	l, err := t.service.Lab(id, labs.Alone)
	if err != nil {
		result.fail(Untouched, "%v", err)
		return result
	}
	if len(l.Wrong) < lab.FewestWrongRuns {
		result.fail(Wrong, "%d wrong runs; at least %d", len(l.Wrong), lab.FewestWrongRuns)
	}
	for i := range l.Wrong {
		t.wrong(ctx, id, i, &result)
	}
	for _, student := range []string{labs.Alone, "ada"} {
		t.solution(ctx, id, student, &result)
	}
	for i := range t.random {
		t.randomRun(ctx, id, i, &result)
	}
	t.mutants(l, &result)
	if t.room.problem != nil {
		result.fail(Untouched, "the classroom: %v", t.room.problem)
		t.room.problem = nil
	}
	result.Seconds = time.Since(began).Seconds()
	return result
}

// start begins an attempt whose questions are skipped, or guessed.
func (t *tester) start(ctx context.Context, id, student, task string, guess bool, result *Result) (*lab.Lab, error) {
	result.Runs++
	t.room.forget()
	l, err := t.service.Lab(id, student)
	if err == nil {
		_, err = t.service.Start(ctx, id, student, task)
	}
	if err != nil {
		return l, err
	}
	for _, question := range l.Questions {
		choice := ""
		if guess {
			choice = question.Choices[0].Value
		}
		attempt, err := t.service.Answer(ctx, id, student, question.ID, choice)
		if task != "" && errors.Is(err, labs.ErrAnswered) {
			continue // the jump has skipped it
		}
		if err != nil {
			return l, err
		}
		if guess && attempt.Answers[question.ID].Late {
			result.fail(Questions, "%s: what happens is known before the student has begun", question.ID)
		}
	}
	return l, nil
}

// check gives the verdicts, and keeps what they were made of for the mutants.
func (t *tester) check(ctx context.Context, id, student string, expect func([]lab.Verdict) string) (verdicts []lab.Verdict, problem string, err error) {
	attempt, err := t.service.Check(ctx, id, student, "en")
	if err != nil {
		return nil, "", err
	}
	t.attempt = attempt
	t.moments = append(t.moments, moment{t.lastLab, t.lastWorld, t.lastStanding, expect})
	return attempt.Verdicts, expect(attempt.Verdicts), nil
}

func nothingPassed(verdicts []lab.Verdict) string {
	for _, v := range verdicts {
		if v.Verdict != lab.NotYet && v.Verdict != lab.Waiting || v.Expected == "" || v.Verdict == lab.NotYet && v.Observed == "" {
			return fmt.Sprintf("task %s is %s; expected %q, observed %q", v.Task, v.Verdict, v.Expected, v.Observed)
		}
	}
	return ""
}

func anyPassed(verdicts []lab.Verdict) bool {
	return slices.ContainsFunc(verdicts, func(v lab.Verdict) bool { return v.Verdict == lab.Passed })
}

func (t *tester) untouched(ctx context.Context, id string, result *Result) {
	_, err := t.start(ctx, id, labs.Alone, "", true, result)
	problem := ""
	if err == nil {
		_, problem, err = t.settled(ctx, id, labs.Alone, nothingPassed, anyPassed)
	}
	if err != nil {
		problem = err.Error()
	}
	if problem != "" {
		result.fail(Untouched, "%s", problem)
	}
}

func (t *tester) wrong(ctx context.Context, id string, number int, result *Result) {
	known, err := t.service.Lab(id, labs.Alone)
	if err != nil {
		result.fail(Wrong, "%v", err)
		return
	}
	run := known.Wrong[number]
	expect := func(verdicts []lab.Verdict) string {
		for _, feedback := range run.Feedback {
			for _, verdict := range verdicts {
				if verdict.Task == feedback.Task && !feedback.Fits(verdict) {
					return fmt.Sprintf("task %s is %s, observed %q; recorded is %s, %q", verdict.Task, verdict.Verdict, verdict.Observed, feedback.Verdict, feedback.Observed+feedback.Like)
				}
			}
		}
		return ""
	}
	_, err = t.start(ctx, id, labs.Alone, run.From, false, result)
	if err == nil {
		_, err = t.service.Play(ctx, id, labs.Alone, run.Actions)
	}
	problem := ""
	if err == nil {
		_, problem, err = t.settled(ctx, id, labs.Alone, expect, nil)
	}
	if err != nil {
		problem = err.Error()
	}
	if problem != "" {
		result.fail(Wrong, "%s: %s", run.Name, problem)
	}
}

// What is expected is looked for so often, and at least for so long. That a machine stands still, or looks slowly, is no reason to look less.
const (
	mostLooks     = 30
	leastPatience = 5 * time.Second
	betweenLooks  = 100 * time.Millisecond
)

// settled checks until what is expected comes: what was done may take its time to be seen, such as a new topic by the broker that is asked,
// and a cluster may not answer just then. Vain, unless it is nil, tells of verdicts after which nothing else will come.
func (t *tester) settled(ctx context.Context, id, student string, expect func([]lab.Verdict) string, vain func([]lab.Verdict) bool) (verdicts []lab.Verdict, problem string, err error) {
	before := len(t.moments)
	deadline := time.Now().Add(leastPatience)
	for looks := 1; ; looks++ {
		t.moments = t.moments[:before]
		verdicts, problem, err = t.check(ctx, id, student, expect)
		if problem == "" || err != nil || vain != nil && vain(verdicts) || looks >= mostLooks && time.Now().After(deadline) {
			return verdicts, problem, err
		}
		select {
		case <-ctx.Done():
			return nil, "", ctx.Err()
		case <-time.After(betweenLooks):
		}
	}
}

// solution plays the solution task by task. After each, the tasks so far have passed and none of those that follow.
func (t *tester) solution(ctx context.Context, id, student string, result *Result) {
	l, err := t.start(ctx, id, student, "", true, result)
	if err != nil {
		result.fail(Solution, "%s: %v", student, err)
		return
	}
	steps := l.Steps("en")
	for done, task := range l.Tasks {
		for number, step := range steps {
			if step.Task != task.ID {
				continue
			}
			if _, err = t.service.Step(ctx, id, student, number); err != nil {
				result.fail(Solution, "values %v: %v", l.Drawn, err)
				return
			}
		}
		verdicts, problem, err := t.settled(ctx, id, student, passedSoFar(l, done+1), passedAhead(l, done+1))
		if err != nil {
			problem = err.Error()
		}
		if problem != "" {
			result.fail(Solution, "values %v, after the solution of %s: %s", l.Drawn, task.ID, problem)
			return
		}
		if done+1 == len(l.Tasks) {
			for _, verdict := range verdicts {
				if verdict.Event == 0 {
					result.fail(Solution, "task %s passed, and no event decided it", verdict.Task)
				}
			}
		}
	}
	t.writesOn(ctx, l, student, result)
	unknown := func([]lab.Verdict) string {
		for _, question := range l.Questions {
			if outcome := t.attempt.Answers[question.ID].Outcome; outcome == nil || outcome.Event == 0 {
				return fmt.Sprintf("%s: at the end of the solution it is not known what happened, or which event decided: %+v", question.ID, outcome)
			}
		}
		return ""
	}
	moments := len(t.moments)
	if _, problem, err := t.settled(ctx, id, student, unknown, nil); err != nil {
		result.fail(Solution, "%v", err)
	} else if problem != "" {
		result.fail(Questions, "%s", problem)
	}
	t.moments = t.moments[:moments] // these say nothing of the tasks
}

// writesOn writes everywhere once more: what has passed stays passed.
func (t *tester) writesOn(ctx context.Context, l *lab.Lab, student string, result *Result) {
	for _, task := range l.Tasks {
		for _, a := range l.Solution[task.ID] {
			if a.KafkaProduce == nil && a.PulsarProduce == nil && a.EnsembleSet == nil {
				continue
			}
			limited, cancel := context.WithTimeout(ctx, randomPatience)
			_, _ = t.service.Play(limited, l.ID, student, []lab.Action{a}) // in the end of some labs nobody takes it
			cancel()
		}
	}
	_, problem, err := t.settled(ctx, l.ID, student, passedSoFar(l, len(l.Tasks)), takenBack)
	if err != nil {
		problem = err.Error()
	}
	if problem != "" {
		result.fail(Solution, "values %v, when the student writes on after the end: %s", l.Drawn, problem)
	}
}

// passedSoFar wants the first tasks passed and none of the others. One of these for which there is nothing to do but wait may be ahead: on a busy
// machine the check comes late. That its condition asks for something is then for the wrong runs to show.
func passedSoFar(l *lab.Lab, done int) func([]lab.Verdict) string {
	return func(verdicts []lab.Verdict) string {
		for i, v := range verdicts {
			if (v.Verdict == lab.Passed) != (i < done) && !mayBeAhead(l, done, i, v) {
				return fmt.Sprintf("task %s is %s, observed %q", v.Task, v.Verdict, v.Observed)
			}
		}
		return ""
	}
}

func mayBeAhead(l *lab.Lab, done, i int, v lab.Verdict) bool {
	return i >= done && v.Verdict == lab.Passed && len(kindsOf(l.Solution[v.Task])) == 0
}

// passedAhead tells that a task has passed which must not have: it stays so.
func passedAhead(l *lab.Lab, done int) func([]lab.Verdict) bool {
	return func(verdicts []lab.Verdict) bool {
		for i, v := range verdicts {
			if i >= done && v.Verdict == lab.Passed && !mayBeAhead(l, done, i, v) {
				return true
			}
		}
		return false
	}
}

// takenBack tells that a task has not passed, of those that had all passed: a cluster that does not answer is looked at again, but a student
// must not see that even for a moment.
func takenBack(verdicts []lab.Verdict) bool {
	return slices.ContainsFunc(verdicts, func(v lab.Verdict) bool { return v.Verdict == lab.NotYet || v.Verdict == lab.Lost })
}

// mutants judges every recorded moment again with a condition turned round or dropped: one of them must come out otherwise than expected.
func (t *tester) mutants(l *lab.Lab, result *Result) {
	if !result.Passed() {
		return // what is expected does not come out with the lab as it is
	}
	for _, task := range l.Tasks {
		for _, drop := range []bool{false, true} {
			result.Mutants++
			if !t.caught(task.ID, drop) {
				how := "inverted"
				if drop {
					how = "dropped"
				}
				result.fail(Mutants, "the condition of task %s %s: every run gives what is expected of it", task.ID, how)
			}
		}
	}
}

func (t *tester) caught(task string, drop bool) bool {
	for _, m := range t.moments {
		if m.expect(m.lab.Mutant(task, drop).Check(m.world, m.standing, "en")) != "" {
			return true
		}
	}
	return false
}

// Addresses of the classroom, for who wants to run actions of his own.
func (c *classroom) Addresses() action.Addresses { return c.addresses() }
