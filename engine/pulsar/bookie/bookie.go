// Package bookie is a BookKeeper storage server. It speaks the BookKeeper protocol (versions 2 and 3), writes every entry to a
// journal with group commit before it acknowledges it, and keeps entries of all ledgers interleaved in entry logs. It knows nothing
// of ensembles and quorums: those are its clients' business.
//
// The way of an add:
//
//	connection ──▶ journal queue ──▶ journal: check key and fence, append, one sync for many ──▶ write cache ──▶ answer
//	                                                                                                  │
//	                                              entry log (all ledgers interleaved) + index ◀───────┘
//
// After a crash the entry logs' torn tail is cut and the journal is replayed from where the entry logs end.
//
// When its disk is full the bookie is read-only until there is room again; see space.go.
package bookie

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/pulsar/autorecovery"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/trace"
)

// Config is a bookie's surroundings. Zero values mean the defaults that are given.
type Config struct {
	// Address is what the bookie is called and where clients reach it, host:port; default: the address that it listens on.
	Address string
	Listen  string // default Address
	// ZooKeeper servers, host:port.
	ZooKeeper      []string
	SessionTimeout time.Duration // default 10 s
	// Connect opens another kind of session than one with the ZooKeeper servers; nil: those.
	Connect func() (metadata.Session, error)
	Network fabric.Network
	Disk    disk.Disk
	Tracer  *trace.Tracer
	Logger  *slog.Logger

	JournalAhead    int64         // bytes of the journal filled with zeros ahead of its end, for every add waits for a sync; default 1 MiB
	EntryLogBytes   int64         // an entry log is sealed at this size; default 64 MiB
	FlushInterval   time.Duration // entry logs are synced at least so often; default 10 s
	CollectInterval time.Duration // how often entries of deleted ledgers are looked for; default 1 minute
	DiskBytes       int64         // what the bookie says its disk holds; default 10 GiB
	// DiskCheckInterval is how often the bookie looks whether its disk is full, and when it is, whether there is room again
	// (diskCheckInterval); default 10 s.
	DiskCheckInterval time.Duration
	// AutoRecovery makes the bookie look after ledgers that lost copies, wherever they are (autoRecoveryDaemonEnabled); see package
	// autorecovery, also for the two times.
	AutoRecovery            bool
	LostBookieRecoveryDelay time.Duration
	OpenLedgerGrace         time.Duration
	// RoomNeeded is what must fit on the disk before adds are taken again; default 4 MiB, about a batch of the journal.
	RoomNeeded int64
}

// maxEntryLogBytes leaves room for the batch that fills a log: its commit log must not begin a second segment.
const maxEntryLogBytes = 1 << 30

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Network == nil || c.Disk == nil:
		return c, errors.New("bookie: network and disk are needed")
	case c.Address == "" && c.Listen == "":
		return c, errors.New("bookie: an address to listen on is needed")
	}
	if c.Listen == "" {
		c.Listen = c.Address
	}
	setDefault(&c.SessionTimeout, 10*time.Second)
	setDefault(&c.JournalAhead, 1<<20)
	setDefault(&c.EntryLogBytes, 64<<20)
	setDefault(&c.FlushInterval, 10*time.Second)
	setDefault(&c.CollectInterval, time.Minute)
	setDefault(&c.DiskBytes, 10<<30)
	setDefault(&c.DiskCheckInterval, 10*time.Second)
	setDefault(&c.RoomNeeded, 4<<20)
	if c.EntryLogBytes > maxEntryLogBytes {
		return c, fmt.Errorf("bookie: entry logs of %d bytes, the most is %d", c.EntryLogBytes, maxEntryLogBytes)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Connect == nil {
		c.Connect = func() (metadata.Session, error) {
			return metadata.OpenSession(c.Network, c.ZooKeeper, c.SessionTimeout, c.Logger)
		}
	}
	return c, nil
}

func setDefault[T int64 | time.Duration](value *T, byDefault T) {
	if *value <= 0 {
		*value = byDefault
	}
}

// Bookie is one bookie.
type Bookie struct {
	config Config
	node   string
	tracer *trace.Tracer
	logger *slog.Logger
	ready  chan struct{}
	damage *damageReport
	space  *space
	// changedMode has one token: the bookie is to be registered as what it is now.
	changedMode chan struct{}

	storage *storage
	journal *journal
	address string
}

