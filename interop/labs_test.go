package interop

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"testing"

	"twinlog/labs"
	"twinlog/labs/action"
	"twinlog/labs/catalogue"
	"twinlog/labs/lab"
)

// TestLabs holds every lab to what it promises: the untouched world fails, the solution passes twice, each wrong run gets its recorded
// feedback.
func TestLabs(t *testing.T) {
	c := up(t)
	all, err := lab.LoadAll(catalogue.Files)
	if err != nil {
		t.Fatal(err)
	}
	runner := action.NewRunner(action.Addresses{
		Kafka:       []string{fmt.Sprintf("127.0.0.1:%d", c.port(9092)), fmt.Sprintf("127.0.0.1:%d", c.port(9093))},
		PulsarURL:   c.pulsar(),
		PulsarAdmin: []string{fmt.Sprintf("http://127.0.0.1:%d", c.port(8080)), fmt.Sprintf("http://127.0.0.1:%d", c.port(8081))},
	})
	for _, l := range all {
		t.Run(l.ID+"/untouched", func(t *testing.T) {
			c.lab(t, l.ID, "start")
			verdicts := c.lab(t, l.ID, "check")
			for _, task := range l.Tasks {
				verdict := verdicts[task.ID]
				if verdict.Verdict == lab.Passed || verdict.Expected == "" || verdict.Verdict == lab.NotYet && verdict.Observed == "" {
					t.Errorf("%+v", verdict)
				}
			}
		})
		for _, run := range l.Wrong {
			t.Run(l.ID+"/wrong/"+run.Name, func(t *testing.T) {
				c.lab(t, l.ID, "start")
				if err := runner.Run(t.Context(), run.Actions); err != nil {
					t.Fatal(err)
				}
				verdicts := c.lab(t, l.ID, "check")
				for _, feedback := range run.Feedback {
					if verdict := verdicts[feedback.Task]; verdict.Verdict != feedback.Verdict || verdict.Observed != feedback.Observed {
						t.Errorf("got %+v, recorded is %+v", verdict, feedback)
					}
				}
			})
		}
		for range 2 {
			t.Run(l.ID+"/solution", func(t *testing.T) {
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
			})
		}
		t.Run(l.ID+"/terminal", func(t *testing.T) { terminal(t, c, l) })
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
