package labs

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"twinlog/engine/sentence"
)

// Entry is one line of a student's log. Each holds the hash of the one before it, so that one that was changed, added or removed in the
// middle is found; the log's head, kept apart, finds a removed end. This shows tampering and damage. It is no signature: who rewrites the
// whole log and its head leaves no trace.
type Entry struct {
	Student  string          `json:"student"`
	Number   int             `json:"number"` // 1 is the student's first
	At       time.Time       `json:"at"`
	Kind     string          `json:"kind"`    // start, check, answer, step
	Attempt  json.RawMessage `json:"attempt"` // as it was then
	Previous string          `json:"previous"`
	Hash     string          `json:"hash"`
}

// Sum is what Hash must be: SHA-256, in hex, over the lines student, number, time, kind, previous and the attempt's bytes.
func (e Entry) Sum() string {
	hash := sha256.New()
	fmt.Fprintf(hash, "%q\n%d\n%s\n%s\n%s\n", e.Student, e.Number, e.At.UTC().Format(time.RFC3339Nano), e.Kind, e.Previous)
	hash.Write(e.Attempt)
	return hex.EncodeToString(hash.Sum(nil))
}

// Follow seals an entry behind another; the zero Entry is before the first.
func (e Entry) Follow(last Entry) Entry {
	e.Number, e.Previous = last.Number+1, last.Hash
	e.Hash = e.Sum()
	return e
}

var (
	// ErrBroken: a log of progress is not as it was written.
	ErrBroken = sentence.Error(nil, "progressBroken", "the log of progress is broken")
	// ErrTooLarge: a file of progress, or a line of it, is over its bound. Nothing is written or read of one, least of all its beginning.
	ErrTooLarge = sentence.Error(nil, "progressFileTooLarge", "the file of progress is too large")
)

// Head is the last entry of a student's log.
type Head struct {
	Student string `json:"student"`
	Number  int    `json:"number"`
	Hash    string `json:"hash"`
}

func (e Entry) name() sentence.Sentence {
	return sentence.Of("entryName", "entry {number} of {student}", e.Number, e.Student)
}

// Verify checks one student's log from its first entry to its head. Its error names the first entry that is not right.
func Verify(entries []Entry, head Head) error {
	var last Entry
	for i, entry := range entries {
		switch {
		case entry.Student != head.Student:
			return sentence.Error(ErrBroken, "entryOfOther", "the log of progress is broken: {entry} is in the log of {student}", entry.name(), head.Student)
		case entry.Number != i+1:
			return sentence.Error(ErrBroken, "entryMissing",
				"the log of progress is broken: entry {missing} of {student} is missing: entry {next} follows entry {last}", i+1, head.Student, entry.Number, i)
		case entry.Previous != last.Hash:
			return sentence.Error(ErrBroken, "entryOutOfChain", "the log of progress is broken: {entry} does not follow the entry before it", entry.name())
		case entry.Hash != entry.Sum():
			return sentence.Error(ErrBroken, "entryChanged", "the log of progress is broken: {entry} was changed after it was written", entry.name())
		}
		last = entry
	}
	if last.Number != head.Number {
		return sentence.Error(ErrBroken, "entriesMissing",
			"the log of progress is broken: {student} has {here} {here|entry|entries}, the last {missing} of {count} are missing", head.Student, last.Number, head.Number-last.Number, head.Number)
	}
	if last.Hash != head.Hash {
		return sentence.Error(ErrBroken, "entryNotLast", "the log of progress is broken: {entry} is not the one that was the last", last.name())
	}
	return nil
}

// The file of progress: a line that says what it is and lists the heads, then a line for each entry, all JSON.
type fileHead struct {
	Format int    `json:"twinlogProgress"` // 1
	Heads  []Head `json:"students"`
}

const (
	fileFormat = 1
	// LargestProgress bounds a file of progress in bytes, and maxEntryBytes a line of it.
	LargestProgress = 64 << 20
	maxEntryBytes   = 4 << 20
)

// WriteProgress writes the logs of students as one file. One that [ReadProgress] would refuse for its size is ErrTooLarge, and nothing of it
// is written.
func WriteProgress(w io.Writer, heads []Head, entries []Entry) error {
	var file bytes.Buffer
	encoder := json.NewEncoder(&file)
	encoder.SetEscapeHTML(false)
	write := func(line any) error {
		before := file.Len()
		if err := encoder.Encode(line); err != nil {
			return err
		}
		if file.Len() > LargestProgress {
			return sentence.Error(ErrTooLarge, "progressOfAllTooLarge",
				"the file of progress is too large: the logs of {count} {count|student|students} are over {size} MiB together; export them one by one: --student NAME", len(heads), LargestProgress>>20)
		}
		if file.Len()-before >= maxEntryBytes {
			return sentence.Error(ErrTooLarge, "progressLineTooLarge", "the file of progress is too large: a line of it is over {size} MiB", maxEntryBytes>>20)
		}
		return nil
	}
	if err := write(fileHead{fileFormat, heads}); err != nil {
		return err
	}
	for _, entry := range entries {
		if err := write(entry); err != nil {
			return fmt.Errorf("%s: %w", entry.name(), err)
		}
	}
	_, err := file.WriteTo(w)
	return err
}

