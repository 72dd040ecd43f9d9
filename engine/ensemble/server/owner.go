package server

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"twinlog/engine/ensemble/tree"
	"twinlog/engine/trace"
)

// owner has a server's state. Only its own goroutine, run, touches it.
type owner struct {
	server    *Server
	config    *Config
	log       *slog.Logger
	tracer    *trace.Tracer
	storage   *storage
	transport *transport

	tree    *tree.Tree
	watches *tree.Watches
	clients map[int64]*client // by number
	session map[int64]*client // by session
	nextID  int64             // of the next session
	numbers statistics

	consensus
	stream    stream
	serving   serving
	leading   leading
	snapshots snapshots
}

// statistics is what the four-letter words show.
type statistics struct {
	received, sent int64
	outstanding    int
	latency        latency
}

// latency sums up how long requests took.
type latency struct {
	count         int64
	total         time.Duration
	least, latest time.Duration
	most          time.Duration
}

func (l *latency) add(took time.Duration) {
	if l.count == 0 || took < l.least {
		l.least = took
	}
	l.most = max(l.most, took)
	l.latest = took
	l.total += took
	l.count++
}

func (l *latency) average() float64 {
	if l.count == 0 {
		return 0
	}
	return float64(l.total.Microseconds()) / 1000 / float64(l.count)
}

func newOwner(ctx context.Context, s *Server, stored *storage, found recovered) (*owner, error) {
	o := &owner{
		server: s, config: &s.config, log: s.config.Logger, tracer: s.config.Tracer, storage: stored,
		watches: tree.NewWatches(), clients: map[int64]*client{}, session: map[int64]*client{},
		nextID: firstSessionID(s.config.ID, nowMS()),
	}
	if found.blank {
		found.snapshot = firstSnapshot(o.config)
		if err := stored.found(raftID(int32(s.config.ID), 0), found.snapshot); err != nil {
			return nil, err
		}
	}
	restored, err := tree.Restore(found.snapshot.tree)
	if err != nil {
		return nil, fmt.Errorf("the snapshot at index %d: %w", found.snapshot.index(), err)
	}
	o.adopt(restored, found.snapshot.metadata)
	if o.raft, err = raft.NewRawNode(o.raftConfig(found.snapshot.index())); err != nil {
		return nil, fmt.Errorf("starting Raft: %w", err)
	}
	o.transport = &transport{
		config: o.config, log: o.log, tasks: &s.tasks, ctx: ctx, peers: map[int32]*peer{}, events: o.peerEvents(), hello: o.hello,
		snapshot: func() (*snapshotFile, error) { return newestSnapshot(s.config.Disk) },
	}
	o.transport.connect(o.peerAddresses())
	return o, nil
}

// peerAddresses is where the members are: as the tree says, and as the configuration says while it says nothing.
func (o *owner) peerAddresses() map[int32]string {
	addresses := map[int32]string{}
	for id, member := range o.tree.Membership().Servers {
		addresses[id] = member.PeerAddress
	}
	return addresses
}

// firstSnapshot is what every founder begins with: the empty tree as of index 1, term 1, and the founders as voters. It must come out
// the same on every server, so nothing but the configuration goes into it.
func firstSnapshot(config *Config) *snapshotFile {
	first := tree.New()
	members := map[int32]tree.Member{}
	voters := make([]uint64, 0, len(config.Peers))
	for id, address := range config.Peers {
		members[int32(id)] = tree.Member{PeerAddress: address, RaftID: raftID(int32(id), 0), Spec: config.Specs[id]}
		voters = append(voters, raftID(int32(id), 0))
	}
	first.Found(members)
	return &snapshotFile{
		metadata: &raftpb.SnapshotMetadata{Index: new(uint64(1)), Term: new(uint64(1)), ConfState: &raftpb.ConfState{Voters: sorted(voters)}},
		tree:     first.Snapshot().Encode(),
	}
}

// run handles events until ctx ends.
func (o *owner) run(ctx context.Context) error {
	ticker := time.NewTicker(o.config.raftTick())
	defer ticker.Stop()
	last := time.Now()
	o.begin()
	for {
		if err := o.advance(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			o.end()
			return nil
		case e := <-o.server.inbox:
			e.happen(o)
			o.handleWaiting()
		case now := <-ticker.C:
			o.tick(now.Sub(last))
			last = now
		}
	}
}

// handleWaiting takes more events that are there already, so that their writes share an append, a sync and a message.
func (o *owner) handleWaiting() {
	for range 512 {
		select {
		case e := <-o.server.inbox:
			e.happen(o)
		default:
			return
		}
	}
}

// tick lets time pass. A pause of the whole process counts as one tick for everything that expires: nobody is to blame for it.
func (o *owner) tick(elapsed time.Duration) {
	elapsed = min(elapsed, 2*o.config.raftTick())
	o.raft.Tick()
	o.tickServing(elapsed)
	o.tickStream(elapsed)
	o.tickLeading(elapsed)
	o.tickSnapshots()
}
