package managedledger_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/media"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/trace"
)

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

// pointedTo is the objects that the metadata points to.
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

// brittleMedium fails, or holds a Put or a Remove until it is let go on.
type brittleMedium struct {
	*media.Memory
	failed   error
	held     chan struct{}
	removing chan struct{}
}

func (m *brittleMedium) Remove(ctx context.Context, name string) error {
	if m.removing != nil {
		<-m.removing
	}
	return m.Memory.Remove(ctx, name)
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

// The same for a terminated topic, whose next owner has no ledger to put into the list: what that owner cleans up is completed by nobody.
func TestOffloadOfAZombieWhoseTopicIsTerminated(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		shared := media.NewMemory()
		held, slow := &brittleMedium{Memory: shared, held: make(chan struct{})}, &brittleMedium{Memory: shared, removing: make(chan struct{})}
		zombie := openWith(t, c.broker("pulsar-1", offloading(managedledger.Config{Medium: held})), keepInBookies)
		p := &producer{ledger: zombie}
		p.addAll(t, 15)
		_, err := zombie.Terminate(t.Context())
		noError(t, err)
		noError(t, zombie.Offload(t.Context(), position{Ledger: zombie.Ledgers()[1].Ledger}))
		synctest.Wait()
		owner := openWith(t, c.broker("pulsar-2", offloading(managedledger.Config{Medium: slow})), leaveAtOnce)
		synctest.Wait() // it begins to clean up
		close(held.held)
		synctest.Wait()
		want(t, "the zombie's offload", zombie.OffloadStatus().State, managedledger.OffloadError)
		close(slow.removing)
		synctest.Wait()
		wantSame(t, "objects", objects(t, shared), nil)
		want(t, "the owner's offload", offloadAll(t, owner).State, managedledger.OffloadSuccess)
		wantSame(t, "objects in the end", objects(t, shared), pointedTo(owner))
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

// heldStore holds changes of the list of ledgers until they are let go on.
type heldStore struct {
	metadata.Store
	held *chan struct{}
}

func (s heldStore) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	if *s.held != nil && strings.HasSuffix(path, topic) {
		<-*s.held
	}
	return s.Store.Set(path, data, version)
}

// What is trimmed at the very end goes from the medium, too.
func TestOffloadedLedgersAreTrimmedWhileTheTopicIsClosed(t *testing.T) {
	run(t, func(t *testing.T, c *cluster) {
		medium := media.NewMemory()
		var held chan struct{}
		m := openWith(t, c.broker("pulsar-1", func(config *managedledger.Config) {
			offloading(managedledger.Config{Medium: medium})(config)
			config.Store = heldStore{config.Store, &held}
		}), leaveAtOnce)
		cursor, err := m.OpenCursor(t.Context(), "sub", managedledger.CursorOptions{Initial: managedledger.Earliest})
		noError(t, err)
		p := &producer{ledger: m}
		p.addAll(t, 35)
		offloadAll(t, m)
		m.SetRetention(managedledger.Retention{})
		held = make(chan struct{})
		await(t, func(done func(error)) { cursor.MarkDelete(p.positions[19], nil, done) })
		synctest.Wait() // the trim has begun
		closed := make(chan error, 1)
		go func() { closed <- m.Close(t.Context()) }()
		synctest.Wait()
		close(held)
		noError(t, <-closed)
		want(t, "objects", len(objects(t, medium)), 2)
		wantSame(t, "objects", objects(t, medium), pointedTo(m))
	})
}
