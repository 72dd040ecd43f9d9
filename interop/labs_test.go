package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"twinlog/engine/cluster"
	"twinlog/engine/fabric"
	"twinlog/engine/world"
	"twinlog/labs"
	"twinlog/labs/action"
	"twinlog/labs/catalogue"
	"twinlog/labs/lab"
	"twinlog/labs/observe"
	"twinlog/visualizer/wire"
)

// TestLabs holds every lab to what it promises: the untouched world fails, the solution passes twice, each wrong run gets its recorded
// feedback. Labs wait for timeouts most of the time, so each has a classroom of its own and they go side by side.
func TestLabs(t *testing.T) {
	all, err := lab.LoadAll(catalogue.Files)
	if err != nil {
		t.Fatal(err)
	}
	var starting sync.Mutex // two classrooms must not choose the same ports
	for i, l := range all {
		t.Run(l.ID, func(t *testing.T) {
			t.Parallel()
			starting.Lock()
			c := up(t)
			starting.Unlock()
			t.Run("untouched", func(t *testing.T) { untouched(t, c, l) })
			for _, run := range l.Wrong {
				t.Run("wrong/"+run.Name, func(t *testing.T) { wrong(t, c, l, run) })
			}
			for range 2 {
				t.Run("solution", func(t *testing.T) { solution(t, c, l) })
			}
			if i == 0 {
				t.Run("terminal", func(t *testing.T) { terminal(t, c, l) })
			}
		})
	}
}

func untouched(t *testing.T, c *classroom, l *lab.Lab) {
	c.lab(t, l.ID, "start")
	verdicts := c.lab(t, l.ID, "check")
	for _, task := range l.Tasks {
		verdict := verdicts[task.ID]
		if verdict.Verdict != lab.NotYet && verdict.Verdict != lab.Waiting || verdict.Expected == "" || verdict.Verdict == lab.NotYet && verdict.Observed == "" {
			t.Errorf("%+v", verdict)
		}
	}
}

func wrong(t *testing.T, c *classroom, l *lab.Lab, run lab.WrongRun) {
	runner := action.NewRunner(action.Addresses{
		Kafka:       strings.Split(c.kafka(), ","),
		PulsarURL:   c.pulsar(),
		PulsarAdmin: []string{fmt.Sprintf("http://127.0.0.1:%d", c.port(8080)), fmt.Sprintf("http://127.0.0.1:%d", c.port(8081))},
	}, c, c)
	defer runner.Close()
	c.lab(t, l.ID, "start")
	if err := runner.Run(t.Context(), runner.Now(), run.Actions); err != nil {
		t.Fatal(err)
	}
	verdicts := c.lab(t, l.ID, "check")
	for _, feedback := range run.Feedback {
		if verdict := verdicts[feedback.Task]; !feedback.Fits(verdict) {
			t.Errorf("got %+v, recorded is %+v", verdict, feedback)
		}
	}
}

func solution(t *testing.T, c *classroom, l *lab.Lab) {
	c.lab(t, l.ID, "start")
	c.lab(t, l.ID, "solve")
	for task, verdict := range c.lab(t, l.ID, "check") {
		if verdict.Verdict != lab.Passed {
			t.Errorf("%s: %+v", task, verdict)
		}
		if verdict.Event == 0 {
			t.Errorf("%s passed, and no event decided it", task)
		}
	}
}

// A classroom is what actions need of the nodes and the trace, through the page's API.
var (
	_ action.Nodes = (*classroom)(nil)
	_ action.Trace = (*classroom)(nil)
)

func (c *classroom) Nodes() []cluster.NodeStatus {
	var answer struct{ Nodes []cluster.NodeStatus }
	if err := c.api(http.MethodGet, "nodes", nil, &answer); err != nil {
		c.t.Error(err)
	}
	return answer.Nodes
}

func (c *classroom) node(name, verb string) error {
	return c.api(http.MethodPost, "nodes/"+name+"/"+verb, nil, nil)
}

func (c *classroom) Kill(_ context.Context, name string) error   { return c.node(name, "kill") }
func (c *classroom) Stop(_ context.Context, name string) error   { return c.node(name, "stop") }
func (c *classroom) Start(_ context.Context, name string) error  { return c.node(name, "start") }
func (c *classroom) Pause(_ context.Context, name string) error  { return c.node(name, "pause") }
func (c *classroom) Resume(_ context.Context, name string) error { return c.node(name, "resume") }

func (c *classroom) Links() (rules []cluster.LinkRule) {
	var answer wire.Links
	if err := c.api(http.MethodGet, "links", nil, &answer); err != nil {
		c.t.Error(err)
	}
	for _, link := range answer.Links {
		rules = append(rules, cluster.LinkRule{From: link.From, To: link.To})
	}
	return rules
}

func (c *classroom) SetLink(from, to string, link fabric.Link) error {
	return c.api(http.MethodPut, "links", wire.Link{From: from, To: to, Cut: link.Cut, DelayMS: link.Delay.Milliseconds()}, nil)
}

// World asks for a lab's text first: the server looks for addresses in it with all that was recorded so far, and so the state that
// it gives next is at least as new.
func (c *classroom) World() (*world.State, uint64) {
	var answer struct {
		N     uint64
		State *world.State
	}
	if err := errors.Join(c.api(http.MethodGet, "labs/01-first-messages", nil, nil), c.api(http.MethodGet, "cluster", nil, &answer)); err != nil {
		c.t.Error(err)
		return world.New(), 0
	}
	return answer.State, answer.N
}

func (c *classroom) EventsAfter(n uint64) (events []observe.Event) {
	for {
		var answer struct {
			Records []observe.Event
		}
		if err := c.api(http.MethodGet, fmt.Sprintf("events?limit=10000&after=%d", n), nil, &answer); err != nil {
			c.t.Error(err)
			return events
		}
		if len(answer.Records) == 0 {
			return events
		}
		n = answer.Records[len(answer.Records)-1].N
		events = append(events, slices.DeleteFunc(answer.Records, func(event observe.Event) bool { return strings.HasPrefix(event.Kind, "message.") })...)
	}
}

// lab calls a verb of a lab's API and returns the verdicts by task.
func (c *classroom) lab(t *testing.T, id, verb string) map[string]lab.Verdict {
	t.Helper()
	var attempt labs.Attempt
	if err := c.api(http.MethodPost, "labs/"+id+"/"+verb, nil, &attempt); err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]lab.Verdict{}
	for _, verdict := range attempt.Verdicts {
		verdicts[verdict.Task] = verdict
	}
	return verdicts
}

// terminal does the lab with `twinlog lab`.
func terminal(t *testing.T, c *classroom, l *lab.Lab) {
	run := func(arguments ...string) ([]byte, error) {
		return exec.Command(program, append([]string{"lab", "--url", c.page()}, arguments...)...).Output()
	}
	if output, err := run("start", l.ID); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	var exit *exec.ExitError
	if output, err := run("check", l.ID); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("checking an untouched world: %v\n%s", err, output)
	}
	if output, err := run("solve", l.ID); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	output, err := run("check", l.ID, "--json")
	var attempt labs.Attempt
	if err != nil || json.Unmarshal(output, &attempt) != nil || attempt.PassedAt == nil {
		t.Errorf("%v\n%s", err, output)
	}
}
