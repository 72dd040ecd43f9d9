package server

import (
	"time"

	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
	"twinlog/engine/trace"
)

// stream is what this server has sent to the leader and not seen applied, in order. See tree.Origin.
type stream struct {
	sequence int64
	pending  []pendingCommand
	bytes    int
	// quiet is how long nothing of it was applied or sent again, unheeded how long nothing of it was applied.
	quiet, unheeded time.Duration
	// held are the changes of the members that are applied and not settled.
	held []heldAnswer
}

type heldAnswer struct {
	pending pendingCommand
	outcome tree.Outcome
}

type pendingCommand struct {
	sequence int64
	command  []byte
	// client and request that it is for; nil when nobody waits any more, or for the server's own barrier.
	client  *client
	request *request
	barrier bool
}

// maxStream bounds what a server sends before it sees it applied, in bytes; a client that goes on is cut off.
const maxStream = 32 << 20

// submit sends an operation on behalf of a client to the leader. It fails when too much is on its way already.
func (o *owner) submit(p pendingCommand, encode func(head protocol.CommandHead) []byte) bool {
	if o.stream.bytes > maxStream {
		return false
	}
	if len(o.stream.pending) == 0 {
		o.stream.quiet, o.stream.unheeded = 0, 0
	}
	o.stream.sequence++
	p.sequence = o.stream.sequence
	head := protocol.CommandHead{Origin: tree.Origin{Server: int32(o.config.ID), Incarnation: o.serving.incarnation, Sequence: p.sequence}}
	if p.client != nil {
		head.Session, head.Attachment, head.Caller = p.client.session, p.client.attachment, p.client.caller
	}
	p.command = encode(head)
	o.stream.pending = append(o.stream.pending, p)
	o.stream.bytes += len(p.command)
	o.forward(p.command)
	return true
}

// forward brings a command to the leader, if there is one.
func (o *owner) forward(command []byte) {
	if o.isLeader() {
		o.orderRequest(command)
	} else if o.leader != 0 {
		o.transport.send(serverOf(o.leader), outgoing{kind: frameCommand, payload: command})
	}
}

// resend sends all that is pending again: to a new leader, over a new connection, or because nothing has come of it for a while.
func (o *owner) resend() {
	if len(o.stream.pending) > 0 && o.tree.Incarnation(int32(o.config.ID)) > o.serving.incarnation {
		// A clock went backwards between two runs of this server. Nothing but the barrier is pending then: nobody is served before it
		// is applied.
		o.newIncarnation()
		return
	}
	o.stream.quiet = 0
	for _, p := range o.stream.pending {
		// A command that is being stamped here must not be the one that is on its way elsewhere.
		o.forward(append([]byte(nil), p.command...))
	}
}

// newIncarnation begins the stream anew. What was pending may or may not be applied; nobody waits for it.
func (o *owner) newIncarnation() {
	o.stream = stream{}
	o.serving.barrier = false
	o.serving.incarnation = max(o.serving.incarnation, o.tree.Incarnation(int32(o.config.ID))) + 1
}

// resendAfter is how long a server waits to see its commands applied before it sends them again.
func (o *owner) resendAfter() time.Duration { return 2 * o.config.ElectionTimeout }

func (o *owner) tickStream(elapsed time.Duration) {
	if len(o.stream.pending) == 0 {
		return
	}
	// To hear from the leader is not to be heard by it: the connection to it may lead nowhere while the one from it is well.
	if o.stream.unheeded += elapsed; o.stream.unheeded > o.silenceLimit() {
		o.stream.unheeded = 0
		o.transport.redial(serverOf(o.leader))
	}
	if o.stream.quiet += elapsed; o.stream.quiet > o.resendAfter() {
		o.resend()
	}
}

// pendingOf is where a command that was applied stands in this server's stream; nil when it came from elsewhere.
func (o *owner) pendingOf(command *tree.Command) *pendingCommand {
	if command.Origin.Server != int32(o.config.ID) || command.Origin.Incarnation != o.serving.incarnation || len(o.stream.pending) == 0 {
		return nil
	}
	if p := &o.stream.pending[0]; p.sequence == command.Origin.Sequence {
		return p
	}
	return nil // of a stream that was given up
}

// causeOf is the record of the request that a command came in with, on the server where it did.
func (o *owner) causeOf(command *tree.Command) trace.Ref {
	if p := o.pendingOf(command); p != nil && p.request != nil {
		return p.request.cause
	}
	return trace.Ref{}
}

// takePending takes a command that was applied out of this server's stream.
func (o *owner) takePending(command *tree.Command) (taken pendingCommand, isOwn bool) {
	found := o.pendingOf(command)
	if found == nil {
		return pendingCommand{}, false
	}
	taken = *found
	*found = pendingCommand{}
	o.stream.pending = o.stream.pending[1:]
	o.stream.bytes -= len(taken.command)
	o.stream.quiet, o.stream.unheeded = 0, 0
	return taken, true
}

// answerApplied tells who waits for a command what came of it.
func (o *owner) answerApplied(p pendingCommand, outcome tree.Outcome) {
	switch {
	case p.barrier:
		o.barrierApplied()
	case p.client == nil || p.client.closing:
	case p.request == nil:
		o.connected(p.client, outcome)
	default:
		p.request.waiting = false
		p.request.outcome = outcome
		o.answerQueue(p.client)
	}
}
