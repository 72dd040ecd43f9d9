package replicalog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"twinlog/engine/commitlog"
	"twinlog/engine/disk"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/kafka/metadata"
	"twinlog/engine/kafka/replica"
)

var now = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

func open(t testing.TB, d disk.Disk) *Log {
	t.Helper()
	l, err := Open(d, "orders-0", commitlog.Config{SegmentBytes: 2000}, now)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// add appends a batch of so many records as the leader of an epoch does; producer -1 is not idempotent.
func add(t testing.TB, l *Log, epoch int32, producer int64, sequence, count int32) {
	t.Helper()
	var list []records.Record
	for i := range count {
		list = append(list, records.Record{Timestamp: 1000 + int64(i), Value: []byte("some value")})
	}
	batch := records.Build(list)
	if producer >= 0 {
		batch = records.WithProducer(batch, producer, 0, sequence)
	}
	records.Assign(batch, l.Next(), epoch)
	if err := l.Append(batch, now); err != nil {
		t.Fatal(err)
	}
}

func wantEpochs(t *testing.T, l *Log, want ...replica.EpochStart) {
	t.Helper()
	if got := l.Epochs().Entries(); !slices.Equal(got, want) {
		t.Errorf("the epochs are %v, want %v", got, want)
	}
}

func TestEverythingIsThereAgain(t *testing.T) {
	for _, orderly := range []bool{true, false} {
		d := disk.NewMemory()
		l := open(t, d)
		id := metadata.TopicID{1, 2, 3}
		if err := l.SetTopicID(id); err != nil {
			t.Fatal(err)
		}
		for i := range int32(30) { // over several segments, so that there are snapshots
			add(t, l, i/10, 7, i*2, 2)
		}
		if err := l.BeginEpoch(9); err != nil { // a leader that wrote nothing
			t.Fatal(err)
		}
		if orderly {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		} else {
			l.Abandon()
		}
		l = open(t, d)
		if l.Next() != 60 || l.TopicID() != id {
			t.Errorf("orderly %v: the log ends at %d, of topic %v", orderly, l.Next(), l.TopicID())
		}
		wantEpochs(t, l, replica.EpochStart{Epoch: 0, Start: 0}, replica.EpochStart{Epoch: 1, Start: 20}, replica.EpochStart{Epoch: 2, Start: 40})
		next := replica.Batch{ProducerID: 7, BaseSequence: 60, Records: 2}
		last := replica.Batch{ProducerID: 7, BaseSequence: 58, Records: 2}
		if verdict, _ := l.Producers().Check(next); verdict != replica.VerdictAppend {
			t.Errorf("orderly %v: the producer's next batch: %d", orderly, verdict)
		}
		if verdict, earlier := l.Producers().Check(last); verdict != replica.VerdictDuplicate || earlier.BaseOffset != 58 {
			t.Errorf("orderly %v: the producer's last batch: %d at %d", orderly, verdict, earlier.BaseOffset)
		}
		l.Abandon()
	}
}

func TestTruncationTakesEpochsAndProducersBack(t *testing.T) {
	d := disk.NewMemory()
	l := open(t, d)
	for i := range int32(30) {
		add(t, l, i/10, 7, i*2, 2)
	}
	if err := l.TruncateTo(40, now); err != nil {
		t.Fatal(err)
	}
	wantEpochs(t, l, replica.EpochStart{Epoch: 0, Start: 0}, replica.EpochStart{Epoch: 1, Start: 20})
	if verdict, _ := l.Producers().Check(replica.Batch{ProducerID: 7, BaseSequence: 40, Records: 2}); verdict != replica.VerdictAppend {
		t.Errorf("after the cut the producer goes on at 40: %d", verdict)
	}
	if offsets, err := snapshots(d, "orders-0"); err != nil || len(offsets) > 0 && offsets[len(offsets)-1] > 40 {
		t.Errorf("snapshots of what was cut away are left: %v, %v", offsets, err)
	}
	if err := l.ResetTo(500, now); err != nil {
		t.Fatal(err)
	}
	if l.Start() != 500 || l.Next() != 500 || len(l.Producers().States()) != 0 {
		t.Errorf("after a reset: %d to %d, producers %v", l.Start(), l.Next(), l.Producers().States())
	}
	wantEpochs(t, l)
	l.Abandon()
}

// A leader that wrote nothing leaves an epoch at the log's end. As a follower it is told to cut to where it ends already; if the epoch stayed,
// it would be told so for ever.
func TestTruncationToTheEndDropsAnEmptyEpoch(t *testing.T) {
	l := open(t, disk.NewMemory())
	add(t, l, 4, -1, 0, 10)
	if err := l.BeginEpoch(5); err != nil {
		t.Fatal(err)
	}
	leader := replica.NewEpochs([]replica.EpochStart{{Epoch: 4, Start: 0}, {Epoch: 6, Start: 10}})
	divergence, diverges, _ := leader.Diverges(l.Epochs().Latest(), l.Next(), 10)
	if !diverges {
		t.Fatal("the leader does not know epoch 5")
	}
	if err := l.TruncateTo(l.Epochs().TruncationPoint(divergence, l.Next(), 0), now); err != nil {
		t.Fatal(err)
	}
	if l.Next() != 10 {
		t.Errorf("records were cut away: the log ends at %d", l.Next())
	}
	wantEpochs(t, l, replica.EpochStart{Epoch: 4, Start: 0})
	l.Abandon()
}

func TestDeleteBeforeMovesTheFirstEpoch(t *testing.T) {
	d := disk.NewMemory()
	l := open(t, d)
	for i := range int32(30) {
		add(t, l, i/10, -1, 0, 2)
	}
	if err := l.DeleteBefore(25); err != nil {
		t.Fatal(err)
	}
	wantEpochs(t, l, replica.EpochStart{Epoch: 1, Start: 25}, replica.EpochStart{Epoch: 2, Start: 40})
	l.Abandon()
	l = open(t, d)
	wantEpochs(t, l, replica.EpochStart{Epoch: 1, Start: 25}, replica.EpochStart{Epoch: 2, Start: 40})
	l.Abandon()
}

// A power cut loses what was not synced, torn writes included: what is left must be a prefix that agrees with itself.
func TestPowerCut(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		d := disk.NewMemory()
		l := open(t, d)
		synced := int64(0)
		for i := range int32(40) {
			switch random.IntN(12) {
			case 0:
				if err := l.Sync(); err != nil {
					t.Fatal(err)
				}
				synced = l.Next()
			case 1:
				if err := l.BeginEpoch(l.Epochs().Latest() + 1); err != nil {
					t.Fatal(err)
				}
			default:
				add(t, l, max(0, l.Epochs().Latest()), 7, i, 1)
			}
		}
		d.Crash(random)
		l, err := Open(d, "orders-0", commitlog.Config{SegmentBytes: 2000}, now)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if l.Next() < synced {
			t.Fatalf("seed %d: the log ends at %d; %d was synced", seed, l.Next(), synced)
		}
		checkEpochs(t, fmt.Sprintf("seed %d", seed), l)
		add(t, l, max(0, l.Epochs().Latest())+1, -1, 0, 1)
		l.Abandon()
	}
}

