package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/commitlog"
	"twinlog/engine/kafka/broker/replicalog"
	"twinlog/engine/kafka/metadata"
	"twinlog/engine/kafka/replica"
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

// damagedLog is what a partition knows of the damage to its log.
type damagedLog struct {
	replica.Damage
	at   *commitlog.CorruptError // the first damaged place that is known; nil: none, but offsets are missing at the end
	told bool                    // that the replica steps aside
	// suspected: nothing is known to be damaged or gone. It may be, since the broker did not stop in order.
	suspected bool
}

// add takes another damaged place into account. Segments' names are in the order of their offsets.
func (d *damagedLog) add(at *commitlog.CorruptError) {
	if d.at == nil || cmp.Or(cmp.Compare(at.File, d.at.File), cmp.Compare(at.Position, d.at.Position)) < 0 {
		d.at = at
	}
}

// place is where a file is damaged.
type place struct {
	file     string
	position int64
}

// mostDamage bounds the places that a partition remembers to have told of.
const mostDamage = 100

// cannotRead is what a client is told whose records cannot be read: CORRUPT_MESSAGE where they are damaged, as Apache Kafka does for a
// batch that it finds so, KAFKA_STORAGE_ERROR where the disk refuses. The log never hands out a damaged batch, and the other batches are
// served as before: the broker goes on, other than after a failed write, since nobody was promised anything about the future.
func (p *partition) cannotRead(offset int64, err error) *kerr.Error {
	var corrupt *commitlog.CorruptError
	if !errors.As(err, &corrupt) {
		p.logger.Error("records cannot be read", "offset", offset, "error", err)
		return kerr.KafkaStorageError
	}
	select { // not post: this may be the partition's own goroutine, on its way to a client that waited
	case p.mailbox <- func() { p.foundDamage(corrupt) }:
	default: // somebody will come back for it
	}
	return kerr.CorruptMessage
}

// foundDamage tells of a damaged place once, however often clients come back for it. Where another member of the ISR has what is damaged
// here, it shall lead, and this replica fetch from it.
func (p *partition) foundDamage(corrupt *commitlog.CorruptError) {
	p.tellDamage(corrupt)
	view := p.view.Load()
	if p.damaged != nil {
		p.damaged.add(corrupt)
		return
	}
	if view.MayStepAside(p.deps.broker) {
		p.damaged = &damagedLog{Damage: replica.Damage{Epoch: view.LeaderEpoch, Readable: true}, at: corrupt}
		p.deps.damaged()
	}
}

func (p *partition) tellDamage(corrupt *commitlog.CorruptError) {
	at := place{corrupt.File, corrupt.Position}
	if _, told := p.told[at]; told {
		return
	}
	if p.told == nil || len(p.told) >= mostDamage {
		p.told = map[place]struct{}{}
	}
	p.told[at] = struct{}{}
	p.logger.Error("the log is damaged, and what is damaged is not served", "file", corrupt.File, "position", corrupt.Position, "reason", corrupt.Err)
	p.deps.tracer.Emit(trace.DamageFound{File: corrupt.File, Position: corrupt.Position, Reason: corrupt.Err.Error(), Why: sentence.Why(corrupt.Err)})
}

// course is what the state of the log allows to do about a role.
func (p *partition) course(a replica.Assignment) replica.Course {
	if p.damaged == nil {
		return replica.Serve
	}
	return p.damaged.Course(p.deps.broker, a)
}

// stepAside refuses a role, so that the controller takes this replica out of the ISR. Until it does, what is whole is served.
func (p *partition) stepAside() *kerr.Error {
	if !p.damaged.told && p.damaged.suspected {
		p.logger.Info("the broker did not stop in order: the controller is asked to take this replica out of the ISR, as its log may lack its end")
	} else if !p.damaged.told {
		p.logger.Warn("the log is damaged: the controller is asked to take this replica out of the ISR")
		p.emitDamaged("stepsAside", p.log.Next())
	}
	p.damaged.told = true
	return kerr.KafkaStorageError
}

