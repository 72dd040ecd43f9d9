// Package lab is what a lab is made of: its file, its conditions, and the verdicts that a check gives. It knows no cluster; what a
// check looks at comes in as a value.
package lab

import (
	"regexp"
	"time"

	"twinlog/labs/observe"
)

// Languages that every text of a lab is written in.
var Languages = []string{"en", "zh"}

// Text is a text in each language, by its code.
type Text map[string]string

// In returns the text in a language, English where it is missing.
func (t Text) In(language string) string {
	if text, ok := t[language]; ok {
		return text
	}
	return t["en"]
}

// Lab is one lab as its lab.yaml and its two Markdown texts say, with the values of one student filled in.
type Lab struct {
	ID      string `yaml:"-"` // the folder's name
	Title   Text   `yaml:"title"`
	Minutes int    `yaml:"minutes"` // how long it takes a student
	// Variants are the values that differ from student to student; ${name} stands for one in every text, action and expression.
	Variants map[string]Variant `yaml:"variants"`
	Setup    []Action           `yaml:"setup"` // run when an attempt starts; brings the world into the state that the lab begins in
	Tasks    []*Task            `yaml:"tasks"`
	// Questions ask for the outcome before it happens.
	Questions []*Question `yaml:"questions"`
	// Solution is, by task, a list of the same actions that a student can take.
	Solution map[string][]Action `yaml:"solution"`
	// Wrong runs are what students do wrong, with the feedback that they must get.
	Wrong []WrongRun `yaml:"wrong"`

	Body  Text              `yaml:"-"` // HTML
	Drawn map[string]string `yaml:"-"` // the values that were filled in, by the variants' names
}

// Task is one thing to do, with the condition that tells that it is done. It opens when what it needs has passed and the questions before
// it are answered.
type Task struct {
	ID    string `yaml:"id"`
	Title Text   `yaml:"title"`
	// Needs lists tasks that must have passed before this one is looked at.
	Needs []string `yaml:"needs"`
	// Init runs once when the task opens.
	Init []Action `yaml:"init"`
	// Helper goes on in the background while the task is open.
	Helper *Helper `yaml:"helper"`
	// Condition is an expression over [observe.World]; it must be a bool. With Hold, it must have held for so long without a break.
	Condition string        `yaml:"condition"`
	Hold      time.Duration `yaml:"hold"`
	// Expected says what the condition asks for; Observed is, in each language, an expression for what is there instead.
	Expected Text `yaml:"expected"`
	Observed Text `yaml:"observed"`
	// Lost is an expression that tells that the task cannot be passed any more in this attempt; empty: it always can.
	Lost string `yaml:"lost"`
	// Decides is an expression over one event (kind, node, data); the last event since the attempt's start for which it is true is the
	// one that decides the verdict.
	Decides string  `yaml:"decides"`
	Hints   []*Hint `yaml:"hints"`

	programs programs
}

// Helper is background load, or trouble: actions that are done again and again, with a pause in between.
type Helper struct {
	Every   time.Duration `yaml:"every"`
	Actions []Action      `yaml:"actions"`
}

// Hint helps after so many checks that did not pass, when the task has been open for so long, or when an expression holds; one of the
// three. It never is the command itself.
type Hint struct {
	After int           `yaml:"after"`
	Idle  time.Duration `yaml:"idle"`
	When  string        `yaml:"when"`
	Text  Text          `yaml:"text"`

	when *Expression
}

// WrongRun is something that students do wrong.
type WrongRun struct {
	Name string `yaml:"name"`
	// From is the task that it jumps to before it begins; empty: it begins in the lab's first state.
	From     string     `yaml:"from"`
	Actions  []Action   `yaml:"actions"`
	Feedback []Feedback `yaml:"feedback"`
}

// Feedback is what a wrong run must get for one task. Where what is observed differs from run to run (who is elected is nobody's
// choice), Like is a regular expression for all of it.
type Feedback struct {
	Task     string `yaml:"task"`
	Verdict  string `yaml:"verdict"`
	Observed string `yaml:"observed"`
	Like     string `yaml:"like"`

	like *regexp.Regexp
}

func (f *Feedback) compile() (err error) {
	f.like, err = regexp.Compile("^(" + f.Like + ")$")
	return err
}

// Fits tells whether a verdict is the one that was recorded.
func (f Feedback) Fits(verdict Verdict) bool {
	if f.Like != "" {
		return verdict.Verdict == f.Verdict && f.like.MatchString(verdict.Observed)
	}
	return verdict.Verdict == f.Verdict && verdict.Observed == f.Observed
}

// The verdicts of a check.
const (
	Passed  = "passed"
	NotYet  = "notYet"  // what was expected is not there (yet)
	Lost    = "lost"    // it cannot be passed any more in this attempt
	Unknown = "unknown" // the check could not look
	Waiting = "waiting" // a task that it needs has not passed
)

// Verdict is what a check says of one task.
type Verdict struct {
	Task     string `json:"task"`
	Verdict  string `json:"verdict"`
	Expected string `json:"expected"`
	Observed string `json:"observed"`
	// Event is the number of the record that decides, for the page's clock; 0 when there is none.
	Event uint64 `json:"event"`
	// Hints are those that have come, the oldest first.
	Hints []string `json:"hints"`
	// Asks lists the questions that are all that stands between the student and the task.
	Asks []string `json:"asks"`
	// HeldMS says for how long the condition has held without a break, of the HoldMS that it must; both 0 where it need not.
	HeldMS int64 `json:"heldMS"`
	HoldMS int64 `json:"holdMS"`

	inLanguages map[string]Verdict // the same in every language
	unseen      error              // why it is Unknown
}

// In returns the verdict in a language. One that was read back from storage stays in the language that it was given in.
func (v Verdict) In(language string) Verdict {
	translated, ok := v.inLanguages[language]
	if !ok {
		return v
	}
	translated.inLanguages = v.inLanguages
	return translated
}

// Event is a trace record as a condition sees it.
type Event = observe.Event

// WithHeld returns the verdict with how long its condition has held by now, in every language.
func (v Verdict) WithHeld(held time.Duration) Verdict {
	ms := min(held.Milliseconds(), v.HoldMS)
	languages := make(map[string]Verdict, len(v.inLanguages))
	for language, each := range v.inLanguages {
		each.HeldMS = ms
		languages[language] = each
	}
	v.HeldMS, v.inLanguages = ms, languages
	return v
}
