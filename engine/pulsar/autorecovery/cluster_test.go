package autorecovery_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/pulsar/bookie"
	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/bookkeeper/metadata/memorystore"
	"twinlog/engine/pulsar/ledger"
	"twinlog/engine/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	delay = 3 * time.Second
	grace = 30 * time.Second
)

// cluster is bookies with autorecovery, and a client, on one fabric with a ZooKeeper in memory. It is for a synctest bubble.
type cluster struct {
	t         *testing.T
	fabric    *fabric.Fabric
	zookeeper *memorystore.Server
	store     *memorystore.Session
	bookies   map[string]*node // by address
	events    []trace.Record   // of autorecovery, as seen so far
	client    *bookkeeper.Client
}

type node struct {
	cluster *cluster
	name    string
	address string
	disk    *disk.Memory
	tracer  *trace.Tracer

	view   *fabric.View
	faults *disk.Faults
	end    context.CancelFunc
	done   chan error
	up     bool
}

func newCluster(t *testing.T, bookies int) *cluster {
	t.Helper()
	c := &cluster{t: t, fabric: fabric.NewMemory(), zookeeper: memorystore.NewServer(), bookies: map[string]*node{}}
	c.store = c.zookeeper.NewSession()
	for i := range bookies {
		name := fmt.Sprintf("bookie-%d", i+1)
		n := &node{cluster: c, name: name, address: fmt.Sprintf("127.0.0.1:%d", 3181+i), disk: disk.NewMemory(), tracer: trace.NewTracer("run", name, 1<<16)}
		c.bookies[n.address] = n
		n.start()
	}
	session := c.zookeeper.NewSession()
	client, err := bookkeeper.New(bookkeeper.Config{Network: c.fabric.Of("pulsar-1"), Store: session, AddTimeout: 2 * time.Second, ReadTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- client.Run(ctx) }()
	<-client.Ready()
	c.client = client
	t.Cleanup(func() {
		cancel()
		<-done
		for _, n := range c.bookies {
			n.stop()
		}
	})
	return c
}

func (n *node) start() {
	t := n.cluster.t
	t.Helper()
	n.view, n.faults = n.cluster.fabric.Of(n.name), disk.NewFaults(n.disk)
	b, err := bookie.New(bookie.Config{
		Address: n.address, Network: n.view, Disk: n.faults, Tracer: n.tracer.Life(), Connect: n.cluster.zookeeper.Connect,
		AutoRecovery: true, LostBookieRecoveryDelay: delay, OpenLedgerGrace: grace,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.end, n.done, n.up = cancel, make(chan error, 1), true
	go func() { n.done <- b.Run(ctx) }()
	select {
	case <-b.Ready():
	case err := <-n.done:
		t.Fatalf("%s ended: %v", n.name, err)
	}
}

// kill is a crash of the machine whose ZooKeeper session ends at once.
func (n *node) kill() {
	n.view.Sever()
	n.faults.Sever()
	n.end()
	<-n.done
	n.up = false
	n.disk.Crash(rand.New(rand.NewPCG(1, 2)))
}

func (n *node) stop() {
	if n.up {
		n.end()
		if err := <-n.done; err != nil {
			n.cluster.t.Errorf("%s ended with %v", n.name, err)
		}
		n.up = false
	}
}

// until waits for a condition, for an hour of the bubble's time.
func (c *cluster) until(what string, condition func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(time.Hour); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.look()
			for _, record := range c.events {
				c.t.Logf("%s %s %+v", record.At.Format(time.TimeOnly), record.Node, record.Data)
			}
			c.t.Fatalf("never: %s", what)
		}
	}
}

// look takes in what the bookies' autorecovery has said by now.
func (c *cluster) look() []trace.Record {
	for _, n := range c.bookies {
		for _, record := range n.tracer.Drain(nil) {
			switch record.Data.(type) {
			case trace.AuditorElected, trace.LedgerUnderReplicated, trace.ReplicationStarted, trace.FragmentReplicated,
				trace.ReplicationPostponed, trace.LedgerReplicated, trace.LedgerRecoveryStarted, trace.LedgerClosed:
				c.events = append(c.events, record)
			}
		}
	}
	slices.SortStableFunc(c.events, func(a, b trace.Record) int { return a.At.Compare(b.At) })
	return c.events
}

// said lists the events of one kind.
func said[E trace.Event](c *cluster) (events []E) {
	for _, record := range c.look() {
		if event, ok := record.Data.(E); ok {
			events = append(events, event)
		}
	}
	return events
}

// nodeSaid is the node that said something last.
func nodeSaid[E trace.Event](c *cluster) *node {
	var name string
	for _, record := range c.look() {
		if _, ok := record.Data.(E); ok {
			name = record.Node
		}
	}
	for _, n := range c.bookies {
		if n.name == name {
			return n
		}
	}
	return nil
}

func (c *cluster) metadata(id int64) ledger.Metadata {
	c.t.Helper()
	m, err := metadata.ReadLedger(c.store, id)
	if err != nil {
		c.t.Fatal(err)
	}
	return m.Metadata
}

func (c *cluster) isMarked(id int64) bool {
	c.t.Helper()
	_, found, err := metadata.MarkVersion(c.store, id)
	if err != nil {
		c.t.Fatal(err)
	}
	return found
}

// isOn tells whether any fragment counts on a bookie.
func (c *cluster) isOn(id int64, bookie string) bool {
	return len(c.metadata(id).Lacks(func(one string) bool { return one == bookie })) > 0
}

func (c *cluster) tidy() {
	c.t.Helper()
	for _, path := range []string{metadata.MarksPath, metadata.LocksPath} {
		children, _, err := c.store.Children(path)
		if err != nil || len(children) > 0 {
			c.t.Errorf("below %s is %v, %v", path, children, err)
		}
	}
}

// ledger writes entries to a new ledger.
func (c *cluster) ledger(options bookkeeper.CreateOptions, entries int) *bookkeeper.Writer {
	c.t.Helper()
	w, err := c.client.CreateLedger(options)
	if err != nil {
		c.t.Fatal(err)
	}
	c.add(w, entries)
	return w
}

func payload(entry int64) string { return fmt.Sprintf("entry %d", entry) }

func (c *cluster) add(w *bookkeeper.Writer, entries int) {
	c.t.Helper()
	failed := make(chan error, entries)
	next := w.LastAddConfirmed() + 1
	for i := range entries {
		w.Append([]byte(payload(next+int64(i))), func(_ int64, err error) { failed <- err })
	}
	for range entries {
		if err := <-failed; err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *cluster) close(w *bookkeeper.Writer) {
	c.t.Helper()
	if err := w.Close(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) open(id int64) *bookkeeper.Reader {
	c.t.Helper()
	r, err := c.client.OpenLedger(c.t.Context(), id, bookkeeper.OpenOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

// verify reads everything.
func (c *cluster) verify(r interface {
	Read(ctx context.Context, first, last int64) ([]bookkeeper.Entry, error)
}, last int64) {
	c.t.Helper()
	for first := int64(0); first <= last; first += 500 {
		entries, err := r.Read(c.t.Context(), first, min(first+499, last))
		if err != nil {
			c.t.Fatal(err)
		}
		for _, entry := range entries {
			if string(entry.Payload) != payload(entry.Entry) {
				c.t.Fatalf("entry %d: %q", entry.Entry, entry.Payload)
			}
		}
	}
}
