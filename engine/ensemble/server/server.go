package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// inboxSize bounds the events that wait for the owner; who has one more waits.
const inboxSize = 2048

// Server is one server of an ensemble.
type Server struct {
	config Config
	ready  chan struct{}
	// inbox is the owner's; stopped is closed when nobody reads it any more.
	inbox   chan event
	stopped chan struct{}
	tasks   sync.WaitGroup

	clientNumber atomic.Int64
	connections  atomic.Int64
	ran          atomic.Bool
}

// event is something that the owner is to do.
type event interface{ happen(*owner) }

// New checks a configuration. Nothing is opened before Run.
func New(config Config) (*Server, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Server{config: config, ready: make(chan struct{}), inbox: make(chan event, inboxSize), stopped: make(chan struct{})}, nil
}

// Ready is closed once the server serves for the first time: a leader is known, and this server has applied all that was committed
// when it came up. If it has lost its disk, another server may lose its own from then on.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Run serves until ctx ends, and returns after all its goroutines have. It returns nil after an orderly end, and an error when the
// server could not start or its disk failed: its promises are then no longer safe to give. It can be called once.
func (s *Server) Run(ctx context.Context) error {
	if s.ran.Swap(true) {
		return errors.New("ensemble server: Run was called twice")
	}
	if err := s.run(ctx); err != nil {
		return fmt.Errorf("ensemble server %d: %w", s.config.ID, err)
	}
	return nil
}

func (s *Server) run(asked context.Context) (err error) {
	storage, recovered, err := openStorage(s.config.Disk, s.config.LogSegmentBytes, s.config.KeptEntries)
	if err != nil {
		return err
	}
	// The goroutines go on for a moment after asked has ended, so that a leader can hand over.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(asked))
	defer cancel(nil)
	listeners, err := s.listen()
	if err != nil {
		storage.abandon()
		return err
	}
	err = contained(func() error {
		o, err := newOwner(ctx, s, storage, recovered)
		if err != nil {
			return err
		}
		s.start(ctx, cancel, o, listeners)
		return o.run(asked, ctx)
	})
	cancel(err)
	closeAll(listeners)
	close(s.stopped)
	s.tasks.Wait()
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	if err != nil {
		storage.abandon()
		return err
	}
	// A close that fails loses nothing: all that was promised was synced. After a kill it fails because the disk is gone.
	if closeErr := storage.close(); closeErr != nil {
		s.config.Logger.Debug("closing the Raft log", "error", closeErr)
	}
	return nil
}

// listen opens the addresses: first the clients', then, unless the server is alone, the peers'.
func (s *Server) listen() ([]net.Listener, error) {
	clients, err := s.config.Network.Listen(s.config.ClientAddress)
	if err != nil {
		return nil, fmt.Errorf("listening for clients on %s: %w", s.config.ClientAddress, err)
	}
	if s.config.PeerAddress == "" {
		return []net.Listener{clients}, nil
	}
	peers, err := s.config.Network.Listen(s.config.PeerAddress)
	if err != nil {
		_ = clients.Close()
		return nil, fmt.Errorf("listening for peers on %s: %w", s.config.PeerAddress, err)
	}
	return []net.Listener{clients, peers}, nil
}

// start begins the goroutines around the owner. The first one that fails ends the server.
func (s *Server) start(ctx context.Context, cancel context.CancelCauseFunc, o *owner, listeners []net.Listener) {
	task := func(run func() error) {
		s.tasks.Go(func() {
			if err := run(); err != nil {
				cancel(err)
			}
		})
	}
	task(func() error { return o.storage.run(ctx, func(jobs []storageJob) { o.stored(jobs) }) })
	task(func() error { return s.acceptClients(ctx, listeners[0]) })
	if len(listeners) > 1 {
		task(func() error { return o.transport.accept(listeners[1]) })
	}
	s.tasks.Go(func() { <-ctx.Done(); closeAll(listeners) })
}

func closeAll(listeners []net.Listener) {
	for _, listener := range listeners {
		_ = listener.Close()
	}
}

// post gives the owner an event and waits until it fits; false when the owner has ended.
func (s *Server) post(e event) bool {
	select {
	case s.inbox <- e:
		return true
	case <-s.stopped:
		return false
	}
}

// nowMS is the wall clock, in milliseconds since 1970.
func nowMS() int64 { return time.Now().UnixMilli() }
