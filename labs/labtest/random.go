package labtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"twinlog/labs"
	"twinlog/labs/lab"
)

// A random run does what the lab's solution and wrong runs do, in any order, or the whole solution in its own; and it leaves out one kind of
// action that the solution has, with all that could stand in for it. So it is no solution, however it is drawn: a lab that it passes asks for
// less than it says. (Any actions at all would not do: those of a short lab's solution come up in their order by chance.)

// standIns are kinds of actions of which one can bring about what another does.
var standIns = [][]string{
	{"node.kill", "node.stop", "node.pause", "link.set"},
	{"node.start", "node.resume", "link.heal"},
	{"pulsar.subscribe", "pulsar.consume"}, // a consumer makes its subscription
	{"kafka.join", "kafka.consume"},
	{"pulsar.unload", "pulsar.unloadBundle", "node.kill", "node.stop", "node.pause"}, // the owner is another one afterwards
}

// standsInFor tells whether an action of a kind could do the work of one that is left out.
func standsInFor(leftOut, kind string) bool {
	return kind == leftOut || slices.ContainsFunc(standIns, func(group []string) bool {
		return slices.Contains(group, leftOut) && slices.Contains(group, kind)
	})
}

// sequence is a random run.
type sequence struct {
	leftOut string // the kind of action
	actions []lab.Action
}

// longestDraw is how many actions in any order make a run at most.
const longestDraw = 5

// draw makes a random run; with whole, out of the whole solution, in its order. None can be made when nothing is left of the lab without any one
// kind of its actions.
func draw(l *lab.Lab, random *rand.Rand, whole bool) (run sequence, possible bool) {
	solution, pool := actionsOf(l)
	if whole {
		pool = solution
	}
	kinds := kindsOf(solution)
	random.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	for _, leftOut := range kinds {
		rest := slices.DeleteFunc(slices.Clone(pool), func(a lab.Action) bool { return standsInFor(leftOut, a.Kind()) })
		switch {
		case len(kindsOf(rest)) == 0:
			continue
		case whole:
			return sequence{leftOut, rest}, true
		}
		rest = slices.DeleteFunc(rest, func(a lab.Action) bool { return a.Wait != nil })
		run = sequence{leftOut: leftOut}
		for range 1 + random.IntN(longestDraw) {
			run.actions = append(run.actions, rest[random.IntN(len(rest))])
		}
		return run, true
	}
	return sequence{}, false
}

// actionsOf lists the actions of a lab's solution, and these with those of its wrong runs, each in the order of the file.
func actionsOf(l *lab.Lab) (solution, all []lab.Action) {
	for _, task := range l.Tasks {
		solution = append(solution, l.Solution[task.ID]...)
	}
	all = slices.Clone(solution)
	for _, run := range l.Wrong {
		all = append(all, run.Actions...)
	}
	return solution, all
}

// kindsOf lists the kinds of actions, without waits, in order.
func kindsOf(actions []lab.Action) (kinds []string) {
	for _, a := range actions {
		if a.Wait == nil {
			kinds = append(kinds, a.Kind())
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// randomPatience bounds one action of a random run: many of them wait for what never comes.
const randomPatience = 3 * time.Second

func (t *tester) randomRun(ctx context.Context, id string, number int, result *Result) {
	known, err := t.service.Lab(id, labs.Alone)
	if err != nil {
		result.fail(Random, "%v", err)
		return
	}
	run, possible := draw(known, rand.New(rand.NewPCG(t.seed, uint64(number))), number%2 == 1)
	if !possible {
		result.Notes = append(result.Notes, fmt.Sprintf("random run %d: without any one kind of its actions nothing is left of the solution to be done; none was drawn", number))
		return
	}
	l, err := t.start(ctx, id, labs.Alone, "", false, result)
	if err != nil {
		result.fail(Random, "%v", err)
		return
	}
	result.Random++
	var done []string
	for _, chosen := range run.actions {
		limited, cancel := context.WithTimeout(ctx, randomPatience)
		_, err := t.service.Play(limited, id, labs.Alone, []lab.Action{chosen})
		cancel()
		if chosen.Wait == nil {
			done = append(done, fmt.Sprintf("%s (%v)", chosen.Says("en"), err))
		}
	}
	passed, err := t.passesSoon(ctx, id)
	if err != nil {
		result.fail(Random, "%v", err)
	} else if passed {
		result.fail(Random, "seed %d, run %d passed lab %s without any %s: %s", t.seed, number, l.ID, run.leftOut, strings.Join(done, "; "))
	}
}

// passesSoon tells whether an attempt passes: at once, or when what was done has had a little time to be seen.
func (t *tester) passesSoon(ctx context.Context, id string) (bool, error) {
	for looks := 1; ; looks++ {
		attempt, err := t.service.Check(ctx, id, labs.Alone, "en")
		if err != nil || attempt.PassedAt != nil || looks == 2 {
			return err == nil && attempt.PassedAt != nil, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}
