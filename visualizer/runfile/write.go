package runfile

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
	"time"

	"twinlog/visualizer/hub"
)

// Writer writes a run file.
type Writer struct {
	zip     *gzip.Writer
	hash    hash.Hash
	records uint64
}

// NewWriter begins a file.
func NewWriter(out io.Writer, name, title string, startedAt time.Time) (*Writer, error) {
	w := &Writer{zip: gzip.NewWriter(out), hash: newHash()}
	return w, w.line(Header{Format: formatName, Version: Version, Name: name, Title: title, StartedAt: startedAt.UTC()})
}

// Add writes the records of a chunk. Chunks come in order and do not overlap.
func (w *Writer) Add(chunk hub.Chunk) error {
	lines, err := chunk.Lines()
	if err != nil {
		return err
	}
	newline := []byte{'\n'}
	for _, line := range lines {
		for _, part := range [][]byte{line, newline} {
			w.hash.Write(part)
			if _, err := w.zip.Write(part); err != nil {
				return err
			}
		}
		w.records++
	}
	return nil
}

// Close writes the last line. It does not close what it writes to.
func (w *Writer) Close() error {
	if err := w.line(trailer{Records: w.records, SHA256: hex.EncodeToString(w.hash.Sum(nil))}); err != nil {
		return err
	}
	return w.zip.Close()
}

func (w *Writer) line(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = w.zip.Write(append(text, '\n'))
	return err
}

func newHash() hash.Hash { return sha256.New() }
