package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/commitlog"
	"twinlog/engine/kafka/broker/configs"
	"twinlog/engine/kafka/broker/replicalog"
	"twinlog/engine/kafka/metadata"
	"twinlog/engine/kafka/replica"
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

const (
	highWatermarkFile = "replication-offset-checkpoint"
	deletedSuffix     = "-delete"
	// mostOpenSegments bounds the segment files that all logs of a broker hold open together: idle partitions hold none.
	mostOpenSegments = 512
)

// replicas is all partitions that this broker holds.
type replicas struct {
	broker *Broker
	files  *commitlog.FilePool // of all logs

	mu         sync.RWMutex
	partitions map[trace.KafkaPartition]*partition
	topics     map[metadata.TopicID]string // of partitions that were ever here in this run
	// unreadable is the partitions whose logs are too damaged to be opened, and where.
	unreadable map[trace.KafkaPartition]place

	running sync.WaitGroup
	// checkpointed is the high watermarks that the last run left; read once, then only by the control goroutine.
	checkpointed map[trace.KafkaPartition]int64
}

func newReplicas(b *Broker) (*replicas, error) {
	r := &replicas{
		broker: b, files: commitlog.NewFilePool(mostOpenSegments), partitions: map[trace.KafkaPartition]*partition{}, topics: map[metadata.TopicID]string{},
		unreadable: map[trace.KafkaPartition]place{}, checkpointed: map[trace.KafkaPartition]int64{},
	}
	if err := r.removeDeleted(); err != nil {
		return nil, err
	}
	lines, err := replicalog.ReadCheckpoint(b.config.Disk, highWatermarkFile)
	if errors.Is(err, replicalog.ErrDamaged) {
		b.logger.Warn("high watermarks begin at the logs' starts and are found out again", "reason", err)
	} else if err != nil {
		return nil, err
	}
	for _, line := range lines {
		var name trace.KafkaPartition
		var offset int64
		if _, err := fmt.Sscan(line, &name.Topic, &name.Partition, &offset); err == nil {
			r.checkpointed[name] = offset
		}
	}
	return r, nil
}

