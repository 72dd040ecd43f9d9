package lab

import (
	"errors"
	"fmt"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"

	"twinlog/labs/observe"
)

type programs struct {
	condition, lost *Expression
	observed        map[string]*Expression // by language
	decides         *vm.Program            // over one event
}

func (t *Task) compile() error {
	var problems []error
	note := func(name string, err error) {
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
	}
	require := func(name, source string) {
		if source == "" {
			problems = append(problems, fmt.Errorf("no %s", name))
		}
	}
	require("condition", t.Condition)
	var err error
	t.programs.condition, err = Compile(t.Condition, expr.AsBool())
	note("condition", err)
	if t.Lost != "" {
		t.programs.lost, err = Compile(t.Lost, expr.AsBool())
		note("lost", err)
	}
	if t.Decides != "" {
		t.programs.decides, err = expr.Compile(t.Decides, expr.Env(observe.Event{}), expr.AsBool())
		note("decides", err)
	}
	t.programs.observed = map[string]*Expression{}
	for _, language := range Languages {
		t.programs.observed[language], err = Compile(t.Observed[language])
		note("observed in "+language, err)
	}
	return errors.Join(problems...)
}

// Check gives a verdict for every task, in order. Failures counts the checks so far that did not pass, by task; it decides on hints.
func (l *Lab) Check(world observe.World, failures map[string]int, language string) []Verdict {
	verdicts := make([]Verdict, 0, len(l.Tasks))
	passed := map[string]bool{}
	for _, task := range l.Tasks {
		verdict := task.check(world, passed)
		passed[task.ID] = verdict.Verdict == Passed
		verdict.inLanguages = map[string]Verdict{}
		for _, each := range Languages {
			verdict.inLanguages[each] = task.inWords(verdict, world, failures[task.ID]+1, each)
		}
		verdicts = append(verdicts, verdict.In(language))
	}
	return verdicts
}

// check decides; a verdict that could not be given says why in Observed.
func (t *Task) check(world observe.World, passed map[string]bool) Verdict {
	verdict := Verdict{Task: t.ID}
	for _, need := range t.Needs {
		if !passed[need] {
			verdict.Verdict = Waiting
			return verdict
		}
	}
	verdict.Event = t.decider(world.Events)
	var err error
	if verdict.Verdict, err = t.decide(world); err != nil {
		verdict.Verdict, verdict.Observed = Unknown, err.Error()
	}
	return verdict
}

// inWords adds what was expected and observed, and a hint, in a language.
func (t *Task) inWords(verdict Verdict, world observe.World, failures int, language string) Verdict {
	verdict.Expected = t.Expected.In(language)
	if verdict.Verdict == Waiting || verdict.Verdict == Unknown {
		return verdict
	}
	observed, err := t.programs.observed[language].Run(world)
	if err != nil {
		verdict.Verdict, verdict.Observed = Unknown, fmt.Sprintf("what is there could not be put into words: %v", err)
		return verdict
	}
	verdict.Observed = fmt.Sprint(observed)
	if verdict.Verdict == NotYet {
		verdict.Hint = t.hint(failures, language)
	}
	return verdict
}

func (t *Task) decide(world observe.World) (string, error) {
	holds, err := t.programs.condition.Holds(world)
	if err != nil {
		return "", fmt.Errorf("the condition could not be looked at: %w", err)
	}
	if holds {
		return Passed, nil
	}
	if t.programs.lost == nil {
		return NotYet, nil
	}
	lost, err := t.programs.lost.Holds(world)
	if err != nil {
		return "", fmt.Errorf("whether it is lost could not be looked at: %w", err)
	}
	if lost {
		return Lost, nil
	}
	return NotYet, nil
}

// decider finds the last event that decides. An event of another shape than the expression expects does not.
func (t *Task) decider(events []observe.Event) uint64 {
	if t.programs.decides == nil {
		return 0
	}
	for i := len(events) - 1; i >= 0; i-- {
		if decides, err := expr.Run(t.programs.decides, events[i]); err == nil && decides.(bool) {
			return events[i].N
		}
	}
	return 0
}

func (t *Task) hint(failures int, language string) (text string) {
	for _, hint := range t.Hints {
		if failures >= hint.After {
			text = hint.Text.In(language)
		}
	}
	return text
}
