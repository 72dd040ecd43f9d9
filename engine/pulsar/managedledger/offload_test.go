package managedledger_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/media"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/trace"
)

// steps counts what a broker does to the medium and to ZooKeeper, and lets the broker die at one of these steps: before it is done, or
// when it is done and the broker does not know.
type steps struct {
	mu    sync.Mutex
	taken []string
	die   int // at this step, from 1; 0: never
	after bool
	dead  chan struct{} // closed then
	sever func()
}

var errDead = fmt.Errorf("the broker is dead: %w", zk.ErrClosing)

func (s *steps) do(what string, do func() error) error {
	s.mu.Lock()
	select {
	case <-s.dead:
		s.mu.Unlock()
		return errDead
	default:
	}
	s.taken = append(s.taken, what)
	dies := len(s.taken) == s.die
	if dies {
		close(s.dead)
	}
	s.mu.Unlock()
	if !dies {
		return do()
	}
	if s.after {
		_ = do()
	}
	s.sever()
	return errDead
}

// steppedMedium and steppedStore are a broker's ways to the medium and to ZooKeeper.
type steppedMedium struct {
	*media.Memory
	*steps
}

func (m steppedMedium) Put(ctx context.Context, name string, content io.Reader, size int64) error {
	return m.do("put", func() error { return m.Memory.Put(ctx, name, content, size) })
}

func (m steppedMedium) Remove(ctx context.Context, name string) error {
	return m.do("remove", func() error { return m.Memory.Remove(ctx, name) })
}

func (m steppedMedium) ReadAt(ctx context.Context, name string, p []byte, offset int64) (n int, err error) {
	err = m.do("read", func() error { n, err = m.Memory.ReadAt(ctx, name, p, offset); return err })
	return n, err
}

type steppedStore struct {
	metadata.Store
	*steps
}

func (s steppedStore) Set(path string, data []byte, version int32) (stat *zk.Stat, err error) {
	err = s.do("set", func() error { stat, err = s.Store.Set(path, data, version); return err })
	return stat, err
}

// offloading is how these tests' brokers are set up: small ledgers, no cache, a medium.
func offloading(medium managedledger.Config) func(*managedledger.Config) {
	return func(config *managedledger.Config) {
		config.MaxEntriesPerLedger, config.CacheBytes = 10, 1
		config.Medium, config.Tracer = medium.Medium, medium.Tracer
	}
}

func openWith(t *testing.T, b *broker, policy managedledger.OffloadPolicy) *managedledger.ManagedLedger {
	t.Helper()
	m, err := b.Open(t.Context(), topic, managedledger.Options{Retention: managedledger.Retention{Time: -1, Bytes: -1}, Offload: &policy})
	noError(t, err)
	return m
}

var (
	keepInBookies = managedledger.OffloadPolicy{Size: -1, Age: -1, DeletionLag: -1}
	leaveAtOnce   = managedledger.OffloadPolicy{Size: -1, Age: -1, DeletionLag: 0}
)

// offloadAll offloads every sealed ledger, and waits for it.
func offloadAll(t *testing.T, m *managedledger.ManagedLedger) managedledger.OffloadStatus {
	t.Helper()
	ledgers := m.Ledgers()
	noError(t, m.Offload(t.Context(), position{Ledger: ledgers[len(ledgers)-1].Ledger}))
	synctest.Wait()
	return m.OffloadStatus()
}

// inBookies is the ledgers with metadata in BookKeeper.
func inBookies(t *testing.T, b *broker) (ids []int64) {
	t.Helper()
	noError(t, metadata.ListLedgers(t.Context(), b.session, func(id int64) { ids = append(ids, id) }))
	slices.Sort(ids)
	return ids
}

func objects(t *testing.T, medium *media.Memory) []string {
	t.Helper()
	names, err := medium.List(t.Context(), "")
	noError(t, err)
	return names
}

// wanted are the objects that the metadata points to.
func pointedTo(m *managedledger.ManagedLedger) (names []string) {
	for _, info := range m.Ledgers() {
		if info.Offload != nil && info.Offload.Complete {
			name := fmt.Sprintf("%s/%s-ledger-%d", topic, info.Offload.UID, info.Ledger)
			names = append(names, name, name+"-index")
		}
	}
	slices.Sort(names)
	return names
}

