package dump

import (
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"twinlog/engine/commitlog"
	"twinlog/engine/dissect"
	"twinlog/engine/ensemble/server"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/kafka/groupcoordinator"
	"twinlog/engine/pulsar/bookie"
	"twinlog/engine/pulsar/broker"
	"twinlog/engine/pulsar/ledger"
	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/sentence"
)

// kind is one sort of segment.
type kind struct {
	name     string // partition, offsets, raft, bookie
	about    string
	framing  commitlog.Framing
	belongs  func(first []byte) bool // tells the kind from others whose frames have the same shape
	describe func(frame []byte) string
	says     func(frame []byte) sentence.Sentence // of logs that hold no record batches
	dissect  func(frame []byte) dissect.Message
	meaning  func(records.Record) sentence.Sentence // of __consumer_offsets
	ahead    bool                                   // such logs are filled with zeros ahead of their ends
}

func always([]byte) bool { return true }

// kindsOf lists the sorts of segment in the order in which they are tried.
func kindsOf(name string) []kind {
	partition := kind{"partition", "a Kafka-mode partition's segment; a frame is a RecordBatch v2, an offset counts records", records.Framing{}, always, records.Describe, nil, dissect.RecordBatch, nil, false}
	if strings.HasPrefix(path.Base(path.Dir(filepath.ToSlash(name))), "__consumer_offsets-") {
		partition.name, partition.about = "offsets", "a segment of __consumer_offsets; a record is a group's newest state, or how far it got in a partition"
		partition.meaning = groupcoordinator.Describe
		partition.describe = func(batch []byte) string {
			return records.DescribeWith(batch, func(r records.Record) string { return groupcoordinator.Describe(r).String() })
		}
	}
	record := func(record []byte) sentence.Sentence { return bookie.Describe(record, describeEntry) }
	return []kind{
		partition,
		{"raft", "the ensemble's Raft log; a frame is an entry, its offset the entry's index", server.EntryFraming{}, server.IsEntry, inEnglish(server.DescribeEntry), server.DescribeEntry, dissect.RaftEntry, nil, true},
		{"bookie", "a bookie's journal or entry log; a frame is an entry of some ledger, its offset the bookie's running number", bookie.Framing, always,
			inEnglish(record), record, dissect.BookieRecord, nil, true},
	}
}

func inEnglish(says func(frame []byte) sentence.Sentence) func(frame []byte) string {
	return func(frame []byte) string { return says(frame).String() }
}

// describeEntry looks into a ledger entry as Pulsar-mode brokers write them: with a CRC-32C digest, and in it a message or a cursor's
// position. Of other entries it says how long they are.
func describeEntry(entry []byte) sentence.Sentence {
	size := sentence.Of("someBytes", "{count} {count|byte|bytes}", len(entry))
	header, err := ledger.ParseEntryHeader(entry)
	if err != nil {
		return size
	}
	sealer, err := ledger.NewSealer(header.Ledger, ledger.CRC32C, nil)
	if err != nil {
		return size
	}
	_, payload, err := sealer.Unseal(entry, header.Entry)
	if err != nil {
		return size
	}
	if said, err := broker.DescribeEntry(payload); err == nil {
		return said
	}
	if said, err := managedledger.DescribeCursorEntry(payload); err == nil {
		return said
	}
	return size
}

var errEnough = errors.New("enough frames")

// printSegment prints all frames of a segment, a line each.
func printSegment(out io.Writer, file source) error {
	if file.size == 0 {
		fmt.Fprintf(out, "%s: an empty segment\n", file.name)
		return nil
	}
	kind, err := kindOf(file)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %d bytes, %s\n   at byte\n", file.name, file.size, kind.about)
	torn, err := eachFrame(file, kind, 0, func(frame Frame, bytes []byte) error {
		offsets := fmt.Sprint(frame.First)
		if frame.Last > frame.First {
			offsets = fmt.Sprintf("%d-%d", frame.First, frame.Last)
		}
		_, err := fmt.Fprintf(out, "%10d  offset %s, %d bytes: %s\n", frame.At, offsets, frame.Size, kind.describe(bytes))
		return err
	})
	if torn != nil && torn.Ahead {
		fmt.Fprintf(out, "%10d  from here on %d bytes of zeros, written ahead of the log's end: the file keeps its length while the log grows into them, which makes syncs cheaper\n", torn.At, torn.Bytes)
	} else if torn != nil {
		fmt.Fprintf(out, "%10d  no whole frame from here on (%d bytes): %s. At the end of a last segment that is a write under way, or what a crash left; opening the log cuts it.\n", torn.At, torn.Bytes, torn.Problem)
	}
	return err
}

// kindOf finds a segment's kind by what its first frame turns out to be.
func kindOf(file source) (kind, error) {
	for _, kind := range kindsOf(file.name) {
		belongs := false
		_, err := eachFrame(file, kind, 0, func(_ Frame, bytes []byte) error {
			belongs = kind.belongs(bytes)
			return errEnough
		})
		if err != nil && !errors.Is(err, errEnough) {
			return kind, err
		}
		if belongs {
			return kind, nil
		}
	}
	return kind{}, fmt.Errorf("%s begins with no frame of any kind: it is damaged, or no segment", file.name)
}

// eachFrame walks the whole frames of a segment from a place on. What follows the last whole one is told, if something does.
func eachFrame(file source, kind kind, from int64, visit func(frame Frame, bytes []byte) error) (*Torn, error) {
	rest := io.NewSectionReader(file, from, file.size-from)
	err := commitlog.Inspect(rest, file.name, kind.framing, file.size-from, func(frame commitlog.Frame, position int64, bytes []byte) error {
		return visit(Frame{At: from + position, Size: frame.Size, First: frame.BaseOffset, Last: frame.LastOffset}, bytes)
	})
	if errors.Is(err, errEnough) { // whoever visited wanted no more, which is no damage
		return nil, errEnough
	}
	var bad *commitlog.CorruptError
	if errors.As(err, &bad) {
		at := from + bad.Position
		return &Torn{At: at, Bytes: file.size - at, Problem: bad.Err.Error(), Ahead: kind.ahead && errors.Is(bad.Err, commitlog.ErrOnlyZeros)}, nil
	}
	return nil, err
}
