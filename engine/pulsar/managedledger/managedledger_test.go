package managedledger_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/pulsar/bookie"
	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/bookkeeper/metadata/memorystore"
	"twinlog/engine/pulsar/managedledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type position = managedledger.Position

const topic = "public/default/persistent/orders"

// cluster is four bookies on a fabric in memory, with a ZooKeeper in memory.
type cluster struct {
	t         *testing.T
	fabric    *fabric.Fabric
	zookeeper *memorystore.Server
	bookies   []*node
	brokers   []*broker
}

type node struct {
	name, address string
	disk          *disk.Memory
	view          *fabric.View
	faults        *disk.Faults
	end           context.CancelFunc
	done          chan error
}

// run makes a bubble with a cluster and stops everything afterwards.
func run(t *testing.T, f func(t *testing.T, c *cluster)) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{t: t, fabric: fabric.NewMemory(), zookeeper: memorystore.NewServer()}
		for i := range 4 {
			n := &node{name: fmt.Sprintf("bookie-%d", i+1), address: fmt.Sprintf("127.0.0.1:%d", 3181+i), disk: disk.NewMemory()}
			c.bookies = append(c.bookies, n)
			c.start(n)
		}
		defer c.stop()
		f(t, c)
	})
}

func (c *cluster) stop() {
	for _, b := range c.brokers {
		b.close()
	}
	for _, n := range c.bookies {
		n.end()
		<-n.done
	}
}

func (c *cluster) start(n *node) {
	c.t.Helper()
	n.view, n.faults = c.fabric.Of(n.name), disk.NewFaults(n.disk)
	b, err := bookie.New(bookie.Config{Address: n.address, Network: n.view, Disk: n.faults, Connect: c.zookeeper.Connect})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.end, n.done = cancel, make(chan error, 1)
	go func() { n.done <- b.Run(ctx) }()
	<-b.Ready()
}

func (n *node) kill() {
	n.view.Sever()
	n.faults.Sever()
	n.end()
	<-n.done
	n.disk.Crash(rand.New(rand.NewPCG(1, 2)))
}

// broker is a factory with its surroundings.
type broker struct {
	*managedledger.Factory
	view    *fabric.View
	session *memorystore.Session
	end     context.CancelFunc
	done    chan struct{}
	closed  bool
}

func (c *cluster) broker(name string, change func(*managedledger.Config)) *broker {
	c.t.Helper()
	b := &broker{view: c.fabric.Of(name), session: c.zookeeper.NewSession(), done: make(chan struct{})}
	client, err := bookkeeper.New(bookkeeper.Config{Network: b.view, Store: b.session, AddTimeout: 2 * time.Second, ReadTimeout: time.Second})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.end = cancel
	go func() { client.Run(ctx); close(b.done) }()
	<-client.Ready()
	config := managedledger.Config{Store: b.session, Bookies: client, MinRollover: -1}
	if change != nil {
		change(&config)
	}
	if b.Factory, err = managedledger.NewFactory(config); err != nil {
		c.t.Fatal(err)
	}
	c.brokers = append(c.brokers, b)
	return b
}

// close shuts a broker down in order.
func (b *broker) close() {
	if b.closed {
		return
	}
	b.closed = true
	b.Factory.Close(context.Background())
	b.end()
	<-b.done
	b.session.End()
}

// kill is a crash: everything outside is gone at once.
func (b *broker) kill() {
	b.view.Sever()
	b.session.End()
	b.close()
}

