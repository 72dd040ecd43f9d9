package reactor

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxProduceParts bounds the topics and partitions of one Produce request. The decoder makes a struct of some 80 bytes for each before it
// looks at it, so that without a bound a frame full of empty topics would take 30 times its size.
const maxProduceParts = 100_000

var errBody = errors.New("the request is cut off or malformed")

var errProduceParts = errors.New("a Produce request with more topics and partitions than any client sends")

// guardProduce walks a Produce request without keeping anything, and refuses one that is malformed or has too many parts.
//
//	transactional id (3+) | acks int16 | timeout int32 | topics: name, partitions: index int32, records bytes
//
// In flexible versions (9+) lengths are unsigned varints, one more than the length, and every struct ends in tagged fields.
func guardProduce(version int16, body []byte) error {
	w := walker{rest: body, flexible: version >= 9}
	if version >= 3 {
		w.skipString()
	}
	w.skip(2 + 4)
	parts := 0
	for topics := w.length(); topics > 0 && w.err == nil; topics-- {
		w.skipString()
		partitions := w.length()
		for ; partitions > 0 && w.err == nil; partitions-- {
			if parts++; parts > maxProduceParts {
				return errProduceParts
			}
			w.skip(4)
			w.skipBytes()
			w.skipTags()
		}
		if parts++; parts > maxProduceParts {
			return errProduceParts
		}
		w.skipTags()
	}
	return w.err
}

// walker goes through a request's bytes. After an error it stays where it is.
type walker struct {
	rest     []byte
	flexible bool
	err      error
}

func (w *walker) fail() {
	w.err = fmt.Errorf("%s: %w", kmsg.Produce.Name(), errBody)
	w.rest = nil
}

func (w *walker) skip(n int) {
	if n < 0 || n > len(w.rest) {
		w.fail()
		return
	}
	w.rest = w.rest[n:]
}

func (w *walker) uvarint() int {
	value, n := binary.Uvarint(w.rest)
	if n <= 0 || n > 5 || value > 1<<31 {
		w.fail()
		return 0
	}
	w.rest = w.rest[n:]
	return int(value)
}

// sized reads a length in a field of so many bytes, or a varint; -1 is null.
func (w *walker) sized(bytes int) int {
	if w.flexible {
		return w.uvarint() - 1
	}
	if len(w.rest) < bytes {
		w.fail()
		return 0
	}
	field := w.rest[:bytes]
	w.rest = w.rest[bytes:]
	if bytes == 2 {
		return int(int16(binary.BigEndian.Uint16(field)))
	}
	return int(int32(binary.BigEndian.Uint32(field)))
}

func (w *walker) length() int { return w.sized(4) }
func (w *walker) skipString() { w.skip(max(0, w.sized(2))) }
func (w *walker) skipBytes()  { w.skip(max(0, w.sized(4))) }
func (w *walker) skipTags() {
	if !w.flexible || w.err != nil {
		return
	}
	for tags := w.uvarint(); tags > 0 && w.err == nil; tags-- {
		w.uvarint()
		w.skip(w.uvarint())
	}
}
