package situation_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"twinlog/engine/administration"
	"twinlog/engine/cluster"
	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/fabric/freeport"
	"twinlog/engine/node"
	"twinlog/engine/situation"
	"twinlog/engine/trace"
	"twinlog/engine/workload"
	"twinlog/engine/world"
)

// classroom is all nodes of the default layout in this process, with disks in memory, and what a player needs besides.
type classroom struct {
	t       *testing.T
	cluster *cluster.Cluster
	player  *situation.Player

	mu      sync.Mutex
	state   *world.State
	records []trace.Record // without messages and what comes by the thousand
	looks   int            // how often the nodes were asked for what they told
}

// everyday are events of which a situation makes thousands, and that prove nothing here.
var everyday = []string{"message.", "kafka.appended", "kafka.followerFetched", "kafka.requestDelayed", "bookkeeper.entryStored",
	"bookkeeper.lastAddConfirmedAdvanced", "pulsar.dispatched", "pulsar.cursorMoved"}

func openClassroom(t *testing.T) *classroom {
	layout := freeLayout(t)
	nodes, err := layout.Nodes()
	check(t, err)
	for i := range nodes {
		nodes[i].LedgerEntries = 1500 // of Pulsar-mode brokers: the situation asks them how many it takes
	}
	c := &classroom{t: t, state: world.New()}
	c.cluster, err = cluster.New(cluster.Config{
		Nodes: nodes, Fabric: fabric.NewTCP(), Run: "test",
		Disk: func(string) (disk.Disk, error) { return disk.NewVolatile(disk.NewMemory()), nil },
	})
	check(t, err)
	addresses := workload.Config{}
	var pulsar []string
	for _, n := range nodes {
		switch n.Role {
		case node.RoleKafka:
			addresses.Kafka = append(addresses.Kafka, n.Addresses[node.PurposeKafka].Listen)
		case node.RolePulsar:
			pulsar = append(pulsar, n.Addresses[node.PurposePulsar].Listen)
			addresses.PulsarHTTP = append(addresses.PulsarHTTP, "http://"+n.Addresses[node.PurposeHTTP].Listen)
		}
	}
	addresses.PulsarURL = "pulsar://" + strings.Join(pulsar, ",")
	workloads := workload.NewManager(addresses)
	c.player = situation.New(situation.Config{
		Control: c.cluster, Workloads: workloads, World: c.world, Linger: 100 * time.Millisecond,
		Administration: administration.New(func() administration.Addresses {
			return administration.Addresses{Kafka: addresses.Kafka, PulsarAdmin: addresses.PulsarHTTP}
		}),
	})
	c.run(c.player.Run, workloads.Run, c.cluster.Run, c.watch)
	select {
	case <-c.cluster.Ready():
	case <-time.After(time.Minute):
		t.Fatal("the classroom is not ready after a minute")
	}
	return c
}

// run runs all until the test ends, when they end in their order.
func (c *classroom) run(parts ...func(context.Context) error) {
	for _, part := range slices.Backward(parts) {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- part(ctx) }()
		c.t.Cleanup(func() {
			cancel()
			if err := <-ended; err != nil {
				c.t.Error(err)
			}
		})
	}
}

// freeLayout is the default classroom on ports that are free.
func freeLayout(t *testing.T) cluster.Layout {
	t.Helper()
	layout := cluster.DefaultLayout()
	for offset := 400 + os.Getpid()%3000; offset < 20000; offset += 607 {
		layout.PortOffset = offset
		nodes, err := layout.Nodes()
		check(t, err)
		if allFree(nodes) {
			return layout
		}
	}
	t.Fatal("no ports are free")
	return layout
}

func allFree(nodes []node.Config) bool {
	var addresses []string
	for _, n := range nodes {
		for _, address := range n.Addresses {
			addresses = append(addresses, address.Listen)
		}
	}
	return freeport.Take(addresses...)
}

