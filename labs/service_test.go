package labs

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"twinlog/engine/world"
	"twinlog/labs/catalogue"
	"twinlog/labs/lab"
	"twinlog/labs/observe"
)

type stillTrace struct{ state *world.State }

func (t stillTrace) World() (*world.State, uint64)    { return t.state, 7 }
func (stillTrace) EventsAfter(uint64) []observe.Event { return nil }

// noted is progress that an earlier run has left.
type noted map[string]Attempt

func (noted) Begin(context.Context, Attempt) (int64, error) { return 1, nil }
func (noted) Update(context.Context, string, Attempt) error { return nil }
func (noted) ExportProgress(context.Context, string) ([]Head, []Entry, error) {
	return nil, nil, nil
}
func (noted) ImportProgress(context.Context, []Head, []Entry) (Imported, error) {
	return Imported{}, nil
}
func (n noted) Latest(context.Context, string) (map[string]Attempt, error) {
	latest := map[string]Attempt{}
	for id, attempt := range n {
		latest[id] = attempt
	}
	return latest, nil
}

const first = "01-first-messages"

func service(t *testing.T, state *world.State, progress noted) *Service {
	t.Helper()
	s, err := New(Config{
		Catalogue: catalogue.Files, Trace: stillTrace{state}, Progress: progress,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestALabNamesTheClassroomsOwnAddresses(t *testing.T) {
	moved := world.New()
	moved.Nodes["kafka-1"] = &world.Node{Addresses: map[string]string{"kafka": "127.0.0.1:19092"}}
	moved.Nodes["pulsar-1"] = &world.Node{Addresses: map[string]string{"pulsar": "127.0.0.1:16650"}}
	for name, c := range map[string]struct {
		state *world.State
		wants []string
	}{
		"moved":                 {moved, []string{"kcat -b 127.0.0.1:19092 -P", "pulsar://127.0.0.1:16650"}},
		"no broker has started": {world.New(), []string{"kcat -b localhost:9092 -P", "pulsar://localhost:6650"}},
	} {
		for _, language := range lab.Languages {
			detail, err := service(t, c.state, nil).Show(t.Context(), first, "student", language)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.wants {
				if !strings.Contains(detail.HTML, want) || strings.Contains(detail.HTML, "{{") {
					t.Errorf("%s, %s: no %q in the text, or a gap that was not filled:\n%s", name, language, want, detail.HTML)
				}
			}
		}
	}
}

func TestTheLastVerdictsAreShownInTheLanguageThatIsAskedFor(t *testing.T) {
	s := service(t, world.New(), nil)
	verdicts := s.labs[0].Check(observe.World{}, lab.Standing{}, "en")
	s.attempts[attemptKey{"student", first}] = &running{Attempt: Attempt{Lab: first, Student: "student", Verdicts: verdicts}}
	for language, want := range map[string]string{"en": "no topic orders", "zh": "没有 topic orders"} {
		detail, err := s.Show(t.Context(), first, "student", language)
		if err != nil {
			t.Fatal(err)
		}
		if got := detail.Attempt.Verdicts[0]; got.Observed != want {
			t.Errorf("%s: observed %q, want %q", language, got.Observed, want)
		}
	}
}

func TestWhatDecidedThatATaskPassedIsKept(t *testing.T) {
	now := []lab.Verdict{{Task: "a", Verdict: lab.Passed, Event: 9}, {Task: "b", Verdict: lab.Passed, Event: 9}, {Task: "c", Verdict: lab.NotYet, Event: 9}, {Task: "d", Verdict: lab.Passed, Event: 9}}
	keepDecided([]lab.Verdict{{Task: "a", Verdict: lab.Passed, Event: 4}, {Task: "b", Verdict: lab.NotYet, Event: 4}, {Task: "c", Verdict: lab.Passed, Event: 4}, {Task: "d", Verdict: lab.Passed}}, now)
	for i, want := range []uint64{4, 9, 9, 9} {
		if now[i].Event != want {
			t.Errorf("task %s: decided by %d, not %d", now[i].Task, want, now[i].Event)
		}
	}
}

func TestAnAttemptOfAnEarlierRunGoesOn(t *testing.T) {
	s := service(t, world.New(), noted{first: {ID: 3, Lab: first, Student: "student", FirstN: 9_000}})
	attempt, err := s.current(t.Context(), first, "student")
	if err != nil || attempt.ID != 3 || attempt.FirstN != 0 {
		t.Errorf("got %+v, %v; want attempt 3, which sees every record of this run", attempt, err)
	}
	if _, err := service(t, world.New(), nil).current(t.Context(), first, "student"); !errors.Is(err, ErrNotStarted) {
		t.Errorf("a lab that nobody began: %v, want ErrNotStarted", err)
	}
}

func TestAnAttemptOfWhichOnlyTheBeginningWasKeptGoesOn(t *testing.T) {
	s := service(t, world.New(), noted{first: {ID: 3, Lab: first, Student: "student"}})
	attempt, err := s.change(t.Context(), first, "student", EntryStep, func(_ context.Context, l *lab.Lab, r *running) error {
		s.skip(l, r, "kafka-produced")
		return nil
	})
	if answer, answered := attempt.Answers["spread"]; err != nil || !answered || answer.Choice != "" || !answer.Late {
		t.Errorf("%+v, %v; want the question skipped", attempt.Answers, err)
	}
	detail, err := service(t, world.New(), noted{first: {ID: 3, Lab: first, Student: "student"}}).Show(t.Context(), first, "student", "en")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(detail.Attempt); err != nil || strings.Contains(strings.ReplaceAll(string(text), `"passedAt":null`, ""), "null") {
		t.Errorf("the page is shown %s, %v", text, err)
	}
}

func TestChineseVerdictsTakeTheirColumns(t *testing.T) {
	for text, want := range map[string]string{"passed": "passed    ", "通过": "通过      ", "尚未通过了吗": "尚未通过了吗"} {
		if got := padded(text, 10); got != want {
			t.Errorf("padded(%q, 10) = %q, want %q", text, got, want)
		}
	}
}

func TestTheNextCommandRepeatsWhatItNeeds(t *testing.T) {
	for want, r := range map[string]remote{
		"": {api: API{Base: usualPage, Token: "secret"}, language: "en"},
		" --url http://127.0.0.1:17700 --lang zh": {api: API{Base: "http://127.0.0.1:17700"}, language: "zh"},
		" --student 'Li Ming'":                    {api: API{Base: usualPage}, language: "en", student: "Li Ming"},
		` --student 'O'\''Brien; $(reboot)'`:      {api: API{Base: usualPage}, language: "en", student: "O'Brien; $(reboot)"},
		" --student 李明":                           {api: API{Base: usualPage}, language: "en", student: "李明"},
	} {
		if got := r.flags(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestEveryClassHasOtherValues(t *testing.T) {
	drawn := func(class, student string) map[string]string {
		s, err := New(Config{Catalogue: catalogue.Files, Class: class, Trace: stillTrace{world.New()}, Progress: noted(nil)})
		if err != nil {
			t.Fatal(err)
		}
		detail, err := s.Show(t.Context(), first, student, "en")
		if err != nil {
			t.Fatal(err)
		}
		return detail.Values
	}
	ada := drawn("7b", "ada")
	if again := drawn("7b", "ada"); !maps.Equal(ada, again) {
		t.Errorf("%v, then %v", ada, again)
	}
	for name, other := range map[string]map[string]string{"another class": drawn("7c", "ada"), "another student": drawn("7b", "lin")} {
		if other["topic"] == ada["topic"] {
			t.Errorf("%s has the same topic %s", name, ada["topic"])
		}
	}
	if alone := drawn("7b", Alone); !maps.Equal(alone, drawn("7c", Alone)) {
		t.Errorf("who works alone has other values in another class: %v", alone)
	}
}
