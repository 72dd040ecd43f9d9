// Package replicalog is one replica of a partition on disk: record batches in a commitlog, and beside it what belongs to the log and must
// survive with it: the leader epoch cache and the idempotent producers.
//
//	orders-0/00000000000000000000.log, .index, .timeindex    commitlog
//	orders-0/leader-epoch-checkpoint                         which leader epoch began at which offset
//	orders-0/00000000000000001532.snapshot                   producers up to an offset
//	orders-0/partition.metadata                              the topic's id
package replicalog

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"twinlog/engine/commitlog"
	"twinlog/engine/disk"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/kafka/metadata"
	"twinlog/engine/kafka/replica"
)

const (
	epochsFile   = "leader-epoch-checkpoint"
	metadataFile = "partition.metadata"
)

// Log is one replica's log. One goroutine owns it: only Records' reading methods may be called from others.
type Log struct {
	disk disk.Disk
	dir  string

	records   *commitlog.Log
	epochs    replica.Epochs
	producers replica.Producers
	topicID   metadata.TopicID

	shape   uint64 // counts changes of segments and epochs
	segment int64  // base of the segment that was appended to last: a change means that one was sealed
}

// Open opens the log in a directory, which is made when missing, and rebuilds what is not on disk.
func Open(d disk.Disk, dir string, config commitlog.Config, now time.Time) (*Log, error) {
	if err := d.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("open the log %s: %w", dir, err)
	}
	inner, err := commitlog.Open(d, dir, records.Framing{}, config)
	if err != nil {
		return nil, fmt.Errorf("open the log %s: %w", dir, err)
	}
	l := &Log{disk: d, dir: dir, records: inner, segment: -1}
	if err := l.load(now); err != nil {
		inner.Abandon()
		return nil, fmt.Errorf("open the log %s: %w", dir, err)
	}
	return l, nil
}

func (l *Log) load(now time.Time) error {
	if err := l.loadTopicID(); err != nil {
		return err
	}
	whole, err := l.loadEpochs()
	if err != nil {
		return err
	}
	if !whole {
		l.epochs = replica.Epochs{}
		if err := l.replay(l.records.Start(), now); err != nil {
			return err
		}
		return l.saveEpochs()
	}
	return l.loadProducers(now)
}

// loadEpochs reads the leader epochs; whole is false when they do not cover the log, so that it has to be read from its start.
func (l *Log) loadEpochs() (whole bool, err error) {
	lines, err := ReadCheckpoint(l.disk, l.dir+"/"+epochsFile)
	if err != nil && !errors.Is(err, ErrDamaged) {
		return false, err
	}
	var entries []replica.EpochStart
	for _, line := range lines {
		var entry replica.EpochStart
		if _, err := fmt.Sscan(line, &entry.Epoch, &entry.Start); err != nil {
			return false, nil
		}
		entries = append(entries, entry)
	}
	l.epochs = replica.NewEpochs(entries)
	l.epochs.TruncateFromEnd(l.records.Next()) // what the crash took with it
	l.epochs.TruncateFromStart(l.records.Start())
	entries = l.epochs.Entries()
	return l.records.Next() == l.records.Start() || len(entries) > 0 && entries[0].Start <= l.records.Start(), nil
}

func (l *Log) loadTopicID() error {
	contents, err := ReadFile(l.disk, l.dir+"/"+metadataFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(contents)) {
		if text, found := strings.CutPrefix(strings.TrimSpace(line), "topic_id: "); found {
			if id, err := metadata.ParseTopicID(text); err == nil {
				l.topicID = id
			}
		}
	}
	return nil // a file that a power cut damaged says nothing: the controller tells the id again
}

