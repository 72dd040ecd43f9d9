package reactor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A request on the wire:
//
//	+--------+---------+-------------+----------------+---------------------+----------+------+
//	| size   | api key | api version | correlation id | client id           | tags     | body |
//	| int32  | int16   | int16       | int32          | int16 length, bytes | uvarint… |      |
//	+--------+---------+-------------+----------------+---------------------+----------+------+
//	         \____________ header v0 ______________/
//	         \______________________ header v1 ____________________________/
//	         \______________________ header v2 ______________________________________/
//
// A response: size, correlation id, tags when the version is flexible (never for ApiVersions), body.

// MaxFrameSize bounds a request, in bytes; Kafka's socket.request.max.bytes.
const MaxFrameSize = 100 << 20

// maxControlFrameSize bounds every request that carries no records. Decoding blows counts up to structs, so they get less.
const maxControlFrameSize = 4 << 20

var (
	errFrameSize = errors.New("the frame's size is out of bounds")
	errHeader    = errors.New("the request header is cut off or malformed")
)

// readFrame reads one frame without its size field. Memory grows with the bytes that arrive, not with the size that was announced.
func readFrame(r io.Reader, limit int) ([]byte, error) {
	var prefix [4]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, err
	}
	size := int(int32(binary.BigEndian.Uint32(prefix[:])))
	if size < 8 || size > limit {
		return nil, fmt.Errorf("%d bytes: %w (8 to %d)", size, errFrameSize, limit)
	}
	const step = 1 << 20
	frame := make([]byte, min(size, step))
	for filled := 0; ; {
		n, err := io.ReadFull(r, frame[filled:])
		if err != nil {
			return nil, io.ErrUnexpectedEOF
		}
		if filled += n; filled == size {
			return frame, nil
		}
		grown := make([]byte, min(size, 2*len(frame)))
		copy(grown, frame)
		frame = grown
	}
}

// header is a request header.
type header struct {
	key, version  int16
	correlationID int32
	clientID      string
	body          []byte
}

// parseHeader reads the part of the header that all versions have.
func parseHeader(frame []byte) (header, error) {
	if len(frame) < 8 {
		return header{}, errHeader
	}
	return header{
		key:           int16(binary.BigEndian.Uint16(frame)),
		version:       int16(binary.BigEndian.Uint16(frame[2:])),
		correlationID: int32(binary.BigEndian.Uint32(frame[4:])),
		body:          frame[8:],
	}, nil
}

// parseRest reads what follows, as the API and version demand, so that h.body is the body.
func (h *header) parseRest(flexible bool) error {
	if h.key == int16(kmsg.ControlledShutdown) && h.version == 0 {
		return nil // header v0
	}
	if len(h.body) < 2 {
		return errHeader
	}
	length := int(int16(binary.BigEndian.Uint16(h.body)))
	h.body = h.body[2:]
	if length > len(h.body) {
		return errHeader
	}
	if length > 0 { // -1 is null; null and empty are both fine
		h.clientID = string(h.body[:length])
		h.body = h.body[length:]
	}
	if !flexible {
		return nil
	}
	return h.skipTags()
}

// skipTags skips tagged fields: a count, and for each a tag, a size and bytes (KIP-482). None is known in request headers.
func (h *header) skipTags() error {
	count, err := h.uvarint()
	for ; err == nil && count > 0; count-- {
		if _, err = h.uvarint(); err != nil {
			break
		}
		var size uint64
		if size, err = h.uvarint(); err == nil && size > uint64(len(h.body)) {
			err = errHeader
		}
		if err == nil {
			h.body = h.body[size:]
		}
	}
	return err
}

func (h *header) uvarint() (uint64, error) {
	value, n := binary.Uvarint(h.body)
	if n <= 0 || n > 5 {
		return 0, errHeader
	}
	h.body = h.body[n:]
	return value, nil
}

// responseHeader returns size, correlation id and, where the version has them, empty tags.
func responseHeader(key int16, correlationID int32, flexible bool, bodySize int64) []byte {
	head := make([]byte, 8, 9)
	binary.BigEndian.PutUint32(head[4:], uint32(correlationID))
	if flexible && key != int16(kmsg.ApiVersions) {
		head = append(head, 0)
	}
	binary.BigEndian.PutUint32(head, uint32(int64(len(head)-4)+bodySize))
	return head
}
