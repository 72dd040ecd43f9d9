package bookkeeper_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/fabric/freeport"
	"twinlog/engine/pulsar/bookie"
	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/bookkeeper/metadata/memorystore"
	"twinlog/engine/pulsar/ledger"
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

func TestAddReadClose(t *testing.T) {
	for name, newFabric := range map[string]func() *fabric.Fabric{"memory": fabric.NewMemory, "tcp": fabric.NewTCP} {
		for _, version := range []int{2, 3} {
			run := func(t *testing.T) {
				c := newCluster(t, newFabric(), 4)
				defer c.stop()
				k := c.client("pulsar-1", func(config *bookkeeper.Config) { config.Version = version })
				defer k.end()
				w := must(k.CreateLedger(usual))(t)
				a := &appender{writer: w}
				a.addAll(t, 500)
				verify(t, w, 499)
				if err := w.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				r := must(k.OpenLedger(t.Context(), w.ID(), bookkeeper.OpenOptions{}))(t)
				if r.LastEntry() != 499 {
					t.Errorf("last entry %d", r.LastEntry())
				}
				verify(t, r, 499)
				a.add(1)
				a.wait.Wait()
				if !errors.Is(a.failed, bookkeeper.ErrClosed) {
					t.Errorf("add to a closed ledger: %v", a.failed)
				}
			}
			t.Run(fmt.Sprint(name, version), func(t *testing.T) {
				if name == "memory" {
					synctest.Test(t, run)
				} else {
					run(t)
				}
			})
		}
	}
}

// A bookie dies, or only freezes, while a writer adds: the writer does not notice, and nothing is lost.
func TestEnsembleChange(t *testing.T) {
	for name, hurt := range map[string]func(n *node){
		"killed": (*node).kill,
		"frozen": func(n *node) { n.view.Freeze(); n.faults.Freeze() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, fabric.NewMemory(), 4)
				k := c.client("pulsar-1", nil)
				w := must(k.CreateLedger(usual))(t)
				a := &appender{writer: w}
				a.addAll(t, 100)
				victim := c.bookies[w.Metadata().CurrentSegment().Bookies[1]]
				a.add(50)
				hurt(victim)
				a.add(50)
				a.wait.Wait()
				a.addAll(t, 100)
				if segments := w.Metadata().Segments; len(segments) != 2 {
					t.Errorf("segments: %v", segments)
				}
				verify(t, w, 299)
				if err := w.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				k.end()
				if name == "frozen" {
					victim.faults.Thaw()
					victim.view.Thaw()
				} else {
					victim.start()
				}
				c.stop()
			})
		})
	}
}

// Too many bookies die: the writer fails, and what it acknowledged is there when they come back.
func TestNotEnoughBookies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, fabric.NewMemory(), 3)
		k := c.client("pulsar-1", nil)
		w := must(k.CreateLedger(usual))(t)
		a := &appender{writer: w}
		a.addAll(t, 100)
		victim := c.bookies[w.Metadata().CurrentSegment().Bookies[0]]
		victim.kill()
		a.add(10)
		a.wait.Wait()
		if !errors.Is(a.failed, ledger.ErrNotEnoughBookies) {
			t.Fatalf("adds without enough bookies: %v", a.failed)
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := must(k.OpenLedger(t.Context(), w.ID(), bookkeeper.OpenOptions{Recover: true}))(t)
		if r.LastEntry() != a.acked-1 {
			t.Errorf("closed at %d, acknowledged were %d", r.LastEntry(), a.acked)
		}
		victim.start()
		verify(t, r, r.LastEntry())
		k.end()
		c.stop()
	})
}

// A second client recovers the ledger while the first one still adds. The first is fenced, and everything that it was told is stored
// is in the ledger.
func TestFencing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, fabric.NewMemory(), 4)
		first, second := c.client("pulsar-1", nil), c.client("pulsar-2", nil)
		for round := range 20 {
			w := must(first.CreateLedger(usual))(t)
			a := &appender{writer: w}
			a.addAll(t, round)
			a.add(200)
			r := must(second.OpenLedger(t.Context(), w.ID(), bookkeeper.OpenOptions{Recover: true}))(t)
			a.add(1)
			a.wait.Wait()
			if !errors.Is(a.failed, ledger.ErrFenced) {
				t.Fatalf("add after recovery: %v", a.failed)
			}
			if a.acked > r.LastEntry()+1 {
				t.Fatalf("%d entries were acknowledged, the ledger was closed at %d", a.acked, r.LastEntry())
			}
			verify(t, r, r.LastEntry())
			if err := w.Close(t.Context()); err != nil && !errors.Is(err, ledger.ErrFenced) {
				t.Errorf("close of the fenced writer: %v", err)
			}
		}
		first.end()
		second.end()
		c.stop()
	})
}

// The writer's machine and one bookie die; the ledger is recovered from the others, then the bookie comes back with its disk.
func TestRecoveryWithoutABookie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for round := range 10 {
			c := newCluster(t, fabric.NewMemory(), 4)
			k := c.client("pulsar-1", nil)
			w := must(k.CreateLedger(usual))(t)
			a := &appender{writer: w}
			a.addAll(t, 10*round)
			a.add(300)
			synctest.Wait()
			k.view.Sever()
			k.end()
			a.wait.Wait()
			victim := c.bookies[w.Metadata().CurrentSegment().Bookies[round%3]]
			victim.kill()
			other := c.client("pulsar-2", nil)
			r := must(other.OpenLedger(t.Context(), w.ID(), bookkeeper.OpenOptions{Recover: true}))(t)
			if a.acked > r.LastEntry()+1 {
				t.Fatalf("%d entries were acknowledged, the ledger was closed at %d", a.acked, r.LastEntry())
			}
			verify(t, r, r.LastEntry())
			again := must(other.OpenLedger(t.Context(), w.ID(), bookkeeper.OpenOptions{Recover: true}))(t)
			if again.LastEntry() != r.LastEntry() || again.Length() != r.Length() {
				t.Errorf("opened again: last entry %d, then %d", r.LastEntry(), again.LastEntry())
			}
			victim.start()
			other.end()
			c.stop()
		}
	})
}

// All bookies lose power under load: what was acknowledged is there afterwards.
func TestPowerCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, fabric.NewMemory(), 4)
		acked := map[int64]int64{}
		for range 8 {
			k := c.client("pulsar-1", nil)
			w := must(k.CreateLedger(usual))(t)
			a := &appender{writer: w}
			a.addAll(t, 200)
			a.add(500)
			var kills sync.WaitGroup
			for _, n := range c.bookies {
				kills.Go(n.kill)
			}
			kills.Wait()
			a.wait.Wait()
			k.end()
			acked[w.ID()] = a.acked
			for _, n := range c.bookies {
				n.start()
			}
		}
		k := c.client("pulsar-2", nil)
		for id, count := range acked {
			r := must(k.OpenLedger(t.Context(), id, bookkeeper.OpenOptions{Recover: true}))(t)
			if r.LastEntry() < count-1 {
				t.Errorf("ledger %d: %d entries were acknowledged, closed at %d", id, count, r.LastEntry())
			}
			verify(t, r, r.LastEntry())
		}
		k.end()
		c.stop()
	})
}
