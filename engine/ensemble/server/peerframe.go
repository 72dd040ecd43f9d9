package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"twinlog/engine/ensemble/jute"
	"twinlog/engine/trace"
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
	frameJoin     byte = 8 // a server without anything on its disk wants to take part: see join
	frameWelcome  byte = 9 // the leader's answer: see welcome
)

const (
	maxPeerFrame  = 8 << 20
	snapshotChunk = 256 << 10
	helloMagic    = 0x74776c6e // "twln"
	helloVersion  = 2
)

var errPeerFrame = errors.New("not a frame between servers of an ensemble")

// hello is the first frame, and is sent again when something in it changes.
//
//	magic int, version int, server int, to int, raft id long, nonce long, last term long, last index long,
//	count int, (server int, nonce long)…, address string
type hello struct {
	server int32  // that dials
	to     int32  // that it wants
	raftID uint64 // 0: it has nothing on its disk and takes no part yet
	// nonce is of the dialler's disk while there is nothing else on it: see blankNonce.
	nonce     int64
	lastTerm  uint64 // of its log when it started
	lastIndex uint64
	// founders are the servers, by nonce, that this one knew to have nothing on their disks when it founded the ensemble.
	founders map[int32]int64
	// address is where the dialler takes connections itself; host:port.
	address string
}

// join tells that a server has nothing on its disk: (server int, nonce long, asks bool). It asks for a Raft id once it knows that
// others have founded the ensemble; until then it may be a founder itself.
type join struct {
	server int32
	nonce  int64
	asks   bool
}

// welcome gives it: (raft id long, nonce long).
type welcome struct {
	raftID uint64
	nonce  int64
}

// peerFrameHead is the size and the kind.
const peerFrameHead = 5

// peerFrame is a frame for the trace: of a snapshot only the first one.
func peerFrame(kind byte, payload []byte) trace.Frame {
	head := binary.BigEndian.AppendUint32(make([]byte, 0, peerFrameHead), uint32(1+len(payload)))
	return trace.Frame{Kind: int16(kind), Head: append(head, kind), Body: payload}
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
	e.Int(h.server)
	e.Int(h.to)
	for _, field := range []int64{int64(h.raftID), h.nonce, int64(h.lastTerm), int64(h.lastIndex)} {
		e.Long(field)
	}
	e.Int(int32(len(h.founders)))
	for server, nonce := range h.founders {
		e.Int(server)
		e.Long(nonce)
	}
	e.String(h.address)
	return e.Bytes()
}

// toServer is the encoded hello for one server.
func (h hello) toServer(to int32) []byte {
	h.to = to
	return h.encode()
}

func decodeHello(payload []byte) (hello, error) {
	d := jute.NewDecoder(payload)
	if d.Int() != helloMagic || d.Int() != helloVersion {
		return hello{}, fmt.Errorf("%w: its hello is of another program or version", errPeerFrame)
	}
	h := hello{
		server: d.Int(), to: d.Int(), raftID: uint64(d.Long()), nonce: d.Long(), lastTerm: uint64(d.Long()), lastIndex: uint64(d.Long()),
		founders: map[int32]int64{},
	}
	for range d.Count(12) {
		server := d.Int()
		h.founders[server] = d.Long()
	}
	h.address = d.String()
	return h, d.Err()
}

func (j join) encode() []byte {
	e := jute.NewEncoder(nil)
	e.Int(j.server)
	e.Long(j.nonce)
	e.Bool(j.asks)
	return e.Bytes()
}

func decodeJoin(payload []byte) (join, error) {
	d := jute.NewDecoder(payload)
	return join{server: d.Int(), nonce: d.Long(), asks: d.Bool()}, d.Err()
}

func (w welcome) encode() []byte {
	e := jute.NewEncoder(nil)
	e.Long(int64(w.raftID))
	e.Long(w.nonce)
	return e.Bytes()
}

func decodeWelcome(payload []byte) (welcome, error) {
	d := jute.NewDecoder(payload)
	return welcome{raftID: uint64(d.Long()), nonce: d.Long()}, d.Err()
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
