package attach_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"twinlog/engine/attach"
	"twinlog/engine/cluster"
	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/gossip"
	"twinlog/engine/node"
	"twinlog/engine/trace"
)

// idle is a node that does nothing until it is told to end.
type idle struct{ ready chan struct{} }

func makeIdle(node.Config, node.Surroundings) (cluster.Runnable, error) {
	return &idle{ready: make(chan struct{})}, nil
}

func (n *idle) Ready() <-chan struct{} { return n.ready }

func (n *idle) Run(ctx context.Context) error {
	close(n.ready)
	<-ctx.Done()
	return nil
}

// process is what is in a container: a slot and its agent.
type process struct {
	slot   *cluster.Slot
	fabric *fabric.Fabric
	member gossip.Process
	cancel context.CancelFunc
	ended  chan error
	conns  *tracked
}

// tracked is a listener that can crash: all its connections are reset.
type tracked struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func (l *tracked) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.mu.Lock()
		l.conns = append(l.conns, conn)
		l.mu.Unlock()
	}
	return conn, err
}

func startProcess(t *testing.T, id int, run string) *process {
	t.Helper()
	p := &process{fabric: fabric.NewTCP(), ended: make(chan error, 1)}
	config := node.Config{
		Role: node.RoleKafka, ID: id, Pace: node.Classroom, ZooKeeper: []string{"nowhere:2181"},
		Addresses: map[string]node.Address{node.PurposeKafka: {Listen: fmt.Sprintf("127.0.0.1:%d", 9091+id)}},
	}
	p.slot = cluster.NewSlot(cluster.SlotConfig{
		Node: config, Fabric: p.fabric, Disk: disk.NewMemory(), Tracer: trace.NewTracer(run, config.Name(), 1000), Make: makeIdle,
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	p.conns = &tracked{Listener: listener}
	agent := attach.NewAgent(attach.AgentConfig{Slot: p.slot, Fabric: p.fabric, Run: run, Listener: p.conns})
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	go func() { p.ended <- agent.Run(ctx) }()
	check(t, p.slot.Start(ctx))
	p.member = gossip.Process{Name: config.Name(), Run: run, Role: config.Role, ID: id, Control: listener.Addr().String()}
	return p
}

// stop is the end of a container by SIGTERM.
func (p *process) stop(t *testing.T) {
	t.Helper()
	check(t, p.slot.Close(t.Context()))
	p.cancel()
	check(t, <-p.ended)
}

// crash is the end of a container by SIGKILL: nothing is said any more.
func (p *process) crash(t *testing.T) {
	t.Helper()
	p.conns.Close()
	p.conns.mu.Lock()
	for _, conn := range p.conns.conns {
		_ = conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
	p.conns.mu.Unlock()
	p.cancel()
	<-p.ended
	check(t, p.slot.Close(t.Context()))
}

// members is a gossip that knows what it was told.
type members struct {
	mu        sync.Mutex
	processes []gossip.Process
	changed   chan struct{}
}

func (m *members) Processes() []gossip.Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.processes)
}

func (m *members) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

func (m *members) set(processes ...*process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.processes = nil
	for _, p := range processes {
		m.processes = append(m.processes, p.member)
	}
	close(m.changed)
	m.changed = make(chan struct{})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// watcher is a Remote with what it drained.
type watcher struct {
	*attach.Remote
	records []trace.Record
}

func (w *watcher) await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		w.records = w.Drain(w.records)
		if condition() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: nodes %+v, records %+v", what, w.Nodes(), w.records)
		}
	}
}

func (w *watcher) state(name string) string {
	for _, status := range w.Nodes() {
		if status.Name == name {
			return status.State
		}
	}
	return ""
}

