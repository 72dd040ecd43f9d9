package managedledger

import (
	"context"
	"log/slog"
	"time"

	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/trace"
)

// Config is what all managed ledgers of one broker share. Zero values mean the defaults that are given.
type Config struct {
	Store   metadata.Store     // the broker's ZooKeeper session
	Bookies *bookkeeper.Client // the broker's BookKeeper client; the factory does not close it
	Tracer  *trace.Tracer
	Logger  *slog.Logger

	Ensemble    int // bookies a ledger is striped over; default 3
	WriteQuorum int // copies of each entry; default 2
	AckQuorum   int // copies that must be on disk before an add is done; default 2

	MaxEntriesPerLedger int64         // roll over after so many entries; default 50,000
	MaxBytesPerLedger   int64         // or so many bytes; default 2 GiB
	MinRollover         time.Duration // but not before a ledger is this old, unless it is full by bytes; default 10 minutes
	MaxRollover         time.Duration // and at the latest (at the next add) when it is this old; default 4 hours

	MaxPendingBytes int64         // adds of one managed ledger that wait for bookies; default 64 MiB
	CacheBytes      int64         // tail entries of all managed ledgers kept in memory; default 64 MiB
	CursorFlush     time.Duration // acknowledgements without a callback are stored at the latest after this; default 1 s
}

// Options are one managed ledger's own; zero values mean the factory's or none.
type Options struct {
	Ensemble    int
	WriteQuorum int
	AckQuorum   int
	Retention   Retention
	// MustExist: Open fails with ErrNotFound instead of creating a managed ledger.
	MustExist bool
	// Properties are stored when Open creates the managed ledger.
	Properties map[string]string
}

// Retention keeps ledgers although every cursor has acknowledged them. The zero value keeps none.
type Retention struct {
	Time  time.Duration // since the ledger was closed; negative: for ever
	Bytes int64         // of acknowledged ledgers; negative: without limit; 0: none, whatever Time says
}

// LedgerInfo is one ledger of a managed ledger.
type LedgerInfo struct {
	Ledger  int64
	Entries int64     // so far, when it is the current ledger
	Bytes   int64     // payload bytes
	Closed  time.Time // zero for the current ledger
}

// Factory opens the managed ledgers of one broker. At most one ManagedLedger of a name is open at a time: Open returns the one that
// is already open.
type Factory struct {
	config Config
}

// NewFactory returns a factory.
func NewFactory(config Config) (*Factory, error) { return &Factory{config: config}, nil }

// Open takes a managed ledger over: it fences and recovers the last ledger, then opens a new one. The name is Pulsar's persistence
// name: tenant/namespace/persistent/url-escaped-topic.
func (f *Factory) Open(ctx context.Context, name string, options Options) (*ManagedLedger, error) {
	return nil, ErrStorage
}

// Exists tells whether a managed ledger of that name is stored.
func (f *Factory) Exists(ctx context.Context, name string) (bool, error) { return false, ErrStorage }

// Delete removes a managed ledger that is not open here: its ledgers, its cursors, its znodes.
func (f *Factory) Delete(ctx context.Context, name string) error { return ErrStorage }

// List gives the names of the managed ledgers below a prefix such as "public/default/persistent", sorted, without the prefix.
func (f *Factory) List(ctx context.Context, prefix string) ([]string, error) { return nil, ErrStorage }

// Close closes every managed ledger that is open.
func (f *Factory) Close(ctx context.Context) error { return nil }
