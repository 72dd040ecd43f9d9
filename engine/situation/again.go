package situation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"twinlog/engine/cluster"
	"twinlog/engine/world"
)

// moved is what a script ends with when something that it had chosen has changed by itself: a machine that stands still for some seconds
// costs leaders their office and followers their place in the ISR, as it does anywhere. What the script would show then is no longer what
// its steps say. So it is begun again, and says so.
type moved struct{ what Text }

func (m moved) Error() string { return m.what.EN }

const (
	// mostBeginnings bounds how often a situation is begun: a machine on which nothing stays is none to show it on.
	mostBeginnings = 5
	// wholeWithin bounds the wait for what the last beginning has taken down.
	wholeWithin = 30 * time.Second
)

// beginnings is how a situation came to be begun more than once; zero when it was not.
type beginnings struct {
	count int
	last  Text // why it was begun again the last time
}

// tell adds to what came out that it did not come out at once.
func (b beginnings) tell(outcome Text) Text {
	if b.count == 0 {
		return outcome
	}
	return Text{EN: outcome.EN + " It had to begin again on the way: " + b.last.EN + ".", ZH: outcome.ZH + "途中重新开始过：" + b.last.ZH + "。"}
}

// giveUp says that it came to nothing, and why the last time.
func (b beginnings) giveUp(err error) Text {
	var why moved
	errors.As(err, &why)
	return Text{
		EN: fmt.Sprintf("It was begun %d times, and each time something changed by itself, as when the machine stands still: %s.", b.count+1, why.what.EN),
		ZH: fmt.Sprintf("开始了 %d 次，每次都有东西自己变了（例如机器停顿了几秒）：%s。", b.count+1, why.what.ZH),
	}
}

// playThrough plays a situation to its end, and puts right what it has done.
func (p *Player) playThrough(ctx context.Context, s script, run *Run) (began beginnings, err error) {
	for {
		stage := &stage{player: p, run: run, begun: began.count}
		err = s.play(ctx, stage)
		stage.tidy()
		var why moved
		if !errors.As(err, &why) || began.count+1 == mostBeginnings || ctx.Err() != nil {
			return began, err
		}
		began.count++
		began.last = p.beginAgain(run, why)
		p.clear(ctx)
		stage.whole(ctx)
	}
}

// beginAgain makes every step one that waits, and says why.
func (p *Player) beginAgain(run *Run, why moved) Text {
	p.mu.Lock()
	defer p.mu.Unlock()
	what := fill(why.what, run.Names)
	run.Message = Text{EN: "It begins again: " + what.EN + ".", ZH: "重新开始：" + what.ZH + "。"}
	for i := range run.Steps {
		run.Steps[i].State, run.Steps[i].At = StateWaiting, nil
	}
	clear(run.Names)
	return what
}

// whole waits, not for ever, until the nodes that run are seen to run, and have somebody who leads them.
func (s *stage) whole(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, wholeWithin)
	defer cancel()
	// What is missing then, the script will say.
	_ = s.until(ctx, "all nodes are back", func(state *world.State) bool {
		for _, node := range s.player.config.Control.Nodes() {
			if seen := state.Nodes[node.Name]; node.State == cluster.StateRunning && (seen == nil || seen.State != node.State) {
				return false
			}
		}
		return state.Ensemble.Leader != "" && (state.Kafka.Controller.Broker >= 0 || len(state.Kafka.Brokers) == 0)
	})
}
