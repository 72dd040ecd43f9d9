package autorecovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"twinlog/engine/fabric"
	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/trace"
)

// Config is a bookie's autorecovery and its surroundings. Zero values mean the defaults that are given.
type Config struct {
	Bookie  string // host:port, on whose behalf it acts
	Session metadata.Session
	Network fabric.Network
	Tracer  *trace.Tracer
	Logger  *slog.Logger

	// LostBookieRecoveryDelay is how long a bookie may be away before the ledgers on it are marked; default 0, as in BookKeeper. The znode
	// of that name goes before it.
	LostBookieRecoveryDelay time.Duration
	// OpenLedgerGrace is how long the writer of an open ledger has to replace a lost bookie before the ledger is closed
	// (openLedgerRereplicationGracePeriod); default 30 s.
	OpenLedgerGrace time.Duration
	// Retry is how long a ledger waits that could not be replicated; a bookie that comes ends the wait. Default 5 s.
	Retry time.Duration
	// BookieCheckInterval is how often the auditor looks at all ledgers even when no bookie has gone (auditorPeriodicBookieCheckInterval);
	// default 1 day.
	BookieCheckInterval time.Duration
}

// AutoRecovery is one bookie's autorecovery.
type AutoRecovery struct {
	config Config
	store  metadata.Store
	client *bookkeeper.Client
	tracer *trace.Tracer
	logger *slog.Logger
}

// New checks the configuration; nothing happens before Run.
func New(config Config) (*AutoRecovery, error) {
	if config.Bookie == "" || config.Session.Store == nil || config.Network == nil {
		return nil, errors.New("autorecovery: a bookie, its ZooKeeper session and a network are needed")
	}
	for value, byDefault := range map[*time.Duration]time.Duration{
		&config.OpenLedgerGrace: 30 * time.Second, &config.Retry: 5 * time.Second, &config.BookieCheckInterval: 24 * time.Hour,
	} {
		if *value <= 0 {
			*value = byDefault
		}
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	client, err := bookkeeper.New(bookkeeper.Config{Network: config.Network, Store: config.Session.Store, Tracer: config.Tracer, Logger: config.Logger})
	if err != nil {
		return nil, fmt.Errorf("autorecovery: %w", err)
	}
	return &AutoRecovery{config: config, store: config.Session.Store, client: client, tracer: config.Tracer, logger: config.Logger}, nil
}

// Run stands for auditor and replicates marked ledgers until ctx ends. Locks and vote go with the session, which is the caller's. ZooKeeper
// out of reach is no error: it is tried again.
func (a *AutoRecovery) Run(ctx context.Context) error {
	var parts sync.WaitGroup
	defer parts.Wait()
	parts.Go(func() { _ = a.client.Run(ctx) }) // it only ends with ctx
	select {
	case <-a.client.Ready():
	case <-ctx.Done():
		return nil
	}
	parts.Go(func() { newAuditor(a).run(ctx) })
	newWorker(a).run(ctx)
	return nil
}

// zookeeperRetry is how long to wait when ZooKeeper could not be asked.
const zookeeperRetry = 500 * time.Millisecond