// New checks the configuration; nothing is opened before Run.
func New(config Config) (*Bookie, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Bookie{
		config: config, node: config.Network.Node(), tracer: config.Tracer, logger: config.Logger, ready: make(chan struct{}),
		damage: &damageReport{tracer: config.Tracer, logger: config.Logger}, space: newSpace(), changedMode: make(chan struct{}, 1),
	}, nil
}

// Ready is closed when the bookie serves and is registered.
func (b *Bookie) Ready() <-chan struct{} { return b.ready }

// Address is the bookie's id. It is known once Ready is closed.
func (b *Bookie) Address() string { return b.address }

// Run recovers what is on the disk, serves until ctx ends, and then stores what is in memory.
func (b *Bookie) Run(ctx context.Context) error {
	if err := b.open(); err != nil {
		return fmt.Errorf("bookie %s: %w", b.config.Address, err)
	}
	err := b.serve(ctx)
	return errors.Join(err, b.close(err))
}

func (b *Bookie) open() error {
	storage, next, err := openStorage(b.config.Disk, b.space, b.config.EntryLogBytes, b.config.FlushInterval)
	if err != nil {
		return err
	}
	journal, err := openJournal(b.config.Disk, b.config.JournalAhead, storage, next, b.tracer, b.damage)
	if err != nil {
		storage.close()
		return err
	}
	storage.stored = journal.trimmed.Store
	b.storage, b.journal = storage, journal
	return nil
}

// serve runs until ctx ends (nil) or something fails.
func (b *Bookie) serve(ctx context.Context) error {
	listener, err := b.config.Network.Listen(b.config.Listen)
	if err != nil {
		return fmt.Errorf("bookie %s: listen on %s: %w", b.config.Address, b.config.Listen, err)
	}
	if b.address = b.config.Address; b.address == "" {
		b.address = listener.Addr().String()
	}
	session, err := b.config.Connect()
	if err != nil {
		listener.Close()
		return fmt.Errorf("bookie %s: %w", b.address, err)
	}
	// Clients go first, then the journal, then storage: each has an empty queue behind it when it ends.
	storageContext, endStorage := context.WithCancel(context.WithoutCancel(ctx))
	journalContext, endJournal := context.WithCancel(context.WithoutCancel(ctx))
	defer endStorage()
	defer endJournal()
	group, groupContext := errgroup.WithContext(ctx)
	group.Go(func() error { return b.storage.run(storageContext) })
	group.Go(func() error { return b.journal.run(journalContext) })
	group.Go(func() error {
		defer endStorage()
		defer endJournal()
		return b.accept(groupContext, listener)
	})
	group.Go(func() error { return b.join(groupContext, session) })
	group.Go(func() error { return b.watchSpace(groupContext) })
	group.Go(func() error { return b.collect(groupContext, session.Store) })
	group.Go(func() error { return b.recoverLedgers(groupContext, session) })
	group.Go(func() error {
		<-groupContext.Done()
		listener.Close()
		session.Close()
		return nil
	})
	if err := group.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("bookie %s: %w", b.address, err)
	}
	return nil
}

// recoverLedgers runs the bookie's autorecovery from when it is registered until ctx ends.
func (b *Bookie) recoverLedgers(ctx context.Context, session metadata.Session) error {
	if !b.config.AutoRecovery {
		return nil
	}
	select {
	case <-b.ready:
	case <-ctx.Done():
		return nil
	}
	recovery, err := autorecovery.New(autorecovery.Config{
		Bookie: b.address, Session: session, Network: b.config.Network, Tracer: b.tracer, Logger: b.logger,
		LostBookieRecoveryDelay: b.config.LostBookieRecoveryDelay, OpenLedgerGrace: b.config.OpenLedgerGrace,
	})
	if err != nil {
		return err
	}
	return recovery.Run(ctx)
}

// accept serves connections; it returns after the last one ended.
func (b *Bookie) accept(ctx context.Context, listener net.Listener) error {
	var connections sync.WaitGroup
	defer connections.Wait()
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("accept: %w", err)
		}
		connections.Go(func() { b.serveConnection(ctx, conn) })
	}
}

// close stores what is in memory, or, after a failure, only lets go.
func (b *Bookie) close(failure error) error {
	if failure != nil {
		b.storage.close()
		b.journal.log.Abandon()
		return nil
	}
	if err := b.storage.closeInOrder(); err != nil {
		b.journal.log.Abandon()
		return fmt.Errorf("bookie %s: store on shutdown: %w", b.address, err)
	}
	if err := b.journal.log.Close(); err != nil && !isDiskFull(err) {
		return err
	}
	return nil // on a full disk the indexes are not saved, and are made anew from what is
}
