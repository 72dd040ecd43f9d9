package cluster

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"syscall"

	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/media"
	"twinlog/engine/node"
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

// life is one run of the node.
type life struct {
	config node.Config
	view   *fabric.View
	disk   *disk.Faults
	medium *media.View // nil: there is none
	tracer *trace.Tracer
	cancel context.CancelFunc
	killed atomic.Bool   // set before anything is taken from it
	ready  chan struct{} // closed when the node serves
	done   chan struct{} // closed when Run has returned and the state is set
	err    error         // of Run; read after done
	// node is set once it is made; guarded by Slot.mu.
	node Runnable
	// ending is the state that an end of Run leads to: StateFailed unless someone asked for it. Guarded by Slot.mu.
	ending string
}

// ended tells whether nothing of the node runs any more. A node that was killed may take a moment.
func (s *Slot) ended() bool {
	s.mu.Lock()
	l := s.life
	s.mu.Unlock()
	if l == nil {
		return true
	}
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// begin begins a life with the newest config. The caller has the turn, and the last life has ended.
func (s *Slot) begin() *life {
	ctx, cancel := context.WithCancel(context.Background())
	l := &life{
		view: s.fabric.Of(s.Name()), disk: disk.NewFaults(s.files), tracer: s.tracer.Life(), cancel: cancel,
		ready: make(chan struct{}), done: make(chan struct{}), ending: StateFailed,
	}
	if s.medium != nil {
		l.medium = media.NewView(s.medium)
	}
	s.mu.Lock()
	if s.next != nil {
		s.config, s.next = *s.next, nil
	}
	l.config = s.config
	s.life, s.state = l, StateStarting
	l.disk.Set(s.fault)
	s.tracer.Emit(trace.NodeStarted{Role: s.role, ID: s.id, Addresses: l.config.AddressesToTell()})
	if s.fault != (disk.Fault{}) {
		s.tracer.Emit(diskEvent(s.fault))
	}
	s.mu.Unlock()
	go s.live(ctx, l)
	return l
}

func (l *life) severMedium() {
	if l.medium != nil {
		l.medium.Sever()
	}
}

// live runs the node from the beginning to the end of a life.
func (s *Slot) live(ctx context.Context, l *life) {
	defer close(l.done)
	defer l.cancel()
	l.err = s.run(ctx, l)
	// Whatever is left of it, such as bytes on a slow link, ends with it.
	l.tracer.Silence()
	l.view.Sever()
	l.disk.Sever()
	l.severMedium()

	s.mu.Lock()
	ending := l.ending
	s.state = ending
	s.mu.Unlock()
	switch {
	case ending == StateKilled: // Kill has told of it, and the errors are what a kill does
		l.err = nil
		return
	case ending == StateFailed && l.err == nil:
		l.err = sentence.Error(nil, "nodeEnded", "node {node} ended without being asked to", s.Name())
	}
	event := trace.NodeStopped{Reason: ending}
	if l.err != nil {
		event.Detail, event.Why = l.err.Error(), whyEnded(l.err)
		s.logger.Error("the node ended with an error", "node", s.Name(), "error", l.err)
	}
	s.tracer.Emit(event)
}

// whyEnded says of an error that ended a node what can be said in any language; what the operating system said stays in its words.
func whyEnded(err error) *sentence.Sentence {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		said := sentence.Of("nodeDiskFull", "its disk is full ({error})", err.Error())
		return &said
	case errors.Is(err, syscall.EIO):
		said := sentence.Of("nodeDiskFailed", "its disk failed ({error})", err.Error())
		return &said
	}
	return sentence.Why(err)
}

func (s *Slot) run(ctx context.Context, l *life) error {
	surroundings := node.Surroundings{
		Network: l.view, Disk: l.disk, Tracer: l.tracer, Logger: slog.New(lifeLog{s.logger.Handler(), &l.killed}).With("node", s.Name()),
	}
	if l.medium != nil {
		surroundings.Medium = l.medium
	}
	n, err := s.make(l.config, surroundings)
	if err != nil {
		return err
	}
	s.mu.Lock()
	l.node = n
	s.mu.Unlock()
	finished := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-n.Ready():
			s.serves(l)
		case <-finished:
		}
	}()
	err = n.Run(ctx)
	close(finished)
	<-watched
	return err
}

// serves notes that the node is ready, unless its end has begun.
func (s *Slot) serves(l *life) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == StateStarting && l.ending == StateFailed {
		s.state = StateRunning
		l.tracer.Emit(trace.NodeReady{})
		close(l.ready)
	}
}
