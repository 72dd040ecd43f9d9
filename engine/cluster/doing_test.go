package cluster_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"twinlog/engine/cluster"
	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/node"
	"twinlog/engine/trace"
)

// growing is a cluster of counters that can grow.
type growing struct {
	*cluster.Cluster
	fabric     *fabric.Fabric
	disks      map[string]*disk.Volatile
	remembered []cluster.Layout
	discarded  []string
}

func grow(t *testing.T, test func(t *testing.T, g *growing)) { growOf(t, makeCounter, test) }

func growOf(t *testing.T, maker cluster.Maker, test func(t *testing.T, g *growing)) {
	synctest.Test(t, func(t *testing.T) {
		layout := cluster.Layout{Host: "127.0.0.1", Kafka: 2, Ensemble: 1, Pace: node.Classroom, ZooKeeper: []string{"nowhere:2181"}}
		nodes, err := layout.Nodes()
		check(t, err)
		g := &growing{fabric: fabric.NewMemory(), disks: map[string]*disk.Volatile{}}
		g.Cluster, err = cluster.New(cluster.Config{
			Nodes: nodes, Fabric: g.fabric, Run: "run", Make: maker,
			Disk: func(name string) (disk.Disk, error) {
				g.disks[name] = disk.NewVolatile(disk.NewMemory())
				return g.disks[name], nil
			},
			Members: &cluster.Members{
				Layout:   layout,
				Remember: func(layout cluster.Layout) error { g.remembered = append(g.remembered, layout); return nil },
				Discard:  func(name string) error { g.discarded = append(g.discarded, name); return nil },
			},
		})
		check(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- g.Run(ctx) }()
		<-g.Ready()
		test(t, g)
		cancel()
		check(t, <-ended)
	})
}

func (g *growing) count(t *testing.T, address string) string {
	t.Helper()
	conn, err := g.fabric.Of(fabric.Client).Dial(t.Context(), address)
	check(t, err)
	defer conn.Close()
	answer, err := ask(conn)
	check(t, err)
	return answer
}

func TestACrashLosesWhatANodeHasNotSynced(t *testing.T) {
	grow(t, func(t *testing.T, g *growing) {
		g.count(t, "127.0.0.1:9092")
		check(t, g.Kill(t.Context(), "kafka-1"))
		check(t, g.Start(t.Context(), "kafka-1"))
		if after := g.count(t, "127.0.0.1:9092"); after != "2" {
			t.Errorf("a kill lost what was written: the next count is %s", after)
		}
		g.Drain(nil)
		check(t, g.Crash(t.Context(), "kafka-1"))
		check(t, g.Start(t.Context(), "kafka-1"))
		if after := g.count(t, "127.0.0.1:9092"); after != "1" {
			t.Errorf("a crash left what was not synced: the next count is %s", after)
		}
		told := trace.UnsyncedLost{}
		for _, record := range g.Drain(nil) {
			if lost, is := record.Data.(trace.UnsyncedLost); is {
				told = lost
			}
		}
		if told != (trace.UnsyncedLost{Bytes: 2, Files: 1}) {
			t.Errorf("told %+v", told)
		}
		check(t, g.Stop(t.Context(), "kafka-2"))
		if err := g.Crash(t.Context(), "kafka-2"); !errors.Is(err, cluster.ErrWrongState) || !strings.Contains(err.Error(), "cannot crash kafka-2: it is stopped") {
			t.Errorf("a stopped node: %v", err)
		}
	})
}