// checkEpochs compares the epoch cache with the batches themselves.
func checkEpochs(t *testing.T, what string, l *Log) {
	t.Helper()
	for at := l.Start(); at < l.Next(); {
		section, err := l.Records().Read(at, 1)
		if err != nil {
			t.Fatal(what, err)
		}
		bytes, err := section.ReadAll()
		section.Close()
		if err != nil {
			t.Fatal(what, err)
		}
		h, err := records.ParseHeader(bytes)
		if err != nil {
			t.Fatal(what, err)
		}
		epoch := int32(-1)
		for _, entry := range l.Epochs().Entries() {
			if entry.Start <= h.BaseOffset {
				epoch = entry.Epoch
			}
		}
		if epoch != h.LeaderEpoch {
			t.Fatalf("%s: offset %d was written in epoch %d, the cache says %d: %v", what, h.BaseOffset, h.LeaderEpoch, epoch, l.Epochs().Entries())
		}
		at = h.LastOffset() + 1
	}
}

func TestSnapshotFormat(t *testing.T) {
	states := []replica.ProducerState{
		{ID: 5, Epoch: 2, Written: time.UnixMilli(1234), Batches: []replica.Batch{{ProducerID: 5, Epoch: 2, BaseSequence: 2147483646, Records: 4, BaseOffset: 10, LastOffset: 13, Timestamp: 1234}}},
		{ID: 6, Epoch: 0, Written: time.UnixMilli(99)},
	}
	encoded := encodeSnapshot(states)
	decoded, err := decodeSnapshot(encoded)
	if err != nil || len(decoded) != 2 {
		t.Fatal(decoded, err)
	}
	if got := decoded[0]; got.LastSequence() != states[0].LastSequence() || got.Batches[0].BaseSequence != 2147483646 || got.Batches[0].BaseOffset != 10 {
		t.Errorf("a producer whose sequence wraps comes back as %+v", got)
	}
	if decoded[1].LastSequence() != -1 {
		t.Errorf("a producer without batches comes back as %+v", decoded[1])
	}
	for cut := range len(encoded) {
		if _, err := decodeSnapshot(encoded[:cut]); err == nil {
			t.Errorf("a snapshot cut to %d bytes was accepted", cut)
		}
	}
}

func FuzzSnapshot(f *testing.F) {
	f.Add(encodeSnapshot(nil))
	f.Add(encodeSnapshot([]replica.ProducerState{{ID: 5, Batches: []replica.Batch{{Records: 1}}}}))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		if states, err := decodeSnapshot(bytes); err == nil {
			encodeSnapshot(states)
		}
	})
}
