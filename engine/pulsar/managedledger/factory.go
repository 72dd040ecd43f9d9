package managedledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/offloaded"
	"twinlog/engine/trace"
)

// Config is what all managed ledgers of one broker share. Zero values mean the defaults that are given.
type Config struct {
	Store   metadata.Store     // the broker's ZooKeeper session
	Bookies *bookkeeper.Client // the broker's BookKeeper client; the factory neither runs nor stops it
	Tracer  *trace.Tracer
	Logger  *slog.Logger

	Ensemble    int // bookies a ledger is striped over; default 3
	WriteQuorum int // copies of each entry; default 2
	AckQuorum   int // copies that must be on disk before an add is done; default 2

	MaxEntriesPerLedger int64         // roll over after so many entries; default 50,000
	MaxBytesPerLedger   int64         // or so many bytes; default 2 GiB
	MinRollover         time.Duration // by entries not before a ledger is this old; default 10 minutes, negative: none
	MaxRollover         time.Duration // at the latest (at the next add) when it is this old; default 4 hours

	MaxPendingBytes int64         // adds of one managed ledger that wait for bookies; default 64 MiB
	CacheBytes      int64         // tail entries of all managed ledgers kept in memory; default 64 MiB
	CursorFlush     time.Duration // acknowledgements without a callback are stored at the latest after this; default 1 s

	// Medium is where sealed ledgers are offloaded to, shared by all brokers; nil: there is none.
	Medium offloaded.Medium
	// MediumDriver is its kind as the metadata names it: filesystem (unless told), S3.
	MediumDriver string
}

func (c Config) withDefaults() (Config, error) {
	if c.Store == nil || c.Bookies == nil {
		return c, errors.New("managed ledgers: a ZooKeeper session and a BookKeeper client are needed")
	}
	c.Ensemble = cmp.Or(c.Ensemble, 3)
	c.WriteQuorum = cmp.Or(c.WriteQuorum, 2)
	c.AckQuorum = cmp.Or(c.AckQuorum, 2)
	c.MaxEntriesPerLedger = cmp.Or(c.MaxEntriesPerLedger, 50_000)
	c.MaxBytesPerLedger = cmp.Or(c.MaxBytesPerLedger, 2<<30)
	c.MinRollover = cmp.Or(c.MinRollover, 10*time.Minute)
	c.MaxRollover = cmp.Or(c.MaxRollover, 4*time.Hour)
	c.MaxPendingBytes = cmp.Or(c.MaxPendingBytes, 64<<20)
	c.CacheBytes = cmp.Or(c.CacheBytes, 64<<20)
	c.CursorFlush = cmp.Or(c.CursorFlush, time.Second)
	c.MediumDriver = cmp.Or(c.MediumDriver, "filesystem")
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Options are one managed ledger's own; zero values mean the factory's or none.
type Options struct {
	Ensemble    int
	WriteQuorum int
	AckQuorum   int
	Retention   Retention
	Offload     *OffloadPolicy // nil: DefaultOffloadPolicy
	// MustExist: Open fails with ErrNotFound instead of creating a managed ledger.
	MustExist bool
	// Properties are stored when Open creates the managed ledger.
	Properties map[string]string
}

// Retention keeps ledgers although every cursor has acknowledged them: those that were closed less than Time ago, as long as they
// are not more than Bytes. Negative values mean without limit; a zero in either keeps nothing.
type Retention struct {
	Time  time.Duration
	Bytes int64
}

// LedgerInfo is one ledger of a managed ledger.
type LedgerInfo struct {
	Ledger  int64
	Entries int64     // so far, when it is the current ledger
	Bytes   int64     // payload bytes
	Closed  time.Time // zero for the current ledger
	Offload *Offload  // nil: bookies have it, and nobody else
}

// Factory opens the managed ledgers of one broker. At most one ManagedLedger of a name is open at a time: Open returns the one that
// is already open.
type Factory struct {
	config Config
	cache  *tailCache
	ctx    context.Context // of everything that the managed ledgers do in the background
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	open   map[string]*opening
}

// opening is a managed ledger that is open or about to be.
type opening struct {
	done   chan struct{} // closed when ledger or err is there
	ledger *ManagedLedger
	err    error
}

// NewFactory returns a factory.
func NewFactory(config Config) (*Factory, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Factory{config: config, cache: newTailCache(config.CacheBytes), ctx: ctx, cancel: cancel, open: make(map[string]*opening)}, nil
}

// Cache tells how the entries that were added last are kept.
func (f *Factory) Cache() CacheStats { return f.cache.state() }

// Open takes a managed ledger over: it fences and recovers the last ledger, then opens a new one. The name is Pulsar's persistence
// name: tenant/namespace/persistent/url-escaped-topic. A managed ledger that is open here and still takes adds (or is terminated) is
// returned as it is; one that was fenced or closed is opened anew, after it was closed.
func (f *Factory) Open(ctx context.Context, name string, options Options) (*ManagedLedger, error) {
	for {
		o, ours, err := f.claim(name)
		if err != nil {
			return nil, err
		}
		if ours {
			o.ledger, o.err = f.openNew(ctx, name, options)
			if o.err != nil {
				f.forget(name, o)
			}
			close(o.done)
			return o.ledger, o.err
		}
		select {
		case <-o.done:
		case <-ctx.Done():
			return nil, fmt.Errorf("open managed ledger %s: %w", name, ctx.Err())
		}
		if o.err != nil {
			return nil, o.err
		}
		if err := o.ledger.Err(); err == nil || errors.Is(err, ErrTerminated) {
			return o.ledger, nil
		}
		if err := o.ledger.Close(ctx); err != nil && ctx.Err() != nil {
			return nil, fmt.Errorf("open managed ledger %s: close the old one: %w", name, err)
		}
		f.forget(name, o)
	}
}

// claim returns the opening of a name, a new one of ours when there is none.
func (f *Factory) claim(name string) (o *opening, ours bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, false, fmt.Errorf("open managed ledger %s: %w", name, ErrClosed)
	}
	if o = f.open[name]; o != nil {
		return o, false, nil
	}
	o = &opening{done: make(chan struct{})}
	f.open[name] = o
	return o, true, nil
}