func wantSame[T comparable](t *testing.T, what string, got, wanted []T) {
	t.Helper()
	if !slices.Equal(got, wanted) {
		t.Errorf("%s: got %v, want %v", what, got, wanted)
	}
}

// Ledgers move to the medium, leave the bookies, and are read back by the next owner while every bookie that had them is dead.
func TestOffload(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		medium, tracer := media.NewMemory(), trace.NewTracer("run", "pulsar-1", 1<<12)
		b := c.broker("pulsar-1", offloading(managedledger.Config{Medium: medium, Tracer: tracer}))
		m := openWith(t, b, managedledger.OffloadPolicy{Size: -1, Age: -1, DeletionLag: time.Hour})
		p := &producer{ledger: m}
		p.addAll(t, 35)
		synctest.Wait()
		want(t, "state before", m.OffloadStatus().State, managedledger.OffloadNotRun)
		status := offloadAll(t, m)
		current := m.Ledgers()[3].Ledger
		want(t, "state", status, managedledger.OffloadStatus{State: managedledger.OffloadSuccess, FirstInBookies: position{Ledger: current}})
		wantSame(t, "objects", objects(t, medium), pointedTo(m))
		want(t, "objects", len(objects(t, medium)), 6)
		want(t, "ledgers in bookies", len(inBookies(t, b)), 4)
		verifyAll(t, m, p.positions)

		time.Sleep(time.Hour)
		m.CheckOffload()
		synctest.Wait()
		wantSame(t, "ledgers in bookies after the lag", inBookies(t, b), []int64{current})
		b.kill()
		next := c.broker("pulsar-2", offloading(managedledger.Config{Medium: medium}))
		taken := openWith(t, next, keepInBookies)
		verifyAll(t, taken, p.positions)
		var told []string
		for _, record := range tracer.Drain(nil) {
			if kind := record.Data.Kind(); strings.HasPrefix(kind, "pulsar.") || kind == "bookkeeper.ledgerDeleted" {
				told = append(told, kind)
			}
		}
		wantSame(t, "events", told, []string{
			"pulsar.ledgerOffloadStarted", "pulsar.ledgerOffloaded", "pulsar.ledgerOffloadStarted", "pulsar.ledgerOffloaded",
			"pulsar.ledgerOffloadStarted", "pulsar.ledgerOffloaded",
			"pulsar.ledgerDeletedFromBookies", "pulsar.ledgerDeletedFromBookies", "pulsar.ledgerDeletedFromBookies",
		})
	})
}

// A policy offloads by itself: when a ledger is sealed.
func TestOffloadByPolicy(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		medium := media.NewMemory()
		b := c.broker("pulsar-1", offloading(managedledger.Config{Medium: medium}))
		m := openWith(t, b, managedledger.OffloadPolicy{Size: 0, Age: -1, DeletionLag: 0})
		p := &producer{ledger: m}
		p.addAll(t, 31)
		synctest.Wait()
		want(t, "ledgers in bookies", len(inBookies(t, b)), 1)
		want(t, "state of what was asked for", m.OffloadStatus().State, managedledger.OffloadNotRun)
		verifyAll(t, m, p.positions)
	})
}

// The owner dies at each step of offloading and of leaving the bookies. Its successor reads everything, cleans up what it finds, and brings
// the work to its end; nothing is left on the medium that the metadata does not point to.
func TestOffloadSurvivesACrashAtEachStep(t *testing.T) {
	points := 0
	for _, after := range []bool{false, true} {
		for die := 1; ; die++ {
			reached := false
			what := ""
			t.Run(fmt.Sprintf("step %d, after %v", die, after), func(t *testing.T) {
				run(t, func(t *testing.T, c *cluster) { what, reached = offloadWithACrash(t, c, die, after) })
			})
			if !reached {
				if die < 15 {
					t.Errorf("the offload has %d steps only", die-1)
				}
				break
			}
			if t.Failed() {
				t.Fatalf("the crash at step %d (%s, done: %v) is not survived", die, what, after)
			}
			points++
		}
	}
	t.Logf("%d crash points", points)
}

