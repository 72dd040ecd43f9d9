package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/disk"
	"twinlog/engine/ensemble/server"
	"twinlog/engine/fabric"
	"twinlog/engine/fabric/freeport"
	"twinlog/engine/trace"
)

// ensemble is servers over TCP and real directories.
type ensemble struct {
	t       *testing.T
	configs map[int]server.Config
	running map[int]*running
	fabric  *fabric.Fabric
	views   map[string]*fabric.View
}

type running struct {
	server *server.Server
	cancel context.CancelFunc
	done   chan error
	view   *fabric.View
	tracer *trace.Tracer
}

func newEnsemble(t *testing.T, servers int, adjust func(*server.Config)) *ensemble {
	t.Helper()
	e := &ensemble{t: t, configs: map[int]server.Config{}, running: map[int]*running{}, fabric: fabric.NewTCP(), views: map[string]*fabric.View{}}
	peers := map[int]string{}
	for id := 1; id <= servers; id++ {
		peers[id] = freeport.Address(t)
	}
	for id := 1; id <= servers; id++ {
		d, err := disk.NewOS(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		config := server.Config{
			ID: id, Peers: peers, ClientAddress: freeport.Address(t), PeerAddress: peers[id], Disk: d, TickTime: 500 * time.Millisecond,
		}
		if testing.Verbose() && os.Getenv("ENSEMBLE_LOG") != "" {
			config.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})).With("server", id)
		}
		if adjust != nil {
			adjust(&config)
		}
		e.configs[id] = config
	}
	t.Cleanup(func() {
		for id := range e.running {
			e.stop(id)
		}
	})
	return e
}

func (e *ensemble) start(ids ...int) {
	e.t.Helper()
	for _, id := range ids {
		config := e.configs[id]
		view := e.fabric.Of(fmt.Sprintf("ensemble-%d", id))
		config.Network = view
		config.Tracer = trace.NewTracer("test", fmt.Sprintf("ensemble-%d", id), 1<<20)
		s, err := server.New(config)
		if err != nil {
			e.t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		r := &running{server: s, cancel: cancel, done: make(chan error, 1), view: view, tracer: config.Tracer}
		e.running[id] = r
		go func() { r.done <- s.Run(ctx) }()
	}
}

func (e *ensemble) awaitReady(ids ...int) {
	e.t.Helper()
	for _, id := range ids {
		select {
		case <-e.running[id].server.Ready():
		case err := <-e.running[id].done:
			e.running[id].done <- err // stop takes it too
			e.t.Fatalf("server %d ended: %v", id, err)
		case <-time.After(patience):
			e.t.Fatalf("server %d is not ready", id)
		}
	}
}

func (e *ensemble) stop(id int) {
	r := e.running[id]
	delete(e.running, id)
	r.cancel()
	if err := <-r.done; err != nil {
		e.t.Errorf("server %d: %v", id, err)
	}
}

// kill takes a server's network away before it ends.
func (e *ensemble) kill(id int) {
	e.running[id].view.Sever()
	e.stop(id)
}

func (e *ensemble) addresses(ids ...int) []string {
	var addresses []string
	for _, id := range ids {
		addresses = append(addresses, e.configs[id].ClientAddress)
	}
	return addresses
}

// patience is how long anything is waited for before a test gives up. It bounds a failure only.
const patience = 90 * time.Second

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func (e *ensemble) connect(timeout time.Duration, ids ...int) (*zk.Conn, <-chan zk.Event) {
	e.t.Helper()
	conn, events, err := zk.Connect(e.addresses(ids...), timeout, zk.WithLogger(quiet{}))
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(conn.Close)
	return conn, events
}

func TestThreeServersServeAClient(t *testing.T) {
	e := newEnsemble(t, 3, nil)
	began := time.Now()
	e.start(1, 2, 3)
	e.awaitReady(1, 2, 3)
	t.Logf("ready after %v", time.Since(began))
	for id := 1; id <= 3; id++ {
		conn, _ := e.connect(20*time.Second, id)
		path := fmt.Sprintf("/from-%d", id)
		began := time.Now()
		if created, err := conn.Create(path, []byte("x"), 0, zk.WorldACL(zk.PermAll)); err != nil || created != path {
			t.Fatalf("create through server %d: %q, %v", id, created, err)
		}
		t.Logf("connect and create through %d: %v", id, time.Since(began))
	}
	for id := 1; id <= 3; id++ {
		conn, _ := e.connect(20*time.Second, id)
		if _, err := conn.Sync("/"); err != nil {
			t.Fatal(err)
		}
		children, _, err := conn.Children("/")
		if err != nil || len(children) != 4 {
			t.Fatalf("children at server %d: %v, %v", id, children, err)
		}
	}
}
