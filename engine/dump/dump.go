// Package dump prints the files of a data directory in words: segments of Kafka-mode partitions, bookies' journals and entry logs, Raft
// logs, and their indexes.
package dump

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"twinlog/engine/commitlog"
)

// Command is `twinlog dump FILE…`. It only reads, so it may be used on the files of a running classroom.
func Command() *cobra.Command {
	return &cobra.Command{
		Use: "dump FILE…", Short: "Print any segment, index, journal or Raft log in words",
		Long: `Print any file of a data directory in words: segments and indexes of Kafka-mode partitions, bookies' journals and entry logs, the
ensemble's Raft log, votes and snapshots, and the small files beside them. A directory stands for all files below it. Nothing is
changed, so it may be used while the classroom runs.`,
		Args: cobra.MinimumNArgs(1), SilenceUsage: true,
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

// File prints one file, or all files in a directory that it knows. A file's kind is found by its name and by what its first frame turns
// out to be.
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
	if info.IsDir() {
		return printDirectory(out, name)
	}
	return printFile(out, source{file, name, info.Size()})
}

// source is a file to be put in words, wherever it is.
type source struct {
	io.ReaderAt
	name string // with slashes or as the system has it
	size int64
}

func (s source) base() string { return path.Base(filepath.ToSlash(s.name)) }

// printFile ends at the first error of what it writes to: whoever has enough refuses more.
func printFile(out io.Writer, file source) error {
	name := file.name
	switch base := file.base(); {
	case strings.HasSuffix(base, ".index") || strings.HasSuffix(base, ".timeindex"):
		return printIndex(out, file)
	case strings.HasSuffix(base, ".log"):
		return printSegment(out, file)
	case base == "start":
		return printStart(out, file)
	case base == "durable":
		return printDurable(out, file)
	case base == "moved":
		return printMoved(out, file)
	case strings.HasSuffix(base, ".swap"):
		fmt.Fprintf(out, "%s: a replacement that is decided; opening the log puts it in the place of the segments that its name spans\n", name)
		return printSegment(out, file)
	case base == "promise":
		return printPromises(out, file)
	case base == "nonce":
		return printNonce(out, file)
	case strings.HasPrefix(base, "snapshot-"):
		return printSnapshot(out, file)
	case textFiles[base] != "":
		return printText(out, file, textFiles[base])
	}
	return fmt.Errorf("%s: %w; known are segments (.log), their indexes (.index, .timeindex), start, durable and moved, the ensemble's promise, nonce and snapshot-N, %s",
		name, errUnknown, strings.Join(slices.Sorted(maps.Keys(textFiles)), ", "))
}

var errUnknown = errors.New("a file that is not known")

// printDirectory prints every file below a directory that is known, and names the others.
func printDirectory(out io.Writer, directory string) error {
	var failures []error
	err := filepath.WalkDir(directory, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if err := File(out, name); errors.Is(err, errUnknown) {
			fmt.Fprintf(out, "%s: not a file that can be put in words\n", name)
		} else if err != nil {
			failures = append(failures, err)
		}
		_, err = fmt.Fprintln(out)
		return err
	})
	return errors.Join(append(failures, err)...)
}

const maxIndexFile = 64 << 20

func printIndex(out io.Writer, file source) error {
	name := file.name
	bytes, err := file.readSmall()
	if err != nil {
		return err
	}
	content, err := commitlog.InspectIndex(bytes)
	if err != nil {
		return fmt.Errorf("%s: %w; the log makes it anew when it is opened", name, err)
	}
	if content.Time {
		_, err := fmt.Fprintf(out, "%s: sparse time index over %d bytes up to offset %d, largest time %s\n", name, content.Covered, content.Next-1, content.MaxTime.Format("2006-01-02 15:04:05.000"))
		for i := 0; i < len(content.Entries) && err == nil; i++ {
			entry := content.Entries[i]
			_, err = fmt.Fprintf(out, "  nothing up to offset %d is later than %s\n", entry.Offset, entry.Time.Format("2006-01-02 15:04:05.000"))
		}
		return err
	}
	_, err = fmt.Fprintf(out, "%s: sparse offset index over %d bytes up to offset %d\n", name, content.Covered, content.Next-1)
	for i := 0; i < len(content.Entries) && err == nil; i++ {
		_, err = fmt.Fprintf(out, "  offset %d is at byte %d\n", content.Entries[i].Offset, content.Entries[i].Position)
	}
	return err
}

func printStart(out io.Writer, file source) error {
	name := file.name
	bytes, err := file.readSmall()
	if err != nil {
		return err
	}
	if len(bytes) != 12 {
		return fmt.Errorf("%s: %d bytes instead of 12", name, len(bytes))
	}
	fmt.Fprintf(out, "%s: the log begins at offset %d\n", name, int64(binary.BigEndian.Uint64(bytes)))
	return nil
}

func printDurable(out io.Writer, file source) error {
	name := file.name
	bytes, err := file.readSmall()
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

func printMoved(out io.Writer, file source) error {
	name := file.name
	bytes, err := file.readSmall()
	if err != nil {
		return err
	}
	segments, err := commitlog.InspectMoved(bytes)
	if err != nil {
		return fmt.Errorf("%s: %w; without it the log does not open", name, err)
	}
	_, err = fmt.Fprintf(out, "%s: %d segments are on another medium\n", name, len(segments))
	for i := 0; i < len(segments) && err == nil; i++ {
		s := segments[i]
		_, err = fmt.Fprintf(out, "  %s: offsets %d to %d, %d bytes\n", s.File, s.Base, s.Next-1, s.Size)
	}
	return err
}

func (s source) readSmall() ([]byte, error) {
	if s.size > maxIndexFile {
		return nil, fmt.Errorf("%s has %d bytes, too many for such a file", s.name, s.size)
	}
	bytes := make([]byte, s.size)
	if n, err := s.ReadAt(bytes, 0); int64(n) < s.size {
		return nil, fmt.Errorf("read %s: %w", s.name, err)
	}
	return bytes, nil
}