func (b *broker) open(t *testing.T) *managedledger.ManagedLedger {
	t.Helper()
	m, err := b.Open(t.Context(), topic, managedledger.Options{Retention: managedledger.Retention{Time: -1, Bytes: -1}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func payload(i int) []byte { return fmt.Appendf(nil, "message %d", i) }

// producer adds numbered entries and remembers where they are.
type producer struct {
	ledger *managedledger.ManagedLedger
	added  int

	mu        sync.Mutex
	positions []position
	failed    error
	wait      sync.WaitGroup
}

func (p *producer) add(count int) {
	for range count {
		number := p.added
		p.added++
		p.wait.Add(1)
		p.ledger.AddEntry(payload(number), 1, func(at position, err error) {
			defer p.wait.Done()
			p.mu.Lock()
			defer p.mu.Unlock()
			switch {
			case err != nil:
				p.failed = err
			case p.failed != nil:
				p.failed = fmt.Errorf("entry %d was done after an error: %w", number, p.failed)
			case len(p.positions) != number || number > 0 && !p.positions[number-1].Before(at):
				p.failed = fmt.Errorf("entry %d at %v came out of order", number, at)
			default:
				p.positions = append(p.positions, at)
			}
		})
	}
}

func (p *producer) addAll(t *testing.T, count int) {
	t.Helper()
	p.add(count)
	p.wait.Wait()
	if p.failed != nil {
		t.Fatal(p.failed)
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want[T comparable](t *testing.T, what string, got, wanted T) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s: got %v, want %v", what, got, wanted)
	}
}

// readAll reads a managed ledger from the beginning.
func readAll(t *testing.T, m *managedledger.ManagedLedger) (entries []managedledger.Entry) {
	t.Helper()
	for from := managedledger.Earliest; ; {
		read, err := m.ReadEntries(t.Context(), from, 100, 1<<20)
		noError(t, err)
		if len(read) == 0 {
			return entries
		}
		entries = append(entries, read...)
		from = m.Next(read[len(read)-1].Position)
	}
}

func verifyAll(t *testing.T, m *managedledger.ManagedLedger, positions []position) {
	t.Helper()
	entries := readAll(t, m)
	if len(entries) < len(positions) {
		t.Fatalf("%d entries, %d were acknowledged", len(entries), len(positions))
	}
	for i, p := range positions {
		if entries[i].Position != p || string(entries[i].Data) != string(payload(i)) {
			t.Fatalf("entry %d: %v %q, acknowledged at %v", i, entries[i].Position, entries[i].Data, p)
		}
	}
}

func TestAddReadReopen(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		small := func(config *managedledger.Config) { config.MaxEntriesPerLedger = 100 }
		b := c.broker("pulsar-1", small)
		m := b.open(t)
		want(t, "last of an empty one", m.LastConfirmed().Entry, -1)
		p := &producer{ledger: m}
		changed := m.Changed()
		p.addAll(t, 1)
		<-changed
		p.addAll(t, 549)
		want(t, "last", m.LastConfirmed(), p.positions[549])
		verifyAll(t, m, p.positions)
		b.close()
		p.add(1)
		p.wait.Wait()
		if !errors.Is(p.failed, managedledger.ErrClosed) {
			t.Errorf("add after close: %v", p.failed)
		}
		b = c.broker("pulsar-2", small)
		m = b.open(t)
		verifyAll(t, m, p.positions)
		want(t, "last", m.LastConfirmed(), p.positions[549])
		want(t, "count", m.CountEntries(m.First(), m.LastConfirmed()), 550)
		next := &producer{ledger: m}
		next.addAll(t, 10)
		want(t, "count", m.CountEntries(m.First(), m.LastConfirmed()), 560)
	})
}

// The owner dies, or believes that it is still the owner, while it adds; another one takes over.
func TestTakeover(t *testing.T) {
	for name, dies := range map[string]bool{"killed": true, "alive": false} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, c *cluster) {
				first := c.broker("pulsar-1", func(config *managedledger.Config) { config.MaxEntriesPerLedger = 64 })
				m := first.open(t)
				p := &producer{ledger: m}
				p.addAll(t, 200)
				p.add(300)
				if dies {
					first.kill()
					p.wait.Wait()
				}
				second := c.broker("pulsar-2", nil)
				taken := second.open(t)
				p.add(1)
				p.wait.Wait()
				if !dies && !errors.Is(p.failed, managedledger.ErrFenced) {
					t.Errorf("add after the takeover: %v", p.failed)
				}
				if p.failed == nil {
					t.Error("adds after the takeover succeeded")
				}
				verifyAll(t, taken, p.positions)
				again := &producer{ledger: taken}
				again.addAll(t, 10)
			})
		})
	}
}