func offloadWithACrash(t *testing.T, c *cluster, die int, after bool) (what string, reached bool) {
	medium := media.NewMemory()
	s := &steps{after: after, dead: make(chan struct{})}
	first := c.broker("pulsar-1", func(config *managedledger.Config) {
		offloading(managedledger.Config{Medium: steppedMedium{medium, s}})(config)
		config.Store = steppedStore{config.Store, s}
	})
	s.sever = func() { first.view.Sever(); first.session.End() }
	m := openWith(t, first, leaveAtOnce)
	p := &producer{ledger: m}
	p.addAll(t, 25)
	synctest.Wait()
	s.mu.Lock()
	s.taken, s.die = nil, die
	s.mu.Unlock()
	noError(t, m.Offload(t.Context(), position{Ledger: m.Ledgers()[2].Ledger}))
	synctest.Wait() // the work is done, or the broker is dead
	if reached = len(s.taken) >= die; reached {
		what = s.taken[die-1]
	}
	first.kill()

	second := c.broker("pulsar-2", offloading(managedledger.Config{Medium: medium}))
	taken := openWith(t, second, leaveAtOnce)
	verifyAll(t, taken, p.positions)
	synctest.Wait()
	wantSame(t, "objects after the takeover", objects(t, medium), pointedTo(taken))
	verifyAll(t, taken, p.positions)
	status := offloadAll(t, taken)
	want(t, "state", status.State, managedledger.OffloadSuccess)
	want(t, "ledgers in bookies", len(inBookies(t, second)), 1)
	for _, info := range taken.Ledgers()[:len(taken.Ledgers())-1] {
		want(t, "the ledger is on the medium alone", info.Offload != nil && info.Offload.Complete && info.Offload.DeletedFromBookies, true)
	}
	wantSame(t, "objects in the end", objects(t, medium), pointedTo(taken))
	verifyAll(t, taken, p.positions)
	return what, reached
}

// brittleMedium fails, or holds a Put until it is let go on.
type brittleMedium struct {
	*media.Memory
	failed error
	held   chan struct{}
}

func (m *brittleMedium) Put(ctx context.Context, name string, content io.Reader, size int64) error {
	if m.held != nil {
		<-m.held
	}
	if m.failed != nil && strings.HasSuffix(name, "-index") {
		return m.failed
	}
	return m.Memory.Put(ctx, name, content, size)
}

func TestOffloadThatFails(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		medium := &brittleMedium{Memory: media.NewMemory(), failed: errors.New("the medium is full")}
		m := openWith(t, c.broker("pulsar-1", offloading(managedledger.Config{Medium: medium})), keepInBookies)
		p := &producer{ledger: m}
		p.addAll(t, 15)
		status := offloadAll(t, m)
		if status.State != managedledger.OffloadError || !strings.Contains(status.Error, "the medium is full") {
			t.Errorf("status %+v", status)
		}
		want(t, "objects", len(objects(t, medium.Memory)), 0)
		want(t, "nothing is said to be offloaded", m.Ledgers()[0].Offload, nil)
		verifyAll(t, m, p.positions)
		p.addAll(t, 10) // adds go on

		medium.failed = nil
		want(t, "state of the next attempt", offloadAll(t, m).State, managedledger.OffloadSuccess)
		verifyAll(t, m, p.positions)
		err := m.Offload(t.Context(), position{Ledger: 1000})
		want(t, "an offload up to nowhere is refused", errors.Is(err, managedledger.ErrInvalidPosition), true)
		err = c.broker("pulsar-2", nil).open(t).Offload(t.Context(), position{})
		want(t, "an offload without a medium is refused", errors.Is(err, managedledger.ErrNoMedium), true)
	})
}

