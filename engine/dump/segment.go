package dump

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"twinlog/engine/commitlog"
	"twinlog/engine/ensemble/server"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/kafka/groupcoordinator"
	"twinlog/engine/pulsar/bookie"
	"twinlog/engine/pulsar/broker"
	"twinlog/engine/pulsar/ledger"
	"twinlog/engine/pulsar/managedledger"
)

// kind is one sort of segment.
type kind struct {
	name     string
	framing  commitlog.Framing
	belongs  func(first []byte) bool // tells the kind from others whose frames have the same shape
	describe func(frame []byte) string
}

func always([]byte) bool { return true }

// kindsOf lists the sorts of segment in the order in which they are tried.
func kindsOf(name string) []kind {
	partition := kind{"a Kafka-mode partition's segment; a frame is a RecordBatch v2, an offset counts records", records.Framing{}, always, records.Describe}
	if strings.HasPrefix(filepath.Base(filepath.Dir(name)), "__consumer_offsets-") {
		partition.name = "a segment of __consumer_offsets; a record is a group's newest state, or how far it got in a partition"
		partition.describe = func(batch []byte) string { return records.DescribeWith(batch, groupcoordinator.Describe) }
	}
	return []kind{
		partition,
		{"the ensemble's Raft log; a frame is an entry, its offset the entry's index", server.EntryFraming{}, server.IsEntry, server.DescribeEntry},
		{"a bookie's journal or entry log; a frame is an entry of some ledger, its offset the bookie's running number", bookie.Framing, always,
			func(record []byte) string { return bookie.Describe(record, describeEntry) }},
	}
}

// describeEntry looks into a ledger entry as Pulsar-mode brokers write them: with a CRC-32C digest, and in it a message or a cursor's
// position. Of other entries it says how long they are.
func describeEntry(entry []byte) string {
	size := fmt.Sprintf("%d bytes", len(entry))
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
	if text, err := broker.DescribeEntry(payload); err == nil {
		return text
	}
	if text, err := managedledger.DescribeCursorEntry(payload); err == nil {
		return text
	}
	return size
}

var errOtherKind = errors.New("a segment of another kind")

func printSegment(out io.Writer, name string, file io.ReaderAt, size int64) error {
	if size == 0 {
		fmt.Fprintf(out, "%s: an empty segment\n", name)
		return nil
	}
	for _, kind := range kindsOf(name) {
		frames := 0
		err := commitlog.Inspect(file, name, kind.framing, size, func(frame commitlog.Frame, position int64, bytes []byte) error {
			if frames == 0 {
				if !kind.belongs(bytes) {
					return errOtherKind
				}
				fmt.Fprintf(out, "%s: %d bytes, %s\n   at byte\n", name, size, kind.name)
			}
			frames++
			offsets := fmt.Sprint(frame.BaseOffset)
			if frame.LastOffset > frame.BaseOffset {
				offsets = fmt.Sprintf("%d-%d", frame.BaseOffset, frame.LastOffset)
			}
			_, err := fmt.Fprintf(out, "%10d  offset %s, %d bytes: %s\n", position, offsets, frame.Size, kind.describe(bytes))
			return err
		})
		if frames == 0 {
			continue // not of this kind
		}
		var torn *commitlog.CorruptError
		if errors.As(err, &torn) {
			fmt.Fprintf(out, "%10d  no whole frame from here on (%d bytes): %v. At the end of a last segment that is a write under way, or what a crash left; opening the log cuts it.\n", torn.Position, size-torn.Position, torn.Err)
			return nil
		}
		return err
	}
	return fmt.Errorf("%s begins with no frame of any kind: it is damaged, or no segment", name)
}
