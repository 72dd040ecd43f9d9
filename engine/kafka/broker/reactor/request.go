package reactor

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/trace"
)

// Handler serves one kind of request. It must not wait: what takes long answers later, from any goroutine, through Request.Respond.
type Handler func(*Request)

// Request is a request that was read whole and decoded. Exactly one of Respond, RespondPayload, RespondNothing and Disconnect must be
// called, once, by anyone; calls after the first one do nothing.
type Request struct {
	Key           int16
	Version       int16
	CorrelationID int32
	ClientID      string // "" when the client sent none
	// Body is the decoded request, such as *kmsg.ProduceRequest. Byte slices in it point into the request's frame.
	Body kmsg.Request
	// Peer is the node that sent it: "kafka-2", or fabric.Client.
	Peer string
	// Listener is the name of the listener that it came in by. Metadata answers with the addresses of the same listener.
	Listener string
	// ClientHost is the sender's address without port, in Kafka's form "/127.0.0.1".
	ClientHost string
	Received   time.Time
	Size       int64 // of the frame, in bytes
	Exchange   trace.Exchange
	// Cause is the record that says that the request was received; the zero Ref when it was too common to be recorded.
	Cause trace.Ref

	common     bool // too common to be told in the trace
	connection *connection
	answer     chan answer // holds one
	state      atomic.Int32
}

// The states of a request. Whoever leaves statePending first decides.
const (
	statePending int32 = iota
	stateAnswered
	stateAbandoned // the connection is gone
)

// answer is what a connection does about a request.
type answer struct {
	body       kmsg.Response // encoded by the connection's goroutine
	payload    *Payload
	note       Note
	disconnect error // close the connection instead
}

// Respond answers. The body gets the request's version.
func (r *Request) Respond(body kmsg.Response) { r.finish(answer{body: body}) }

// RespondPayload answers with a body that was encoded already, parts of which may still be in files. It takes the payload over and
// closes it. The note is what the trace says about the response.
func (r *Request) RespondPayload(payload *Payload, note Note) {
	r.finish(answer{payload: payload, note: note})
}

// RespondNothing ends a request that has no response: a Produce with acks=0.
func (r *Request) RespondNothing() { r.finish(answer{}) }

// Disconnect closes the connection: the protocol's last resort, for what has no error code.
func (r *Request) Disconnect(reason error) { r.finish(answer{disconnect: reason}) }

func (r *Request) finish(a answer) {
	if !r.state.CompareAndSwap(statePending, stateAnswered) {
		a.close()
		return
	}
	r.answer <- a // never blocks: it holds one, and only one caller gets here
}

// abandon is called by the connection when it ends before the answer.
func (r *Request) abandon() {
	if !r.state.CompareAndSwap(statePending, stateAbandoned) {
		(<-r.answer).close()
	}
}

// Abandoned tells whether nobody waits for the answer any more.
func (r *Request) Abandoned() bool { return r.state.Load() == stateAbandoned }

func (a answer) close() {
	if a.payload != nil {
		a.payload.Close()
	}
}

// String names the request for logs.
func (r *Request) String() string {
	return fmt.Sprintf("%s v%d (correlation %d, client %q at %s)", kmsg.NameForKey(r.Key), r.Version, r.CorrelationID, r.ClientID, r.ClientHost)
}

// Section is a part of a response that stays in its file until it is written, such as a *commitlog.Section.
type Section interface {
	Size() int64
	io.WriterTo
	io.Closer
}

// Payload is an encoded response body: bytes and sections of files in turn.
type Payload struct {
	parts []part
	size  int64
}

type part struct {
	bytes   []byte
	section Section // when not nil, stands in the place of bytes
}

// AppendBytes adds bytes, which the payload keeps.
func (p *Payload) AppendBytes(bytes []byte) {
	p.parts = append(p.parts, part{bytes: bytes})
	p.size += int64(len(bytes))
}

// AppendSection adds a section, which the payload closes.
func (p *Payload) AppendSection(section Section) {
	p.parts = append(p.parts, part{section: section})
	p.size += section.Size()
}

// Size is the payload's length in bytes.
func (p *Payload) Size() int64 { return p.size }

// Close releases the sections.
func (p *Payload) Close() {
	for _, part := range p.parts {
		if part.section != nil {
			part.section.Close()
		}
	}
	p.parts = nil
}

// copyBeginning copies as much of the payload as there is room for, and returns how much that was. It is for looking at, and nobody waits
// for a disk to be looked at: it ends before a section that cannot be had at once.
func (p *Payload) copyBeginning(into []byte) (copied int) {
	for _, part := range p.parts {
		if part.section == nil {
			copied += copy(into[copied:], part.bytes)
			continue
		}
		size := int(min(int64(len(into)-copied), part.section.Size()))
		atOnce, can := part.section.(interface{ ReadAtOnce(bytes []byte) bool })
		if size > 0 && (!can || !atOnce.ReadAtOnce(into[copied:copied+size])) {
			return copied
		}
		copied += size
	}
	return copied
}

// Parts are the payload's pieces in order, ready to be written. They belong to the payload.
func (p *Payload) Parts() []io.WriterTo {
	parts := make([]io.WriterTo, len(p.parts))
	for i, part := range p.parts {
		parts[i] = part
	}
	return parts
}

// WriteTo implements io.WriterTo. Sections go from file to socket without passing through this process's memory where the system can.
func (p part) WriteTo(w io.Writer) (int64, error) {
	if p.section == nil {
		n, err := w.Write(p.bytes)
		return int64(n), err
	}
	n, err := p.section.WriteTo(w)
	if err == nil && n != p.section.Size() {
		err = fmt.Errorf("a section of %d bytes gave %d: %w", p.section.Size(), n, io.ErrUnexpectedEOF)
	}
	return n, err
}

func (p *Payload) writeTo(w io.Writer) error {
	for _, part := range p.parts {
		if _, err := part.WriteTo(w); err != nil {
			return err
		}
	}
	return nil
}
