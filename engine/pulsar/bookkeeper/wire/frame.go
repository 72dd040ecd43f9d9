package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

var (
	// ErrMalformed: the packet cannot be read. The connection is of no further use.
	ErrMalformed = errors.New("malformed packet")
	// ErrVersion: neither version 2 nor version 3.
	ErrVersion = errors.New("unknown protocol version")
	// ErrUnknownOperation: the header is good, the operation is not known. The request is answered with BadRequest.
	ErrUnknownOperation = errors.New("unknown operation")
	// ErrTooLarge: the frame is larger than MaxFrame.
	ErrTooLarge = errors.New("frame too large")
)

// ReadPacket reads one frame and returns its packet, in memory of its own. It fails before it allocates when the length is beyond
// MaxFrame.
func ReadPacket(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(length[:])
	if size > MaxFrame {
		return nil, fmt.Errorf("%w: %d bytes, the most is %d", ErrTooLarge, size, MaxFrame)
	}
	packet := make([]byte, size)
	if _, err := io.ReadFull(r, packet); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return packet, nil
}

// protobufStart is the first byte of every version 3 message: field 1 (the header), length-delimited. A version 2 packet begins with
// its version.
const protobufStart = 0x0a

// DecodeRequest reads a request of either version. With ErrUnknownOperation and ErrVersion the request is returned as far as it could
// be read, so that it can be answered.
func DecodeRequest(packet []byte) (*Request, error) {
	switch {
	case len(packet) == 0:
		return nil, fmt.Errorf("empty packet: %w", ErrMalformed)
	case packet[0] == protobufStart:
		return decodeRequest3(packet)
	case packet[0] == Version2:
		return decodeRequest2(packet)
	}
	return nil, fmt.Errorf("packet begins with %#x: %w", packet[0], ErrVersion)
}

// DecodeResponse reads a response of either version.
func DecodeResponse(packet []byte) (*Response, error) {
	switch {
	case len(packet) == 0:
		return nil, fmt.Errorf("empty packet: %w", ErrMalformed)
	case packet[0] == protobufStart:
		return decodeResponse3(packet)
	case packet[0] == Version2:
		return decodeResponse2(packet)
	}
	return nil, fmt.Errorf("packet begins with %#x: %w", packet[0], ErrVersion)
}

// AppendRequest appends a whole frame, in the request's version.
func AppendRequest(buffer []byte, r *Request) ([]byte, error) {
	return appendFrame(buffer, func(packet []byte) ([]byte, error) {
		if r.Version == Version3 {
			return appendRequest3(packet, r)
		}
		return appendRequest2(packet, r)
	})
}

// AppendResponse appends a whole frame, in the response's version.
func AppendResponse(buffer []byte, r *Response) ([]byte, error) {
	return appendFrame(buffer, func(packet []byte) ([]byte, error) {
		if r.Version == Version3 {
			return appendResponse3(packet, r)
		}
		return appendResponse2(packet, r)
	})
}

// appendFrame appends what encode appends, with its length before it; nothing when that fails.
func appendFrame(buffer []byte, encode func([]byte) ([]byte, error)) ([]byte, error) {
	start := len(buffer)
	encoded, err := encode(append(buffer, 0, 0, 0, 0))
	if err != nil {
		return buffer, err
	}
	size := len(encoded) - start - 4
	if size > MaxFrame {
		return buffer, fmt.Errorf("%w: %d bytes, the most is %d", ErrTooLarge, size, MaxFrame)
	}
	binary.BigEndian.PutUint32(encoded[start:], uint32(size))
	return encoded, nil
}
