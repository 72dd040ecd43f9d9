package server

import (
	"context"
	"log/slog"
	"time"

	"twinlog/engine/ensemble/tree"
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

// owner has a server's state. Only its own goroutine, run, touches it.
type owner struct {
	server    *Server
	traced    []byte // the beginning of the answer that the trace is told of
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
	storing   storing
	stream    stream
	serving   serving
	nonce     int64     // of this server's blank disk; 0 when it has never been blank in this run
	founding  *founding // nil once the server takes part
	joining   bool
	sinceJoin time.Duration
	failure   error // ends the server
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
		nextID: firstSessionID(s.config.ID, nowMS()), nonce: found.nonce, tree: tree.New(), consensus: newConsensus(),
	}
	o.transport = &transport{
		config: o.config, log: o.log, tasks: &s.tasks, ctx: ctx, peers: map[int32]*peer{}, events: o.peerEvents(),
		snapshot: func() (*snapshotFile, error) { return newestSnapshot(s.config.Disk) },
	}
	if found.blank {
		o.founding = &founding{self: int32(s.config.ID), nonce: o.nonce, blank: map[int32]int64{}}
		for id := range s.config.Peers {
			if id != s.config.ID {
				o.founding.peers = append(o.founding.peers, int32(id))
			}
		}
	} else if err := o.becomes(found.snapshot); err != nil {
		return nil, err
	}
	o.introduceSelf(nil)
	return o, nil
}

// peerAddresses is where the members are: as the tree says, and as the configuration says while it says nothing. Of others that take
// part it is what they said themselves.
func (o *owner) peerAddresses() map[int32]string {
	addresses := o.membersAddresses()
	for id, address := range o.introduced {
		if _, known := addresses[id]; !known {
			addresses[id] = address
		}
	}
	return addresses
}

func (o *owner) membersAddresses() map[int32]string {
	addresses := map[int32]string{}
	if o.raft == nil || len(o.tree.Membership().Servers) == 0 {
		return addressesOf(o.config.Peers)
	}
	for id, member := range o.tree.Membership().Servers {
		addresses[id] = member.PeerAddress
	}
	return addresses
}

// run handles events until it is asked to end or something around it fails, which ends ctx.
func (o *owner) run(asked, ctx context.Context) error {
	ticker := time.NewTicker(o.config.raftTick())
	defer ticker.Stop()
	last := time.Now()
	o.transport.connect(o.peerAddresses())
	if o.raft != nil {
		o.begin()
	} else if err := o.proceed(o.founding.decide(nil)); err != nil {
		return err
	}
	for {
		if err := o.advance(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			o.stopServing(sentence.Of("serverFails", "the server fails"))
			return nil
		case <-asked.Done():
			return o.end(ctx, ticker)
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
	if o.raft == nil {
		o.fail(o.tickFounding(elapsed))
		return
	}
	o.raft.Tick()
	o.tickCampaign()
	o.tickSilence(elapsed)
	o.tickServing(elapsed)
	o.tickStream(elapsed)
	o.tickLeading(elapsed)
	o.tickSnapshots()
}

// fail ends the server with an error; false when there is none.
func (o *owner) fail(err error) bool {
	if o.failure == nil {
		o.failure = err
	}
	return err != nil
}