// bounded is a reader that fails when there is more than it may read; an [io.LimitReader] would pass the beginning off as the whole.
type bounded struct {
	in   io.Reader
	left int64
	err  error // what it fails with
}

func (b *bounded) Read(into []byte) (int, error) {
	if int64(len(into)) > b.left+1 {
		into = into[:b.left+1]
	}
	n, err := b.in.Read(into)
	if int64(n) > b.left {
		return int(b.left), b.err
	}
	b.left -= int64(n)
	return n, err
}

// readProblem is why the scanner of a file has stopped before its end. It has handed out the line that was cut off as if it were whole: what
// is wrong with that line is no news.
func readProblem(lines *bufio.Scanner) error {
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return sentence.Error(ErrTooLarge, "progressLineTooLarge", "the file of progress is too large: a line of it is over {size} MiB", maxEntryBytes>>20)
	case err != nil:
		return fmt.Errorf("reading the file of progress: %w", err)
	}
	return nil
}

// ReadProgress reads such a file and verifies it: every log is whole. Its error names the line or the entry that is not right; a file that is
// over LargestProgress is ErrTooLarge, and what the reader failed with comes back as it is.
func ReadProgress(r io.Reader) (heads []Head, entries []Entry, err error) {
	lines := bufio.NewScanner(&bounded{r, LargestProgress, sentence.Error(ErrTooLarge, "progressTooLarge", "the file of progress is over {size} MiB", LargestProgress>>20)})
	lines.Buffer(nil, maxEntryBytes)
	var head fileHead
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &head) != nil || head.Format != fileFormat {
		if err := readProblem(lines); err != nil {
			return nil, nil, err
		}
		return nil, nil, sentence.Error(ErrBroken, "notAProgressFile", "this is no file of progress that `twinlog lab export` wrote")
	}
	byStudent := map[string][]Entry{}
	for number := 2; lines.Scan(); number++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var entry Entry
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			if err := readProblem(lines); err != nil {
				return nil, nil, err
			}
			return nil, nil, sentence.Error(ErrBroken, "notAnEntry", "the log of progress is broken: line {line} is no entry: {why}", number, err)
		}
		if !slices.ContainsFunc(head.Heads, func(h Head) bool { return h.Student == entry.Student }) {
			return nil, nil, sentence.Error(ErrBroken, "entryOfNobody", "the log of progress is broken: line {line}, {entry}, belongs to nobody in the file", number, entry.name())
		}
		byStudent[entry.Student] = append(byStudent[entry.Student], entry)
		entries = append(entries, entry)
	}
	if err := readProblem(lines); err != nil {
		return nil, nil, err
	}
	for _, each := range head.Heads {
		if err := Verify(byStudent[each.Student], each); err != nil {
			return nil, nil, err
		}
	}
	return head.Heads, entries, nil
}

// Imported says what an import brought.
type Imported struct {
	Students []ImportedStudent `json:"students"`
}

// ImportedStudent is one student of an import: Added entries are new here, of Entries in the file.
type ImportedStudent struct {
	Student string `json:"student"`
	Entries int    `json:"entries"`
	Added   int    `json:"added"`
}

// Export writes the log of a student, or of everybody with an empty name, as one file.
func (s *Service) Export(ctx context.Context, student string, to io.Writer) error {
	heads, entries, err := s.config.Progress.ExportProgress(ctx, student)
	if err != nil {
		return err
	}
	return WriteProgress(to, heads, entries)
}

// Import verifies such a file and merges it with what is known here.
func (s *Service) Import(ctx context.Context, from io.Reader) (Imported, error) {
	heads, entries, err := ReadProgress(from)
	if err != nil {
		return Imported{}, err
	}
	imported, err := s.config.Progress.ImportProgress(ctx, heads, entries)
	if err != nil {
		return Imported{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, student := range imported.Students {
		for key := range s.attempts {
			if key.student == student.Student && student.Added > 0 {
				delete(s.attempts, key)
			}
		}
	}
	return imported, nil
}
