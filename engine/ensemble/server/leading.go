package server

import (
	"time"

	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
)

// leading is what a leader alone does: it has the clocks of all sessions and removes znodes that nobody needs. The other servers
// collect whom they heard from and tell it.
type leading struct {
	expiry    *tree.Expiry // nil on a follower
	sinceIdle time.Duration
	settling  settling
	touched   map[int64]struct{}
	sinceTell time.Duration
}

// beginLeading gives every session its full timeout: how long it was silent before, nobody knows.
func (o *owner) beginLeading() {
	o.leading = leading{expiry: tree.NewExpiry(o.config.TickTime.Milliseconds())}
	for _, each := range o.tree.Sessions() {
		o.leading.expiry.Touch(each.ID, each.TimeoutMS)
	}
}

func (o *owner) endLeading() {
	o.leading = leading{}
	o.proposals, o.deferred = nil, nil
}

// touch notes that a session was heard from.
func (o *owner) touch(id int64) {
	if o.leading.expiry != nil {
		if timeoutMS, alive := o.tree.SessionTimeout(id); alive {
			o.leading.expiry.Touch(id, timeoutMS)
		}
		return
	}
	if o.leading.touched == nil {
		o.leading.touched = map[int64]struct{}{}
	}
	o.leading.touched[id] = struct{}{}
}

func (o *owner) tickLeading(elapsed time.Duration) {
	if o.leading.expiry == nil {
		o.tellTouched(elapsed)
		return
	}
	o.tickSettling(elapsed)
	for _, id := range o.leading.expiry.Advance(elapsed.Milliseconds()) {
		o.log.Info("a session expires", "session", sessionName(id))
		o.orderOwn(id, &tree.CloseSession{Expired: true})
	}
	if o.leading.sinceIdle += elapsed; o.leading.sinceIdle >= o.config.IdleCheckInterval {
		o.leading.sinceIdle = 0
		for _, path := range o.tree.Idle(nowMS()) {
			o.orderOwn(0, &tree.RemoveIdle{Path: path})
		}
	}
}

// orderOwn orders a command of the leader's own. It is outside any stream: when it gets lost, the next leader decides anew.
func (o *owner) orderOwn(session int64, operation tree.Operation) {
	o.order(protocol.EncodeCommand(protocol.CommandHead{Session: session}, operation))
}

// tellTouched sends the leader the sessions that this server heard from.
func (o *owner) tellTouched(elapsed time.Duration) {
	if o.leading.sinceTell += elapsed; o.leading.sinceTell < o.config.TickTime/4 || len(o.leading.touched) == 0 || o.leader == 0 {
		return
	}
	o.leading.sinceTell = 0
	sessions := make([]int64, 0, len(o.leading.touched))
	for id := range o.leading.touched {
		sessions = append(sessions, id)
	}
	if o.transport.send(serverOf(o.leader), outgoing{kind: frameTouch, payload: encodeTouches(sessions)}) {
		clear(o.leading.touched)
	}
}
