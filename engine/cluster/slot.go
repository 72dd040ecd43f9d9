package cluster

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/media"
	"twinlog/engine/node"
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

// Runnable is a node that runs once, as [node.Node] does.
type Runnable interface {
	Run(ctx context.Context) error
	Ready() <-chan struct{}
}

// Maker makes the node for one life of a slot.
type Maker func(config node.Config, surroundings node.Surroundings) (Runnable, error)

// MakeNode is the Maker of real nodes.
func MakeNode(config node.Config, surroundings node.Surroundings) (Runnable, error) {
	return node.New(config, surroundings)
}

// Slot is a place for one node, which can live there several times: its name, its files and its trace stay, everything else is new in
// each life. All methods may be called from any goroutine; actions take turns.
type Slot struct {
	name   string
	role   string
	id     int
	fabric *fabric.Fabric
	files  disk.Disk
	medium media.Medium
	tracer *trace.Tracer
	logger *slog.Logger
	make   Maker

	turn chan struct{} // holds one token: the right to act

	mu     sync.Mutex
	state  string
	config node.Config  // of the present life; of the first one before it
	next   *node.Config // of the next life, when it is another one
	life   *life        // the last one; nil before the first
	fault  disk.Fault   // of its disk, over all lives
}

// SlotConfig is what a slot is made of.
type SlotConfig struct {
	Node   node.Config
	Fabric *fabric.Fabric
	Disk   disk.Disk
	Medium media.Medium // shared by all nodes; nil: there is none
	Tracer *trace.Tracer
	Logger *slog.Logger // nil discards
	Make   Maker        // nil: MakeNode
}

// NewSlot returns an empty slot: its node is stopped.
func NewSlot(config SlotConfig) *Slot {
	s := &Slot{
		name: config.Node.Name(), role: config.Node.Role, id: config.Node.ID, config: config.Node,
		fabric: config.Fabric, files: config.Disk, medium: config.Medium, tracer: config.Tracer, logger: config.Logger, make: config.Make,
		turn: make(chan struct{}, 1), state: StateStopped,
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if s.make == nil {
		s.make = MakeNode
	}
	s.turn <- struct{}{}
	return s
}

// Name is the node's name.
func (s *Slot) Name() string { return s.name }

// Tracer is the node's, over all its lives.
func (s *Slot) Tracer() *trace.Tracer { return s.tracer }

// Status is the node as it is now.
func (s *Slot) Status() NodeStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return NodeStatus{Name: s.name, Role: s.role, ID: s.id, State: s.state, Addresses: s.config.AddressesToTell()}
}

// act takes the turn. The returned function gives it back.
func (s *Slot) act(ctx context.Context, action string) (func(), error) {
	select {
	case <-s.turn:
		return func() { s.turn <- struct{}{} }, nil
	case <-ctx.Done():
		return nil, sentence.Error(nil, "waitingForAction", "{doing}: waiting for another action on it: {why}", doing(action, s.Name()), context.Cause(ctx))
	}
}

// current returns the life when the state is one of those allowed.
func (s *Slot) current(action string, allowed ...string) (*life, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, state := range allowed {
		if s.state == state {
			return s.life, nil
		}
	}
	return nil, wrongState(action, s.Name(), s.state)
}

// Start begins a life and returns when the node serves or has failed. When the context ends first, the node goes on starting.
func (s *Slot) Start(ctx context.Context) error {
	l, err := s.startLife(ctx)
	if err != nil {
		return err
	}
	return s.awaitReady(ctx, l)
}

func (s *Slot) awaitReady(ctx context.Context, l *life) error {
	select {
	case <-l.ready:
		return nil
	case <-l.done:
		if l.err == nil {
			return sentence.Error(nil, "endedBeforeServing", "start {node}: it ended before it served", s.Name())
		}
		return l.err
	case <-ctx.Done():
		return sentence.Error(nil, "notServingYet", "start {node}: it does not serve yet: {why}", s.Name(), context.Cause(ctx))
	}
}

// address is where others reach the node for a purpose.
func (s *Slot) address(purpose string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config.Addresses[purpose].Advertise()
}

// nextConfig is what the node is started with the next time. Its name, role and number stay.
func (s *Slot) nextConfig(config node.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = &config
}