func (f *Factory) forget(name string, o *opening) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[name] == o {
		delete(f.open, name)
	}
}

// forgetLedger is forget for a managed ledger that was closed by itself.
func (f *Factory) forgetLedger(m *ManagedLedger) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o := f.open[m.name]; o != nil && o.ledger == m {
		delete(f.open, m.name)
	}
}

// Exists tells whether a managed ledger of that name is stored.
func (f *Factory) Exists(_ context.Context, name string) (bool, error) {
	exists, _, err := f.config.Store.Exists(znodePath(name))
	if err != nil {
		return false, fmt.Errorf("look for managed ledger %s: %w: %w", name, ErrStorage, err)
	}
	return exists, nil
}

// List gives the names of the managed ledgers below a prefix such as "public/default/persistent", sorted, without the prefix.
func (f *Factory) List(_ context.Context, prefix string) ([]string, error) {
	children, _, err := f.config.Store.Children(znodePath(prefix))
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list managed ledgers of %s: %w: %w", prefix, ErrStorage, err)
	}
	slices.Sort(children)
	return children, nil
}

// Delete removes a managed ledger: its ledgers, its cursors, its znodes. One that is open here is closed first. ErrNotFound.
func (f *Factory) Delete(ctx context.Context, name string) error {
	f.mu.Lock()
	o := f.open[name]
	f.mu.Unlock()
	if o != nil {
		select {
		case <-o.done:
		case <-ctx.Done():
			return fmt.Errorf("delete managed ledger %s: %w", name, ctx.Err())
		}
		if o.ledger != nil {
			return o.ledger.Delete(ctx)
		}
	}
	return f.deleteStored(name)
}

// deleteStored deletes what is stored: first the znodes, so that nobody opens it any more, then the ledgers.
func (f *Factory) deleteStored(name string) error {
	store := f.config.Store
	found, _, err := readInfo(store, name)
	if err != nil {
		return err
	}
	cursors, _, err := store.Children(znodePath(name))
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("delete managed ledger %s: %w: %w", name, ErrStorage, err)
	}
	var ledgers []int64
	for _, cursor := range cursors {
		ledger, err := deleteCursorZnode(store, name, cursor)
		if err != nil {
			return err
		}
		ledgers = append(ledgers, ledger)
	}
	if err := store.Delete(znodePath(name), -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("delete managed ledger %s: %w: %w", name, ErrStorage, err)
	}
	for _, info := range found.ledgers {
		ledgers = append(ledgers, info.Ledger)
	}
	failed := f.deleteLedgers(ledgers)
	for _, info := range found.ledgers {
		if err := f.deleteOffloaded(name, info); err != nil {
			failed = errors.Join(failed, err)
		}
		if info.Offloaded() {
			f.config.Tracer.Emit(trace.PulsarOffloadedLedgerDeleted{ManagedLedger: name, Ledger: info.Ledger})
		}
	}
	return failed
}

// deleteOffloaded removes what the medium has of a ledger that nothing refers to any more.
func (f *Factory) deleteOffloaded(managedLedger string, info LedgerInfo) error {
	if info.Offload == nil || f.config.Medium == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(f.ctx, mediumPatience)
	defer cancel()
	return offloaded.Remove(ctx, f.config.Medium, objectName(managedLedger, info))
}

// deleteLedgers deletes ledgers that nothing refers to any more; -1 is none.
func (f *Factory) deleteLedgers(ledgers []int64) error {
	var failed []error
	for _, id := range ledgers {
		if id < 0 {
			continue
		}
		if err := f.config.Bookies.DeleteLedger(id); err != nil {
			failed = append(failed, fmt.Errorf("%w: %w", ErrStorage, err))
		}
	}
	return errors.Join(failed...)
}

// Close closes every managed ledger that is open. After it, Open fails.
func (f *Factory) Close(ctx context.Context) error {
	f.mu.Lock()
	f.closed = true
	var all []*opening
	for _, o := range f.open {
		all = append(all, o)
	}
	f.mu.Unlock()
	failed := make([]error, len(all))
	var closing sync.WaitGroup
	for i, o := range all {
		closing.Go(func() {
			<-o.done
			if o.ledger != nil {
				failed[i] = o.ledger.Close(ctx)
			}
		})
	}
	closing.Wait()
	f.cancel()
	f.cache.close()
	return errors.Join(failed...)
}
