package broker

import (
	"context"
	"fmt"

	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/managedledger"
)

// storage is where topics are kept: managed ledgers on bookies. It is an interface so that the broker's own logic can be tested
// against a memory; what each method means is said in package managedledger.
type storage interface {
	Open(ctx context.Context, name string, options managedledger.Options) (topicLog, error)
	Exists(ctx context.Context, name string) (bool, error)
	Delete(ctx context.Context, name string) error
	List(ctx context.Context, prefix string) ([]string, error)
	Cache() managedledger.CacheStats
	Close(ctx context.Context) error
}

// topicLog is one topic's managed ledger.
type topicLog interface {
	logReader
	logCursors
	AddEntry(data []byte, messages int, done func(managedledger.Position, error))
	Err() error
	Terminate(ctx context.Context) (managedledger.Position, error)
	Close(ctx context.Context) error
	Delete(ctx context.Context) error
	Properties() map[string]string
	SetProperties(ctx context.Context, properties map[string]string) error
	SetRetention(retention managedledger.Retention)
	SetOffloadPolicy(policy managedledger.OffloadPolicy)
	Offload(ctx context.Context, before managedledger.Position) error
	OffloadStatus() managedledger.OffloadStatus
	CheckOffload()
	Trim(ctx context.Context) ([]int64, error)
	Stats() managedledger.Stats
	Ledgers() []managedledger.LedgerInfo
}

// logReader finds and reads entries.
type logReader interface {
	ReadEntries(ctx context.Context, from managedledger.Position, maxEntries int, maxBytes int64) ([]managedledger.Entry, error)
	LastConfirmed() managedledger.Position
	First() managedledger.Position
	Next(p managedledger.Position) managedledger.Position
	Previous(p managedledger.Position) managedledger.Position
	Contains(p managedledger.Position) bool
	CountEntries(from, to managedledger.Position) int64
	Advance(p managedledger.Position, n int64) managedledger.Position
	FindLast(ctx context.Context, match func(managedledger.Entry) (bool, error)) (managedledger.Position, bool, error)
}

// logCursors opens and deletes cursors.
type logCursors interface {
	OpenCursor(ctx context.Context, name string, options managedledger.CursorOptions) (cursor, error)
	OpenNonDurableCursor(name string, initial managedledger.Position) (cursor, error)
	Cursors() []cursor
	DeleteCursor(ctx context.Context, name string) error
}

// cursor is what one subscription has acknowledged.
type cursor interface {
	Name() string
	Durable() bool
	MarkDeleted() managedledger.Position
	MarkDelete(p managedledger.Position, properties map[string]int64, done func(error))
	Delete(positions []managedledger.Position, done func(error))
	DeleteBatch(p managedledger.Position, ackSet []int64, done func(error)) (complete bool)
	AckSet(p managedledger.Position) []int64
	IsDeleted(p managedledger.Position) bool
	Read(ctx context.Context, from managedledger.Position, maxEntries int, maxBytes int64) ([]managedledger.Entry, managedledger.Position, error)
	Backlog() int64
	BacklogBytes() int64
	Reset(ctx context.Context, p managedledger.Position) error
	Skip(ctx context.Context, n int64) error
	ClearBacklog(ctx context.Context) error
	DeletedRanges() []managedledger.Range
	DeletedAhead(most int) ([]managedledger.Range, int64)
	CursorProperties() map[string]string
	SetCursorProperties(ctx context.Context, properties map[string]string) error
	CursorLedger() int64
	Close(ctx context.Context) error
}

// storageOpener starts the storage. Run serves until ctx ends; ready tells when it can be used.
type storageOpener func(config Config, store metadata.Store) (opened storage, run func(context.Context) error, ready <-chan struct{}, err error)

// openManagedLedgers is the storage of a real broker.
func openManagedLedgers(config Config, store metadata.Store) (storage, func(context.Context) error, <-chan struct{}, error) {
	bookies, err := bookkeeper.New(bookkeeper.Config{
		Network: config.Network, Store: store, Tracer: config.Tracer, Logger: config.Logger, NodeOf: config.NodeOf,
	})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("BookKeeper client: %w", err)
	}
	factory, err := managedledger.NewFactory(managedledger.Config{
		Store: store, Bookies: bookies, Tracer: config.Tracer, Logger: config.Logger,
		Ensemble: config.Ensemble, WriteQuorum: config.WriteQuorum, AckQuorum: config.AckQuorum,
		CacheBytes: config.CacheBytes, MaxEntriesPerLedger: config.LedgerEntries, MinRollover: config.LedgerRollover,
		Medium: config.Medium, MediumDriver: config.MediumDriver,
	})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("managed ledgers: %w", err)
	}
	return ledgerStorage{factory}, bookies.Run, bookies.Ready(), nil
}

type ledgerStorage struct{ *managedledger.Factory }

func (s ledgerStorage) Open(ctx context.Context, name string, options managedledger.Options) (topicLog, error) {
	opened, err := s.Factory.Open(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return ledgerLog{opened}, nil
}

type ledgerLog struct{ *managedledger.ManagedLedger }

func (l ledgerLog) OpenCursor(ctx context.Context, name string, options managedledger.CursorOptions) (cursor, error) {
	opened, err := l.ManagedLedger.OpenCursor(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return opened, nil
}

func (l ledgerLog) OpenNonDurableCursor(name string, initial managedledger.Position) (cursor, error) {
	opened, err := l.ManagedLedger.OpenNonDurableCursor(name, initial)
	if err != nil {
		return nil, err
	}
	return opened, nil
}

func (l ledgerLog) Cursors() []cursor {
	var cursors []cursor
	for _, opened := range l.ManagedLedger.Cursors() {
		cursors = append(cursors, opened)
	}
	return cursors
}