// beginAnew cuts the log where the damage begins. The replica follows, and is not in the ISR.
func (p *partition) beginAnew() *kerr.Error {
	before := p.log.Next()
	if p.damaged.at != nil {
		p.log.Abandon()
		log, err := p.deps.openCut(p.name, p.settings, p.damaged.at)
		if err != nil {
			return p.storageFailed("begin a damaged log anew", err)
		}
		p.log, p.told = log, nil
	}
	if next := p.log.Next(); next < before {
		p.state.Truncated(next)
		if p.log.Start() < p.view.Load().LogStart { // nothing could be kept
			p.state.LogReset(next)
		}
		p.deps.tracer.Emit(trace.KafkaTruncated{KafkaPartition: p.name, From: before, To: next, LeaderEpoch: p.view.Load().LeaderEpoch})
	}
	if !p.damaged.suspected {
		p.emitDamaged("beginsAnew", p.log.Next())
	}
	p.apply(replica.Effects{}, change{})
	return nil
}

func (p *partition) emitDamaged(course string, leo int64) {
	p.deps.tracer.Emit(trace.KafkaReplicaDamaged{KafkaPartition: p.name, Course: course, LEO: leo})
}

// cannotTruncate: what a follower has to cut is damaged. The log takes no more, so the replica waits for the role in which it may begin anew.
func (p *partition) cannotTruncate(corrupt *commitlog.CorruptError) {
	p.tellDamage(corrupt)
	p.damaged = &damagedLog{Damage: replica.Damage{Epoch: p.view.Load().LeaderEpoch}, at: corrupt}
	p.deps.damaged()
}

// suspect is what to think of a log that was just opened; nil when the broker's last life ended in order, with all logs synced. After a
// crash of the machine the end may be gone, without a trace when the log ends with a whole batch now. The controller takes a broker that
// went away out of all ISRs, so that this is of no account; not so when the controller itself was on it and nobody saw it go.
func suspect(log *replicalog.Log, highWatermark int64) *damagedLog {
	damage := replica.Damage{Epoch: replica.Undefined, Readable: true}
	switch {
	case log.Lost() != nil: // maybe only a batch that was half-written
		return &damagedLog{Damage: damage, at: log.Lost()}
	case log.Next() < highWatermark: // what had been committed is missing
		return &damagedLog{Damage: damage}
	case !log.ClosedInOrder():
		return &damagedLog{Damage: damage, suspected: true}
	}
	return nil
}

// logDirEvents asks the controller to look after this broker's replicas, by a notice in the ensemble: it then sends LeaderAndIsr for all of
// them, and those that are damaged answer KAFKA_STORAGE_ERROR. Requests that come up meanwhile are one.
type logDirEvents struct {
	broker *Broker
	wake   chan struct{}
}

func newLogDirEvents(b *Broker) *logDirEvents {
	return &logDirEvents{broker: b, wake: make(chan struct{}, 1)}
}

// ask never waits.
func (l *logDirEvents) ask() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// logDirEventBackoff bounds how often a controller is asked.
const logDirEventBackoff = time.Second

func (l *logDirEvents) run(ctx context.Context) {
	for {
		select {
		case <-l.wake:
		case <-ctx.Done():
			return
		}
		if err := l.broker.coordination.announceFailure(ctx); err != nil && ctx.Err() == nil {
			l.broker.logger.Error("the controller cannot be told that a log is damaged", "error", err)
			l.ask()
		}
		if !pause(ctx, logDirEventBackoff) {
			return
		}
	}
}

// announceFailure makes a notice that replicas of this broker cannot be served.
func (c *coordination) announceFailure(ctx context.Context) error {
	err := c.patiently(ctx, func() error {
		_, err := c.conn.Create(metadata.LogDirEventPrefix, metadata.NewLogDirEvent(c.broker.config.BrokerID).Encode(), zk.FlagSequence, zk.WorldACL(zk.PermAll))
		return err
	})
	if err != nil {
		return fmt.Errorf("create %s: %w", metadata.LogDirEventPrefix, err)
	}
	return nil
}