// loadProducers takes the newest usable snapshot and reads the batches after it.
func (l *Log) loadProducers(now time.Time) error {
	l.producers = replica.Producers{}
	from := l.records.Start()
	offsets, err := snapshots(l.disk, l.dir)
	if err != nil {
		return err
	}
	for i := len(offsets) - 1; i >= 0; i-- {
		if offsets[i] > l.records.Next() || offsets[i] < from {
			continue
		}
		contents, err := ReadFile(l.disk, snapshotName(l.dir, offsets[i]))
		if err != nil {
			return err
		}
		states, err := decodeSnapshot(contents)
		if err != nil {
			continue // an older one, or the log itself, has it all
		}
		for _, state := range states {
			l.producers.Restore(state)
		}
		from = offsets[i]
		break
	}
	return l.replay(from, now)
}

const replayChunk = 1 << 20

// replay notes the producers and leader epochs of all batches from an offset on. A batch's leader epoch is not under its checksum, so one
// that begins an epoch is believed when the next one is not of an earlier epoch: epochs only grow along a log.
func (l *Log) replay(from int64, now time.Time) error {
	begins := replica.EpochStart{Epoch: replica.Undefined}
	believe := func() {
		if begins.Epoch > l.epochs.Latest() {
			l.epochs.Assign(begins.Epoch, begins.Start)
		}
	}
	defer believe() // in the last one, which nothing contradicts
	for from < l.records.Next() {
		section, err := l.records.Read(from, replayChunk)
		if err != nil {
			return err
		}
		bytes, err := section.ReadAll()
		section.Close()
		if err != nil {
			return err
		}
		if len(bytes) == 0 {
			return nil
		}
		err = records.Each(bytes, func(h records.Header, _ []byte) error {
			l.producers.Appended(BatchOf(h), now)
			if h.LeaderEpoch >= begins.Epoch {
				believe()
			}
			begins = replica.EpochStart{Epoch: h.LeaderEpoch, Start: h.BaseOffset}
			from = h.LastOffset() + 1
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// note remembers a batch that is in the log; true when it begins a leader epoch.
func (l *Log) note(h records.Header, now time.Time) bool {
	l.producers.Appended(BatchOf(h), now)
	return h.LeaderEpoch > l.epochs.Latest() && l.epochs.Assign(h.LeaderEpoch, h.BaseOffset)
}

// BatchOf is what a batch's header says about its producer.
func BatchOf(h records.Header) replica.Batch {
	return replica.Batch{
		ProducerID: h.ProducerID, Epoch: h.ProducerEpoch, BaseSequence: h.BaseSequence, Records: h.Count,
		BaseOffset: h.BaseOffset, LastOffset: h.LastOffset(), Timestamp: h.MaxTimestamp,
		Transactional: h.Transactional(), Control: h.Control(),
	}
}

// Records is the log itself, for readers.
func (l *Log) Records() *commitlog.Log { return l.records }

// Start is the first offset that the log keeps.
func (l *Log) Start() int64 { return l.records.Start() }

// Next is the log end offset.
func (l *Log) Next() int64 { return l.records.Next() }

// Epochs is the leader epoch cache. The owner may read it; changes go through this package, which keeps the file in step.
func (l *Log) Epochs() *replica.Epochs { return &l.epochs }

// Producers is the idempotent producers.
func (l *Log) Producers() *replica.Producers { return &l.producers }

// Shape changes whenever the segments or the leader epochs do, so that the owner can tell cheaply whether to look.
func (l *Log) Shape() uint64 { return l.shape }

// TopicID is the id of the topic that the log belongs to; zero when it was never told.
func (l *Log) TopicID() metadata.TopicID { return l.topicID }

// SetTopicID writes the topic's id beside the log.
func (l *Log) SetTopicID(id metadata.TopicID) error {
	if id == l.topicID || id == (metadata.TopicID{}) {
		return nil
	}
	if err := WriteFile(l.disk, l.dir+"/"+metadataFile, []byte("version: 0\ntopic_id: "+id.String()+"\n")); err != nil {
		return err
	}
	l.topicID = id
	return nil
}

// BeginEpoch notes that a leader epoch begins at the log's end, even if nothing is ever written in it.
func (l *Log) BeginEpoch(epoch int32) error {
	if !l.epochs.Assign(epoch, l.records.Next()) {
		return nil
	}
	return l.saveEpochs()
}

func (l *Log) saveEpochs() error {
	l.shape++
	entries := l.epochs.Entries()
	lines := make([]string, len(entries))
	for i, entry := range entries {
		lines[i] = fmt.Sprintf("%d %d", entry.Epoch, entry.Start)
	}
	// Without records there is nothing that the epochs must agree with after a power cut.
	return WriteCheckpoint(l.disk, l.dir+"/"+epochsFile, lines, l.records.Next() > l.records.Start())
}

// Append adds batches that have their offsets and leader epochs: as the leader, one that Assign completed; as a follower, those that the
// leader sent.
func (l *Log) Append(batches []byte, now time.Time) error {
	location, err := l.records.Append(batches)
	if err != nil {
		return err
	}
	rolled := l.segment >= 0 && location.Segment != l.segment
	if location.Segment != l.segment {
		l.shape++
	}
	l.segment = location.Segment
	newEpoch := false
	err = records.Each(batches, func(h records.Header, _ []byte) error {
		newEpoch = l.note(h, now) || newEpoch
		return nil
	})
	if err == nil && newEpoch {
		err = l.saveEpochs()
	}
	if err == nil && rolled {
		err = l.saveProducers()
	}
	return err
}

// keptSnapshots is how many producer snapshots stay on disk.
const keptSnapshots = 2

func (l *Log) saveProducers() error {
	states := l.producers.States()
	offsets, err := snapshots(l.disk, l.dir)
	if err != nil {
		return err
	}
	if len(states) == 0 && len(offsets) == 0 && l.records.Next() == 0 {
		return nil
	}
	if err := WriteFile(l.disk, snapshotName(l.dir, l.records.Next()), encodeSnapshot(states)); err != nil {
		return err
	}
	for i := 0; i < len(offsets)-keptSnapshots+1; i++ {
		if offsets[i] != l.records.Next() {
			if err := l.disk.Remove(snapshotName(l.dir, offsets[i])); err != nil {
				return err
			}
		}
	}
	return nil
}

// TruncateTo drops all from an offset on; the log may end below it afterwards, since batches go whole. A leader epoch that begins there
// goes also when no record does: it is that of a leader who wrote nothing, and the present leader does not know it.
func (l *Log) TruncateTo(next int64, now time.Time) error {
	if next >= l.records.Next() {
		if l.epochs.TruncateFromEnd(next) {
			return l.saveEpochs()
		}
		return nil
	}
	if err := l.records.TruncateTo(next); err != nil {
		return err
	}
	return l.afterCut(now)
}

// ResetTo empties the log and goes on at an offset.
func (l *Log) ResetTo(next int64, now time.Time) error {
	if err := l.records.ResetTo(next); err != nil {
		return err
	}
	l.epochs = replica.Epochs{}
	return l.afterCut(now)
}

func (l *Log) afterCut(now time.Time) error {
	end := l.records.Next()
	l.epochs.TruncateFromEnd(end)
	l.epochs.TruncateFromStart(l.records.Start())
	if err := l.saveEpochs(); err != nil {
		return err
	}
	offsets, err := snapshots(l.disk, l.dir)
	if err != nil {
		return err
	}
	for _, offset := range offsets {
		if offset > end {
			if err := l.disk.Remove(snapshotName(l.dir, offset)); err != nil {
				return err
			}
		}
	}
	return l.loadProducers(now)
}

// DeleteBefore drops what lies before an offset.
func (l *Log) DeleteBefore(start int64) error {
	if err := l.records.DeleteBefore(start); err != nil {
		return err
	}
	l.shape++
	if l.epochs.TruncateFromStart(l.records.Start()) {
		return l.saveEpochs()
	}
	return nil
}

// Sync makes all that was appended durable.
func (l *Log) Sync() error { return l.records.Sync() }

// Close syncs and closes; opening the log again is quick then.
func (l *Log) Close() error { return errors.Join(l.saveProducers(), l.records.Close()) }

// Abandon closes without a sync.
func (l *Log) Abandon() { l.records.Abandon() }
