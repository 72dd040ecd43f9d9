package visualizer

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"twinlog/engine/cluster"
	"twinlog/engine/sentence"
	"twinlog/engine/workload"
	"twinlog/engine/world"
	"twinlog/labs"
	"twinlog/visualizer/hub"
)

// Config is what the server serves. What is zero gets the value that is said here.
type Config struct {
	// Control is the nodes. Needed.
	Control cluster.Control
	// Web is the page, index.html at its top. Needed.
	Web fs.FS
	// Listen is the address to listen on; 127.0.0.1:7700.
	Listen string
	// Listener, when given, is used instead of Listen, and Run closes it.
	Listener net.Listener
	// Token is the teacher's. It is asked for when it is set, or when Listen can be reached from another machine; then a random one is
	// made if it is empty.
	Token string
	// Hosts are names, besides those of this machine and all IP addresses, through which a server that is not on loopback may be asked.
	Hosts []string
	// Workloads starts demo workloads; nil: the routes answer 501.
	Workloads Workloads
	// Administration acts on the clusters through their protocols; nil: the routes answer 501.
	Administration Administration
	// Sources is the engines' code, engine/ at its top, for readers; nil: the route answers 501.
	Sources fs.FS
	// Labs makes the labs out of the trace that they check; nil: the routes answer 501.
	Labs func(labs.Trace) (Labs, error)
	// Situations makes the player of famous situations, which looks at the state that observe gives; nil: the routes answer 501.
	Situations func(observe func(context.Context) (*world.State, error)) Situations
	// Recorder keeps the run beyond the window; nil for none.
	Recorder hub.Recorder
	// Runs are the recorded runs; nil: the routes answer 501.
	Runs Runs
	// Run is the name of the run that Recorder records.
	Run    string
	Logger *slog.Logger
}

// Workloads is the part of workload.Manager that the server needs.
type Workloads interface {
	List() []workload.Status
	Start(ctx context.Context, spec workload.Spec) (workload.Status, error)
	Change(ctx context.Context, id string, change workload.Change) (workload.Status, error)
	Stop(ctx context.Context, id string) (workload.Status, error)
}

// Server is the page's server.
type Server struct {
	config     Config
	hub        *hub.Hub
	labs       Labs
	situations Situations
	loopback   bool
	listener   net.Listener
	handler    http.Handler
	ready      chan struct{}
	served     atomic.Bool // every node served at the same time once
	streams    sync.WaitGroup
	// One recorded run at a time is folded, and one file read: each takes some memory and time.
	folding, importing chan struct{}
}

const defaultListen = "127.0.0.1:7700"

// The bounds of a request.
const (
	maxBodyBytes   = 64 << 10
	maxHeaderBytes = 32 << 10
	// actionTimeout bounds what a request may set going: starting a node is the longest.
	actionTimeout = 30 * time.Second
	// goodbye is how long open requests may take when the server ends.
	goodbye = 2 * time.Second
)

// New opens the port and returns a server that begins to serve when it runs.
func New(config Config) (*Server, error) {
	if config.Control == nil {
		return nil, errors.New("visualizer: Config.Control is missing")
	}
	if config.Web == nil {
		return nil, errors.New("visualizer: Config.Web is missing")
	}
	config.Listen = cmp.Or(config.Listen, defaultListen)
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{config: config, loopback: isLoopback(config.Listen), ready: make(chan struct{}),
		folding: make(chan struct{}, 1), importing: make(chan struct{}, 1)}
	if s.config.Token == "" && !s.loopback {
		s.config.Token = rand.Text()
	}
	var err error
	gather := hub.Config{Drain: config.Control.Drain, Recorder: config.Recorder, Logger: config.Logger}
	checked := newCheckedRecords(config.Logger)
	if config.Labs != nil {
		gather.Seen = checked.take
	}
	s.hub, err = hub.New(gather)
	if err != nil {
		return nil, err
	}
	if config.Labs != nil {
		if s.labs, err = config.Labs(labTrace{s.hub, checked}); err != nil {
			return nil, err
		}
	}
	if config.Situations != nil {
		s.situations = config.Situations(s.observe)
	}
	s.handler = s.routes()
	s.listener = config.Listener
	if s.listener == nil {
		if s.listener, err = net.Listen("tcp", config.Listen); err != nil {
			return nil, fmt.Errorf("visualizer: opening the page's port %s: %w; another program has it: use --port-offset", config.Listen, err)
		}
	}
	return s, nil
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Hub is the gathered trace, for the labs.
func (s *Server) Hub() *hub.Hub { return s.hub }

// Token is what every request needs, empty when none is asked for.
func (s *Server) Token() string { return s.config.Token }

// URL is where the page is, with the token when one is asked for.
func (s *Server) URL() string {
	host, port, err := net.SplitHostPort(s.listener.Addr().String())
	if err != nil {
		return "http://" + s.listener.Addr().String() + "/"
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	url := "http://" + net.JoinHostPort(host, port) + "/"
	if s.config.Token != "" {
		url += "?token=" + s.config.Token
	}
	return url
}

// Ready is closed when the page can be asked for.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Run serves until the context ends, and returns after all its goroutines have.
func (s *Server) Run(ctx context.Context) error {
	gathering, stopGathering := context.WithCancel(context.WithoutCancel(ctx))
	defer stopGathering()
	gathered := make(chan error, 1)
	go func() { gathered <- s.hub.Run(gathering) }()

	server := &http.Server{
		Handler: s.handler, MaxHeaderBytes: maxHeaderBytes,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(s.config.Logger.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(s.listener) }()
	close(s.ready)

	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
		served <- nil
	}
	// The hub's end ends the streams, which Shutdown does not wait for.
	stopGathering()
	err = errors.Join(err, <-gathered)
	leaving, stopLeaving := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer stopLeaving()
	if server.Shutdown(leaving) != nil {
		_ = server.Close() // what did not end in time is cut off
	}
	if serveErr := <-served; serveErr != nil && !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	s.streams.Wait()
	return err
}

func (s *Server) routes() http.Handler {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.HandleMethodNotAllowed = true
	engine.Use(s.recover, s.headers, s.guardHost, s.guardOrigin, s.guardToken, boundBody)
	routes := s.table()
	for _, route := range routes {
		engine.Handle(route.method, apiPrefix+route.path, route.handle)
	}
	engine.GET(apiPrefix+"/openapi.json", s.openAPI(routes))
	engine.NoRoute(s.page(s.config.Web))
	engine.NoMethod(func(c *gin.Context) {
		refuse(c, http.StatusMethodNotAllowed, "methodNotAllowed", sentence.Of("methodNotAllowed", "{method} is not for {path}", c.Request.Method, c.Request.URL.Path))
	})
	return engine
}

func (s *Server) recover(c *gin.Context) {
	defer func() {
		if failure := recover(); failure != nil {
			if failure == http.ErrAbortHandler {
				panic(failure)
			}
			s.config.Logger.Error("a request failed", "method", c.Request.Method, "path", c.Request.URL.Path, "panic", failure)
			if !c.Writer.Written() {
				refuse(c, http.StatusInternalServerError, "failed", sentence.Of("serverFailed", "the server failed at this request; its log says how"))
			}
		}
	}()
	c.Next()
}
