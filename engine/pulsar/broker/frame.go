package broker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/pulsarpb"
	"twinlog/engine/trace"
)

// Frames of the Pulsar binary protocol; all numbers are big-endian.
//
//	simple   ┌───────────┬─────────┬─────────────┐
//	         │ totalSize │ cmdSize │ BaseCommand │                      totalSize counts everything after itself
//	         └── u32 ────┴── u32 ──┴─────────────┘
//	payload  ┌───────────┬─────────┬─────────────┬────────┬────────┬──────────┬─────────────────┬─────────┐
//	         │ totalSize │ cmdSize │ BaseCommand │ 0x0e01 │ crc32c │ metaSize │ MessageMetadata │ payload │
//	         └── u32 ────┴── u32 ──┴─────────────┴─ u16 ──┴─ u32 ──┴── u32 ───┴─────────────────┴─────────┘
//	                                             └────────────── "headers and payload" ───────────────────┘
//
// The checksum (CRC-32C) covers metaSize and all that follows. Headers and payload are stored as they came, and consumers get the
// same bytes: what a producer signed, a consumer checks. A producer may leave out magic and checksum.

const (
	checksumMagic = 0x0e01
	// framePadding is what a frame may hold besides one message of the largest size.
	framePadding = 10 << 10
	// maxCommandSize bounds the BaseCommand alone; an ACK of many ids is the largest one.
	maxCommandSize = 1 << 20
)

var (
	errFrame    = errors.New("malformed frame")
	errChecksum = errors.New("checksum does not match the message")

	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// frameReader reads the frames of one connection.
type frameReader struct {
	source   *bufio.Reader
	maxFrame int    // bytes after totalSize
	head     []byte // of the frame that was read last: the two sizes and the command
}

func newFrameReader(source io.Reader, maxMessageSize int) *frameReader {
	return &frameReader{source: bufio.NewReaderSize(source, 4<<10), maxFrame: maxMessageSize + framePadding, head: make([]byte, 8, 64)}
}

// bytes is the frame that was read last, for the trace. Its head is overwritten by the next one.
func (r *frameReader) bytes(payload []byte) trace.Frame {
	return trace.Frame{Head: r.head, Body: payload}
}

// next reads one frame. Payload is empty for a simple frame, and otherwise belongs to the caller; size is the whole frame's.
func (r *frameReader) next() (command *pulsarpb.BaseCommand, payload []byte, size int, err error) {
	head := r.head[:8]
	if _, err := io.ReadFull(r.source, head[:4]); err != nil {
		return nil, nil, 0, err
	}
	total := binary.BigEndian.Uint32(head[:4])
	if total < 4 || total > uint32(r.maxFrame) {
		return nil, nil, 0, fmt.Errorf("%w: %d bytes, where 4 to %d are allowed", errFrame, total, r.maxFrame)
	}
	if _, err := io.ReadFull(r.source, head[4:]); err != nil {
		return nil, nil, 0, noEOF(err)
	}
	commandSize := binary.BigEndian.Uint32(head[4:])
	if commandSize > total-4 || commandSize > maxCommandSize {
		return nil, nil, 0, fmt.Errorf("%w: a command of %d bytes in a frame of %d", errFrame, commandSize, total)
	}
	if uint32(cap(r.head)) < 8+commandSize {
		r.head = append(make([]byte, 0, 8+commandSize), head...)
	}
	r.head = r.head[:8+commandSize]
	if _, err := io.ReadFull(r.source, r.head[8:]); err != nil {
		return nil, nil, 0, noEOF(err)
	}
	command = &pulsarpb.BaseCommand{}
	if err := proto.Unmarshal(r.head[8:], command); err != nil {
		return nil, nil, 0, fmt.Errorf("%w: %w", errFrame, err)
	}
	if rest := total - 4 - commandSize; rest > 0 {
		payload = make([]byte, rest)
		if _, err := io.ReadFull(r.source, payload); err != nil {
			return nil, nil, 0, noEOF(err)
		}
	}
	return command, payload, int(total) + 4, nil
}

// noEOF: the end of the stream inside a frame is not its regular end.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// frameHead is a frame up to and including its command; payloadSize bytes are to follow.
func frameHead(command *pulsarpb.BaseCommand, payloadSize int) ([]byte, error) {
	head := make([]byte, 8, 64)
	head, err := proto.MarshalOptions{}.MarshalAppend(head, command)
	if err != nil {
		return nil, fmt.Errorf("encoding %v: %w", command.GetType(), err)
	}
	binary.BigEndian.PutUint32(head[0:], uint32(len(head)-4+payloadSize))
	binary.BigEndian.PutUint32(head[4:], uint32(len(head)-8))
	return head, nil
}

// splitMessage takes headers and payload apart. It checks the sizes, and the checksum when verify is set and there is one.
func splitMessage(headersAndPayload []byte, verify bool) (metadata, payload []byte, err error) {
	rest := headersAndPayload
	if len(rest) >= 6 && binary.BigEndian.Uint16(rest) == checksumMagic {
		sum := binary.BigEndian.Uint32(rest[2:])
		rest = rest[6:]
		if verify && crc32.Checksum(rest, castagnoli) != sum {
			return nil, nil, errChecksum
		}
	}
	if len(rest) < 4 {
		return nil, nil, fmt.Errorf("%w: no size of the message metadata", errFrame)
	}
	size := binary.BigEndian.Uint32(rest)
	rest = rest[4:]
	if uint64(size) > uint64(len(rest)) {
		return nil, nil, fmt.Errorf("%w: message metadata of %d bytes, of which %d are there", errFrame, size, len(rest))
	}
	return rest[:size], rest[size:], nil
}

// readMetadata decodes the metadata of a stored entry.
func readMetadata(headersAndPayload []byte) (*pulsarpb.MessageMetadata, error) {
	raw, _, err := splitMessage(headersAndPayload, false)
	if err != nil {
		return nil, err
	}
	metadata := &pulsarpb.MessageMetadata{}
	if err := proto.Unmarshal(raw, metadata); err != nil {
		return nil, fmt.Errorf("%w: message metadata: %w", errFrame, err)
	}
	return metadata, nil
}
