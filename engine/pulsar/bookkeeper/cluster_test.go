package bookkeeper_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/fabric/freeport"
	"twinlog/engine/pulsar/bookie"
	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/bookkeeper/metadata/memorystore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is bookies and clients on one fabric, with a ZooKeeper in memory.
type cluster struct {
	t         *testing.T
	fabric    *fabric.Fabric
	zookeeper *memorystore.Server
	bookies   map[string]*node // by address
}

// node is one bookie, with what it takes to kill it.
type node struct {
	cluster *cluster
	name    string
	address string
	disk    *disk.Memory
	random  *rand.Rand // what a crash leaves

	view    *fabric.View
	faults  *disk.Faults
	session *memorystore.Session
	end     context.CancelFunc
	done    chan error
}

func newCluster(t *testing.T, f *fabric.Fabric, bookies int) *cluster {
	t.Helper()
	c := &cluster{t: t, fabric: f, zookeeper: memorystore.NewServer(), bookies: map[string]*node{}}
	for i := range bookies {
		n := &node{cluster: c, name: fmt.Sprintf("bookie-%d", i+1), address: freeport.Address(t), disk: disk.NewMemory(), random: rand.New(rand.NewPCG(1, uint64(i)))}
		c.bookies[n.address] = n
		n.start()
	}
	return c
}

func (n *node) start() {
	t := n.cluster.t
	t.Helper()
	n.view, n.faults = n.cluster.fabric.Of(n.name), disk.NewFaults(n.disk)
	b, err := bookie.New(bookie.Config{
		Address: n.address, Network: n.view, Disk: n.faults, EntryLogBytes: 64 << 10,
		Connect: func() (metadata.Session, error) {
			session, err := n.cluster.zookeeper.Connect()
			n.session = session.Store.(*memorystore.Session)
			return session, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.end, n.done = cancel, make(chan error, 1)
	go func() { n.done <- b.Run(ctx) }()
	select {
	case <-b.Ready():
	case err := <-n.done:
		t.Fatalf("%s ended: %v", n.name, err)
	}
}

// kill is a crash of the machine: what was not synced is lost. The ZooKeeper session expires later, when the test says so.
func (n *node) kill() {
	n.view.Sever()
	n.faults.Sever()
	n.end()
	<-n.done
	n.disk.Crash(n.random)
}

func (n *node) stop() {
	n.end()
	if err := <-n.done; err != nil {
		n.cluster.t.Errorf("%s ended with %v", n.name, err)
	}
}

func (c *cluster) stop() {
	for _, n := range c.bookies {
		n.stop()
	}
}

// client runs a BookKeeper client until the test ends.
type client struct {
	*bookkeeper.Client
	view *fabric.View
	end  func()
}

func (c *cluster) client(name string, change func(*bookkeeper.Config)) *client {
	c.t.Helper()
	view := c.fabric.Of(name)
	session := c.zookeeper.NewSession()
	config := bookkeeper.Config{Network: view, Store: session, AddTimeout: 2 * time.Second, ReadTimeout: time.Second}
	if change != nil {
		change(&config)
	}
	created, err := bookkeeper.New(config)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { created.Run(ctx); close(done) }()
	<-created.Ready()
	return &client{Client: created, view: view, end: func() { cancel(); session.End(); <-done }}
}

var usual = bookkeeper.CreateOptions{Ensemble: 3, WriteQuorum: 2, AckQuorum: 2}

func payload(i int64) []byte { return fmt.Appendf(nil, "entry %d", i) }

// appender adds numbered entries and remembers which were acknowledged.
type appender struct {
	writer *bookkeeper.Writer
	added  int64

	mu     sync.Mutex
	acked  int64 // entries acknowledged, all in order
	failed error
	wait   sync.WaitGroup
}

func (a *appender) add(count int) {
	for range count {
		number := a.added
		a.added++
		a.wait.Add(1)
		a.writer.Append(payload(number), func(entry int64, err error) {
			defer a.wait.Done()
			a.mu.Lock()
			defer a.mu.Unlock()
			switch {
			case err != nil:
				a.failed = err
			case entry != number || a.failed != nil || entry != a.acked:
				a.failed = fmt.Errorf("entry %d was acknowledged as %d after %d, %v", number, entry, a.acked, a.failed)
			default:
				a.acked++
			}
		})
	}
}

func (a *appender) addAll(t *testing.T, count int) {
	t.Helper()
	a.add(count)
	a.wait.Wait()
	if a.failed != nil {
		t.Fatal(a.failed)
	}
}

func verify(t *testing.T, r interface {
	Read(ctx context.Context, first, last int64) ([]bookkeeper.Entry, error)
}, last int64) {
	t.Helper()
	for first := int64(0); first <= last; first += 100 {
		entries, err := r.Read(t.Context(), first, min(first+99, last))
		if err != nil {
			t.Fatal(err)
		}
		for i, entry := range entries {
			if want := first + int64(i); entry.Entry != want || string(entry.Payload) != string(payload(want)) {
				t.Fatalf("entry %d: got %d %q", want, entry.Entry, entry.Payload)
			}
		}
	}
}

func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
