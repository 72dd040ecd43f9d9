package broker

import (
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/commitlog"
	"twinlog/engine/kafka/broker/configs"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/kafka/broker/replicalog"
	"twinlog/engine/kafka/metadata"
	"twinlog/engine/kafka/replica"
	"twinlog/engine/trace"
)

// partition is one replica on this broker. One goroutine owns its log and its state and takes commands from a bounded mailbox; everybody
// else reads the view that it publishes after every change, and the log, which any number may read while it grows.
type partition struct {
	name   trace.KafkaPartition
	deps   partitionDeps
	logger *slog.Logger

	// Owned by run.
	log          *replicalog.Log
	told         map[place]struct{} // where the log is damaged
	damaged      *damagedLog        // nil: it holds all that was in it, as far as is known
	state        *replica.Partition
	settings     configs.TopicSettings
	sinceSync    int64 // records
	lastSync     time.Time
	roleReported bool
	shapeTold    uint64 // one more than the log's shape that the trace was told; 0: none

	view    atomic.Pointer[partitionView]
	topic   atomic.Pointer[configs.TopicSettings]
	mailbox chan func()
	closing chan struct{}
	closed  chan struct{}
}

// partitionDeps is what a partition needs of its broker.
type partitionDeps struct {
	broker int32
	lagMax time.Duration
	tracer *trace.Tracer
	// alive tells whether a broker is registered.
	alive func(broker int32) bool
	// propose sends an ISR change to the controller; the answer comes as a command.
	propose func(p *partition, proposal replica.Proposal)
	// changed is called after the view changed, with what may have become possible.
	changed func(p *partition, change change)
	// damaged asks the controller to look after this broker's replicas.
	damaged func()
	// openCut opens the log again, without what is damaged.
	openCut func(name trace.KafkaPartition, settings configs.TopicSettings, at *commitlog.CorruptError) (*replicalog.Log, error)
	// failed says that the disk cannot be trusted any more.
	failed func(error)
}

// change says what about a partition's view is new.
type change struct {
	appended      bool // the log end moved: followers may fetch
	highWatermark bool // consumers may fetch, produce requests may be complete
	role          bool // leader, epoch or replicas: whoever waits must look again
}

// partitionView is what others see of a partition. It never changes.
type partitionView struct {
	replica.View
	topicID metadata.TopicID
	epochs  replica.Epochs
	records *commitlog.Log
}

// mailboxSize bounds the commands that wait for a partition. Whoever finds it full waits, and with it the client that sent the request.
const mailboxSize = 64

func newPartition(name trace.KafkaPartition, deps partitionDeps, log *replicalog.Log, settings configs.TopicSettings, highWatermark int64, logger *slog.Logger) *partition {
	p := &partition{
		name: name, deps: deps, log: log, settings: settings, logger: logger.With("partition", name.String()), lastSync: time.Now(),
		state:   replica.NewPartition(deps.broker, replica.Settings{LagMax: deps.lagMax, MinISR: settings.MinISR}, log.Start(), log.Next(), highWatermark),
		mailbox: make(chan func(), mailboxSize), closing: make(chan struct{}), closed: make(chan struct{}),
	}
	p.topic.Store(&settings)
	p.publish()
	return p
}

// run owns the partition until it is closed.
func (p *partition) run() {
	defer close(p.closed)
	for {
		select {
		case command := <-p.mailbox:
			command()
		case <-p.closing:
			return
		}
	}
}

// post hands over a command; false when the partition is closing and the command will not run.
func (p *partition) post(command func()) bool {
	select {
	case <-p.closing:
		return false
	default:
	}
	select {
	case p.mailbox <- command:
		return true
	case <-p.closing:
		return false
	}
}