func (s *Slot) startLife(ctx context.Context) (*life, error) {
	release, err := s.act(ctx, "start")
	if err != nil {
		return nil, err
	}
	defer release()
	last, err := s.current("start", StateStopped, StateKilled, StateFailed)
	if err != nil {
		return nil, err
	}
	if last != nil {
		if err := s.awaitEnd(ctx, "start", last); err != nil {
			return nil, err
		}
	}
	return s.begin(), nil
}

// Kill crashes the node: its network and disk fail from one moment to the next, nothing is flushed, nobody is told. It returns when that
// has happened; the dead node's goroutines may take a moment to find out, and the next Start waits for them.
func (s *Slot) Kill(ctx context.Context) error {
	release, err := s.act(ctx, "kill")
	if err != nil {
		return err
	}
	defer release()
	l, err := s.current("kill", StateStarting, StateRunning, StatePaused)
	if err != nil {
		return err
	}
	return s.killLife("kill", l)
}

func (s *Slot) killLife(action string, l *life) error {
	s.mu.Lock()
	select {
	case <-l.done: // it ended by itself in the meantime
		s.mu.Unlock()
		return cannot(action, s.Name(), sentence.Of("hasJustEnded", "it has just ended by itself"))
	default:
	}
	l.ending, s.state = StateKilled, StateKilled
	s.mu.Unlock()
	l.killed.Store(true)
	l.tracer.Silence()
	s.tracer.Emit(trace.NodeStopped{Reason: StateKilled}) // before the others can find out, and tell what they make of it
	l.disk.Sever()                                        // first, so that nothing is written because a connection broke
	l.severMedium()
	l.view.Sever()
	l.cancel()
	return nil
}

// Stop shuts the node down in order. When the context ends first, the node goes on stopping.
func (s *Slot) Stop(ctx context.Context) error {
	l, err := s.stopLife(ctx)
	if err != nil {
		return err
	}
	if err := s.awaitEnd(ctx, "stop", l); err != nil {
		return err
	}
	return l.err
}

func (s *Slot) stopLife(ctx context.Context) (*life, error) {
	release, err := s.act(ctx, "stop")
	if err != nil {
		return nil, err
	}
	defer release()
	l, err := s.current("stop", StateStarting, StateRunning)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	l.ending = StateStopped
	s.mu.Unlock()
	l.cancel()
	return l, nil
}

func (s *Slot) awaitEnd(ctx context.Context, action string, l *life) error {
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return sentence.Error(nil, "lastLifeGoesOn", "{doing}: its last life has not ended yet: {why}", doing(action, s.Name()), context.Cause(ctx))
	}
}

// Pause freezes the node's network and disk.
func (s *Slot) Pause(ctx context.Context) error {
	release, err := s.act(ctx, "pause")
	if err != nil {
		return err
	}
	defer release()
	l, err := s.current("pause", StateRunning)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != StateRunning || l.ending != StateFailed {
		return cannot("pause", s.Name(), sentence.Of("isEnding", "it is about to end"))
	}
	l.view.Freeze()
	l.disk.Freeze()
	s.state = StatePaused
	l.tracer.Emit(trace.NodePaused{})
	return nil
}

// Resume ends Pause.
func (s *Slot) Resume(ctx context.Context) error {
	release, err := s.act(ctx, "resume")
	if err != nil {
		return err
	}
	defer release()
	l, err := s.current("resume", StatePaused)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == StatePaused {
		s.state = StateRunning
		l.tracer.Emit(trace.NodeResumed{})
	}
	l.disk.Thaw()
	l.view.Thaw()
	return nil
}

// Disk is the disk of the node's life, for faults; nil before the first.
func (s *Slot) Disk() *disk.Faults {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life == nil {
		return nil
	}
	return s.life.disk
}

// Close ends the node for good: an orderly stop, or a kill where that is not possible or the context ends first. It returns after all of
// its goroutines ended, or with an error when they do not.
func (s *Slot) Close(ctx context.Context) error {
	err := s.Stop(ctx)
	if errors.Is(err, ErrWrongState) {
		err = nil
	}
	patience := context.WithoutCancel(ctx)
	if kill := s.Kill(patience); kill != nil && !errors.Is(kill, ErrWrongState) {
		return errors.Join(err, kill)
	}
	s.mu.Lock()
	l := s.life
	s.mu.Unlock()
	if l == nil {
		return err
	}
	afterKill, cancel := context.WithTimeout(patience, stopPatience)
	defer cancel()
	return errors.Join(err, s.awaitEnd(afterKill, "close", l))
}