func TestADisksFaultLastsOverLives(t *testing.T) {
	grow(t, func(t *testing.T, g *growing) {
		fault := disk.Fault{Full: true, Delay: time.Millisecond, FailSync: syscall.EIO}
		check(t, g.SetDisk(t.Context(), "kafka-1", fault))
		check(t, g.Kill(t.Context(), "kafka-1"))
		check(t, g.Start(t.Context(), "kafka-1"))
		conn, err := g.fabric.Of(fabric.Client).Dial(t.Context(), "127.0.0.1:9092")
		check(t, err)
		if answer, err := ask(conn); err == nil {
			t.Errorf("it wrote to a full disk, and answered %s", answer)
		}
		conn.Close()
		if rules := g.Disks(); len(rules) != 1 || rules[0] != (cluster.DiskRule{Node: "kafka-1", Fault: fault}) {
			t.Errorf("%+v", rules)
		}
		check(t, g.SetDisk(t.Context(), "kafka-1", disk.Fault{}))
		g.count(t, "127.0.0.1:9092")
		var told []string
		for _, record := range g.Drain(nil) {
			if record.Node == "kafka-1" && (record.Kind == "node.diskChanged" || record.Kind == "node.started") {
				told = append(told, record.Kind)
			}
		}
		if want := "node.started node.diskChanged node.started node.diskChanged node.diskChanged"; strings.Join(told, " ") != want {
			t.Errorf("told %v", told)
		}
		if err := g.SetDisk(t.Context(), "kafka-1", disk.Fault{Delay: -1}); !errors.Is(err, cluster.ErrInvalid) {
			t.Errorf("a negative delay: %v", err)
		}
	})
}

func TestNodesComeAndGo(t *testing.T) {
	grow(t, func(t *testing.T, g *growing) {
		added, err := g.Add(t.Context(), node.RoleKafka)
		check(t, err)
		if added.Name != "kafka-3" || added.Addresses[node.PurposeKafka] != "127.0.0.1:9094" || added.State != cluster.StateRunning {
			t.Errorf("added %+v", added)
		}
		g.count(t, "127.0.0.1:9094")
		check(t, g.SetLink("kafka-3", "kafka-1", fabric.Link{Cut: true}))
		check(t, g.Remove(t.Context(), "kafka-1"))
		if links := g.Links(); len(links) != 0 {
			t.Errorf("links of a node that is gone: %+v", links)
		}
		last := g.remembered[len(g.remembered)-1]
		if !slices.Equal(g.discarded, []string{"kafka-1"}) || !slices.Equal(last.Added[node.RoleKafka], []int{3}) || !slices.Equal(last.Removed[node.RoleKafka], []int{1}) {
			t.Errorf("discarded %v, remembered %+v", g.discarded, last)
		}
		nodes, err := last.Nodes()
		check(t, err)
		if len(nodes) != 2 || nodes[0].Name() != "kafka-2" || nodes[1].NodeOf("127.0.0.1:9094") != "kafka-3" {
			t.Errorf("the next start has %+v", nodes)
		}
		// A node that comes back counts on in the trace, and nothing of it is missing.
		check(t, g.Remove(t.Context(), "kafka-3"))
		again, err := g.Add(t.Context(), node.RoleKafka)
		check(t, err)
		if again.Name != "kafka-3" {
			t.Errorf("the next one is %s", again.Name)
		}
		seq := map[string]uint64{}
		removed := 0
		for _, record := range g.Drain(nil) {
			if record.Seq != seq[record.Node]+1 {
				t.Errorf("%s: record %d after %d", record.Node, record.Seq, seq[record.Node])
			}
			seq[record.Node] = record.Seq
			if record.Kind == "node.removed" {
				removed++
			}
		}
		if removed != 2 {
			t.Errorf("%d removals are told", removed)
		}
	})
}

func TestWhatCannotBeAddedOrRemoved(t *testing.T) {
	grow(t, func(t *testing.T, g *growing) {
		_, unknownRole := g.Add(t.Context(), "teapot")
		_, realZooKeeper := g.Add(t.Context(), node.RoleEnsemble)
		check(t, g.Pause(t.Context(), "kafka-2"))
		for _, refused := range []struct {
			err, kind error
			text      string
		}{
			{unknownRole, cluster.ErrInvalid, `there is no role "teapot"`},
			{realZooKeeper, cluster.ErrRefused, "a real ZooKeeper"},
			{g.Remove(t.Context(), "kafka-9"), cluster.ErrUnknownNode, "nodes are kafka-1, kafka-2"},
			{g.Remove(t.Context(), "kafka-2"), cluster.ErrWrongState, "it is paused; resume it first"},
			{g.Corrupt(t.Context(), cluster.Corruption{Node: "kafka-1", File: "../kafka-2/count"}), cluster.ErrInvalid, "no file in the directory"},
			{g.Corrupt(t.Context(), cluster.Corruption{Node: "kafka-1", File: "missing"}), cluster.ErrInvalid, "has no file"},
		} {
			if !errors.Is(refused.err, refused.kind) || !strings.Contains(refused.err.Error(), refused.text) {
				t.Errorf("%v is not %v with %q", refused.err, refused.kind, refused.text)
			}
		}
		check(t, g.Resume(t.Context(), "kafka-2"))
	})
	run(t, func(t *testing.T, h *harness) {
		if _, err := h.Add(t.Context(), node.RoleKafka); !errors.Is(err, cluster.ErrRefused) {
			t.Errorf("a cluster that is fixed grew: %v", err)
		}
	})
}

