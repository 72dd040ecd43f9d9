// Package groupcoordinator runs the consumer groups of a broker: those whose partition of __consumer_offsets the broker leads. What a group
// decides is in the pure package group; here are the requests, the log and the clock.
//
//	JoinGroup, SyncGroup, Heartbeat, OffsetCommit …     leader of __consumer_offsets-12 now     time
//	                    |                                            |                           |
//	                    +------------------> inbox (bounded) <-------+---------------------------+
//	                                            |
//	                               one goroutine owns all groups
//	                                            |
//	                     records: group metadata, committed offsets, tombstones
//	                                            |
//	                         local leader replica, acks=all  --- committed ---> inbox
//
// A group belongs to the partition abs(hash(group)) mod count, with Java's String.hashCode. Its coordinator is the leader of that partition.
// So a group's state is replicated as records like any others: when the broker dies, the new leader reads the partition from the start and
// knows the group as it was. While it reads it answers COORDINATOR_LOAD_IN_PROGRESS.
//
// An answer that promises something (an assignment, a committed offset) is given when its record is replicated, not before.
package groupcoordinator

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/group"
	"twinlog/engine/kafka/metadata"
	"twinlog/engine/trace"
)

// OffsetsTopic holds the groups.
const OffsetsTopic = "__consumer_offsets"

// Log is the broker's replicas of [OffsetsTopic].
type Log interface {
	// Append appends one record batch to the local replica, which must lead the partition in the leader epoch, and calls committed once, from
	// any goroutine: with nil when all replicas in sync have it, else with the *kerr.Error that a producer with acks=all would get. Append
	// does not wait.
	Append(partition, leaderEpoch int32, batch []byte, timeout time.Duration, committed func(error))
	// Read returns whole batches from an offset on, also those that are not committed yet, and none at the end of the log.
	Read(partition int32, offset int64, maxBytes int) ([]byte, error)
	// Bounds are the first offset of the local replica and the one after its last.
	Bounds(partition int32) (start, end int64, err error)
}

// Config is what a Coordinator needs. Zero values of plain settings are replaced by Kafka's defaults.
type Config struct {
	BrokerID int32
	Log      Log
	// Metadata is what this broker tells clients now.
	Metadata func() *metadata.Snapshot
	// CreateOffsetsTopic begins to create [OffsetsTopic] and returns at once.
	CreateOffsetsTopic func()
	Tracer             *trace.Tracer
	Logger             *slog.Logger

	OffsetsPartitions     int32         // offsets.topic.num.partitions, until the topic is there; 50
	MinSessionTimeout     time.Duration // group.min.session.timeout.ms; 6 s
	MaxSessionTimeout     time.Duration // group.max.session.timeout.ms; 30 min
	InitialRebalanceDelay time.Duration // group.initial.rebalance.delay.ms; 3 s; negative: none
	MaxGroupSize          int           // group.max.size; no bound
	MaxMetadataBytes      int           // offset.metadata.max.bytes; 4096
	CommitTimeout         time.Duration // offsets.commit.timeout.ms; 5 s
	OffsetsRetention      time.Duration // offsets.retention.minutes; 7 days
	RetentionInterval     time.Duration // offsets.retention.check.interval.ms; 10 min
	LoadBytes             int           // offsets.load.buffer.size; 5 MiB
}