// An owner that was taken over while it uploaded does not leave its upload behind, and does not harm its successor's.
func TestOffloadOfAZombie(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		shared := media.NewMemory()
		held := &brittleMedium{Memory: shared, held: make(chan struct{})}
		zombie := openWith(t, c.broker("pulsar-1", offloading(managedledger.Config{Medium: held})), keepInBookies)
		p := &producer{ledger: zombie}
		p.addAll(t, 15)
		noError(t, zombie.Offload(t.Context(), position{Ledger: zombie.Ledgers()[1].Ledger}))
		err := zombie.Offload(t.Context(), position{Ledger: zombie.Ledgers()[1].Ledger})
		want(t, "a second one meanwhile is refused", errors.Is(err, managedledger.ErrOffloading), true)
		synctest.Wait()
		owner := openWith(t, c.broker("pulsar-2", offloading(managedledger.Config{Medium: shared})), leaveAtOnce)
		want(t, "the owner's offload", offloadAll(t, owner).State, managedledger.OffloadSuccess)
		close(held.held)
		synctest.Wait()
		want(t, "the zombie's offload", zombie.OffloadStatus().State, managedledger.OffloadError)
		wantSame(t, "objects", objects(t, shared), pointedTo(owner))
		verifyAll(t, owner, p.positions)
	})
}

// A damaged object is never served: while bookies have the ledger they serve it, and they do not drop it. When they have, the error names
// the object.
func TestOffloadThatWasDamaged(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		medium := media.NewMemory()
		b := c.broker("pulsar-1", offloading(managedledger.Config{Medium: medium}))
		m := openWith(t, b, keepInBookies)
		p := &producer{ledger: m}
		p.addAll(t, 15)
		offloadAll(t, m)
		damage(t, medium)
		verifyAll(t, m, p.positions)
		m.SetOffloadPolicy(leaveAtOnce)
		m.CheckOffload()
		synctest.Wait()
		want(t, "ledgers in bookies", len(inBookies(t, b)), 2)
		m.CheckOffload()
		synctest.Wait()
		wantSame(t, "objects", objects(t, medium), nil)
		verifyAll(t, m, p.positions)

		want(t, "state of another attempt", offloadAll(t, m).State, managedledger.OffloadSuccess)
		want(t, "ledgers in bookies", len(inBookies(t, b)), 1)
		verifyAll(t, m, p.positions)
		name := damage(t, medium)
		entries, err := m.ReadEntries(t.Context(), p.positions[0], 10, 1<<20)
		if err == nil || !strings.Contains(err.Error(), name) || len(entries) > 0 {
			t.Errorf("%d entries are served from the damaged %s: %v", len(entries), name, err)
		}
		last, err := m.ReadEntries(t.Context(), p.positions[10], 10, 1<<20)
		noError(t, err)
		want(t, "entries of the other ledger", len(last), 5)
	})
}

// damage flips a bit of the first object.
func damage(t *testing.T, medium *media.Memory) string {
	t.Helper()
	name := objects(t, medium)[0]
	size, err := medium.Size(t.Context(), name)
	noError(t, err)
	content := make([]byte, size)
	_, err = medium.ReadAt(t.Context(), name, content, 0)
	noError(t, err)
	content[size/2] ^= 1
	noError(t, medium.Put(t.Context(), name, strings.NewReader(string(content)), size))
	return name
}

// What nobody needs any more goes from the medium, too: when its ledger is trimmed and when the topic is deleted.
func TestOffloadedLedgersAreDeleted(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		medium := media.NewMemory()
		b := c.broker("pulsar-1", offloading(managedledger.Config{Medium: medium}))
		m := openWith(t, b, leaveAtOnce)
		cursor, err := m.OpenCursor(t.Context(), "sub", managedledger.CursorOptions{Initial: managedledger.Earliest})
		noError(t, err)
		p := &producer{ledger: m}
		p.addAll(t, 35)
		offloadAll(t, m)
		m.SetRetention(managedledger.Retention{})
		await(t, func(done func(error)) { cursor.MarkDelete(p.positions[19], nil, done) })
		synctest.Wait()
		want(t, "ledgers", len(m.Ledgers()), 2)
		wantSame(t, "objects", objects(t, medium), pointedTo(m))
		noError(t, m.Delete(t.Context()))
		wantSame(t, "objects of a deleted topic", objects(t, medium), nil)
		want(t, "ledgers in bookies", len(inBookies(t, b)), 0)
	})
}
