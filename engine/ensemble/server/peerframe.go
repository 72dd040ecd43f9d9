package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"twinlog/engine/ensemble/jute"
)

// Between servers there is one connection in each direction; what is sent over it is answered over the other one. It carries frames:
//
//	+--------+------+-------------+
//	| size   | kind | payload     |
//	| uint32 | byte | size-1 bytes|
//	+--------+------+-------------+
//
// Big-endian; size counts the kind and the payload. The first frame is a hello. A snapshot has a connection of its own, so that it
// does not hold up heartbeats.
const (
	frameHello    byte = 1 // who dials: see hello
	frameRaft     byte = 2 // a raftpb.Message
	frameCommand  byte = 3 // a command for the leader to order
	frameTouch    byte = 4 // sessions that were heard from: longs
	frameSnapshot byte = 5 // a raftpb.Message of type MsgSnap without its data
	frameChunk    byte = 6 // the next piece of the snapshot's data
	frameEnd      byte = 7 // the snapshot is whole
)

const (
	maxPeerFrame  = 8 << 20
	snapshotChunk = 256 << 10
	helloMagic    = 0x74776c6e // "twln"
	helloVersion  = 1
)

var errPeerFrame = errors.New("not a frame between servers of an ensemble")

// hello is the first frame: (magic int, version int, from long, to int, blank bool, last term long, last index long).
type hello struct {
	from uint64 // Raft id of the dialler
	to   int32  // server that it wants
	// blank: the dialler has nothing on its disk and takes no part yet.
	blank     bool
	lastTerm  uint64
	lastIndex uint64
}

func appendPeerFrame(out []byte, kind byte, payload []byte) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(1+len(payload)))
	out = append(out, kind)
	return append(out, payload...)
}

func (h hello) encode() []byte {
	e := jute.NewEncoder(nil)
	e.Int(helloMagic)
	e.Int(helloVersion)
	e.Long(int64(h.from))
	e.Int(h.to)
	e.Bool(h.blank)
	e.Long(int64(h.lastTerm))
	e.Long(int64(h.lastIndex))
	return e.Bytes()
}

func decodeHello(payload []byte) (hello, error) {
	d := jute.NewDecoder(payload)
	if d.Int() != helloMagic || d.Int() != helloVersion {
		return hello{}, fmt.Errorf("%w: its hello is of another program or version", errPeerFrame)
	}
	h := hello{from: uint64(d.Long()), to: d.Int(), blank: d.Bool(), lastTerm: uint64(d.Long()), lastIndex: uint64(d.Long())}
	return h, d.Err()
}

// readPeerFrame reads one frame; its payload is new memory.
func readPeerFrame(r io.Reader) (kind byte, payload []byte, err error) {
	var header [5]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(header[:])
	if size < 1 || size > maxPeerFrame {
		return 0, nil, fmt.Errorf("%w: its size is %d", errPeerFrame, size)
	}
	payload = make([]byte, size-1)
	_, err = io.ReadFull(r, payload)
	return header[4], payload, err
}

func encodeTouches(sessions []int64) []byte {
	e := jute.NewEncoder(make([]byte, 0, 8*len(sessions)))
	for _, id := range sessions {
		e.Long(id)
	}
	return e.Bytes()
}

func decodeTouches(payload []byte) []int64 {
	d := jute.NewDecoder(payload)
	sessions := make([]int64, 0, len(payload)/8)
	for range cap(sessions) {
		sessions = append(sessions, d.Long())
	}
	return sessions
}
