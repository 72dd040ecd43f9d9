// Package dump prints the files of a data directory in words: segments of Kafka-mode partitions, bookies' journals and entry logs, Raft
// logs, and their indexes.
package dump

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"twinlog/engine/commitlog"
	"twinlog/engine/ensemble/server"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/pulsar/bookie"
)

// Command is `twinlog dump FILE…`. It only reads, so it may be used on the files of a running classroom.
func Command() *cobra.Command {
	return &cobra.Command{
		Use: "dump FILE…", Short: "Print any segment, index, journal or Raft log in words", Args: cobra.MinimumNArgs(1), SilenceUsage: true,
		RunE: func(command *cobra.Command, names []string) error {
			var failures []error
			for _, name := range names {
				if err := File(command.OutOrStdout(), name); err != nil {
					failures = append(failures, err)
				}
			}
			return errors.Join(failures...)
		},
	}
}

// kind is one sort of segment.
type kind struct {
	name     string
	framing  commitlog.Framing
	describe func(frame []byte) string
}

var kinds = []kind{
	{"Kafka-mode partition: a frame is a RecordBatch v2, an offset a record", records.Framing{}, records.Describe},
	{"Raft log of the ensemble: a frame is an entry, its offset the entry's index", server.EntryFraming{}, server.DescribeEntry},
	{"bookie's journal or entry log: a frame is a ledger entry, its offset a running number", bookie.Framing, bookie.Describe},
}

// File prints one file. Its kind is found by its name's ending and by what its first frame turns out to be.
func File(out io.Writer, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	switch {
	case info.IsDir():
		return fmt.Errorf("%s is a directory; name the files in it", name)
	case strings.HasSuffix(name, ".index") || strings.HasSuffix(name, ".timeindex"):
		return printIndex(out, name)
	case filepath.Base(name) == "start":
		return printStart(out, name)
	case filepath.Base(name) == "durable":
		return printDurable(out, name)
	case strings.HasSuffix(name, ".log"):
		return printSegment(out, name, file, info.Size())
	}
	return fmt.Errorf("%s is no segment (.log), index (.index, .timeindex), start or durable file", name)
}

func printSegment(out io.Writer, name string, file io.ReaderAt, size int64) error {
	if size == 0 {
		fmt.Fprintf(out, "%s: an empty segment\n", name)
		return nil
	}
	for _, kind := range kinds {
		frames := 0
		err := commitlog.Inspect(file, name, kind.framing, size, func(frame commitlog.Frame, position int64, bytes []byte) error {
			if frames++; frames == 1 {
				fmt.Fprintf(out, "%s: %d bytes, %s\n", name, size, kind.name)
			}
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

const maxIndexFile = 64 << 20

func printIndex(out io.Writer, name string) error {
	bytes, err := readSmall(name)
	if err != nil {
		return err
	}
	content, err := commitlog.InspectIndex(bytes)
	if err != nil {
		return fmt.Errorf("%s: %w; the log makes it anew when it is opened", name, err)
	}
	if content.Time {
		fmt.Fprintf(out, "%s: sparse time index over %d bytes up to offset %d, largest time %s\n", name, content.Covered, content.Next-1, content.MaxTime.Format("2006-01-02 15:04:05.000"))
		for _, entry := range content.Entries {
			fmt.Fprintf(out, "  nothing up to offset %d is later than %s\n", entry.Offset, entry.Time.Format("2006-01-02 15:04:05.000"))
		}
		return nil
	}
	fmt.Fprintf(out, "%s: sparse offset index over %d bytes up to offset %d\n", name, content.Covered, content.Next-1)
	for _, entry := range content.Entries {
		fmt.Fprintf(out, "  offset %d is at byte %d\n", entry.Offset, entry.Position)
	}
	return nil
}

func printStart(out io.Writer, name string) error {
	bytes, err := readSmall(name)
	if err != nil {
		return err
	}
	if len(bytes) != 12 {
		return fmt.Errorf("%s: %d bytes instead of 12", name, len(bytes))
	}
	fmt.Fprintf(out, "%s: the log begins at offset %d\n", name, int64(binary.BigEndian.Uint64(bytes)))
	return nil
}

func printDurable(out io.Writer, name string) error {
	bytes, err := readSmall(name)
	if err != nil {
		return err
	}
	content, valid := commitlog.InspectDurable(bytes)
	if !valid {
		return fmt.Errorf("%s has no valid slot; the log goes on without it", name)
	}
	fmt.Fprintf(out, "%s: the first %d bytes of segment %d were synced, up to offset %d; damage in them is reported, not cut\n", name, content.Bytes, content.Segment, content.Next-1)
	return nil
}

func readSmall(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxIndexFile {
		return nil, fmt.Errorf("%s has %d bytes, too many for such a file", name, info.Size())
	}
	return os.ReadFile(name)
}
