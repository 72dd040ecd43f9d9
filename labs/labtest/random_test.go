package labtest

import (
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"twinlog/labs/catalogue"
	"twinlog/labs/lab"
)

// scaffolded is the lab that `twinlog lab new` makes.
func scaffolded(t *testing.T) *lab.Lab {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "42-fresh")
	if err := scaffold(io.Discard, directory); err != nil {
		t.Fatal(err)
	}
	l, err := lab.Load(os.DirFS(filepath.Dir(directory)), "42-fresh", nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestARandomRunIsNeverASolution(t *testing.T) {
	all, err := lab.LoadAll(catalogue.Files)
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, scaffolded(t))
	for _, l := range all {
		solution, _ := actionsOf(l)
		leftOut := map[string]bool{}
		for seed := range uint64(200) {
			whole := seed%2 == 1
			run, possible := draw(l, rand.New(rand.NewPCG(seed, 0)), whole)
			again, _ := draw(l, rand.New(rand.NewPCG(seed, 0)), whole)
			if !possible || !reflect.DeepEqual(run, again) {
				t.Fatalf("%s, seed %d: no run, or another one by the same seed", l.ID, seed)
			}
			leftOut[run.leftOut] = true
			kinds := kindsOf(run.actions)
			if len(kinds) == 0 || slices.Contains(kinds, run.leftOut) || !slices.Contains(kindsOf(solution), run.leftOut) {
				t.Errorf("%s, seed %d: %v without %q of the solution's %v", l.ID, seed, kinds, run.leftOut, kindsOf(solution))
			}
		}
		if len(leftOut) < 2 {
			t.Errorf("%s: only %v is ever left out", l.ID, leftOut)
		}
	}
}

func TestALabWithOneKindOfActionHasNoRandomRuns(t *testing.T) {
	write := []lab.Action{{KafkaProduce: &lab.KafkaProduce{}}, {Wait: &lab.Wait{}}}
	l := &lab.Lab{Tasks: []*lab.Task{{ID: "written"}}, Solution: map[string][]lab.Action{"written": write}, Wrong: []lab.WrongRun{{Actions: write}}}
	for _, whole := range []bool{false, true} {
		if run, possible := draw(l, rand.New(rand.NewPCG(1, 1)), whole); possible {
			t.Errorf("whole %v: %+v", whole, run)
		}
	}
}

func TestATaskIsNotAheadUnlessOnlyTimeIsNeeded(t *testing.T) {
	act, wait := lab.Action{KafkaProduce: &lab.KafkaProduce{}}, lab.Action{Wait: &lab.Wait{}}
	l := &lab.Lab{Solution: map[string][]lab.Action{"killed": {act}, "elected": {wait}, "written": {act, wait}}}
	verdicts := func(killed, elected, written string) []lab.Verdict {
		return []lab.Verdict{{Task: "killed", Verdict: killed}, {Task: "elected", Verdict: elected}, {Task: "written", Verdict: written}}
	}
	for name, c := range map[string]struct {
		verdicts []lab.Verdict
		done     int
		fits     bool
	}{
		"as it should be":       {verdicts(lab.Passed, lab.NotYet, lab.Waiting), 1, true},
		"time has gone by":      {verdicts(lab.Passed, lab.Passed, lab.NotYet), 1, true},
		"another is ahead":      {verdicts(lab.Passed, lab.NotYet, lab.Passed), 1, false},
		"one has fallen back":   {verdicts(lab.NotYet, lab.Passed, lab.NotYet), 2, false},
		"the wait has not done": {verdicts(lab.Passed, lab.NotYet, lab.NotYet), 2, false},
	} {
		if problem := passedSoFar(l, c.done)(c.verdicts); (problem == "") != c.fits {
			t.Errorf("%s: %q", name, problem)
		}
	}
}