func TestABitIsTurnedOverAndTold(t *testing.T) {
	grow(t, func(t *testing.T, g *growing) {
		g.count(t, "127.0.0.1:9092")
		files, err := g.Files(t.Context(), "kafka-1")
		check(t, err)
		if len(files) != 1 || files[0].Name != "count" || files[0].Bytes != 1 {
			t.Fatalf("%+v", files)
		}
		corruption := cluster.Corruption{Node: "kafka-1", File: "count", Bit: 3}
		check(t, g.Corrupt(t.Context(), corruption))
		file, err := g.disks["kafka-1"].OpenFile("count", 0)
		check(t, err)
		defer file.Close()
		var b [1]byte
		_, err = file.ReadAt(b[:], 0)
		check(t, err)
		if b[0] != 'x'^8 {
			t.Errorf("the byte is %q", b[0])
		}
		corruption.Offset = 1
		if err := g.Corrupt(t.Context(), corruption); !errors.Is(err, cluster.ErrInvalid) {
			t.Errorf("an offset at the end: %v", err)
		}
	})
}

// TestANodeStartsWithANewConfigWhileOthersAskForIt: a node takes on what it is told of a new member when it starts, under the eyes of
// whoever looks for a node by its name. The race detector watches.
func TestANodeStartsWithANewConfigWhileOthersAskForIt(t *testing.T) {
	grow(t, func(t *testing.T, g *growing) {
		check(t, g.Kill(t.Context(), "kafka-1"))
		_, err := g.Add(t.Context(), node.RoleKafka)
		check(t, err)
		started := make(chan error, 1)
		go func() { started <- g.Start(t.Context(), "kafka-1") }()
		for range 10 {
			if nodes := g.Nodes(); len(nodes) != 3 || nodes[0].Name != "kafka-1" {
				t.Errorf("%+v", nodes)
			}
			if err := g.Kill(t.Context(), "kafka-9"); !errors.Is(err, cluster.ErrUnknownNode) {
				t.Error(err)
			}
		}
		check(t, <-started)
	})
}

// stubborn is a node that does not end before it is let.
type stubborn struct {
	cluster.Runnable
	let chan struct{}
}

func (s stubborn) Run(ctx context.Context) error {
	err := s.Runnable.Run(ctx)
	<-s.let
	return err
}

func TestANodeThatDoesNotEndKeepsItsFiles(t *testing.T) {
	var let chan struct{}
	growOf(t, func(config node.Config, surroundings node.Surroundings) (cluster.Runnable, error) {
		counter, err := makeCounter(config, surroundings)
		if config.ID == 2 {
			let = make(chan struct{})
			return stubborn{counter, let}, err
		}
		return counter, err
	}, func(t *testing.T, g *growing) {
		check(t, g.Kill(t.Context(), "kafka-2"))
		if err := g.Remove(t.Context(), "kafka-2"); err == nil || !strings.Contains(err.Error(), "its files stay") {
			t.Errorf("a node that has not ended was removed: %v", err)
		}
		if len(g.discarded) != 0 || len(g.Nodes()) != 2 {
			t.Errorf("discarded %v, and there are %+v", g.discarded, g.Nodes())
		}
		close(let)
		check(t, g.Remove(t.Context(), "kafka-2"))
		if !slices.Equal(g.discarded, []string{"kafka-2"}) || len(g.Nodes()) != 1 {
			t.Errorf("discarded %v, and there are %+v", g.discarded, g.Nodes())
		}
	})
}
