package hub

import (
	"bytes"
	"compress/flate"
	"time"
)

// Packer makes chunks of records that come one after the other.
type Packer struct {
	flate  *flate.Writer
	packed bytes.Buffer
	chunk  Chunk
	count  int
	bytes  int
}

// chunkBytes is how many bytes of records fill a chunk that is packed from a file, however few records they are.
const chunkBytes = 4 << 20

// NewPacker returns an empty packer.
func NewPacker() *Packer {
	writer, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // only for a level that does not exist
	}
	p := &Packer{flate: writer}
	p.flate.Reset(&p.packed)
	return p
}

// Add packs the record after the last one; n follows on from that. Full says that it is time to seal.
func (p *Packer) Add(n uint64, at time.Time, text []byte) (full bool) {
	if p.count == 0 {
		p.chunk = Chunk{FirstN: n, FirstAt: at}
	}
	p.chunk.LastN, p.chunk.LastAt = n, at
	p.flate.Write(text) // into memory: cannot fail
	p.flate.Write([]byte{'\n'})
	p.count++
	p.bytes += len(text)
	return p.count >= chunkRecords || p.bytes >= chunkBytes
}

// Seal returns what was added since the last time; any is false when that was nothing.
func (p *Packer) Seal() (chunk Chunk, any bool) {
	if p.count == 0 {
		return Chunk{}, false
	}
	p.flate.Close()
	chunk = p.chunk
	chunk.Packed = bytes.Clone(p.packed.Bytes())
	p.packed.Reset()
	p.flate.Reset(&p.packed)
	p.chunk, p.count, p.bytes = Chunk{}, 0, 0
	return chunk, true
}