// Two of four bookies die: no new ensemble is possible. When they are back, adds go on.
func TestStorageAway(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		m := c.broker("pulsar-1", nil).open(t)
		p := &producer{ledger: m}
		p.addAll(t, 50)
		c.bookies[0].kill()
		p.addAll(t, 50)
		c.bookies[1].kill()
		p.add(50)
		p.wait.Wait()
		if !errors.Is(p.failed, managedledger.ErrStorage) {
			t.Fatalf("adds without enough bookies: %v", p.failed)
		}
		c.start(c.bookies[0])
		c.start(c.bookies[1])
		after := &producer{ledger: m}
		after.addAll(t, 50)
		verifyAll(t, m, p.positions)
	})
}

func TestTerminate(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		b := c.broker("pulsar-1", nil)
		m := b.open(t)
		p := &producer{ledger: m}
		p.add(20)
		last, err := m.Terminate(t.Context())
		noError(t, err)
		want(t, "last position", last, p.positions[19])
		p.add(1)
		p.wait.Wait()
		if !errors.Is(p.failed, managedledger.ErrTerminated) {
			t.Errorf("add to a terminated one: %v", p.failed)
		}
		b.close()
		m = c.broker("pulsar-2", nil).open(t)
		if !errors.Is(m.Err(), managedledger.ErrTerminated) {
			t.Errorf("opened again: %v", m.Err())
		}
		verifyAll(t, m, p.positions)
	})
}

func TestDelete(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		b := c.broker("pulsar-1", nil)
		m := b.open(t)
		p := &producer{ledger: m}
		p.addAll(t, 5)
		cursor, err := m.OpenCursor(t.Context(), "sub", managedledger.CursorOptions{Initial: managedledger.Earliest})
		noError(t, err)
		done := make(chan error, 1)
		cursor.MarkDelete(p.positions[1], nil, func(err error) { done <- err })
		noError(t, <-done)
		noError(t, m.Delete(t.Context()))
		left := 0
		noError(t, metadata.ListLedgers(t.Context(), b.session, func(int64) { left++ }))
		want(t, "ledgers left", left, 0)
		_, err = b.Open(t.Context(), topic, managedledger.Options{MustExist: true})
		if !errors.Is(err, managedledger.ErrNotFound) {
			t.Errorf("opened after delete: %v", err)
		}
	})
}

func await(t *testing.T, begin func(done func(error))) {
	t.Helper()
	done := make(chan error, 1)
	begin(func(err error) { done <- err })
	noError(t, <-done)
}

// A cursor's state survives an orderly close and a crash, over ledgers that roll.
func TestCursor(t *testing.T) {
	for name, crash := range map[string]bool{"closed": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			run(t, func(t *testing.T, c *cluster) {
				b := c.broker("pulsar-1", func(config *managedledger.Config) { config.MaxEntriesPerLedger = 10 })
				m := b.open(t)
				p := &producer{ledger: m}
				p.addAll(t, 10)
				all, err := m.OpenCursor(t.Context(), "all", managedledger.CursorOptions{
					Initial: managedledger.Earliest, CursorProperties: map[string]string{"a": "b"},
				})
				noError(t, err)
				late, err := m.OpenCursor(t.Context(), "späte/ sub", managedledger.CursorOptions{Initial: managedledger.Latest})
				noError(t, err)
				p.addAll(t, 40)
				want(t, "backlog of all", all.Backlog(), 50)
				want(t, "backlog of the late one", late.Backlog(), 40)
				await(t, func(done func(error)) { all.MarkDelete(p.positions[4], map[string]int64{"snapshot": 7}, done) })
				await(t, func(done func(error)) { all.Delete([]position{p.positions[6], p.positions[9], p.positions[20]}, done) })
				await(t, func(done func(error)) {
					want(t, "batch complete", all.DeleteBatch(p.positions[30], []int64{0b101}, done), false)
				})
				want(t, "mark-delete", all.MarkDeleted(), p.positions[4])
				want(t, "backlog", all.Backlog(), 42)
				if crash {
					b.kill()
				} else {
					b.close()
				}
				m = c.broker("pulsar-2", nil).open(t)
				all, _ = m.Cursor("all")
				want(t, "mark-delete", all.MarkDeleted(), p.positions[4])
				want(t, "backlog", all.Backlog(), 42)
				want(t, "property", all.Properties()["snapshot"], 7)
				want(t, "cursor property", all.CursorProperties()["a"], "b")
				want(t, "ack set", all.AckSet(p.positions[30])[0], 0b101)
				late, found := m.Cursor("späte/ sub")
				want(t, "late cursor", found, true)
				want(t, "backlog of the late one", late.Backlog(), 40)
				var got []position
				for from := managedledger.Earliest; ; {
					entries, next, err := all.Read(t.Context(), from, 7, 1<<20)
					noError(t, err)
					if len(entries) == 0 {
						break
					}
					for _, e := range entries {
						got = append(got, e.Position)
					}
					from = next
				}
				left := slices.DeleteFunc(slices.Clone(p.positions), func(at position) bool { return all.IsDeleted(at) })
				if !slices.Equal(got, left) {
					t.Errorf("read %v, want %v", got, left)
				}
				await(t, func(done func(error)) { all.Delete([]position{p.positions[5]}, done) })
				want(t, "mark-delete over the gap", all.MarkDeleted(), p.positions[6])
				want(t, "batch complete", all.DeleteBatch(p.positions[30], []int64{0b010}, nil), true)
				noError(t, all.Skip(t.Context(), 3)) // 7, 8, (9 is deleted), 10
				want(t, "mark-delete after skip", all.MarkDeleted(), p.positions[10])
				noError(t, all.Reset(t.Context(), p.positions[2]))
				want(t, "backlog after reset", all.Backlog(), 48)
				noError(t, all.ClearBacklog(t.Context()))
				want(t, "backlog after clear", all.Backlog(), 0)
				if err := func() error {
					done := make(chan error, 1)
					all.MarkDelete(position{Ledger: 1 << 40, Entry: 0}, nil, func(err error) { done <- err })
					return <-done
				}(); !errors.Is(err, managedledger.ErrInvalidPosition) {
					t.Errorf("mark-delete of the future: %v", err)
				}
			})
		})
	}
}

