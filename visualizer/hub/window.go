package hub

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"twinlog/engine/sentence"
	"twinlog/visualizer/wire"
)

// ErrGone: the records asked for have left the window.
var ErrGone = sentence.Error(nil, "recordsLeft", "these records have left the window; ask again from the window's first")

// chunkRecords is how many records are packed together. A read unpacks whole chunks.
const chunkRecords = 512

// Chunk is a packed run of records, which never changes again.
type Chunk struct {
	FirstN  uint64
	LastN   uint64
	FirstAt time.Time
	LastAt  time.Time
	// Packed is the records as JSON lines, compressed with flate.
	Packed []byte
}

// window keeps the newest records in a bounded number of bytes: sealed chunks, packed, and one chunk that is still open.
type window struct {
	sealed     []Chunk
	open       [][]byte  // each a record's JSON
	opened     time.Time // when the open chunk was begun
	openAt     time.Time // of its first record
	lastAt     time.Time
	lastN      uint64
	bytes      int // of sealed and open together
	openBytes  int
	maxBytes   int
	maxRecords int
	packer     *flate.Writer
}

func newWindow(maxRecords, maxBytes int) *window {
	packer, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // only for a level that does not exist
	}
	return &window{maxRecords: maxRecords, maxBytes: maxBytes, packer: packer}
}

// add appends the record with the next n. When that fills a chunk, the chunk is sealed and returned.
func (w *window) add(at time.Time, text []byte) (sealed Chunk, isSealed bool) {
	if len(w.open) == 0 {
		w.opened, w.openAt = time.Now(), at
	}
	w.open = append(w.open, text)
	w.openBytes += len(text)
	w.bytes += len(text)
	w.lastN++
	w.lastAt = at
	if len(w.open) < chunkRecords {
		return Chunk{}, false
	}
	return w.seal(), true
}

// sealOld seals the open chunk when it was begun before an instant, so that a recorder does not lag far behind a quiet classroom.
func (w *window) sealOld(before time.Time) (sealed Chunk, isSealed bool) {
	if len(w.open) == 0 || !w.opened.Before(before) {
		return Chunk{}, false
	}
	return w.seal(), true
}

// seal packs the open chunk. It must not be empty.
func (w *window) seal() Chunk {
	var packed bytes.Buffer
	w.packer.Reset(&packed)
	for _, text := range w.open {
		w.packer.Write(text) // into memory: cannot fail
		w.packer.Write([]byte{'\n'})
	}
	w.packer.Close()
	chunk := Chunk{FirstN: w.lastN - uint64(len(w.open)) + 1, LastN: w.lastN, FirstAt: w.openAt, LastAt: w.lastAt,
		Packed: bytes.Clone(packed.Bytes())}
	w.sealed = append(w.sealed, chunk)
	w.bytes += len(chunk.Packed) - w.openBytes
	w.open, w.openBytes = nil, 0
	for len(w.sealed) > 1 && (w.bytes > w.maxBytes || w.records() > w.maxRecords) {
		w.bytes -= len(w.sealed[0].Packed)
		w.sealed[0] = Chunk{}
		w.sealed = w.sealed[1:]
	}
	return chunk
}

func (w *window) records() int { return int(w.lastN + 1 - w.bounds().FirstN) }

func (w *window) bounds() wire.Window {
	first := w.lastN + 1 - uint64(len(w.open))
	if len(w.sealed) > 0 {
		first = w.sealed[0].FirstN
	}
	return wire.Window{FirstN: first, LastN: w.lastN}
}

// part is a stretch of the window that a reader can unpack without its owner.
type part struct {
	chunks []Chunk
	open   [][]byte // the records from openN on
	openN  uint64
	first  uint64 // the first record wanted
	limit  int
}

// after returns the stretch of at most limit records that follow n.
func (w *window) after(n uint64, limit int) (part, error) {
	bounds := w.bounds()
	if n+1 < bounds.FirstN {
		return part{}, ErrGone
	}
	wanted := part{first: n + 1, limit: limit}
	for _, chunk := range w.sealed {
		if chunk.LastN > n && (len(wanted.chunks) == 0 || chunk.FirstN < wanted.first+uint64(limit)) {
			wanted.chunks = append(wanted.chunks, chunk)
		}
	}
	openN := w.lastN + 1 - uint64(len(w.open))
	if wanted.first+uint64(limit) > openN {
		wanted.open, wanted.openN = w.open[:len(w.open):len(w.open)], openN
	}
	return wanted, nil
}

// unpack returns the records of a stretch as JSON, in order.
func (p part) unpack() ([]json.RawMessage, error) {
	records := []json.RawMessage{}
	take := func(n uint64, lines [][]byte) {
		for _, line := range lines {
			if n >= p.first && len(records) < p.limit {
				records = append(records, line)
			}
			n++
		}
	}
	for _, chunk := range p.chunks {
		lines, err := chunk.Lines()
		if err != nil {
			return nil, err
		}
		take(chunk.FirstN, lines)
	}
	take(p.openN, p.open)
	return records, nil
}

// Lines unpacks a chunk: the JSON of its records, in order.
func (c Chunk) Lines() ([][]byte, error) {
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(c.Packed)))
	if err != nil {
		return nil, fmt.Errorf("hub: unpacking records %d to %d: %w", c.FirstN, c.LastN, err)
	}
	lines := bytes.Split(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\n'})
	if uint64(len(lines)) != c.LastN-c.FirstN+1 {
		return nil, fmt.Errorf("hub: records %d to %d: %d lines", c.FirstN, c.LastN, len(lines))
	}
	return lines, nil
}
