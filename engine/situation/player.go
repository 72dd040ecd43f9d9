package situation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"twinlog/engine/cluster"
	"twinlog/engine/fabric"
	"twinlog/engine/sentence"
	"twinlog/engine/world"
)

// Player plays one situation at a time. Its methods may be called from any goroutine.
type Player struct {
	config Config

	mu     sync.Mutex
	run    *Run // the last one
	cancel context.CancelFunc
	done   chan struct{} // closed when the run has ended; nil before the first
	closed bool
	// leftover is what earlier runs have left for people to look at, and how to clear it away.
	leftover []func(ctx context.Context) error
}

// New returns a player that plays nothing yet.
func New(config Config) *Player { return &Player{config: config} }

// List describes the situations.
func (p *Player) List() []Summary {
	list := make([]Summary, 0, len(scripts))
	for _, s := range scripts {
		list = append(list, s.Summary)
	}
	return list
}

// Last is the run that is being played, or the last one; nil when there was none.
func (p *Player) Last() *Run {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return nil
	}
	return p.run.clone()
}

func (r *Run) clone() *Run {
	copied := *r
	copied.Steps, copied.Names = slices.Clone(r.Steps), maps.Clone(r.Names)
	for i := range copied.Steps {
		copied.Steps[i].Text = fill(copied.Steps[i].Text, r.Names)
	}
	copied.Message = fill(copied.Message, r.Names)
	return &copied
}

// fill puts the names into a text; what is not chosen yet is left out.
func fill(text Text, names map[string]string) Text {
	pairs := make([]string, 0, 2*len(names))
	for name, value := range names {
		pairs = append(pairs, "{"+name+"}", value)
	}
	replace := strings.NewReplacer(pairs...)
	return Text{EN: replace.Replace(text.EN), ZH: replace.Replace(text.ZH)}
}

// Start begins a situation and returns at once; Last tells how far it is.
func (p *Player) Start(id string) (*Run, error) {
	at := slices.IndexFunc(scripts, func(s script) bool { return s.ID == id })
	if at < 0 {
		return nil, sentence.Error(ErrUnknown, "noSuchSituation", `there is no situation "{situation}"`, id)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.run != nil && p.run.State == StateRunning {
		return nil, ErrBusy
	}
	run := &Run{Situation: id, State: StateRunning, Names: map[string]string{}, Started: time.Now()}
	for _, text := range scripts[at].Steps {
		run.Steps = append(run.Steps, StepStatus{Text: text, State: StateWaiting})
	}
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(scripts[at].patience, patience))
	p.run, p.cancel, p.done = run, cancel, make(chan struct{})
	go p.play(ctx, scripts[at], run, p.done)
	return run.clone(), nil
}

// Cancel ends the run that is being played, and returns when what it had started is stopped and its faults are healed.
func (p *Player) Cancel(ctx context.Context) (*Run, error) {
	p.mu.Lock()
	if p.run == nil || p.run.State != StateRunning {
		p.mu.Unlock()
		return nil, ErrIdle
	}
	p.cancel()
	done := p.done
	p.mu.Unlock()
	select {
	case <-done:
		return p.Last(), nil
	case <-ctx.Done():
		return nil, sentence.Error(nil, "situationEnding", "the situation is still being ended: {why}", context.Cause(ctx))
	}
}

// Run keeps the player until the context ends, and then ends what it plays.
func (p *Player) Run(ctx context.Context) error {
	<-ctx.Done()
	p.mu.Lock()
	p.closed = true
	done := p.done
	if p.cancel != nil {
		p.cancel()
	}
	p.mu.Unlock()
	if done != nil {
		<-done
	}
	return nil
}

func (p *Player) play(ctx context.Context, s script, run *Run, done chan struct{}) {
	defer close(done)
	defer p.cancel()
	p.clear(ctx)
	began, err := p.playThrough(ctx, s, run)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	run.Ended, run.State = &now, StateDone
	switch {
	case err == nil:
		run.Message = began.tell(s.outcome)
	case errors.Is(ctx.Err(), context.Canceled):
		run.State = StateCancelled
		run.Message = Text{EN: "Cancelled; what it had done is put right.", ZH: "已取消，所做的改动已恢复。"}
	case errors.As(err, new(moved)) && ctx.Err() == nil:
		run.State, run.Message = StateFailed, began.giveUp(err)
	default:
		run.State = StateFailed
		if said, ok := sentence.In(err); ok {
			run.Problem = &said
		}
		run.Message = Text{EN: err.Error(), ZH: "未能完成：" + err.Error()}
	}
	for i := range run.Steps {
		if run.Steps[i].State == StateRunning {
			run.Steps[i].State = run.State
		}
	}
}

// remember notes what the next run is to clear away.
func (p *Player) remember(clear func(ctx context.Context) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leftover = append(p.leftover, clear)
}