func TestTrim(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		b := c.broker("pulsar-1", func(config *managedledger.Config) { config.MaxEntriesPerLedger = 10 })
		m := b.open(t)
		m.SetRetention(managedledger.Retention{})
		cursor, err := m.OpenCursor(t.Context(), "sub", managedledger.CursorOptions{Initial: managedledger.Earliest})
		noError(t, err)
		p := &producer{ledger: m}
		p.addAll(t, 55)
		want(t, "ledgers", len(m.Ledgers()), 6)
		await(t, func(done func(error)) { cursor.MarkDelete(p.positions[29], nil, done) })
		synctest.Wait()
		want(t, "ledgers after the cursor left three", len(m.Ledgers()), 3)
		want(t, "first entry", m.Next(m.First()), p.positions[30])
		m.SetRetention(managedledger.Retention{Time: time.Hour, Bytes: -1})
		noError(t, cursor.ClearBacklog(t.Context()))
		synctest.Wait()
		want(t, "ledgers kept by retention", len(m.Ledgers()), 3)
		time.Sleep(2 * time.Hour)
		deleted, err := m.Trim(t.Context())
		noError(t, err)
		want(t, "ledgers deleted after retention", len(deleted), 2)
		want(t, "backlog", cursor.Backlog(), 0)
		left := map[int64]bool{}
		noError(t, metadata.ListLedgers(t.Context(), b.session, func(ledger int64) { left[ledger] = true }))
		for _, l := range m.Ledgers() {
			want(t, "current ledger is there", left[l.Ledger], true)
		}
		want(t, "ledgers with metadata", len(left), 2) // the current one and the cursor's
	})
}

func TestFindLast(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		m := c.broker("pulsar-1", func(config *managedledger.Config) { config.MaxEntriesPerLedger = 7 }).open(t)
		p := &producer{ledger: m}
		p.addAll(t, 40)
		for _, n := range []int{0, 1, 7, 8, 39, 40} {
			asked := 0
			at, found, err := m.FindLast(t.Context(), func(e managedledger.Entry) (bool, error) {
				asked++
				return slices.Index(p.positions, e.Position) < n, nil
			})
			noError(t, err)
			want(t, fmt.Sprint("found with ", n), found, n > 0)
			if found {
				want(t, fmt.Sprint("last of ", n), at, p.positions[n-1])
			}
			if asked > 7 {
				t.Errorf("%d entries were read of 40", asked)
			}
		}
	})
}
