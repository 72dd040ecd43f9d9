package lab

import (
	"errors"
	"fmt"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"

	"twinlog/labs/observe"
)

type programs struct {
	condition, observed, lost, decides *vm.Program
}

func (t *Task) compile() error {
	var problems []error
	compile := func(name, source string, required bool, options ...expr.Option) *vm.Program {
		if source == "" {
			if required {
				problems = append(problems, fmt.Errorf("no %s", name))
			}
			return nil
		}
		program, err := expr.Compile(source, options...)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
		return program
	}
	t.programs = programs{
		condition: compile("condition", t.Condition, true, expr.Env(observe.World{}), expr.AsBool()),
		observed:  compile("observed", t.Observed, true, expr.Env(observe.World{})),
		lost:      compile("lost", t.Lost, false, expr.Env(observe.World{}), expr.AsBool()),
		decides:   compile("decides", t.Decides, false, expr.Env(observe.Event{}), expr.AsBool()),
	}
	return errors.Join(problems...)
}

// Check gives a verdict for every task, in order. Failures counts the checks so far that did not pass, by task; it decides on hints.
func (l *Lab) Check(world observe.World, failures map[string]int, language string) []Verdict {
	verdicts := make([]Verdict, 0, len(l.Tasks))
	passed := map[string]bool{}
	for _, task := range l.Tasks {
		verdict := task.check(world, passed, language)
		passed[task.ID] = verdict.Verdict == Passed
		if verdict.Verdict == NotYet {
			verdict.Hint = task.hint(failures[task.ID]+1, language)
		}
		verdicts = append(verdicts, verdict)
	}
	return verdicts
}

func (t *Task) check(world observe.World, passed map[string]bool, language string) Verdict {
	verdict := Verdict{Task: t.ID, Expected: t.Expected.In(language)}
	for _, need := range t.Needs {
		if !passed[need] {
			verdict.Verdict = Waiting
			return verdict
		}
	}
	verdict.Event = t.decider(world.Events)
	observed, err := expr.Run(t.programs.observed, world)
	if err == nil {
		verdict.Observed = fmt.Sprint(observed)
		verdict.Verdict, err = t.decide(world)
	}
	if err != nil {
		verdict.Verdict, verdict.Observed = Unknown, err.Error()
	}
	return verdict
}

func (t *Task) decide(world observe.World) (string, error) {
	holds, err := expr.Run(t.programs.condition, world)
	if err != nil {
		return "", fmt.Errorf("the condition could not be looked at: %w", err)
	}
	if holds.(bool) {
		return Passed, nil
	}
	if t.programs.lost == nil {
		return NotYet, nil
	}
	lost, err := expr.Run(t.programs.lost, world)
	if err != nil {
		return "", fmt.Errorf("whether it is lost could not be looked at: %w", err)
	}
	if lost.(bool) {
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