// clear deletes what earlier runs have left.
func (p *Player) clear(ctx context.Context) {
	p.mu.Lock()
	leftover := p.leftover
	p.leftover = nil
	p.mu.Unlock()
	for _, clear := range leftover {
		_ = clear(ctx) // somebody may have deleted it
	}
}

// stage is what a script acts on.
type stage struct {
	player  *Player
	run     *Run
	begun   int                               // how often the situation was begun before
	undo    []func(ctx context.Context) error // what puts things right again, in the order of doing
	current int                               // steps begun
	mended  map[[2]string]fabric.Link         // by sender and receiver: the rule of a link that was cut, without the cut
}

// step begins the next step.
func (s *stage) step() {
	s.player.mu.Lock()
	defer s.player.mu.Unlock()
	now := time.Now()
	if s.current > 0 {
		s.run.Steps[s.current-1].State = StateDone
	}
	s.run.Steps[s.current].State, s.run.Steps[s.current].At = StateRunning, &now
	s.current++
}

// name notes what a thing in the texts is.
func (s *stage) name(what, value string) {
	s.player.mu.Lock()
	defer s.player.mu.Unlock()
	s.run.Names[what] = value
}

// later notes what puts right what was just done. All of it is done at the end, the last first, whatever the end is.
func (s *stage) later(undo func(ctx context.Context) error) { s.undo = append(s.undo, undo) }

const (
	tidyFor  = 30 * time.Second
	lookedAt = 50 * time.Millisecond // how often the world is looked at
)

func (s *stage) tidy() {
	ctx, cancel := context.WithTimeout(context.Background(), tidyFor)
	defer cancel()
	for i := len(s.undo) - 1; i >= 0; i-- {
		_ = s.undo[i](ctx) // what the user has put right already needs nothing
	}
}

// until waits for a condition of the world. What says it for an error.
func (s *stage) until(ctx context.Context, what string, holds func(*world.State) bool) error {
	return s.unless(ctx, what, func(state *world.State) (bool, error) { return holds(state), nil })
}

// unless waits like until, and ends with the error of a look that finds what makes the waiting vain.
func (s *stage) unless(ctx context.Context, what string, holds func(*world.State) (bool, error)) error {
	ticker := time.NewTicker(lookedAt)
	defer ticker.Stop()
	for {
		state, err := s.player.config.World(ctx)
		if err == nil {
			if held, vain := holds(state); held || vain != nil {
				return vain
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, ctx.Err())
		}
	}
}

// cut cuts the link between two nodes in both directions, until mend or the end. At the end the rules are as they were found, which may
// be the user's own.
func (s *stage) cut(a, b string) error { return s.cutLinks([2]string{a, b}, [2]string{b, a}) }

// cutFrom cuts one direction only, like cut.
func (s *stage) cutFrom(sender, receiver string) error {
	return s.cutLinks([2]string{sender, receiver})
}

func (s *stage) cutLinks(links ...[2]string) error {
	control := s.player.config.Control
	found := map[[2]string]fabric.Link{}
	for _, rule := range control.Links() {
		found[[2]string{rule.From, rule.To}] = rule.Link
	}
	s.later(func(context.Context) error {
		now := map[[2]string]fabric.Link{}
		for _, rule := range control.Links() {
			now[[2]string{rule.From, rule.To}] = rule.Link
		}
		var failed []error
		for _, link := range links {
			if now[link] != found[link] { // what has been mended already is not told a second time
				failed = append(failed, control.SetLink(link[0], link[1], found[link]))
			}
		}
		return errors.Join(failed...)
	})
	if s.mended == nil {
		s.mended = map[[2]string]fabric.Link{}
	}
	for _, link := range links {
		rule := found[link]
		rule.Cut = false
		s.mended[link] = rule
		rule.Cut = true
		if err := control.SetLink(link[0], link[1], rule); err != nil {
			return err
		}
	}
	return nil
}

// mend heals what was cut between two nodes, so that the script can go on: what else the user had set for the link holds again, but no
// cut of theirs.
func (s *stage) mend(a, b string) error {
	var failed []error
	for _, link := range [][2]string{{a, b}, {b, a}} {
		if rule, cut := s.mended[link]; cut {
			failed = append(failed, s.player.config.Control.SetLink(link[0], link[1], rule))
		}
	}
	return errors.Join(failed...)
}

// down takes a node down by an action, until the end or up.
func (s *stage) down(ctx context.Context, node string, act func(context.Context, string) error) error {
	s.later(func(ctx context.Context) error { return s.up(ctx, node) })
	return act(ctx, node)
}

// up lets a node go on, or start again.
func (s *stage) up(ctx context.Context, name string) error {
	control := s.player.config.Control
	for _, node := range control.Nodes() {
		if node.Name != name {
			continue
		}
		switch node.State {
		case cluster.StatePaused:
			return control.Resume(ctx, name)
		case cluster.StateKilled, cluster.StateStopped, cluster.StateFailed:
			return control.Start(ctx, name)
		}
	}
	return nil
}