// removeDeleted finishes deletions that a crash interrupted.
func (r *replicas) removeDeleted() error {
	entries, err := r.broker.config.Disk.ReadDir(".")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() && strings.HasSuffix(entry.Name(), deletedSuffix) {
			if err := r.broker.config.Disk.RemoveAll(entry.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// find returns a partition that this broker holds, nil when it does not.
func (r *replicas) find(topic string, number int32) *partition {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.partitions[trace.KafkaPartition{Topic: topic, Partition: number}]
}

// all lists the partitions by name.
func (r *replicas) all() []*partition {
	r.mu.RLock()
	list := slices.Collect(maps.Values(r.partitions))
	r.mu.RUnlock()
	slices.SortFunc(list, func(a, b *partition) int {
		if order := strings.Compare(a.name.Topic, b.name.Topic); order != 0 {
			return order
		}
		return int(a.name.Partition) - int(b.name.Partition)
	})
	return list
}

// open returns a partition, whose log is opened, or created, when it is not there yet. One that is damaged is opened for a role in which it
// may begin anew; else the error is a *commitlog.CorruptError. Only the control goroutine calls it.
func (r *replicas) open(name trace.KafkaPartition, a replica.Assignment) (*partition, error) {
	if p := r.find(name.Topic, name.Partition); p != nil {
		return p, nil
	}
	settings := r.broker.topicConfigs.settings(name.Topic)
	log, err := replicalog.Open(r.broker.config.Disk, name.String(), logConfig(settings, r.files), time.Now())
	if corrupt := replicalog.Damaged(err); corrupt != nil {
		log, err = r.openDamaged(name, corrupt, settings, a)
	}
	if err != nil {
		return nil, err
	}
	p := newPartition(name, r.deps(), log, settings, r.checkpointed[name], r.broker.logger)
	if r.isUnreadable(name) { // it was cut by now
		p.damaged = &damagedLog{Damage: replica.Damage{Epoch: replica.Undefined, Readable: true}}
	} else if p.damaged = suspect(log, r.checkpointed[name]); log.Lost() != nil {
		p.tellDamage(log.Lost())
	}
	r.mu.Lock()
	r.partitions[name] = p
	delete(r.unreadable, name)
	r.mu.Unlock()
	r.running.Go(p.run)
	return p, nil
}

// openDamaged deals with a log that cannot be opened as it is.
func (r *replicas) openDamaged(name trace.KafkaPartition, corrupt *commitlog.CorruptError, settings configs.TopicSettings, a replica.Assignment) (*replicalog.Log, error) {
	at := place{corrupt.File, corrupt.Position}
	r.mu.Lock()
	told := r.unreadable[name] == at
	r.unreadable[name] = at
	r.mu.Unlock()
	if !told {
		r.broker.logger.Error("a log is damaged and cannot be opened", "partition", name.String(), "file", corrupt.File, "position", corrupt.Position, "reason", corrupt.Err)
		r.broker.config.Tracer.Emit(trace.DamageFound{File: corrupt.File, Position: corrupt.Position, Reason: corrupt.Err.Error(), Why: sentence.Why(corrupt.Err)})
	}
	if (replica.Damage{Epoch: replica.Undefined}).Course(r.broker.config.BrokerID, a) == replica.BeginAnew {
		return r.openCut(name, settings, corrupt)
	}
	if !told {
		r.broker.config.Tracer.Emit(trace.KafkaReplicaDamaged{KafkaPartition: name, Course: "stepsAside", LEO: -1})
	}
	return nil, corrupt
}

func (r *replicas) openCut(name trace.KafkaPartition, settings configs.TopicSettings, at *commitlog.CorruptError) (*replicalog.Log, error) {
	return replicalog.OpenCut(r.broker.config.Disk, name.String(), logConfig(settings, r.files), at, time.Now())
}

// isUnreadable tells whether a partition's log is there and too damaged to be opened.
func (r *replicas) isUnreadable(name trace.KafkaPartition) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, is := r.unreadable[name]
	return is
}

func logConfig(settings configs.TopicSettings, files *commitlog.FilePool) commitlog.Config {
	return commitlog.Config{
		SegmentBytes: settings.SegmentBytes, SegmentAge: milliseconds(settings.SegmentMS), IndexInterval: settings.IndexInterval, Files: files,
	}
}

func (r *replicas) deps() partitionDeps {
	b := r.broker
	return partitionDeps{
		broker: b.config.BrokerID, lagMax: b.settings.lagMax, tracer: b.config.Tracer,
		alive:   func(id int32) bool { _, live := b.metadata.Load().Broker(id); return live },
		propose: b.alterPartition.submit,
		changed: b.partitionChanged,
		damaged: b.logDirEvents.ask,
		openCut: r.openCut,
		failed:  b.fail,
	}
}

// become gives a partition the role that the controller assigned.
func (r *replicas) become(name trace.KafkaPartition, topicID metadata.TopicID, a replica.Assignment) *kerr.Error {
	self := r.broker.config.BrokerID
	if !slices.Contains(a.Replicas, self) {
		return kerr.UnknownTopicOrPartition
	}
	p, err := r.open(name, a)
	if replicalog.Damaged(err) != nil {
		return kerr.KafkaStorageError // this replica's trouble, not the broker's
	}
	if err != nil {
		r.broker.logger.Error("a log cannot be opened", "partition", name.String(), "error", err)
		r.broker.fail(err)
		return kerr.KafkaStorageError
	}
	known := false
	kafka := kerr.KafkaStorageError // when the partition is closing
	p.call(func() { kafka, known = p.take(a, topicID) })
	if kafka == nil && !known {
		r.nameTopic(topicID, name.Topic)
		r.broker.fetchers.assign(p, a.Leader, a.LeaderEpoch)
		r.broker.coordinate(name.Topic, name.Partition, a.Leader, a.LeaderEpoch)
	}
	return kafka
}

// nameTopic remembers a topic's id: LeaderAndIsr may arrive before the UpdateMetadata that tells it to everybody.
func (r *replicas) nameTopic(id metadata.TopicID, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.topics[id] = name
}

// topicName finds the name of a topic of which a replica is here.
func (r *replicas) topicName(id metadata.TopicID) (string, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	name, known := r.topics[id]
	return name, known
}

// stop ends a replica's role and, where asked to, deletes it.
func (r *replicas) stop(name trace.KafkaPartition, leaderEpoch int32, remove bool) *kerr.Error {
	p := r.find(name.Topic, name.Partition)
	if p == nil {
		if remove { // it may be on disk from an earlier life
			r.mu.Lock()
			delete(r.unreadable, name)
			r.mu.Unlock()
			delete(r.checkpointed, name)
			return r.removeFiles(name)
		}
		return nil
	}
	current := p.view.Load().LeaderEpoch
	if leaderEpoch >= 0 && leaderEpoch < current {
		return kerr.FencedLeaderEpoch
	}
	r.broker.fetchers.forget(p)
	p.call(func() { p.becomeStopped(leaderEpoch) })
	r.broker.coordinate(name.Topic, name.Partition, -1, max(leaderEpoch, current))
	if !remove {
		return nil
	}
	r.mu.Lock()
	delete(r.partitions, name)
	r.mu.Unlock()
	delete(r.checkpointed, name)
	p.stop()
	p.log.Abandon()
	if err := r.removeFiles(name); err != nil {
		return err
	}
	r.broker.config.Tracer.Emit(trace.KafkaReplicaRoleChanged{KafkaPartition: name, Role: "deleted", Leader: -1, LeaderEpoch: current})
	return nil
}

// removeFiles renames the directory first, so that a crash in the middle leaves nothing that looks like a log.
func (r *replicas) removeFiles(name trace.KafkaPartition) *kerr.Error {
	d := r.broker.config.Disk
	if _, err := d.Stat(name.String()); err != nil {
		return nil
	}
	condemned := name.String() + "." + strconv.FormatInt(time.Now().UnixNano(), 36) + deletedSuffix
	err := d.Rename(name.String(), condemned)
	if err == nil {
		err = d.RemoveAll(condemned)
	}
	if err != nil {
		r.broker.logger.Error("a replica cannot be deleted", "partition", name.String(), "error", err)
		r.broker.fail(err)
		return kerr.KafkaStorageError
	}
	return nil
}

// checkpoint writes all high watermarks to disk.
func (r *replicas) checkpoint() error {
	var lines []string
	for _, p := range r.all() {
		view := p.view.Load()
		lines = append(lines, fmt.Sprintf("%s %d %d", p.name.Topic, p.name.Partition, view.HighWatermark))
	}
	return replicalog.WriteCheckpoint(r.broker.config.Disk, highWatermarkFile, lines, false)
}

// maintain runs the periodic work: lagging followers, high watermark checkpoints, retention.
func (r *replicas) maintain(ctx context.Context) {
	lagEvery := max(time.Millisecond, r.broker.settings.lagMax/2)
	lag := time.NewTicker(lagEvery)
	defer lag.Stop()
	looked, spared := time.Now(), false
	checkpoint := time.NewTicker(r.broker.settings.checkpointInterval)
	defer checkpoint.Stop()
	retention := time.NewTicker(r.broker.settings.retentionInterval)
	defer retention.Stop()
	for {
		select {
		case <-lag.C:
			spared = spares(time.Since(looked), lagEvery, spared)
			looked = time.Now()
			if spared {
				continue
			}
			for _, p := range r.all() {
				if p.view.Load().Role == replica.RoleLeader {
					p.post(p.checkLag)
				}
			}
		case <-checkpoint.C:
			if err := r.checkpoint(); err != nil {
				r.broker.fail(err)
			}
		case <-retention.C:
			for _, p := range r.all() {
				p.post(p.enforceRetention)
			}
		case <-ctx.Done():
			return
		}
	}
}

// spares tells by the time between two looks at the followers whether this one is to be left out: this process stood still, as in a pause
// of the whole machine, so that nobody could fetch, and whoever lags may catch up until the next look. Never twice running: on a machine
// that is always late, a follower that is gone must leave the ISR too.
func spares(passed, every time.Duration, before bool) bool { return !before && passed > every+every/2 }

// close ends all partitions. An orderly end makes everything durable, so that the next start need not look at the logs.
func (r *replicas) close(orderly bool) {
	if orderly {
		if err := r.checkpoint(); err != nil {
			r.broker.logger.Warn("the high watermarks could not be written", "error", err)
			orderly = false
		}
	}
	for _, p := range r.all() {
		p.stop()
		if !orderly {
			p.log.Abandon()
			continue
		}
		if err := p.log.Close(); err != nil {
			r.broker.logger.Warn("a log could not be closed in order", "partition", p.name.String(), "error", err)
			orderly = false
			p.log.Abandon()
		}
	}
	r.running.Wait()
}
