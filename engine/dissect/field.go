package dissect

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"twinlog/engine/sentence"
)

// Field is one field.
type Field struct {
	Name string `json:"name"`
	Type string `json:"type"` // as its protocol calls it
	// At and Size are the bytes that it lies in. Of what is not there as such, because it is compressed, At is -1.
	At    int    `json:"at"`
	Size  int    `json:"size"`
	Value string `json:"value,omitempty"`
	// Meaning is what the value stands for, in the protocol's own words: NOT_LEADER_OR_FOLLOWER, a time.
	Meaning string  `json:"meaning,omitempty"`
	Fields  []Field `json:"fields,omitempty"`
}

// Message is a message, or a frame of a log, taken apart.
type Message struct {
	Protocol string  `json:"protocol"`
	Name     string  `json:"name"`    // the protocol's own
	Version  string  `json:"version"` // empty where the protocol has none
	Fields   []Field `json:"fields"`
	// Problem is why not all bytes are taken apart; empty when they are.
	Problem string `json:"problem,omitempty"`
	// Said is what Problem says.
	Said *sentence.Sentence `json:"said,omitempty"`
}

// The bounds of what is taken apart.
const (
	maxFields = 4000
	maxDepth  = 24
	maxValue  = 400 // bytes of text
	// maxUnpacked is how much text is told of what is not in the bytes as such, because it is compressed.
	maxUnpacked = 256 << 10
)

var (
	errEnd     = sentence.Error(nil, "bytesEnd", "the bytes end here")
	errTooMany = sentence.Error(nil, "tooManyFields", "more than {count} {count|field|fields}, or fields too deep in each other", maxFields)
)

// reader goes through bytes and notes where what it read lies. After the first error it reads nothing more.
type reader struct {
	bytes []byte
	at    int
	end   int // before the end of bytes inside of something that has a length
	depth int
	left  *int // fields that may still be made
	// unpacked is how many bytes of text may still be told of what is compressed.
	unpacked *int
	err      error
}

func newReader(bytes []byte) *reader {
	left, unpacked := maxFields, maxUnpacked
	return &reader{bytes: bytes, end: len(bytes), left: &left, unpacked: &unpacked}
}

// within is a reader of the next size bytes, which this one then has behind it.
func (r *reader) within(size int) *reader {
	inner := &reader{bytes: r.bytes, at: r.at, end: r.at + size, depth: r.depth + 1, left: r.left, unpacked: r.unpacked, err: r.err}
	if r.err == nil && (size < 0 || size > r.end-r.at) {
		inner.end = r.end // what is there of it
		inner.at = min(inner.at, inner.end)
		r.fail(errEnd)
		r.at = r.end
		return inner
	}
	if inner.depth > maxDepth {
		r.fail(errTooMany)
		inner.err = r.err
	}
	r.at += max(size, 0)
	return inner
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// take returns the next size bytes; nil when they are not there.
func (r *reader) take(size int) []byte {
	if r.err == nil && *r.left <= 0 {
		r.err = errTooMany
	}
	if r.err == nil && (size < 0 || size > r.end-r.at) {
		r.err = errEnd
	}
	if r.err != nil {
		return nil
	}
	*r.left--
	r.at += size
	return r.bytes[r.at-size : r.at]
}

func (r *reader) remaining() int { return r.end - r.at }

// rest takes all that is left.
func (r *reader) rest() []byte { return r.take(r.remaining()) }

// integer reads size bytes, most significant first, and tells them as a signed number.
func (r *reader) integer(size int) int64 {
	var value int64
	bytes := r.take(size)
	for i, b := range bytes {
		if i == 0 {
			value = int64(int8(b))
			continue
		}
		value = value<<8 | int64(b)
	}
	return value
}

func (r *reader) uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	value, n := binary.Uvarint(r.bytes[r.at:r.end])
	if n <= 0 {
		r.err = errEnd
		return 0
	}
	r.take(n)
	return value
}

func (r *reader) varint() int64 {
	value := r.uvarint()
	return int64(value>>1) ^ -int64(value&1)
}

// group makes a field out of the fields that read reads.
func (r *reader) group(name, kind string, read func() []Field) Field {
	f := Field{Name: name, Type: kind, At: r.at}
	f.Fields = read()
	f.Size = r.at - f.At
	return f
}

// number makes a field out of an integer of size bytes.
func (r *reader) number(name string, size int) (Field, int64) {
	f := Field{Name: name, Type: "int" + strconv.Itoa(8*size), At: r.at, Size: size}
	value := r.integer(size)
	f.Value = strconv.FormatInt(value, 10)
	return f, value
}

// blob makes a field out of size bytes that are nothing more.
func (r *reader) blob(name string, size int) Field {
	f := Field{Name: name, Type: "bytes", At: r.at}
	f.Value = text(r.take(size))
	f.Size = r.at - f.At
	return f
}

// finish tells a message's problem, if it has one.
func (r *reader) finish(m *Message) {
	switch {
	case r.err != nil:
		m.cannot(sentence.Of("undecodedAt", "at byte {at}: {why}", strconv.Itoa(r.at), r.err))
	case r.remaining() > 0:
		m.cannot(sentence.Of("bytesOfNoField", "at byte {at}: {count} {count|byte follows that belongs|bytes follow that belong} to no field", strconv.Itoa(r.at), r.remaining()))
	}
}

// cannot tells why not all of a message is taken apart.
func (m *Message) cannot(why sentence.Sentence) {
	m.Problem, m.Said = why.String(), &why
}

// text is what bytes are as a value: text in so far as they are, else hexadecimal.
func text(bytes []byte) string {
	if bytes == nil {
		return "null"
	}
	if isText(bytes) {
		return cutText(string(bytes))
	}
	const shown = 16
	if len(bytes) > shown {
		return fmt.Sprintf("%x… (%d bytes)", bytes[:shown], len(bytes))
	}
	return fmt.Sprintf("%x", bytes)
}

func isText(bytes []byte) bool {
	if !utf8.Valid(bytes) {
		return false
	}
	for _, b := range bytes {
		if b < ' ' && b != '\n' && b != '\t' && b != '\r' {
			return false
		}
	}
	return true
}

func cutText(s string) string {
	if len(s) <= maxValue {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(s[:maxValue], ""), len(s))
}

func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
