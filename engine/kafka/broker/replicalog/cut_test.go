package replicalog

import (
	"bytes"
	"fmt"
	"testing"

	"twinlog/engine/commitlog"
	"twinlog/engine/disk"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/kafka/metadata"
)

// TestOpenCut turns over bits all over the files of a log that was closed in order. Wherever the damage is, what OpenCut leaves is the
// beginning of what was written, byte for byte: a follower goes on from there. Damage that nobody can find is none.
func TestOpenCut(t *testing.T) {
	written, names := damagedLogs(t, disk.NewMemory())
	kept := map[int64]int{}
	for _, name := range names {
		for at := int64(0); ; at += 11 {
			d := disk.NewMemory()
			damagedLogs(t, d)
			if disk.NewFaults(d).FlipBit(name, at, uint(at)%8) != nil {
				break // behind the file's end
			}
			l := openWhatIsWhole(t, d)
			got := readAll(t, l)
			if !bytes.HasPrefix(written, got) {
				t.Fatalf("%s, byte %d: %d bytes are left, which are no beginning of the %d that were written", name, at, len(got), len(written))
			}
			if l.TopicID() != (metadata.TopicID{7}) && name != "orders-0/"+metadataFile {
				t.Errorf("%s, byte %d: the topic id is %v", name, at, l.TopicID())
			}
			add(t, l, 9, -1, 0, 1) // it takes what comes
			kept[l.Next()]++
			l.Abandon()
		}
	}
	if len(kept) < 10 {
		t.Errorf("the logs were cut only at %v", kept)
	}
}

// damagedLogs makes a log of several segments, and tells its bytes and its files.
func damagedLogs(t *testing.T, d *disk.Memory) (written []byte, names []string) {
	t.Helper()
	l := open(t, d)
	for range 12 {
		add(t, l, 3, -1, 0, 8)
	}
	if err := l.SetTopicID(metadata.TopicID{7}); err != nil {
		t.Fatal(err)
	}
	if err := l.DeleteBefore(8); err != nil { // there is a start file
		t.Fatal(err)
	}
	written = readAll(t, l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := d.ReadDir("orders-0")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, "orders-0/"+entry.Name())
	}
	return written, names
}

// openWhatIsWhole opens a log, reads it, and cuts it when it meets damage.
func openWhatIsWhole(t *testing.T, d disk.Disk) *Log {
	t.Helper()
	l, err := Open(d, "orders-0", commitlog.Config{SegmentBytes: 2000}, now)
	if err == nil {
		if err = firstError(l); err == nil {
			return l
		}
		l.Abandon()
	}
	if Damaged(err) == nil {
		t.Fatal(err)
	}
	if l, err = OpenCut(d, "orders-0", commitlog.Config{SegmentBytes: 2000}, Damaged(err), now); err != nil {
		t.Fatal(err)
	}
	return l
}

func firstError(l *Log) error {
	_, err := contents(l)
	return err
}

func readAll(t *testing.T, l *Log) []byte {
	t.Helper()
	all, err := contents(l)
	if err != nil {
		t.Fatal(fmt.Errorf("reading it: %w", err))
	}
	return all
}

func contents(l *Log) (all []byte, err error) {
	for offset := l.Start(); offset < l.Next(); {
		section, err := l.Records().Read(offset, 4000)
		if err != nil {
			return nil, err
		}
		chunk, err := section.ReadAll()
		section.Close()
		if err != nil {
			return nil, err
		}
		err = records.Each(chunk, func(h records.Header, batch []byte) error {
			copy(batch[12:16], "\x00\x00\x00\x00") // the leader epoch, which no checksum is over
			all = append(all, batch...)
			offset = h.LastOffset() + 1
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// The leader epoch of a batch is in no checksum. A flipped bit in it must not make the log believe in an epoch that never was: its followers
// would part from it.
func TestADamagedLeaderEpochIsNotBelieved(t *testing.T) {
	d := disk.NewMemory()
	l := open(t, d)
	for epoch := range int32(3) {
		add(t, l, epoch, -1, 0, 2)
		add(t, l, epoch, -1, 0, 2)
	}
	want := fmt.Sprint(l.Epochs().Entries())
	size := l.Records().Size() / 6
	l.Abandon()
	if err := disk.NewFaults(d).FlipBit("orders-0/00000000000000000000.log", 2*size+13, 3); err != nil { // where epoch 1 begins
		t.Fatal(err)
	}
	l = open(t, d)
	if got := fmt.Sprint(l.Epochs().Entries()); got != want {
		t.Errorf("the epochs are %v, not %v", got, want)
	}
	l.Abandon()
}