// watch folds the trace, in the order of its times: the nodes are asked one after the other, so what is younger than a look waits for the next.
func (c *classroom) watch(ctx context.Context) error {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	var late []trace.Record // told after the last look began: an earlier one of another node may still come
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		c.mu.Lock()
		c.looks++ // begun: what was told before is in it
		c.mu.Unlock()
		until := time.Now()
		late = c.cluster.Drain(late)
		slices.SortStableFunc(late, func(a, b trace.Record) int { return a.At.Compare(b.At) })
		ready, _ := slices.BinarySearchFunc(late, until, func(record trace.Record, until time.Time) int { return record.At.Compare(until) })
		c.mu.Lock()
		for _, record := range late[:ready] {
			c.state.Apply(record)
			if !slices.ContainsFunc(everyday, func(kind string) bool { return strings.HasPrefix(record.Kind, kind) }) {
				c.records = append(c.records, record)
			}
		}
		c.mu.Unlock()
		late = slices.Delete(late, 0, ready)
	}
}

// world is the state with all that the nodes have told until now.
func (c *classroom) world(context.Context) (*world.State, error) {
	c.settled()
	defer c.mu.Unlock()
	return c.state.Clone(), nil
}

// settled returns, with the lock, when all that the nodes have told until now is in the state and the records.
func (c *classroom) settled() {
	for begun := -1; ; time.Sleep(5 * time.Millisecond) {
		c.mu.Lock()
		if begun < 0 {
			begun = c.looks
		}
		if c.looks > begun+1 { // a look that began after now has ended
			return
		}
		c.mu.Unlock()
	}
}

// play plays a situation to its end and returns the run and what the trace told meanwhile.
func (c *classroom) play(id string) (*situation.Run, seen) {
	c.t.Helper()
	c.mu.Lock()
	c.records = nil
	c.mu.Unlock()
	_, err := c.player.Start(id)
	check(c.t, err)
	for c.player.Last().State == situation.StateRunning {
		time.Sleep(20 * time.Millisecond)
	}
	run := c.player.Last()
	if run.State != situation.StateDone {
		c.t.Fatalf("%s: %s; its steps are %+v", id, run.Message.EN, run.Steps)
	}
	if strings.ContainsAny(run.Message.EN+run.Message.ZH, "{}") {
		c.t.Errorf("%s: %+v", id, run.Message)
	}
	for _, step := range run.Steps {
		if step.State != situation.StateDone || strings.ContainsAny(step.Text.EN+step.Text.ZH, "{}") {
			c.t.Errorf("%s: %+v", id, step)
		}
	}
	c.settled()
	defer c.mu.Unlock()
	return run, seen(slices.Clone(c.records)).since(run, 0)
}

// seen is what the trace told during a run.
type seen []trace.Record

// since is what was told when a step of the run had begun: of the last time, when the situation had to begin again.
func (s seen) since(run *situation.Run, step int) seen {
	at := *run.Steps[step].At
	return slices.DeleteFunc(slices.Clone(s), func(record trace.Record) bool { return record.At.Before(at) })
}

// find is the first event of a type from a node (any, when it is empty) for which holds is true, and when it was; zero: none.
func find[E trace.Event](s seen, node string, holds func(E) bool) (E, time.Time) {
	for _, record := range s {
		if event, is := record.Data.(E); is && (node == "" || record.Node == node) && holds(event) {
			return event, record.At
		}
	}
	var none E
	return none, time.Time{}
}

// inOrder fails the test unless everything was found, and in the order of its names.
func inOrder(t *testing.T, found ...moment) {
	t.Helper()
	for i, one := range found {
		if one.at.IsZero() {
			t.Errorf("the trace does not tell: %s", one.what)
		} else if i > 0 && one.at.Before(found[i-1].at) {
			t.Errorf("%s comes before %s", one.what, found[i-1].what)
		}
	}
}

type moment struct {
	what string
	at   time.Time
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
