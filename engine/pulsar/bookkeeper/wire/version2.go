package wire

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/bookkeeperpb"
)

// Version 2. Every packet begins with a header of 4 bytes:
//
//	+---------+-----------+--------+
//	| version | operation | flags  |
//	| 8 bits  | 8 bits    | 16 bits|
//	+---------+-----------+--------+
//
// Requests:
//
//	add   | header | master key (20) | entry … |                       the ids are the entry's own
//	read  | header | ledger (8) | entry (8) | master key (20) |        the key only with the fence flag
//	auth  | header | AuthMessage |
//
// Responses:
//
//	add   | header | code (4) | ledger (8) | entry (8) |
//	read  | header | code (4) | ledger (8) | entry (8) | entry … |    the entry only with code 0
//	auth  | header | AuthMessage |
const (
	v2Add  = 1
	v2Read = 2
	v2Auth = 3

	v2FlagFence        = 1
	v2FlagRecovery     = 2
	v2FlagHighPriority = 4
)

var v2Codes = map[Status]uint32{
	OK: 0, NoLedger: 1, NoEntry: 2, BadRequest: 100, IOError: 101, Unauthorized: 102, BadVersion: 103, Fenced: 104, ReadOnly: 105,
	TooManyRequests: 106, UnknownState: 107,
}

var v2Statuses = func() map[uint32]Status {
	statuses := make(map[uint32]Status)
	for status, code := range v2Codes {
		statuses[code] = status
	}
	return statuses
}()

func v2Header(operation, flags int) uint32 {
	return uint32(Version2)<<24 | uint32(operation)<<16 | uint32(flags)
}

func v2Operation(code byte) (Operation, bool) {
	switch code {
	case v2Add:
		return AddEntry, true
	case v2Read:
		return ReadEntry, true
	case v2Auth:
		return Auth, true
	}
	return Operation(code), false
}

func decodeRequest2(packet []byte) (*Request, error) {
	if len(packet) < 4 {
		return nil, fmt.Errorf("version 2 request of %d bytes: %w", len(packet), ErrMalformed)
	}
	flags := binary.BigEndian.Uint16(packet[2:])
	operation, known := v2Operation(packet[1])
	r := &Request{Version: Version2, Operation: operation, PreviousLAC: NoLAC, HighPriority: flags&v2FlagHighPriority != 0}
	rest := packet[4:]
	if !known {
		return r, fmt.Errorf("version 2 operation %d: %w", packet[1], ErrUnknownOperation)
	}
	switch operation {
	case AddEntry:
		if len(rest) < MasterKeySize+16 {
			return nil, fmt.Errorf("version 2 add of %d bytes: %w", len(packet), ErrMalformed)
		}
		r.MasterKey, r.Body = rest[:MasterKeySize], rest[MasterKeySize:]
		r.Ledger, r.Entry = int64(binary.BigEndian.Uint64(r.Body)), int64(binary.BigEndian.Uint64(r.Body[8:]))
		r.Recovery = flags&v2FlagRecovery != 0
	case ReadEntry:
		if len(rest) < 16 {
			return nil, fmt.Errorf("version 2 read of %d bytes: %w", len(packet), ErrMalformed)
		}
		r.Ledger, r.Entry = int64(binary.BigEndian.Uint64(rest)), int64(binary.BigEndian.Uint64(rest[8:]))
		if r.Fence = flags&v2FlagFence != 0; r.Fence {
			if len(rest) < 16+MasterKeySize {
				return nil, fmt.Errorf("version 2 fencing read of %d bytes: %w", len(packet), ErrMalformed)
			}
			r.MasterKey = rest[16 : 16+MasterKeySize]
		}
	case Auth:
		message := &bookkeeperpb.AuthMessage{}
		if err := proto.Unmarshal(rest, message); err != nil {
			return nil, fmt.Errorf("version 2 auth: %w: %v", ErrMalformed, err)
		}
		r.AuthPlugin, r.Body = message.GetAuthPluginName(), message.GetPayload()
	}
	return r, nil
}

