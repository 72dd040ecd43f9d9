package trace

import "sync"

const (
	// maxFrame is how much of a message is kept: a header, and the first records or a small payload.
	maxFrame = 4 << 10
	// frameRing bounds what is kept of all messages of a node, in bytes.
	frameRing = 1 << 20
	// maxFrames bounds how many messages that can be.
	maxFrames = 8 << 10
)

// Frame is a message's bytes as they go over the wire, so that they can be looked at later. The tracer copies the beginning of Head, Body
// and what More adds, and only of a message that has a record of its own: under load, when messages are folded, nothing is copied.
type Frame struct {
	// Kind and Version are what a reader must know besides the bytes: the API key and version in Kafka, the operation in ZooKeeper, the
	// kind of frame between ensemble servers; 0 where the bytes tell themselves.
	Kind, Version int16
	Head, Body    []byte
	// More copies what is not in one piece with Head and Body, and returns how much it copied. It must not wait: what it cannot have at
	// once, such as a section of a file on a slow or paused disk, it leaves out, and all after it. It may be nil.
	More func(into []byte) int
}

// CapturedFrame is what is still known of a message's bytes.
type CapturedFrame struct {
	Seq      uint64 `json:"seq"` // of the record that tells of the message
	Protocol string `json:"protocol"`
	Response bool   `json:"response"`
	Kind     int16  `json:"kind"`
	Version  int16  `json:"version"`
	Size     int64  `json:"size"`  // of the whole message
	Bytes    []byte `json:"bytes"` // its beginning, at most 4 KiB; less when the rest was in a file that could not be read at once
}

// message is an event about a message.
type message interface {
	Hot
	told() Message
}

func (m MessageSent) told() Message     { return m.Message }
func (m MessageReceived) told() Message { return m.Message }

// EmitMessage is EmitCaused for a message whose bytes are at hand. The frame is not used after the call.
func (t *Tracer) EmitMessage(cause Ref, event message, frame Frame) Ref {
	if t == nil {
		return Ref{}
	}
	ref, fresh := t.emit(cause, event)
	if fresh {
		t.frames.keep(ref.Seq, event.told(), frame)
	}
	return ref
}

// Frame returns the bytes of the message that a record tells of. It is not found when the record is about no message, when the message's
// bytes were not kept, and when newer ones have taken their place.
func (t *Tracer) Frame(seq uint64) (frame CapturedFrame, found bool) {
	if t == nil {
		return CapturedFrame{}, false
	}
	return t.frames.find(seq)
}

// frames keeps the beginnings of a node's newest messages in a ring of bytes, which is filled to its end and then overwritten from its
// beginning. Memory grows with use, up to frameRing.
//
//	bytes  | older … | newest |  oldest  | older … |
//	                          ^ next
type frames struct {
	mu    sync.Mutex
	bytes []byte
	next  int           // where the next frame begins
	kept  []frameInRing // the oldest first; those before first are overwritten
	first int
}

// beginnings are buffers in which a message's beginning is put together before any lock is taken.
var beginnings = sync.Pool{New: func() any { return new([maxFrame]byte) }}

type frameInRing struct {
	seq      uint64
	at, size int // in bytes
	whole    int64
	protocol string
	kind     int16
	version  int16
	response bool
}

func (f *frames) keep(seq uint64, m Message, frame Frame) {
	buffer := beginnings.Get().(*[maxFrame]byte)
	defer beginnings.Put(buffer)
	if begin := frame.beginning(buffer); len(begin) > 0 {
		f.add(seq, m, frame, begin)
	}
}

// beginning puts the frame's first bytes together.
func (frame Frame) beginning(into *[maxFrame]byte) []byte {
	size := copy(into[:], frame.Head)
	size += copy(into[size:], frame.Body)
	if frame.More != nil && size < maxFrame {
		size += frame.More(into[size:])
	}
	return into[:size]
}

func (f *frames) add(seq uint64, m Message, frame Frame, begin []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := f.place(begin)
	if len(f.kept)-f.first >= maxFrames {
		f.first++
	}
	if f.first > maxFrames {
		f.kept = f.kept[:copy(f.kept, f.kept[f.first:])]
		f.first = 0
	}
	f.kept = append(f.kept, frameInRing{
		seq: seq, at: at, size: len(begin), whole: m.Bytes, protocol: m.Protocol, kind: frame.Kind, version: frame.Version, response: m.Exchange.Response,
	})
}

// place copies a frame into the ring, and forgets the frames whose bytes it takes.
func (f *frames) place(frame []byte) (at int) {
	if f.next+len(frame) > frameRing { // a frame lies in one piece
		f.forget(f.next, frameRing)
		f.next = 0
	}
	at = f.next
	f.next += len(frame)
	f.forget(at, f.next)
	if f.next > len(f.bytes) {
		f.bytes = append(f.bytes[:at], frame...)
	} else {
		copy(f.bytes[at:], frame)
	}
	return at
}

// forget drops the oldest frames as long as they lie in a part of the ring.
func (f *frames) forget(from, to int) {
	for ; f.first < len(f.kept); f.first++ {
		if oldest := &f.kept[f.first]; oldest.at+oldest.size <= from || oldest.at >= to {
			return
		}
	}
}

func (f *frames) find(seq uint64) (CapturedFrame, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.kept) - 1; i >= f.first; i-- {
		if k := &f.kept[i]; k.seq == seq {
			return CapturedFrame{
				Seq: seq, Protocol: k.protocol, Response: k.response, Kind: k.kind, Version: k.version, Size: k.whole,
				Bytes: append([]byte{}, f.bytes[k.at:k.at+k.size]...),
			}, true
		}
	}
	return CapturedFrame{}, false
}
