// Package jute is ZooKeeper's serialization: what a client and a server, and a server and its own log, exchange.
//
// Everything is big-endian and there is no alignment:
//
//	bool     1 byte, 0 or 1
//	int      4 bytes, signed
//	long     8 bytes, signed
//	buffer   int length, then that many bytes; length -1 is null
//	ustring  as buffer, the bytes are UTF-8
//	vector   int count, then the items; count -1 is null
//
// A record is its fields one after the other; there are no tags, so both ends must know what comes. On a connection every message
// is an int length followed by that many bytes (a frame).
package jute

import (
	"encoding/binary"
	"errors"
)

// MaxFrame is the longest frame that a server takes from a client, in bytes: ZooKeeper's jute.maxbuffer, one less than 1 MiB.
const MaxFrame = 0xfffff

// ErrMalformed: the bytes end before the record does, or a length in them cannot be right.
var ErrMalformed = errors.New("malformed jute record: it is shorter than its lengths say, or a length is negative")

// Decoder reads fields from a record. After the first error every read returns a zero value; ask Err once at the end.
type Decoder struct {
	rest []byte
	err  error
}

// NewDecoder reads from record. Buffers that it returns share record's memory.
func NewDecoder(record []byte) *Decoder { return &Decoder{rest: record} }

// Err is ErrMalformed when any read so far could not be done.
func (d *Decoder) Err() error { return d.err }

// Rest is what has not been read yet.
func (d *Decoder) Rest() []byte { return d.rest }

func (d *Decoder) take(n int) []byte {
	if d.err != nil || n < 0 || n > len(d.rest) {
		d.err = ErrMalformed
		return nil
	}
	taken := d.rest[:n:n]
	d.rest = d.rest[n:]
	return taken
}

// Raw reads n bytes as they are.
func (d *Decoder) Raw(n int) []byte { return d.take(n) }

// Bool reads one byte; everything but 0 is true.
func (d *Decoder) Bool() bool {
	b := d.take(1)
	return b != nil && b[0] != 0
}

// Int reads an int.
func (d *Decoder) Int() int32 {
	if b := d.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

// Long reads a long.
func (d *Decoder) Long() int64 {
	if b := d.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// Buffer reads a buffer; null comes back as nil.
func (d *Decoder) Buffer() []byte {
	length := d.Int()
	if d.err != nil || length == -1 {
		return nil
	}
	return d.take(int(length))
}

// String reads a ustring; null comes back empty.
func (d *Decoder) String() string { return string(d.Buffer()) }

// NullableString reads a ustring and tells null from empty.
func (d *Decoder) NullableString() (value string, present bool) {
	b := d.Buffer()
	return string(b), b != nil
}

// Count reads a vector's count; null counts 0. Each item takes at least itemBytes, so that a count that cannot be true is refused
// before anything is allocated for it.
func (d *Decoder) Count(itemBytes int) int {
	count := d.Int()
	if d.err != nil || count == -1 {
		return 0
	}
	if count < 0 || int(count) > len(d.rest)/itemBytes {
		d.err = ErrMalformed
		return 0
	}
	return int(count)
}

// Strings reads a vector of ustrings.
func (d *Decoder) Strings() []string {
	count := d.Count(4)
	values := make([]string, 0, count)
	for range count {
		values = append(values, d.String())
	}
	if d.err != nil {
		return nil
	}
	return values
}

// Encoder appends fields to a record. The zero Encoder is ready.
type Encoder struct{ out []byte }

// NewEncoder appends to buffer.
func NewEncoder(buffer []byte) *Encoder { return &Encoder{out: buffer} }

// Bytes is the record so far.
func (e *Encoder) Bytes() []byte { return e.out }

// Bool appends one byte.
func (e *Encoder) Bool(v bool) {
	if v {
		e.out = append(e.out, 1)
	} else {
		e.out = append(e.out, 0)
	}
}

// Int appends an int.
func (e *Encoder) Int(v int32) { e.out = binary.BigEndian.AppendUint32(e.out, uint32(v)) }

// Long appends a long.
func (e *Encoder) Long(v int64) { e.out = binary.BigEndian.AppendUint64(e.out, uint64(v)) }

// Buffer appends a buffer; nil becomes null.
func (e *Encoder) Buffer(v []byte) {
	if v == nil {
		e.Int(-1)
		return
	}
	e.Int(int32(len(v)))
	e.out = append(e.out, v...)
}

// String appends a ustring.
func (e *Encoder) String(v string) {
	e.Int(int32(len(v)))
	e.out = append(e.out, v...)
}

// Strings appends a vector of ustrings.
func (e *Encoder) Strings(values []string) {
	e.Int(int32(len(values)))
	for _, v := range values {
		e.String(v)
	}
}

// Raw appends bytes as they are.
func (e *Encoder) Raw(b []byte) { e.out = append(e.out, b...) }

// Frame begins a frame: it leaves room for the length, which [Encoder.EndFrame] fills in.
func (e *Encoder) Frame() (start int) {
	start = len(e.out)
	e.out = append(e.out, 0, 0, 0, 0)
	return start
}

// EndFrame ends the frame that began at start.
func (e *Encoder) EndFrame(start int) {
	binary.BigEndian.PutUint32(e.out[start:], uint32(len(e.out)-start-4))
}
