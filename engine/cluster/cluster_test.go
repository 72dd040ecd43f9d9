package cluster_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"twinlog/engine/cluster"
	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/node"
	"twinlog/engine/trace"
)

// counter is a node that counts the lines which it is sent: it answers each with the count, and keeps the count in a file.
type counter struct {
	surroundings node.Surroundings
	address      string
	ready        chan struct{}
}

func makeCounter(config node.Config, surroundings node.Surroundings) (cluster.Runnable, error) {
	if config.ID == 99 {
		return nil, errors.New("99 cannot be made")
	}
	return &counter{surroundings: surroundings, address: config.Addresses[node.PurposeKafka].Listen, ready: make(chan struct{})}, nil
}

func (c *counter) Ready() <-chan struct{} { return c.ready }

func (c *counter) Run(ctx context.Context) error {
	file, err := c.surroundings.Disk.OpenFile("count", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer file.Close()
	listener, err := c.surroundings.Network.Listen(c.address)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	close(c.ready)
	var all sync.WaitGroup
	defer all.Wait()
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				_, err = file.WriteAt([]byte("bye"), 100) // an orderly shutdown would leave this
				return err
			}
			return err
		}
		all.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			c.serve(conn, file)
		})
	}
}

func (c *counter) serve(conn net.Conn, file disk.File) {
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		size, err := file.Size()
		if err != nil {
			return
		}
		if _, err := file.WriteAt([]byte("x"), size); err != nil {
			return
		}
		c.surroundings.Tracer.Emit(trace.RecordsDropped{Count: size + 1})
		if _, err := fmt.Fprintln(conn, size+1); err != nil {
			return
		}
	}
}

func config(id int) node.Config {
	return node.Config{
		Role: node.RoleKafka, ID: id, ZooKeeper: []string{"nowhere:2181"}, Pace: node.Classroom,
		Addresses: map[string]node.Address{node.PurposeKafka: {Listen: fmt.Sprintf("127.0.0.1:%d", 9091+id)}},
	}
}

type harness struct {
	*cluster.Cluster
	fabric *fabric.Fabric
	disks  map[string]*disk.Memory
}

