package runfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"unicode/utf8"

	"twinlog/engine/sentence"
	"twinlog/visualizer/hub"
	"twinlog/visualizer/wire"
)

// Run is what a file holds.
type Run struct {
	Header Header
	Chunks []hub.Chunk // in order; at least one
	// Records is their number.
	Records uint64
}

// Read reads a whole file. Its memory is bounded by the limits; errors name the line and wrap one of the package's.
func Read(in io.Reader, limits Limits) (Run, error) {
	source := bufio.NewReader(in) // which gzip reads no further than to its end
	zip, err := gzip.NewReader(source)
	if err != nil {
		return Run{}, fmt.Errorf("%w: it is not compressed with gzip (%w)", ErrNotARun, err)
	}
	zip.Multistream(false)
	return readLines(zip, source, limits)
}

// readLines reads the lines of a file; source is what has to be at its end when they are.
func readLines(lines io.Reader, source *bufio.Reader, limits Limits) (Run, error) {
	r := reader{limits: limits, source: source, hash: newHash(), packer: hub.NewPacker()}
	r.lines = bufio.NewReaderSize(&bounded{in: lines, left: limits.Unpacked}, 64<<10)
	run, err := r.read()
	if err != nil {
		return Run{}, sentence.Error(nil, "atLine", "line {line}: {why}", r.line, err)
	}
	return run, nil
}

type reader struct {
	limits Limits
	source *bufio.Reader
	lines  *bufio.Reader
	line   uint64 // the number of the line that was read last
	buffer []byte
	hash   hash.Hash

	packer  *hub.Packer
	chunks  []hub.Chunk
	kept    int64 // packed bytes of the chunks
	lastN   uint64
	records uint64
}

func (r *reader) read() (Run, error) {
	header, err := r.header()
	if err != nil {
		return Run{}, err
	}
	for {
		line, err := r.next()
		if err != nil {
			return Run{}, err
		}
		var end trailer
		if isTrailer(line) && json.Unmarshal(line, &end) == nil {
			if err := r.end(end); err != nil {
				return Run{}, err
			}
			return Run{Header: header, Chunks: r.chunks, Records: r.records}, nil
		}
		if err := r.take(line); err != nil {
			return Run{}, err
		}
	}
}

// isTrailer: a record begins with its n.
func isTrailer(line []byte) bool { return bytes.HasPrefix(line, []byte(`{"records":`)) }

func (r *reader) header() (header Header, err error) {
	line, err := r.next()
	if errors.Is(err, ErrTooLarge) {
		return header, err
	}
	if err != nil {
		return header, fmt.Errorf("%w: it is empty or cut off (%w)", ErrNotARun, err)
	}
	if err := json.Unmarshal(line, &header); err != nil || header.Format != formatName {
		return header, fmt.Errorf("%w: its first line does not say %s", ErrNotARun, formatName)
	}
	switch {
	case header.Version > Version:
		return header, fmt.Errorf("%w: it has version %d of the format, and this twinlog reads up to %d", ErrNewer, header.Version, Version)
	case header.Version < 1:
		return header, fmt.Errorf("%w: there is no version %d of the format", ErrNotARun, header.Version)
	case len(header.Name) > r.limits.Title || len(header.Title) > r.limits.Title:
		return header, fmt.Errorf("%w: its name or title is over %d bytes", ErrTooLarge, r.limits.Title)
	case !utf8.ValidString(header.Name) || !utf8.ValidString(header.Title):
		return header, fmt.Errorf("%w: its name or title is not text", ErrDamaged)
	}
	if year := header.StartedAt.Year(); year < 1970 || year > 9000 {
		return header, fmt.Errorf("%w: it says that it began in the year %d", ErrDamaged, year)
	}
	return header, nil
}

// next is the next line without its newline, valid until the next call.
func (r *reader) next() ([]byte, error) {
	r.line++
	r.buffer = r.buffer[:0]
	for {
		part, err := r.lines.ReadSlice('\n')
		if len(r.buffer)+len(part) > r.limits.Line {
			return nil, fmt.Errorf("%w: the line is over %d bytes", ErrTooLarge, r.limits.Line)
		}
		r.buffer = append(r.buffer, part...)
		switch {
		case err == nil:
			return r.buffer[:len(r.buffer)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, ErrTooLarge):
			return nil, err
		default:
			return nil, fmt.Errorf("%w: it ends before its last line (%w)", ErrDamaged, err)
		}
	}
}

func (r *reader) take(line []byte) error {
	if r.records++; r.records > r.limits.Records {
		return fmt.Errorf("%w: over %d records", ErrTooLarge, r.limits.Records)
	}
	r.hash.Write(line)
	r.hash.Write([]byte{'\n'})
	var record wire.Record
	if err := json.Unmarshal(line, &record); err != nil {
		return fmt.Errorf("%w: this is no record (%w)", ErrDamaged, err)
	}
	if record.Data == nil {
		return fmt.Errorf("%w: record %d says nothing", ErrDamaged, record.N)
	}
	// Numbers have to stay exact in a browser.
	if record.N <= r.lastN || record.N > 1<<53-1 {
		return fmt.Errorf("%w: record %d follows record %d", ErrDamaged, record.N, r.lastN)
	}
	if year := record.At.Year(); year < 1970 || year > 9000 {
		return fmt.Errorf("%w: record %d happened in the year %d", ErrDamaged, record.N, year)
	}
	text, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("%w: record %d (%w)", ErrDamaged, record.N, err)
	}
	if len(text) > r.limits.Line {
		return fmt.Errorf("%w: record %d", ErrTooLarge, record.N)
	}
	if r.lastN != 0 && record.N != r.lastN+1 {
		if err := r.seal(); err != nil { // a hole is between two chunks
			return err
		}
	}
	r.lastN = record.N
	if r.packer.Add(record.N, record.At, text) {
		return r.seal()
	}
	return nil
}

// seal keeps what was packed so far, if anything.
func (r *reader) seal() error {
	chunk, any := r.packer.Seal()
	if !any {
		return nil
	}
	r.chunks = append(r.chunks, chunk)
	const overhead = 128 // of a chunk with next to nothing in it
	if r.kept += int64(len(chunk.Packed)) + overhead; r.kept > r.limits.Packed {
		return fmt.Errorf("%w: over %d MiB packed", ErrTooLarge, r.limits.Packed>>20)
	}
	return nil
}

func (r *reader) end(said trailer) error {
	if err := r.seal(); err != nil {
		return err
	}
	if said.Records != r.records {
		return fmt.Errorf("%w: it says that it has %d records, and has %d", ErrDamaged, said.Records, r.records)
	}
	if said.SHA256 != hex.EncodeToString(r.hash.Sum(nil)) {
		return fmt.Errorf("%w: its records are not those that were written", ErrDamaged)
	}
	if r.records == 0 {
		return fmt.Errorf("%w: it has no record", ErrNotARun)
	}
	// Reading to the end also checks gzip's own sum.
	for _, rest := range []io.Reader{r.lines, r.source} {
		if more, err := io.Copy(io.Discard, io.LimitReader(rest, 1)); err != nil || more > 0 {
			return fmt.Errorf("%w: something follows its last line", ErrDamaged)
		}
	}
	return nil
}

// bounded is a reader that fails after so many bytes.
type bounded struct {
	in   io.Reader
	left int64
}

func (b *bounded) Read(into []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("%w: it unpacks to too many bytes", ErrTooLarge)
	}
	if int64(len(into)) > b.left {
		into = into[:b.left]
	}
	n, err := b.in.Read(into)
	b.left -= int64(n)
	return n, err
}
