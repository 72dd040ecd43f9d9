package lab

import (
	"errors"
	"fmt"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"

	"twinlog/labs/observe"
)

// Question asks what will happen, before it happens. It is scored apart from the tasks: a wrong guess keeps nobody from passing.
type Question struct {
	ID string `yaml:"id"`
	// Before is the task that does not open until the question is answered.
	Before  string   `yaml:"before"`
	Text    Text     `yaml:"text"`
	Choices []Choice `yaml:"choices"`
	// Known is an expression that tells that it has happened; Answer then gives the value of the choice that was right, from what really
	// happened; Decides is an expression over one event, as a task's.
	Known       string `yaml:"known"`
	Answer      string `yaml:"answer"`
	Decides     string `yaml:"decides"`
	Explanation Text   `yaml:"explanation"`

	known, answer *Expression
	decides       *vm.Program
}

// Choice is one thing that could happen.
type Choice struct {
	Value string `yaml:"value"`
	Text  Text   `yaml:"text"`
}

// Outcome is what really happened.
type Outcome struct {
	Right string `json:"right"` // the value of the choice that was right
	Event uint64 `json:"event"` // the number of the record that decided; 0: none
}

// Has tells whether a value is one of the choices.
func (q *Question) Has(value string) bool {
	return slices.ContainsFunc(q.Choices, func(choice Choice) bool { return choice.Value == value })
}

// Outcome tells what happened; nil as long as it has not, or cannot be told.
func (q *Question) Outcome(world observe.World) (*Outcome, error) {
	if happened, err := q.known.Holds(world); err != nil || !happened {
		return nil, err
	}
	answer, err := q.answer.Run(world)
	if err != nil {
		return nil, err
	}
	right := fmt.Sprint(answer)
	if !q.Has(right) {
		return nil, fmt.Errorf("the answer to question %s came out as %q, which is none of its choices", q.ID, right)
	}
	return &Outcome{Right: right, Event: decider(q.decides, world.Events)}, nil
}

// check finds what is wrong with a question; where is the field.
func (q *Question) check(tasks map[string]bool, problem func(field string, format string, arguments ...any)) {
	if !taskName.MatchString(q.ID) {
		problem("id", "question id %q is not made of a-z, 0-9 and -", q.ID)
	}
	if !tasks[q.Before] {
		problem("before", "question %s is before %q, which is no task", q.ID, q.Before)
	}
	seen := map[string]bool{}
	for _, choice := range q.Choices {
		if choice.Value == "" || seen[choice.Value] {
			problem("choices", "question %s has no value for a choice, or the same value %q twice", q.ID, choice.Value)
		}
		seen[choice.Value] = true
		missing(choice.Text, func(language string) {
			problem("choices", "choice %s of question %s has no text in %s", choice.Value, q.ID, language)
		})
	}
	if len(q.Choices) < 2 {
		problem("choices", "question %s needs at least two choices", q.ID)
	}
	missing(q.Text, func(language string) { problem("text", "question %s has no text in %s", q.ID, language) })
	missing(q.Explanation, func(language string) {
		problem("explanation", "the explanation of question %s has no text in %s", q.ID, language)
	})
	var err error
	if q.known, err = Compile(q.Known, expr.AsBool()); err != nil {
		problem("known", "question %s: known: %v", q.ID, err)
	}
	if q.answer, err = Compile(q.Answer); err != nil {
		problem("answer", "question %s: answer: %v", q.ID, err)
	}
	if q.Decides == "" {
		err = errors.New("it is missing: the page takes the reader to the event that decided")
	} else {
		q.decides, err = expr.Compile(q.Decides, expr.Env(observe.Event{}), expr.AsBool())
	}
	if err != nil {
		problem("decides", "question %s: decides: %v", q.ID, err)
	}
}

func missing(text Text, tell func(language string)) {
	for _, language := range Languages {
		if text[language] == "" {
			tell(language)
		}
	}
}