// run runs a test in a bubble with a cluster of three counters.
func run(t *testing.T, test func(t *testing.T, h *harness)) {
	synctest.Test(t, func(t *testing.T) {
		h := &harness{fabric: fabric.NewMemory(), disks: map[string]*disk.Memory{}}
		c, err := cluster.New(cluster.Config{
			Nodes: []node.Config{config(3), config(1), config(2)}, Fabric: h.fabric, Run: "run", Make: makeCounter,
			Disk: func(name string) (disk.Disk, error) {
				h.disks[name] = disk.NewMemory()
				return h.disks[name], nil
			},
		})
		check(t, err)
		h.Cluster = c
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		<-c.Ready()
		test(t, h)
		cancel()
		check(t, <-ended)
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (h *harness) state(name string) string {
	for _, status := range h.Nodes() {
		if status.Name == name {
			return status.State
		}
	}
	return "unknown"
}

func (h *harness) expect(t *testing.T, name, state string) {
	t.Helper()
	if got := h.state(name); got != state {
		t.Fatalf("%s is %s, not %s", name, got, state)
	}
}

func (h *harness) dial(t *testing.T, from, address string) net.Conn {
	t.Helper()
	view := h.fabric.Of(from)
	t.Cleanup(view.Sever)
	conn, err := view.Dial(t.Context(), address)
	check(t, err)
	return conn
}

func ask(conn net.Conn) (string, error) {
	if _, err := io.WriteString(conn, "line\n"); err != nil {
		return "", err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(answer), err
}

func (h *harness) kinds() (kinds []string) {
	for _, record := range h.Drain(nil) {
		if record.Node == "kafka-1" {
			kind := record.Kind
			if stopped, ok := record.Data.(trace.NodeStopped); ok {
				kind += " " + stopped.Reason
			}
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func TestNodesAreInOrder(t *testing.T) {
	run(t, func(t *testing.T, h *harness) {
		var names []string
		for _, status := range h.Nodes() {
			names = append(names, status.Name)
			if status.State != cluster.StateRunning || status.Addresses["kafka"] == "" {
				t.Errorf("status is %+v", status)
			}
		}
		if !slices.Equal(names, []string{"kafka-1", "kafka-2", "kafka-3"}) {
			t.Fatalf("nodes are %v", names)
		}
	})
}

func TestKillIsACrash(t *testing.T) {
	run(t, func(t *testing.T, h *harness) {
		conn := h.dial(t, "kafka-2", "127.0.0.1:9092")
		if answer, err := ask(conn); answer != "1" || err != nil {
			t.Fatalf("answer %q, %v", answer, err)
		}
		check(t, h.Kill(t.Context(), "kafka-1"))
		h.expect(t, "kafka-1", cluster.StateKilled)
		if _, err := ask(conn); err == nil || errors.Is(err, io.EOF) {
			t.Fatalf("the connection was not reset: %v", err)
		}
		synctest.Wait()
		f, err := h.disks["kafka-1"].OpenFile("count", os.O_RDONLY)
		check(t, err)
		if size, err := f.Size(); size != 1 || err != nil {
			t.Fatalf("after a kill the file has %d bytes: it was shut down in order, %v", size, err)
		}
		if err := h.Kill(t.Context(), "kafka-1"); !errors.Is(err, cluster.ErrWrongState) {
			t.Fatalf("a second kill: %v", err)
		}
		check(t, h.Start(t.Context(), "kafka-1"))
		h.expect(t, "kafka-1", cluster.StateRunning)
		if answer, err := ask(h.dial(t, "kafka-2", "127.0.0.1:9092")); answer != "2" || err != nil {
			t.Fatalf("the restarted node answers %q, %v", answer, err)
		}
		want := []string{"node.started", "node.ready", "trace.recordsDropped", "node.stopped killed", "node.started", "node.ready", "trace.recordsDropped"}
		if got := h.kinds(); !slices.Equal(got, want) {
			t.Fatalf("the trace is %v", got)
		}
	})
}

func TestStopIsOrderly(t *testing.T) {
	run(t, func(t *testing.T, h *harness) {
		check(t, h.Stop(t.Context(), "kafka-1"))
		h.expect(t, "kafka-1", cluster.StateStopped)
		f, err := h.disks["kafka-1"].OpenFile("count", os.O_RDONLY)
		check(t, err)
		if size, err := f.Size(); size != 103 || err != nil {
			t.Fatalf("the file has %d bytes, %v", size, err)
		}
		check(t, h.Start(t.Context(), "kafka-1"))
		want := []string{"node.started", "node.ready", "node.stopped stopped", "node.started", "node.ready"}
		if got := h.kinds(); !slices.Equal(got, want) {
			t.Fatalf("the trace is %v", got)
		}
	})
}

func TestPauseAndResume(t *testing.T) {
	run(t, func(t *testing.T, h *harness) {
		conn := h.dial(t, "kafka-2", "127.0.0.1:9092")
		check(t, h.Pause(t.Context(), "kafka-1"))
		h.expect(t, "kafka-1", cluster.StatePaused)
		if err := h.Stop(t.Context(), "kafka-1"); !errors.Is(err, cluster.ErrWrongState) {
			t.Fatalf("stop of a paused node: %v", err)
		}
		start := time.Now()
		time.AfterFunc(time.Hour, func() { _ = h.Resume(context.Background(), "kafka-1") })
		if answer, err := ask(conn); answer != "1" || err != nil {
			t.Fatalf("answer %q, %v", answer, err)
		}
		if took := time.Since(start); took != time.Hour {
			t.Fatalf("answered after %v", took)
		}
		h.expect(t, "kafka-1", cluster.StateRunning)
		check(t, h.Pause(t.Context(), "kafka-1"))
		check(t, h.Kill(t.Context(), "kafka-1"))
		h.expect(t, "kafka-1", cluster.StateKilled)
	})
}

func TestLinks(t *testing.T) {
	run(t, func(t *testing.T, h *harness) {
		conn := h.dial(t, "kafka-2", "127.0.0.1:9092")
		check(t, h.SetLink("kafka-1", "kafka-2", fabric.Link{Delay: time.Minute}))
		if links := h.Links(); len(links) != 1 || links[0].From != "kafka-1" {
			t.Fatalf("links are %+v", links)
		}
		start := time.Now()
		if _, err := ask(conn); err != nil || time.Since(start) != time.Minute {
			t.Fatalf("answered after %v, %v", time.Since(start), err)
		}
		if err := h.SetLink("kafka-1", "kafka-9", fabric.Link{}); !errors.Is(err, cluster.ErrUnknownNode) {
			t.Fatalf("an unknown node: %v", err)
		}
		if kinds := h.kinds(); !slices.Contains(kinds, "node.linkChanged") {
			t.Fatalf("the trace is %v", kinds)
		}
	})
}

func TestUnknownNode(t *testing.T) {
	run(t, func(t *testing.T, h *harness) {
		if err := h.Kill(t.Context(), "kafka-4"); !errors.Is(err, cluster.ErrUnknownNode) {
			t.Fatalf("kill: %v", err)
		}
	})
}

// A node that ends by itself has failed, and can be started again.
func TestFailure(t *testing.T) {
	run(t, func(t *testing.T, h *harness) {
		check(t, h.Stop(t.Context(), "kafka-1"))
		view := h.fabric.Of("squatter")
		l, err := view.Listen("127.0.0.1:9092")
		check(t, err)
		if err := h.Start(t.Context(), "kafka-1"); err == nil || !strings.Contains(err.Error(), "9092") {
			t.Fatalf("start on a taken port: %v", err)
		}
		h.expect(t, "kafka-1", cluster.StateFailed)
		check(t, l.Close())
		check(t, h.Start(t.Context(), "kafka-1"))
	})
}

// When a node cannot start at the beginning, Run says so and leaves nothing behind.
func TestRunFailsWhenANodeCannotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := cluster.New(cluster.Config{
			Nodes: []node.Config{config(1), config(99)}, Fabric: fabric.NewMemory(), Run: "run", Make: makeCounter,
			Disk: func(string) (disk.Disk, error) { return disk.NewMemory(), nil },
		})
		check(t, err)
		if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "99 cannot be made") {
			t.Fatalf("run: %v", err)
		}
	})
}
