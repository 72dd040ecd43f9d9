package reactor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"twinlog/engine/trace"
)

// Config is what a Server needs. Zero values are replaced by Kafka's defaults.
type Config struct {
	Table  *Table
	Tracer *trace.Tracer
	Logger *slog.Logger
	// Purgatory is where the handlers let requests wait; the trace tells of it. It may be nil.
	Purgatory *Purgatory
	// TopicNames may be nil.
	TopicNames TopicNamer

	Processors      int           // num.network.threads; 3
	Handlers        int           // num.io.threads; 8
	QueuedRequests  int           // queued.max.requests; 500
	MaxConnections  int           // max.connections; 10,000
	MaxRequestBytes int           // socket.request.max.bytes; 100 MiB
	IdleTimeout     time.Duration // connections.max.idle.ms; 10 min
}

func (c *Config) setDefaults() {
	setDefault(&c.Processors, 3)
	setDefault(&c.Handlers, 8)
	setDefault(&c.QueuedRequests, 500)
	setDefault(&c.MaxConnections, 10_000)
	setDefault(&c.MaxRequestBytes, MaxFrameSize)
	setDefault(&c.IdleTimeout, 10*time.Minute)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// Server is the acceptors, the processors, the request queue and the handlers.
type Server struct {
	config Config
	table  *Table
	tracer *trace.Tracer
	logger *slog.Logger

	queue       chan *Request
	processors  []*processor
	connections atomic.Int64
	refused     atomic.Int64
	gauge       gauge
	stopping    chan struct{}
}

// NewServer returns a server that Serve starts.
func NewServer(config Config) (*Server, error) {
	config.setDefaults()
	if config.Table == nil {
		return nil, errors.New("reactor: a server needs a table of APIs")
	}
	s := &Server{
		config: config, table: config.Table, tracer: config.Tracer, logger: config.Logger,
		queue: make(chan *Request, config.QueuedRequests), stopping: make(chan struct{}),
	}
	for range config.Processors {
		s.processors = append(s.processors, &processor{connections: map[*connection]struct{}{}})
	}
	return s, nil
}

// Listener is a listening socket and the name by which brokers know it.
type Listener struct {
	Name     string
	Listener net.Listener
}

// Serve accepts and serves until the context ends. It closes the listeners and every connection, and returns when all its goroutines
// have ended. A server serves once.
func (s *Server) Serve(ctx context.Context, listeners ...Listener) error {
	var acceptors, handlers sync.WaitGroup
	handlers.Go(s.measure)
	for range s.config.Handlers {
		handlers.Go(s.handle)
	}
	failed := make(chan error, len(listeners))
	for _, listener := range listeners {
		acceptors.Go(func() {
			if err := s.accept(listener); err != nil {
				failed <- err
			}
		})
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	close(s.stopping)
	for _, listener := range listeners {
		listener.Listener.Close()
	}
	acceptors.Wait()
	for _, p := range s.processors {
		p.stop()
	}
	close(s.queue) // all that put requests in have ended
	handlers.Wait()
	return err
}

// accept is the acceptor of one listener.
func (s *Server) accept(listener Listener) error {
	for next := 0; ; next++ {
		conn, err := listener.Listener.Accept()
		if err != nil {
			select {
			case <-s.stopping:
				return nil
			default:
			}
			if temporary(err) { // out of file descriptors: existing connections go on, new ones wait
				s.logger.Warn("a connection could not be accepted", "listener", listener.Name, "error", err)
				select {
				case <-time.After(100 * time.Millisecond):
				case <-s.stopping:
				}
				continue
			}
			return fmt.Errorf("listener %s no longer accepts connections: %w", listener.Name, err)
		}
		if s.connections.Load() >= int64(s.config.MaxConnections) {
			if s.refused.Add(1)%1000 == 1 {
				s.logger.Warn("too many connections; new ones are closed", "limit", s.config.MaxConnections, "refused", s.refused.Load())
			}
			conn.Close()
			continue
		}
		s.processors[next%len(s.processors)].adopt(newConnection(s, listener.Name, conn))
	}
}

func temporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// handle is one handler.
func (s *Server) handle() {
	for request := range s.queue {
		api, _ := s.table.Find(request.Key)
		s.gauge.begin(request)
		api.Handle(request)
		s.gauge.end()
	}
}

// processor owns a share of the connections.
type processor struct {
	mu          sync.Mutex
	connections map[*connection]struct{}
	stopped     bool
	running     sync.WaitGroup
}

func (p *processor) adopt(c *connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		c.conn.Close()
		return
	}
	p.connections[c] = struct{}{}
	c.server.connections.Add(1)
	p.running.Go(func() {
		c.serve()
		c.server.connections.Add(-1)
		p.mu.Lock()
		delete(p.connections, c)
		p.mu.Unlock()
	})
}

// stop closes all connections and waits for their goroutines.
func (p *processor) stop() {
	p.mu.Lock()
	p.stopped = true
	for c := range p.connections {
		c.conn.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
}
