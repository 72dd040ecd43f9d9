package lab

import (
	"slices"
	"strings"
	"time"
)

// FewestWrongRuns is how many wrong runs a lab must have before `lab test` is content; the loader asks for one.
const FewestWrongRuns = 3

const (
	longestHold = 2 * time.Minute
	// A helper works at most so often, or it would be what keeps the machine busy.
	shortestPause = 100 * time.Millisecond
)

// check finds what is wrong with a lab beyond its form, and compiles its expressions.
func (l *Lab) check(s *source) {
	if !labName.MatchString(l.ID) {
		s.problem("$", "the folder %q is not named like 01-first-messages", l.ID)
	}
	if l.Minutes < 1 || l.Minutes > 120 {
		s.problem("$.minutes", "minutes is %d, not between 1 and 120", l.Minutes)
	}
	l.Title.check(s, "$.title", "title")
	if len(l.Tasks) == 0 || len(l.Solution) == 0 || len(l.Wrong) == 0 {
		s.problem("$", "a lab needs tasks, a solution and at least one wrong run")
	}
	known := map[string]bool{}
	for i, task := range l.Tasks {
		task.verify(s, index("$.tasks", i), known)
		known[task.ID] = true
	}
	questions := map[string]bool{}
	for i, question := range l.Questions {
		question.check(known, func(field, format string, arguments ...any) {
			s.problem(index("$.questions", i)+"."+field, format, arguments...)
		})
		if questions[question.ID] {
			s.problem(index("$.questions", i), "there are two questions %s", question.ID)
		}
		questions[question.ID] = true
	}
	l.verifySolution(s, known)
	verifyActions(s, "$.setup", l.Setup)
	for i, run := range l.Wrong {
		run.verify(s, index("$.wrong", i), known)
	}
}

func (t *Task) verify(s *source, where string, earlier map[string]bool) {
	if !taskName.MatchString(t.ID) || earlier[t.ID] {
		s.problem(where+".id", "task id %q is taken or not made of a-z, 0-9 and -", t.ID)
	}
	for _, need := range t.Needs {
		if !earlier[need] {
			s.problem(where+".needs", "task %s needs %q, which is no earlier task", t.ID, need)
		}
	}
	t.Title.check(s, where+".title", "title of "+t.ID)
	t.Expected.check(s, where+".expected", "expected of "+t.ID)
	t.Observed.check(s, where+".observed", "observed of "+t.ID)
	for i, hint := range t.Hints {
		hint.Text.check(s, index(where+".hints", i), "a hint of "+t.ID)
	}
	if t.Hold < 0 || t.Hold > longestHold {
		s.problem(where+".hold", "hold of %s is %v, not between 0 and %v", t.ID, t.Hold, longestHold)
	}
	verifyActions(s, where+".init", t.Init)
	if t.Helper != nil {
		if t.Helper.Every < shortestPause {
			s.problem(where+".helper", "the helper of %s works every %v; at least %v", t.ID, t.Helper.Every, shortestPause)
		}
		verifyActions(s, where+".helper.actions", t.Helper.Actions)
		for i, action := range t.Helper.Actions {
			if action.KafkaJoin != nil || action.EnsembleOpen != nil || action.Close != nil {
				s.problem(index(where+".helper.actions", i), "a helper does its actions again and again: it cannot start or close what stays")
			}
		}
	}
	t.compile(func(field string, err error) { s.problem(where+"."+field, "task %s: %s: %v", t.ID, field, err) })
}

func (l *Lab) verifySolution(s *source, tasks map[string]bool) {
	for task, actions := range l.Solution {
		where := "$.solution." + task
		if !tasks[task] {
			s.problem(where, "the solution solves %q, which is no task", task)
		}
		verifyActions(s, where, actions)
	}
	var commands []string
	for _, step := range l.Steps("en") {
		commands = append(commands, step.Command)
	}
	for i, task := range l.Tasks {
		for j, hint := range task.Hints {
			for _, text := range hint.Text {
				if command := givenAway(text, commands); command != "" {
					s.problem(index(index("$.tasks", i)+".hints", j), "a hint of %s gives away the command: %s", task.ID, command)
				}
			}
		}
	}
}

// givenAway returns the command of a solution that a hint contains: the program's name and something else that is only in that command.
func givenAway(hint string, commands []string) string {
	words := strings.FieldsFunc(hint, func(r rune) bool { return strings.ContainsRune(" \t\n`\"'，。（）：", r) })
	for _, command := range commands {
		parts := strings.Fields(command)
		if len(parts) < 2 || !slices.Contains(words, parts[0]) {
			continue
		}
		for _, part := range parts[1:] {
			if strings.HasPrefix(part, "--") && part != "--bootstrap-server" && slices.Contains(words, part) || len(command) > 12 && strings.Contains(hint, command) {
				return command
			}
		}
	}
	return ""
}

func verifyActions(s *source, where string, actions []Action) {
	for i, action := range actions {
		if _, err := action.Step(); err != nil {
			s.problem(index(where, i), "action %d of %s: %v", i+1, strings.TrimPrefix(where, "$."), err)
		}
	}
}

func (r *WrongRun) verify(s *source, where string, tasks map[string]bool) {
	verifyActions(s, where+".actions", r.Actions)
	for i := range r.Feedback {
		feedback, at := &r.Feedback[i], index(where+".feedback", i)
		if err := feedback.compile(); err != nil {
			s.problem(at, "wrong run %s: %v", r.Name, err)
		}
		if !tasks[feedback.Task] || !slices.Contains([]string{Passed, NotYet, Lost, Waiting}, feedback.Verdict) {
			s.problem(at, "wrong run %s expects %q of task %q", r.Name, feedback.Verdict, feedback.Task)
		}
	}
	if r.From != "" && !tasks[r.From] {
		s.problem(where+".from", "wrong run %s begins at %q, which is no task", r.Name, r.From)
	}
	if len(r.Feedback) == 0 || r.Name == "" {
		s.problem(where, "wrong run %q records no feedback, or has no name", r.Name)
	}
}

func (t Text) check(s *source, where, what string) {
	missing(t, func(language string) { s.problem(where, "%s has no text in %s", what, language) })
}
