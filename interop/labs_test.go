package interop

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"twinlog/labs"
	"twinlog/labs/catalogue"
	"twinlog/labs/lab"
)

// TestLabs holds every lab to what it promises, as its authors do. `make soak-labs` runs more random sequences.
func TestLabs(t *testing.T) {
	output, err := exec.Command(program, "lab", "test").CombinedOutput()
	t.Logf("%s", output)
	if err != nil {
		t.Error(err)
	}
}

func TestANewLabKeepsWhatLabsPromise(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "42-fresh")
	if output, err := exec.Command(program, "lab", "new", directory).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if output, err := exec.Command(program, "lab", "test", directory).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	// A condition that always holds is caught.
	name := filepath.Join(directory, "lab.yaml")
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	vacuous := strings.Replace(string(content), `kafka.topics["${topic}"].records >= ${records}`, `kafka.topics["${topic}"].partitions > 0`, 1)
	if err := os.WriteFile(name, []byte(vacuous), 0o600); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	output, err := exec.Command(program, "lab", "test", "--random", "2", "--seed", "1", directory).CombinedOutput()
	if !errors.As(err, &exit) {
		t.Errorf("a vacuous condition: %v\n%s", err, output)
	}
	// Also by a random run that did all but write.
	for _, found := range []string{"42-fresh: solution: ", "42-fresh: random: seed 1, run 1 passed lab 42-fresh without any kafka.produce"} {
		if !strings.Contains(string(output), found) {
			t.Errorf("a vacuous condition was not found by %q:\n%s", found, output)
		}
	}
}

// TestLabsFromTheTerminal does a lab with `twinlog lab`, and carries the progress to another classroom.
func TestLabsFromTheTerminal(t *testing.T) {
	const id, class = "01-first-messages", "7b"
	c := up(t, "--class", class)
	own, err := lab.Load(catalogue.Files, id, lab.SeedOf(class, "ada", id))
	if err != nil {
		t.Fatal(err)
	}
	run := func(arguments ...string) ([]byte, error) {
		return exec.Command(program, append([]string{"lab", "--url", c.page(), "--student", "ada"}, arguments...)...).Output()
	}
	if output, err := run("start", id); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	var exit *exec.ExitError
	if output, err := run("check", id); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("checking an untouched world: %v\n%s", err, output)
	}
	if output, err := run("solve", id); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	output, err := run("check", id, "--json")
	var attempt labs.Attempt
	if err != nil || json.Unmarshal(output, &attempt) != nil || attempt.PassedAt == nil || !maps.Equal(attempt.Values, own.Drawn) {
		t.Errorf("%v\n%s", err, output)
	}
	file := filepath.Join(t.TempDir(), "progress.jsonl")
	if output, err := run("export", file); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if output, err := run("import", file); err != nil || !strings.Contains(string(output), "ada: 4 entries, 0 of them new") {
		t.Errorf("%v\n%s", err, output)
	}
	if err := c.api(http.MethodGet, "labs/"+id+"?student=lin", nil, nil); err != nil {
		t.Error(err)
	}
}