func (c *Config) setDefaults() {
	c.OffsetsPartitions = cmp.Or(c.OffsetsPartitions, 50)
	c.MinSessionTimeout = cmp.Or(c.MinSessionTimeout, 6*time.Second)
	c.MaxSessionTimeout = cmp.Or(c.MaxSessionTimeout, 30*time.Minute)
	c.InitialRebalanceDelay = max(0, cmp.Or(c.InitialRebalanceDelay, 3*time.Second))
	c.MaxMetadataBytes = cmp.Or(c.MaxMetadataBytes, 4096)
	c.CommitTimeout = cmp.Or(c.CommitTimeout, 5*time.Second)
	c.OffsetsRetention = cmp.Or(c.OffsetsRetention, 7*24*time.Hour)
	c.RetentionInterval = cmp.Or(c.RetentionInterval, 10*time.Minute)
	c.LoadBytes = cmp.Or(c.LoadBytes, 5<<20)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

// Coordinator runs the groups of one broker.
type Coordinator struct {
	config Config
	logger *slog.Logger
	inbox  *inbox

	// What follows belongs to the goroutine of Run.
	ctx        context.Context
	partitions map[int32]*partition
	deadlines  deadlines
	tickets    map[group.Ticket]waiting
	lastTicket group.Ticket
	cause      trace.Ref // of the event that is being dealt with
	loaders    sync.WaitGroup
}

// partition is a partition of [OffsetsTopic] that this broker leads.
type partition struct {
	index       int32
	leaderEpoch int32
	loading     bool
	groups      map[string]*member
}

// member is a group with what the driver keeps about it.
type member struct {
	*group.Group
	partition *partition
	// due is the deadline for which the group is in the heap.
	due time.Time
}

// waiting is a JoinGroup or SyncGroup request that was not answered yet.
type waiting struct {
	join func(group.JoinAnswer)
	sync func(group.SyncAnswer)
}

// New returns a coordinator that Run starts.
func New(config Config) (*Coordinator, error) {
	if config.Log == nil || config.Metadata == nil || config.CreateOffsetsTopic == nil {
		return nil, errors.New("groupcoordinator: Log, Metadata and CreateOffsetsTopic must be set")
	}
	config.setDefaults()
	return &Coordinator{
		config: config, logger: config.Logger.With("component", "groups"), inbox: newInbox(), partitions: map[int32]*partition{},
		tickets: map[group.Ticket]waiting{},
	}, nil
}

// BecameLeader is called when this broker leads a partition of [OffsetsTopic] in a leader epoch: it coordinates the groups in it.
func (c *Coordinator) BecameLeader(index, leaderEpoch int32) {
	c.inbox.push(func(now time.Time) { c.elected(index, leaderEpoch) })
}

// BecameFollower is called when this broker no longer leads a partition of [OffsetsTopic], or has no replica of it any more.
func (c *Coordinator) BecameFollower(index, leaderEpoch int32) {
	c.inbox.push(func(now time.Time) { c.resigned(index, leaderEpoch, now) })
}

// TopicsDeleted is called when topics are gone: offsets committed for them are forgotten.
func (c *Coordinator) TopicsDeleted(topics ...string) {
	c.inbox.push(func(now time.Time) { c.forgetTopics(topics) })
}

// Run serves until the context ends. It returns after all its goroutines have ended.
func (c *Coordinator) Run(ctx context.Context) error {
	c.ctx = ctx
	defer c.loaders.Wait()
	defer c.inbox.close()
	cleanup := time.NewTicker(c.config.RetentionInterval)
	defer cleanup.Stop()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		c.setTimer(timer)
		select {
		case <-c.inbox.signal:
			for _, do := range c.inbox.take() {
				do(time.Now())
			}
		case <-timer.C:
			c.tick(time.Now())
		case <-cleanup.C:
			c.cleanUp(time.Now())
		case <-ctx.Done():
			return nil
		}
	}
}

// setTimer sets the timer to the next deadline of any group.
func (c *Coordinator) setTimer(timer *time.Timer) {
	if next, any := c.deadlines.next(); any {
		timer.Reset(max(0, time.Until(next)))
	} else {
		timer.Reset(time.Hour)
	}
}

func (c *Coordinator) settings() group.Settings {
	return group.Settings{
		MinSessionTimeout: c.config.MinSessionTimeout, MaxSessionTimeout: c.config.MaxSessionTimeout,
		InitialRebalanceDelay: c.config.InitialRebalanceDelay, MaxSize: c.config.MaxGroupSize,
	}
}

// ask hands a request to the owner's goroutine; refuse answers when there is no room for it.
func (c *Coordinator) ask(r *reactor.Request, run func(now time.Time), refuse func(*kerr.Error)) {
	accepted := c.inbox.offer(func(now time.Time) {
		c.cause = r.Cause
		run(now)
		c.cause = trace.Ref{}
	})
	if !accepted {
		refuse(kerr.CoordinatorNotAvailable)
	}
}

// locate finds the partition of a group, or says why its requests cannot be served here.
func (c *Coordinator) locate(id string) (*partition, *kerr.Error) {
	p := c.partitions[c.partitionOf(id)]
	switch {
	case p == nil:
		return nil, kerr.NotCoordinator
	case p.loading:
		return nil, kerr.CoordinatorLoadInProgress
	}
	return p, nil
}

// find finds a group; both results are nil when the broker coordinates it and there is no such group.
func (c *Coordinator) find(id string) (*member, *kerr.Error) {
	p, err := c.locate(id)
	if err != nil {
		return nil, err
	}
	return p.groups[id], nil
}

// findOrCreate also makes a group that is not there.
func (c *Coordinator) findOrCreate(id string, now time.Time) (*member, *kerr.Error) {
	p, err := c.locate(id)
	if err != nil {
		return nil, err
	}
	if p.groups[id] == nil {
		p.groups[id] = &member{Group: group.New(id, c.settings(), now), partition: p}
	}
	return p.groups[id], nil
}
