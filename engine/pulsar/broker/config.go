package broker

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/pulsar/offloaded"
	"twinlog/engine/trace"
)

// Endpoint is one pair of addresses: where the broker listens, and what it tells others to dial.
type Endpoint struct {
	// Listen addresses, host:port. Port 0 picks a free one.
	ListenPulsar string
	ListenHTTP   string
	// Advertised addresses, host:port; empty means the address that is listened on.
	AdvertisedPulsar string
	AdvertisedHTTP   string
}

// Config is a broker's surroundings and settings. Zero values mean the defaults that are given.
type Config struct {
	// BrokerID is the number in the node's name.
	BrokerID int
	// Cluster is the name in /admin/clusters; default "standalone".
	Cluster string
	// Endpoint is where clients connect, and what lookups answer.
	Endpoint Endpoint
	// Internal is a second endpoint for clients that are inside a container network, which get its addresses from lookups: those
	// that connect to it, and those that name the advertised listener "internal".
	Internal *Endpoint
	// ZooKeeper servers, host:port each.
	ZooKeeper []string
	// Admin makes the handler of the HTTP port (lookup and admin REST). Required.
	Admin func(*Broker) http.Handler

	Network fabric.Network
	Disk    disk.Disk // not used: a broker keeps nothing
	Tracer  *trace.Tracer
	Logger  *slog.Logger
	// NodeOf gives the node name of an address (a bookie's, a ZooKeeper server's) for the trace; nil: the address itself.
	NodeOf func(address string) string

	SessionTimeout    time.Duration // of the ZooKeeper session: how long a dead broker's bundles stay without owner; default 10 s
	KeepAlive         time.Duration // of client connections; default 30 s
	OperationTimeout  time.Duration // of loading a topic, opening a cursor, a lookup; default 30 s
	FailoverDelay     time.Duration // before a new active consumer gets messages while the old one is still connected; default 1 s
	MaintenanceEvery  time.Duration // backlog quotas, message TTL, load reports; default 5 s
	InactiveTopicsFor time.Duration // a topic without producers and subscriptions is deleted after so long; default 60 s, negative: never

	MaxMessageSize int // bytes of one message with its metadata; default 1 MiB
	Bundles        int // of a new namespace; default 4
	Ensemble       int // defaults of ledgers: bookies, copies, copies on disk before an acknowledgement; 3, 2, 2
	WriteQuorum    int
	AckQuorum      int
	// A ledger is closed, and the next one begun, after so many entries, but not before it is so old; default 50,000 and 10 minutes,
	// negative: however young (managedLedgerMaxEntriesPerLedger, managedLedgerMinLedgerRolloverTimeMinutes).
	LedgerEntries  int64
	LedgerRollover time.Duration
	CacheBytes     int64 // tail entries of all topics that are kept in memory; default 64 MiB

	// Medium is where sealed ledgers are offloaded to; all brokers of the cluster have the same one. Nil: nothing can be offloaded.
	Medium       offloaded.Medium
	MediumDriver string // its kind, as Pulsar names it; default filesystem
	// Bookies keep an offloaded ledger for so long; default 4 hours, negative: not at all (managedLedgerOffloadDeletionLagMs).
	OffloadDeletionLag time.Duration

	MaxConnections int // of clients; default 25,000

	storage storageOpener // tests put a memory here
}

// InternalListener is the advertised listener name of Config.Internal.
const InternalListener = "internal"

func (c Config) withDefaults() Config {
	c.Cluster = cmp.Or(c.Cluster, "standalone")
	c.SessionTimeout = cmp.Or(c.SessionTimeout, 10*time.Second)
	c.KeepAlive = cmp.Or(c.KeepAlive, 30*time.Second)
	c.OperationTimeout = cmp.Or(c.OperationTimeout, 30*time.Second)
	c.FailoverDelay = cmp.Or(c.FailoverDelay, time.Second)
	c.MaintenanceEvery = cmp.Or(c.MaintenanceEvery, 5*time.Second)
	c.InactiveTopicsFor = cmp.Or(c.InactiveTopicsFor, time.Minute)
	c.MaxMessageSize = cmp.Or(c.MaxMessageSize, 1<<20)
	c.Bundles = cmp.Or(c.Bundles, 4)
	c.Ensemble = cmp.Or(c.Ensemble, 3)
	c.WriteQuorum = cmp.Or(c.WriteQuorum, 2)
	c.AckQuorum = cmp.Or(c.AckQuorum, 2)
	c.LedgerEntries = cmp.Or(c.LedgerEntries, 50_000)
	c.LedgerRollover = cmp.Or(c.LedgerRollover, 10*time.Minute)
	c.CacheBytes = cmp.Or(c.CacheBytes, 64<<20)
	c.MediumDriver = cmp.Or(c.MediumDriver, "filesystem")
	c.OffloadDeletionLag = cmp.Or(c.OffloadDeletionLag, managedledger.DefaultOffloadPolicy.DeletionLag)
	c.MaxConnections = cmp.Or(c.MaxConnections, 25_000)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.NodeOf == nil {
		c.NodeOf = func(address string) string { return address }
	}
	if c.storage == nil {
		c.storage = openManagedLedgers
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Network == nil:
		return errors.New("a Pulsar-mode broker needs a network")
	case c.Admin == nil:
		return errors.New("a Pulsar-mode broker needs the handler of its admin interface")
	case len(c.ZooKeeper) == 0:
		return errors.New("a Pulsar-mode broker needs the address of at least one ZooKeeper server")
	case c.AckQuorum > c.WriteQuorum || c.WriteQuorum > c.Ensemble:
		return fmt.Errorf("ensemble %d, write quorum %d, ack quorum %d: each must be at least the next", c.Ensemble, c.WriteQuorum, c.AckQuorum)
	}
	endpoints := []Endpoint{c.Endpoint}
	if c.Internal != nil {
		endpoints = append(endpoints, *c.Internal)
	}
	for _, endpoint := range endpoints {
		for _, address := range []string{endpoint.ListenPulsar, endpoint.ListenHTTP} {
			if _, _, err := net.SplitHostPort(address); err != nil {
				return fmt.Errorf("broker %d: %q is not a listen address of the form host:port: %w", c.BrokerID, address, err)
			}
		}
	}
	return nil
}

// urls is how a broker is reached, under one advertised listener name.
type urls struct {
	pulsar string // pulsar://host:port
	http   string // http://host:port
}