func (w *watcher) kinds(name string) (kinds []string) {
	for _, record := range w.records {
		if record.Node != name {
			continue
		}
		kind := record.Kind
		if stopped, ok := record.Data.(trace.NodeStopped); ok {
			kind += " " + stopped.Reason
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

func watch(t *testing.T, m *members) *watcher {
	t.Helper()
	w := &watcher{Remote: attach.NewRemote(attach.RemoteConfig{Members: m})}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		check(t, <-ended)
		goleak.VerifyNone(t)
	})
	return w
}

func TestRemoteNodes(t *testing.T) {
	m := &members{changed: make(chan struct{})}
	w := watch(t, m)
	one, two := startProcess(t, 1, "run-a"), startProcess(t, 2, "run-b")
	m.set(two, one)
	w.await(t, "both run", func() bool {
		return w.state("kafka-1") == cluster.StateRunning && w.state("kafka-2") == cluster.StateRunning && len(w.records) == 4
	})
	if nodes := w.Nodes(); nodes[0].Name != "kafka-1" || nodes[0].Addresses["kafka"] != "127.0.0.1:9092" {
		t.Fatalf("nodes are %+v", nodes)
	}
	check(t, w.Kill(t.Context(), "kafka-1"))
	if state := w.state("kafka-1"); state != cluster.StateKilled {
		t.Fatalf("killed, it is %s", state)
	}
	if err := w.Pause(t.Context(), "kafka-1"); !errors.Is(err, cluster.ErrWrongState) {
		t.Fatalf("pausing a dead node: %v", err)
	}
	if err := w.Kill(t.Context(), "kafka-3"); !errors.Is(err, cluster.ErrUnknownNode) {
		t.Fatalf("an unknown node: %v", err)
	}
	check(t, w.Start(t.Context(), "kafka-1"))
	check(t, w.Pause(t.Context(), "kafka-1"))
	check(t, w.Resume(t.Context(), "kafka-1"))
	want := []string{"node.started", "node.ready", "node.stopped killed", "node.started", "node.ready", "node.paused", "node.resumed"}
	w.await(t, "the trace of kafka-1", func() bool { return slices.Equal(w.kinds("kafka-1"), want) })
	one.stop(t)
	w.await(t, "stopped in order", func() bool { return w.state("kafka-1") == cluster.StateStopped })
	two.stop(t)
}

func TestRemoteLinks(t *testing.T) {
	m := &members{changed: make(chan struct{})}
	w := watch(t, m)
	one, two := startProcess(t, 1, "run-a"), startProcess(t, 2, "run-b")
	m.set(one, two)
	w.await(t, "both run", func() bool { return len(w.records) == 4 })
	rule := fabric.Link{Delay: time.Second}
	check(t, w.SetLink("kafka-1", "kafka-2", rule))
	for _, p := range []*process{one, two} {
		if rules := p.fabric.Links(); len(rules) != 1 || rules[0].Link != rule {
			t.Fatalf("%s has the rules %+v", p.slot.Name(), rules)
		}
	}
	if links := w.Links(); len(links) != 1 || links[0].Link != rule {
		t.Fatalf("links are %+v", links)
	}
	w.await(t, "the event", func() bool { return slices.Contains(w.kinds("kafka-1"), "node.linkChanged") })
	if slices.Contains(w.kinds("kafka-2"), "node.linkChanged") {
		t.Fatal("the change was recorded twice")
	}
	if err := w.SetLink("kafka-1", "kafka-9", rule); !errors.Is(err, cluster.ErrUnknownNode) {
		t.Fatalf("an unknown node: %v", err)
	}
	one.stop(t)
	two.stop(t)
}

// A container that is killed says nothing: its node is lost, and comes back with the container.
func TestLostAndFound(t *testing.T) {
	m := &members{changed: make(chan struct{})}
	w := watch(t, m)
	one := startProcess(t, 1, "run-a")
	m.set(one)
	w.await(t, "it runs", func() bool { return w.state("kafka-1") == cluster.StateRunning && len(w.records) == 2 })
	one.crash(t)
	w.await(t, "it is lost", func() bool {
		return w.state("kafka-1") == cluster.StateLost && slices.Equal(w.kinds("kafka-1"), []string{"node.started", "node.ready", "node.stopped lost"})
	})
	if err := w.Kill(t.Context(), "kafka-1"); !errors.Is(err, attach.ErrLost) {
		t.Fatalf("killing what is lost: %v", err)
	}
	again := startProcess(t, 1, "run-c")
	m.set(again)
	w.await(t, "it runs again", func() bool { return w.state("kafka-1") == cluster.StateRunning && len(w.records) == 5 })
	again.stop(t)
}