// call runs a command and waits for it. Handlers must not use it.
func (p *partition) call(command func()) bool {
	done := make(chan struct{})
	if !p.post(func() { defer close(done); command() }) {
		return false
	}
	select {
	case <-done:
		return true
	case <-p.closed:
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
}

// stop ends the goroutine; the log stays open for whoever stops it.
func (p *partition) stop() {
	close(p.closing)
	<-p.closed
}

func (p *partition) publish() *partitionView {
	view := &partitionView{View: p.state.View(), topicID: p.log.TopicID(), epochs: *p.log.Epochs(), records: p.log.Records()}
	p.view.Store(view)
	return view
}

// apply publishes and carries out what the pure state decided.
func (p *partition) apply(effects replica.Effects, c change) {
	view := p.publish()
	p.emitShape()
	if effects.HighWatermarkAdvanced {
		c.highWatermark = true
		p.deps.tracer.Emit(trace.KafkaHighWatermarkAdvanced{KafkaPartition: p.name, Role: view.Role.String(), HighWatermark: view.HighWatermark})
	}
	if effects.ISRChanged {
		c.role = true
	}
	if effects.Propose != nil {
		p.deps.propose(p, *effects.Propose)
	}
	p.deps.changed(p, c)
}

func (p *partition) emitRole() {
	view := p.view.Load()
	p.roleReported = true
	p.deps.tracer.Emit(trace.KafkaReplicaRoleChanged{
		KafkaPartition: p.name, Role: view.Role.String(), Leader: view.Leader, LeaderEpoch: view.LeaderEpoch,
		LEO: view.LEO, HighWatermark: view.HighWatermark, LogStart: view.LogStart,
	})
}

// emitShape tells of which segments and leader epochs the log is made, when that has changed. The trace hears of a replica first.
func (p *partition) emitShape() {
	shape := p.log.Shape() + 1
	if shape == p.shapeTold || !p.roleReported {
		return
	}
	p.shapeTold = shape
	p.deps.tracer.Emit(shapeOf(p.name, p.log.Records().Segments(), p.log.Epochs().Entries()))
}

// storageFailed reports an error of the disk. Nobody knows then what is in the log, so the broker gives up, as Kafka does when its last
// log directory fails.
func (p *partition) storageFailed(doing string, err error) *kerr.Error {
	p.logger.Error("the disk failed", "doing", doing, "error", err)
	p.deps.failed(err)
	return kerr.KafkaStorageError
}

// appendResult is the outcome of an append by the leader.
type appendResult struct {
	err         *kerr.Error
	text        string
	base        int64
	last        int64
	appendTime  int64 // -1: the records keep their own times
	logStart    int64
	leaderEpoch int32
}

// appendAsLeader gives a validated batch its place and appends it. The batch's bytes are changed.
func (p *partition) appendAsLeader(batch []byte, header records.Header, acks int16) appendResult {
	now := time.Now()
	view := p.view.Load()
	switch {
	case view.Role != replica.RoleLeader:
		return appendResult{err: kerr.NotLeaderForPartition, base: -1, appendTime: -1, logStart: -1}
	case acks == -1 && view.UnderMinISR():
		return appendResult{err: kerr.NotEnoughReplicas, base: -1, appendTime: -1, logStart: -1}
	}
	result := appendResult{base: -1, appendTime: -1, logStart: view.LogStart, leaderEpoch: view.LeaderEpoch}
	switch verdict, earlier := p.log.Producers().Check(replicalog.BatchOf(header)); verdict {
	case replica.VerdictDuplicate:
		result.base, result.last = earlier.BaseOffset, earlier.LastOffset
		return result
	case replica.VerdictOutOfOrder:
		result.err = kerr.OutOfOrderSequenceNumber
		return result
	case replica.VerdictFenced:
		result.err = kerr.InvalidProducerEpoch
		return result
	}
	base := view.LEO
	records.Assign(batch, base, view.LeaderEpoch)
	if p.settings.AppendTime {
		result.appendTime = now.UnixMilli()
		records.StampAppendTime(batch, result.appendTime)
	}
	if err := p.log.Append(batch, now); err != nil {
		result.err = p.storageFailed("append", err)
		return result
	}
	result.base, result.last = base, base+int64(header.LastOffsetDelta)
	p.appended("leader", base, int64(len(batch)), int(header.Count))
	p.apply(p.state.Appended(p.log.Next(), now), change{appended: true})
	p.syncByPolicy(int64(header.Count), now)
	return result
}

func (p *partition) appended(role string, base, bytes int64, count int) {
	p.deps.tracer.Emit(trace.KafkaAppended{KafkaPartition: p.name, Role: role, BaseOffset: base, LEO: p.log.Next(), Bytes: bytes, Records: count})
}

// syncByPolicy syncs after flush.messages records or flush.ms; Kafka's defaults are never: replication keeps data safe, the page cache
// survives the process.
func (p *partition) syncByPolicy(count int64, now time.Time) {
	p.sinceSync += count
	late := p.settings.FlushMS < 1<<40 && now.Sub(p.lastSync) >= time.Duration(p.settings.FlushMS)*time.Millisecond
	if p.sinceSync < p.settings.FlushMessages && !late {
		return
	}
	if err := p.log.Sync(); err != nil {
		p.storageFailed("sync", err)
	}
	p.sinceSync, p.lastSync = 0, now
}

// advanceLogStart drops what lies before an offset.
func (p *partition) advanceLogStart(start int64) error {
	if start <= p.log.Start() {
		return nil
	}
	if err := p.log.DeleteBefore(start); err != nil {
		p.storageFailed("delete old records", err)
		return err
	}
	effects := p.state.LogStartAdvanced(p.log.Start(), p.log.Next())
	p.deps.tracer.Emit(trace.KafkaLogStartAdvanced{KafkaPartition: p.name, LogStart: p.log.Start()})
	p.apply(effects, change{appended: true})
	return nil
}

// fetched: a follower asked for what comes at an offset.
func (p *partition) fetched(id int32, brokerEpoch int64, leaderEpoch int32, offset int64) {
	view := p.view.Load()
	if view.Role != replica.RoleLeader || leaderEpoch >= 0 && leaderEpoch != view.LeaderEpoch {
		return
	}
	before, known := p.state.FollowerEnd(id)
	effects, isReplica := p.state.Fetched(id, brokerEpoch, offset, p.deps.alive(id), time.Now())
	if !isReplica {
		return
	}
	if !known || before != offset {
		p.deps.tracer.Emit(trace.KafkaFollowerFetched{KafkaPartition: p.name, Replica: id, LEO: offset})
	}
	if effects != (replica.Effects{}) {
		p.apply(effects, change{})
	}
}

// checkLag looks for followers that fell behind.
func (p *partition) checkLag() {
	if effects := p.state.CheckLag(time.Now()); effects != (replica.Effects{}) {
		p.apply(effects, change{})
	}
}

// isrAnswered: the controller answered a proposal.
func (p *partition) isrAnswered(proposal replica.Proposal, answer replica.Answer, isr []int32, partitionEpoch int32) {
	before := p.view.Load()
	effects := p.state.ISRAnswered(proposal, answer, isr, partitionEpoch, time.Now())
	p.apply(effects, change{})
	if effects.ISRChanged {
		p.isrChanged(before.ISR, isr, partitionEpoch)
	}
}

// without returns the members of a that are not in b.
func without(a, b []int32) (rest []int32) {
	for _, id := range a {
		if !slices.Contains(b, id) {
			rest = append(rest, id)
		}
	}
	return rest
}

// configure takes over changed topic configurations.
func (p *partition) configure(settings configs.TopicSettings) {
	p.settings = settings
	p.topic.Store(&settings)
	p.log.Records().SetRolling(settings.SegmentBytes, milliseconds(settings.SegmentMS))
	p.apply(p.state.SetSettings(replica.Settings{LagMax: p.deps.lagMax, MinISR: settings.MinISR}, time.Now()), change{role: true})
}
