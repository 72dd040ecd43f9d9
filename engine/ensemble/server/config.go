package server

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/trace"
)

// Config says who a server is and what it may touch.
type Config struct {
	// ID is the server's number, 1 to 255.
	ID int
	// Peers are the peer addresses (host:port) of all servers that found the ensemble, this one included; the same map on every
	// server. A single server needs none.
	Peers map[int]string
	// ClientAddress is where clients connect, PeerAddress where the other servers do; host:port.
	ClientAddress string
	PeerAddress   string

	Network fabric.Network
	Disk    disk.Disk
	Tracer  *trace.Tracer
	Logger  *slog.Logger
	// Names are the servers' node names, for the trace. Missing ones are "ensemble-N".
	Names map[int]string

	// TickTime is ZooKeeper's unit of time: sessions last 2 to 20 ticks. Default 2 s.
	TickTime time.Duration
	// MinSessionTimeout and MaxSessionTimeout bound what a client may ask for. Default 2 and 20 ticks.
	MinSessionTimeout time.Duration
	MaxSessionTimeout time.Duration
	// HeartbeatInterval is how often the leader tells that it is there. Default 100 ms.
	HeartbeatInterval time.Duration
	// ElectionTimeout is how long a follower waits for the leader, plus up to as much again at random. Default 400 ms.
	ElectionTimeout time.Duration
	// SnapshotEntries: a snapshot of the tree is written and the log before it dropped after so many entries. Default 10,000.
	SnapshotEntries uint64
	// KeptEntries stay in the Raft log behind a snapshot, for followers that are only a little late; others get the snapshot. Default
	// 2,000.
	KeptEntries uint64
	// LogSegmentBytes: the Raft log goes on in a new file when one has so many bytes. Default 16 MiB.
	LogSegmentBytes int64
	// SuperDigest is "super:base64(sha1(super:password))": whoever authenticates with it may do everything. Empty: nobody.
	SuperDigest string
	// TTLDisabled refuses TTL znodes, as ZooKeeper does unless told otherwise.
	TTLDisabled bool
	// ReconfigEnabled allows clients to change the members.
	ReconfigEnabled bool
	// IdleCheckInterval is how often the leader removes empty containers and TTL znodes whose time is over. Default 60 s; a second at
	// the least.
	IdleCheckInterval time.Duration
	// MaxConnections bounds the clients' connections. Default 10,000.
	MaxConnections int
	// Specs are the servers as a configuration file writes them, for /zookeeper/config: "host:port:port:participant;host:port".
	Specs map[int]string
}

func (c Config) withDefaults() (Config, error) {
	if c.ID < 1 || c.ID > 255 {
		return c, fmt.Errorf("ensemble server: ID is %d, but must be 1 to 255", c.ID)
	}
	if c.Network == nil || c.Disk == nil {
		return c, errors.New("ensemble server: Network and Disk are missing in its Config")
	}
	if len(c.Peers) == 0 {
		c.Peers = map[int]string{c.ID: c.PeerAddress}
	}
	if _, member := c.Peers[c.ID]; !member && !c.ReconfigEnabled {
		return c, fmt.Errorf("ensemble server: its ID %d is not among the peers %v", c.ID, slices.Sorted(maps.Keys(c.Peers)))
	}
	if c.PeerAddress == "" {
		c.PeerAddress = c.Peers[c.ID]
	}
	if len(c.Peers) > 1 && c.PeerAddress == "" {
		return c, errors.New("ensemble server: PeerAddress is missing in its Config")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	setDefault(&c.TickTime, 2*time.Second)
	setDefault(&c.MinSessionTimeout, 2*c.TickTime)
	setDefault(&c.MaxSessionTimeout, 20*c.TickTime)
	setDefault(&c.HeartbeatInterval, 100*time.Millisecond)
	setDefault(&c.ElectionTimeout, 400*time.Millisecond)
	setDefault(&c.IdleCheckInterval, 60*time.Second)
	setDefault(&c.SnapshotEntries, 10_000)
	setDefault(&c.MaxConnections, 10_000)
	setDefault(&c.KeptEntries, 2000)
	setDefault(&c.LogSegmentBytes, 16<<20)
	if c.ElectionTimeout < 2*c.HeartbeatInterval {
		return c, fmt.Errorf("ensemble server: ElectionTimeout %v must be at least twice HeartbeatInterval %v", c.ElectionTimeout, c.HeartbeatInterval)
	}
	return c, nil
}

func setDefault[T int | int64 | uint64 | time.Duration](value *T, otherwise T) {
	if *value <= 0 {
		*value = otherwise
	}
}

// name is a server's node name.
func (c *Config) name(id int32) string {
	if id == 0 {
		return ""
	}
	if name, known := c.Names[int(id)]; known {
		return name
	}
	return "ensemble-" + strconv.Itoa(int(id))
}

// heartbeatTicks is how many of Raft's ticks a heartbeat takes: two, so that an election timeout has a grain finer than a heartbeat.
const heartbeatTicks = 2

func (c *Config) raftTick() time.Duration { return c.HeartbeatInterval / heartbeatTicks }
func (c *Config) electionTicks() int      { return int(c.ElectionTimeout / c.raftTick()) }

// leaderlessGrace is how long clients are kept while there is no leader: a few elections' time.
func (c *Config) leaderlessGrace() time.Duration { return 4 * c.ElectionTimeout }

// A Raft id is a server's number and, in the higher bits, how often the server has lost its disk: what a server promised under an id
// must never be forgotten under the same id.
func raftID(server int32, generation uint64) uint64 { return generation<<8 | uint64(server) }

func serverOf(raftID uint64) int32 { return int32(raftID & 0xff) }