func appendRequest2(frame []byte, r *Request) ([]byte, error) {
	flags := 0
	if r.HighPriority {
		flags |= v2FlagHighPriority
	}
	switch r.Operation {
	case AddEntry:
		if r.Recovery {
			flags |= v2FlagRecovery
		}
		frame = binary.BigEndian.AppendUint32(frame, v2Header(v2Add, flags))
		frame = append(frame, r.MasterKey...)
		return append(frame, r.Body...), nil
	case ReadEntry:
		if r.Fence {
			flags |= v2FlagFence
		}
		frame = binary.BigEndian.AppendUint32(frame, v2Header(v2Read, flags))
		frame = binary.BigEndian.AppendUint64(frame, uint64(r.Ledger))
		frame = binary.BigEndian.AppendUint64(frame, uint64(r.Entry))
		if r.Fence {
			frame = append(frame, r.MasterKey...)
		}
		return frame, nil
	case Auth:
		frame = binary.BigEndian.AppendUint32(frame, v2Header(v2Auth, flags))
		return proto.MarshalOptions{}.MarshalAppend(frame, authMessage(r.AuthPlugin, r.Body))
	}
	return nil, fmt.Errorf("%v in version 2: %w", r.Operation, ErrUnknownOperation)
}

func decodeResponse2(packet []byte) (*Response, error) {
	if len(packet) < 4 {
		return nil, fmt.Errorf("version 2 response of %d bytes: %w", len(packet), ErrMalformed)
	}
	operation, known := v2Operation(packet[1])
	if !known {
		return nil, fmt.Errorf("version 2 response to operation %d: %w", packet[1], ErrUnknownOperation)
	}
	r := &Response{Version: Version2, Operation: operation, MaxLAC: NoLAC}
	rest := packet[4:]
	if operation == Auth {
		message := &bookkeeperpb.AuthMessage{}
		if err := proto.Unmarshal(rest, message); err != nil {
			return nil, fmt.Errorf("version 2 auth response: %w: %v", ErrMalformed, err)
		}
		r.AuthPlugin, r.Body = message.GetAuthPluginName(), message.GetPayload()
		return r, nil
	}
	if len(rest) < 20 {
		return nil, fmt.Errorf("version 2 response of %d bytes: %w", len(packet), ErrMalformed)
	}
	status, known := v2Statuses[binary.BigEndian.Uint32(rest)]
	if !known {
		status = IOError
	}
	r.Status = status
	r.Ledger, r.Entry = int64(binary.BigEndian.Uint64(rest[4:])), int64(binary.BigEndian.Uint64(rest[12:]))
	r.Body = rest[20:]
	return r, nil
}

func appendResponse2(frame []byte, r *Response) ([]byte, error) {
	code := byte(r.Operation)
	switch r.Operation {
	case AddEntry:
		code = v2Add
	case ReadEntry:
		code = v2Read
	case Auth:
		frame = binary.BigEndian.AppendUint32(frame, v2Header(v2Auth, 0))
		return proto.MarshalOptions{}.MarshalAppend(frame, authMessage(r.AuthPlugin, r.Body))
	}
	frame = binary.BigEndian.AppendUint32(frame, v2Header(int(code), 0))
	frame = binary.BigEndian.AppendUint32(frame, v2Codes[r.Status])
	frame = binary.BigEndian.AppendUint64(frame, uint64(r.Ledger))
	frame = binary.BigEndian.AppendUint64(frame, uint64(r.Entry))
	if r.Operation == ReadEntry && r.Status == OK {
		frame = append(frame, r.Body...)
	}
	return frame, nil
}

func authMessage(plugin string, payload []byte) *bookkeeperpb.AuthMessage {
	return &bookkeeperpb.AuthMessage{AuthPluginName: proto.String(plugin), Payload: append([]byte{}, payload...)}
}
