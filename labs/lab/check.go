package lab

import (
	"errors"
	"fmt"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"

	"twinlog/labs/observe"
)

type programs struct {
	condition, lost *Expression
	observed        map[string]*Expression // by language
	decides         *vm.Program            // over one event
}

// compile compiles a task's expressions; problem is told which of its fields is wrong.
func (t *Task) compile(problem func(field string, err error)) {
	note := func(field string, err error) {
		if err != nil {
			problem(field, err)
		}
	}
	var err error
	if t.Condition == "" {
		note("condition", errors.New("there is none"))
	} else {
		t.programs.condition, err = Compile(t.Condition, expr.AsBool())
		note("condition", err)
	}
	if t.Lost != "" {
		t.programs.lost, err = Compile(t.Lost, expr.AsBool())
		note("lost", err)
	}
	if t.Decides != "" {
		t.programs.decides, err = expr.Compile(t.Decides, expr.Env(observe.Event{}), expr.AsBool())
		note("decides", err)
	}
	for i, hint := range t.Hints {
		note(index("hints", i), hint.compile())
	}
	t.programs.observed = map[string]*Expression{}
	for _, language := range Languages {
		t.programs.observed[language], err = Compile(t.Observed[language])
		note("observed."+language, err)
	}
}

// Mutant returns the lab with the condition of one of its tasks turned round, or dropped (it always holds). A lab whose runs cannot
// tell it from the lab itself checks nothing with that condition.
func (l *Lab) Mutant(task string, drop bool) *Lab {
	mutant := *l
	mutant.Tasks = nil
	for _, t := range l.Tasks {
		if t.ID == task {
			changed := *t
			changed.programs.condition = t.programs.condition.turned(drop)
			changed.Hold = 0 // the watch that measured it has looked at the condition as it is
			t = &changed
		}
		mutant.Tasks = append(mutant.Tasks, t)
	}
	return &mutant
}

// Standing is how an attempt stands, as far as verdicts depend on it.
type Standing struct {
	Failures map[string]int           // checks so far that did not pass, by task
	Open     map[string]time.Duration // for how long a task has been open
	Held     map[string]time.Duration // for how long a task's condition has held without a break; from its hold on, it stays
	Answered map[string]bool          // questions that have been answered or skipped
}

// Check gives a verdict for every task, in order.
func (l *Lab) Check(world observe.World, standing Standing, language string) []Verdict {
	verdicts := make([]Verdict, 0, len(l.Tasks))
	passed := map[string]bool{}
	for _, task := range l.Tasks {
		verdict := task.check(world, passed, standing, l.asks(task.ID, standing.Answered))
		passed[task.ID] = verdict.Verdict == Passed
		verdict.inLanguages = map[string]Verdict{}
		for _, each := range Languages {
			verdict.inLanguages[each] = task.inWords(verdict, world, standing, each)
		}
		verdicts = append(verdicts, verdict.In(language))
	}
	return verdicts
}

// asks lists the questions that have to be answered before a task opens.
func (l *Lab) asks(task string, answered map[string]bool) []string {
	asks := []string{}
	for _, question := range l.Questions {
		if question.Before == task && !answered[question.ID] {
			asks = append(asks, question.ID)
		}
	}
	return asks
}

// check decides. What a task asks is told once nothing else stands before it; an earlier task comes first.
func (t *Task) check(world observe.World, passed map[string]bool, standing Standing, asks []string) Verdict {
	verdict := Verdict{Task: t.ID, Asks: []string{}, Hints: []string{}}
	for _, need := range t.Needs {
		if !passed[need] {
			verdict.Verdict = Waiting
			return verdict
		}
	}
	if len(asks) > 0 {
		verdict.Verdict, verdict.Asks = Waiting, asks
		return verdict
	}
	verdict.Event = decider(t.programs.decides, world.Events)
	var err error
	if verdict.Verdict, err = t.decide(world); err != nil {
		verdict.Verdict, verdict.unseen = Unknown, err
	}
	if t.Hold > 0 {
		verdict.HoldMS, verdict.HeldMS = t.Hold.Milliseconds(), min(standing.Held[t.ID], t.Hold).Milliseconds()
		switch {
		case standing.Held[t.ID] >= t.Hold:
			verdict.Verdict, verdict.unseen = Passed, nil // it has been held: what comes afterwards takes nothing away
		case verdict.Verdict == Passed:
			verdict.Verdict = NotYet
		}
	}
	return verdict
}

// Holds tells whether a task's condition holds now, whatever it needs, and what has to be looked at for it.
func (t *Task) Holds(world observe.World) bool {
	holds, err := t.programs.condition.Holds(world)
	return err == nil && holds
}

// Looks is the expression that has to be looked at to know whether the condition holds.
func (t *Task) Looks() *Expression { return t.programs.condition }

// inWords adds what was expected and observed, and hints, in a language.
func (t *Task) inWords(verdict Verdict, world observe.World, standing Standing, language string) Verdict {
	verdict.Expected = t.Expected.In(language)
	if verdict.Verdict == Unknown {
		verdict.Observed = unseen(verdict.unseen, world, language)
	}
	if verdict.Verdict == Waiting || verdict.Verdict == Unknown {
		return verdict
	}
	observed, err := t.programs.observed[language].Run(world)
	if err != nil {
		verdict.Verdict, verdict.Observed = Unknown, fmt.Sprintf("what is there could not be put into words: %v", err)
		return verdict
	}
	verdict.Observed = fmt.Sprint(observed)
	if verdict.Verdict == NotYet || verdict.Verdict == Lost {
		verdict.Hints = t.hints(world, standing, language)
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
func decider(decides *vm.Program, events []observe.Event) uint64 {
	if decides == nil {
		return 0
	}
	for i := len(events) - 1; i >= 0; i-- {
		if fits, err := expr.Run(decides, events[i]); err == nil && fits.(bool) {
			return events[i].N
		}
	}
	return 0
}

// hints are those that have come by now. A hint whose expression cannot be looked at does not come.
func (t *Task) hints(world observe.World, standing Standing, language string) []string {
	texts := []string{}
	for _, hint := range t.Hints {
		comes := hint.After > 0 && standing.Failures[t.ID]+1 >= hint.After || hint.Idle > 0 && standing.Open[t.ID] >= hint.Idle
		if hint.when != nil {
			comes, _ = hint.when.Holds(world)
		}
		if comes {
			texts = append(texts, hint.Text.In(language))
		}
	}
	return texts
}

func (h *Hint) compile() (err error) {
	kinds := 0
	for _, set := range []bool{h.After > 0, h.Idle > 0, h.When != ""} {
		if set {
			kinds++
		}
	}
	if kinds != 1 || h.After < 0 || h.Idle < 0 {
		return errors.New("a hint comes after so many attempts (after: 2), after so long (idle: 3m) or when an expression holds (when: …): one of the three")
	}
	if h.When != "" {
		h.when, err = Compile(h.When, expr.AsBool())
	}
	return err
}
