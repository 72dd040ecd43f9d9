package labs

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"twinlog/engine/world"
	"twinlog/labs/action"
	"twinlog/labs/lab"
	"twinlog/labs/observe"
)

const heldLab = `
title: {en: Held, zh: 保持}
minutes: 1
tasks:
  - id: quiet
    title: {en: Quiet, zh: 安静}
    helper:
      every: 1s
      actions: [{node.resume: {node: kafka-1}}]
    condition: trace.nodes["kafka-1"] == "paused"
    hold: 2s
    expected: {en: paused, zh: 暂停}
    observed: {en: '"x"', zh: '"x"'}
solution: {quiet: [{node.pause: {node: kafka-1}}]}
wrong: [{name: none, actions: [{node.kill: {node: kafka-1}}], feedback: [{task: quiet, verdict: notYet}]}]
`

// others are the actions that no helper here takes.
type others = action.Nodes

// rounds counts what a helper does; while it fails, it does so in two ways.
type rounds struct {
	others
	done    atomic.Int64
	failing atomic.Bool
}

func (r *rounds) Resume(context.Context, string) error {
	if done := r.done.Add(1); r.failing.Load() {
		return []error{errors.New("the node is gone"), errors.New("the node is still gone")}[done%2]
	}
	return nil
}

// turning is a trace with one node, whose state a test sets.
type turning struct{ state atomic.Value }

func (t *turning) World() (*world.State, uint64) {
	state := world.New()
	state.Nodes["kafka-1"] = &world.Node{State: t.state.Load().(string)}
	return state, 7
}
func (*turning) EventsAfter(uint64) []observe.Event { return nil }

// behindTask is an attempt whose only task is open, in a bubble.
type behindTask struct {
	*Service
	l     *lab.Lab
	r     running
	nodes rounds
	trace turning
	log   bytes.Buffer
}

func openTask(t *testing.T) *behindTask {
	t.Helper()
	b := &behindTask{}
	b.trace.state.Store("running")
	var err error
	b.Service, err = New(Config{
		Catalogue: fstest.MapFS{"01-held/lab.yaml": {Data: []byte(heldLab)}, "01-held/en.md": {Data: []byte("x")}, "01-held/zh.md": {Data: []byte("x")}},
		Nodes:     &b.nodes, Trace: &b.trace, Progress: noted{}, Logger: slog.New(slog.NewTextHandler(&b.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	b.l = b.labs[0]
	b.r = running{Attempt: Attempt{Lab: "01-held", Student: "ada"}.whole(), start: b.runner.Now()}
	b.passes(t, false)
	return b
}

// passes does what follows a check of the task.
func (b *behindTask) passes(t *testing.T, passed bool) {
	t.Helper()
	if err := b.open(t.Context(), b.l, &b.r, map[string]bool{"quiet": passed}); err != nil {
		t.Fatal(err)
	}
}

func (b *behindTask) verdict(t *testing.T) lab.Verdict {
	t.Helper()
	return b.l.Check(b.runner.Look(t.Context(), b.r.start, b.l.Tasks[0].Looks()), b.standing(&b.r.Attempt), "en")[0]
}

func (b *behindTask) mustBe(t *testing.T, want string, held time.Duration) {
	t.Helper()
	synctest.Wait()
	if got := b.verdict(t); got.Verdict != want || got.HeldMS != held.Milliseconds() {
		t.Errorf("it is %s and has held for %d ms, want %s and %v", got.Verdict, got.HeldMS, want, held)
	}
}

// sleep ends between two looks of the watch.
func sleep(d time.Duration) { time.Sleep(d); synctest.Wait() }

func TestAConditionMustHoldWithoutABreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openTask(t)
		defer b.Close()
		sleep(10*watchPause + watchPause/2)
		b.mustBe(t, lab.NotYet, 0)
		b.trace.state.Store("paused")
		sleep(5 * watchPause)
		b.mustBe(t, lab.NotYet, 4*watchPause)
		b.trace.state.Store("running") // a break
		sleep(watchPause)
		b.trace.state.Store("paused")
		sleep(8 * watchPause)
		b.mustBe(t, lab.NotYet, 7*watchPause)
		sleep(watchPause)
		b.mustBe(t, lab.Passed, 2*time.Second)
	})
}

func TestWhatHasBeenHeldBetweenTwoChecksCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openTask(t)
		defer b.Close()
		b.trace.state.Store("paused")
		sleep(2*time.Second + 2*watchPause)
		b.trace.state.Store("running")
		sleep(time.Minute)
		b.mustBe(t, lab.Passed, 2*time.Second)
	})
}

func TestWhatGoesOnBehindATaskEndsWhenItHasPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openTask(t)
		defer b.Close()
		b.trace.state.Store("paused")
		sleep(4*time.Second + watchPause/2)
		b.mustBe(t, lab.Passed, 2*time.Second)
		if done := b.nodes.done.Load(); done != 5 {
			t.Errorf("the helper has done %d rounds, want one at once and one each second", done)
		}
		b.passes(t, true)
		for key, each := range b.behind {
			select {
			case <-each.ended:
			default:
				t.Errorf("the %s goes on", key.what)
			}
		}
		sleep(time.Minute)
		if done := b.nodes.done.Load(); done != 5 {
			t.Errorf("the helper went on, to %d rounds", done)
		}
		b.mustBe(t, lab.Passed, 2*time.Second)

		// What has held for long enough is done, whatever comes afterwards: the next task may ask for the opposite.
		b.trace.state.Store("running")
		b.mustBe(t, lab.Passed, 2*time.Second)

		// A later run of the program has not watched it, and knows what the last check said.
		b.r.Verdicts = []lab.Verdict{b.verdict(t)}
		b.endBackground()
		b.mustBe(t, lab.Passed, 2*time.Second)
	})
}

func TestAHelperThatFailsGoesOnAndIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := openTask(t)
		defer b.Close()
		for range 2 {
			b.nodes.failing.Store(true)
			sleep(5 * time.Second)
			b.nodes.failing.Store(false)
			sleep(5 * time.Second)
		}
		if done := b.nodes.done.Load(); done != 21 {
			t.Errorf("%d rounds in 20 seconds, of one a second", done)
		}
		told := b.log.String()
		if strings.Count(told, "\n") != 2 || !strings.Contains(told, "task=quiet") || !strings.Contains(told, "the node is gone") && !strings.Contains(told, "still gone") {
			t.Errorf("it failed twice for some time; the log says:\n%s", told)
		}
	})
}
