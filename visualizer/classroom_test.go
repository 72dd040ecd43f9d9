package visualizer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"twinlog/engine/cluster"
	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/trace"
	"twinlog/engine/workload"
	"twinlog/visualizer/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// classroom is a cluster.Control without engines: nodes that only have a state, and a trace that says what was done to them.
type classroom struct {
	mu      sync.Mutex
	nodes   []cluster.NodeStatus
	links   map[string]cluster.LinkRule
	tracers map[string]*trace.Tracer
	// What do_test.go's actions do.
	disks     map[string]disk.Fault
	corrupted cluster.Corruption
	files     map[string][]cluster.StoredFile // of nodes that have other files than the rest
}

func newClassroom() *classroom {
	c := &classroom{links: map[string]cluster.LinkRule{}, tracers: map[string]*trace.Tracer{}}
	for i, role := range []string{"ensemble", "kafka", "kafka", "pulsar"} {
		node := cluster.NodeStatus{Name: fmt.Sprintf("%s-%d", role, i+1), Role: role, ID: i + 1, State: cluster.StateStarting}
		c.nodes = append(c.nodes, node)
		c.tracers[node.Name] = trace.NewTracer("run", node.Name, 100_000)
		c.tracers[node.Name].Emit(trace.NodeStarted{Role: role, ID: i + 1})
	}
	return c
}

func (c *classroom) serve() {
	for _, node := range c.Nodes() {
		_ = c.change(node.Name, cluster.StateRunning, trace.NodeReady{}, cluster.StateStarting)
	}
}

func (c *classroom) change(name, state string, event trace.Event, from ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.nodes {
		if c.nodes[i].Name != name {
			continue
		}
		for _, allowed := range from {
			if c.nodes[i].State == allowed {
				c.nodes[i].State = state
				c.tracers[name].Emit(event)
				return nil
			}
		}
		return fmt.Errorf("the node is %s: %w", c.nodes[i].State, cluster.ErrWrongState)
	}
	return cluster.ErrUnknownNode
}

func (c *classroom) Nodes() []cluster.NodeStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]cluster.NodeStatus(nil), c.nodes...)
}

func (c *classroom) Kill(_ context.Context, node string) error {
	return c.change(node, cluster.StateKilled, trace.NodeStopped{Reason: "killed"}, cluster.StateRunning, cluster.StatePaused)
}

func (c *classroom) Stop(_ context.Context, node string) error {
	return c.change(node, cluster.StateStopped, trace.NodeStopped{Reason: "stopped"}, cluster.StateRunning)
}

func (c *classroom) Start(_ context.Context, node string) error {
	return c.change(node, cluster.StateRunning, trace.NodeReady{}, cluster.StateKilled, cluster.StateStopped)
}

func (c *classroom) Pause(_ context.Context, node string) error {
	return c.change(node, cluster.StatePaused, trace.NodePaused{}, cluster.StateRunning)
}

func (c *classroom) Resume(_ context.Context, node string) error {
	return c.change(node, cluster.StateRunning, trace.NodeResumed{}, cluster.StatePaused)
}

func (c *classroom) Links() []cluster.LinkRule {
	c.mu.Lock()
	defer c.mu.Unlock()
	var rules []cluster.LinkRule
	for _, rule := range c.links {
		rules = append(rules, rule)
	}
	return rules
}

func (c *classroom) SetLink(from, to string, link fabric.Link) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if link == (fabric.Link{}) {
		delete(c.links, from+">"+to)
		return nil
	}
	c.links[from+">"+to] = cluster.LinkRule{From: from, To: to, Link: link}
	return nil
}

func (c *classroom) Drain(records []trace.Record) []trace.Record {
	for _, node := range c.Nodes() {
		records = c.tracers[node.Name].Drain(records)
	}
	return records
}

// workloads is a Workloads that runs nothing.
type workloads struct{ running []workload.Status }

func (w *workloads) List() []workload.Status { return w.running }

func (w *workloads) Start(_ context.Context, spec workload.Spec) (workload.Status, error) {
	if spec.Engine == "rabbit" {
		return workload.Status{}, fmt.Errorf("engine %q: %w", spec.Engine, workload.ErrInvalid)
	}
	status := workload.Status{ID: fmt.Sprint(len(w.running) + 1), Spec: spec, Sides: []workload.Counts{}}
	w.running = append(w.running, status)
	return status, nil
}

func (w *workloads) Change(_ context.Context, id string, change workload.Change) (workload.Status, error) {
	for _, status := range w.running {
		if status.ID == id {
			status.Spec.Consumers = change.Consumers
			return status, nil
		}
	}
	return workload.Status{}, workload.ErrUnknown
}

func (w *workloads) Stop(_ context.Context, id string) (workload.Status, error) {
	for _, status := range w.running {
		if status.ID == id {
			return status, nil
		}
	}
	return workload.Status{}, workload.ErrUnknown
}

var testPage = fstest.MapFS{
	"index.html":         &fstest.MapFile{Data: []byte("<!doctype html><title>page</title>")},
	"assets/app-1234.js": &fstest.MapFile{Data: []byte("export {}")},
}

// serving starts a server on a free port and ends it with the test.
func serving(t *testing.T, config Config) (*Server, string) {
	t.Helper()
	if config.Control == nil {
		config.Control = newClassroom()
	}
	if config.Web == nil {
		config.Web = testPage
	}
	if config.Listen == "" {
		config.Listen = "127.0.0.1:0"
	}
	server, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- server.Run(ctx) }()
	<-server.Ready()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return server, "http://" + server.listener.Addr().String()
}

// ask sends a request with extra headers and returns the status and the body.
func ask(t *testing.T, method, url, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		}
		request.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}

func decode[T any](t *testing.T, text string) (value T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

// mustRefuse looks for a refusal of a status and code.
func mustRefuse(t *testing.T, status int, body string, wantStatus int, wantCode string) {
	t.Helper()
	problem := decode[wire.Problem](t, body)
	if status != wantStatus || problem.Error.Code != wantCode || problem.Error.Message == "" {
		t.Errorf("got %d %s, want %d %s", status, body, wantStatus, wantCode)
	}
}
