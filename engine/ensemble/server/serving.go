package server

import (
	"context"
	"slices"
	"time"

	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

// serving tells whether this server takes clients.
type serving struct {
	on bool
	// incarnation of this server's stream of commands.
	incarnation int64
	// barrier: one is on its way. When it is applied, this server is in touch with a majority and has caught up with it.
	barrier    bool
	leaderless time.Duration
	readied    bool
}

// leaderKnown is called when there is a new leader.
func (o *owner) leaderKnown() {
	o.serving.leaderless = 0
	o.stream.unheeded = 0 // by this leader
	o.resend()
	o.sendBarrier()
}

// tickServing stops serving when there has been no leader for long, and otherwise tries to begin.
func (o *owner) tickServing(elapsed time.Duration) {
	if o.leader == 0 {
		if o.serving.leaderless += elapsed; o.serving.on && o.serving.leaderless > o.config.leaderlessGrace() {
			o.stopServing(sentence.Of("noLeaderKnown", "no leader is known"))
		}
		return
	}
	o.serving.leaderless = 0
	o.sendBarrier()
}

func (o *owner) sendBarrier() {
	if o.serving.on || o.serving.barrier || o.leader == 0 {
		return
	}
	o.serving.barrier = true
	o.submit(pendingCommand{barrier: true}, func(head protocol.CommandHead) []byte {
		return protocol.EncodeCommand(head, &tree.Barrier{})
	})
}

func (o *owner) barrierApplied() {
	o.serving.barrier = false
	if o.serving.on {
		return
	}
	o.serving.on = true
	o.log.Info("serving", "zxid", sessionName(o.tree.Zxid()))
	if !o.serving.readied {
		o.serving.readied = true
		close(o.server.ready)
	}
}

// stopServing closes every client's connection. What they wait for may still happen; they learn of it when they connect again.
func (o *owner) stopServing(why sentence.Sentence) {
	for _, c := range o.clients {
		o.hangUp(c, why)
	}
	if o.serving.on {
		o.log.Info("not serving", "reason", why)
		o.serving.on = false
		o.newIncarnation()
	}
}

// handoverLimit is how long a leader that ends waits for another one to take over.
const handoverLimit = 300 * time.Millisecond

// end lets the clients go and, on a leader, hands the leadership over, so that nobody has to wait for an election. It fails fast when
// there is nobody to hand over to, as after a kill.
func (o *owner) end(ctx context.Context, ticker *time.Ticker) error {
	o.stopServing(sentence.Of("serverStops", "the server stops"))
	if o.raft == nil || !o.isLeader() {
		return nil
	}
	successor := o.successor(o.tree.Membership().Servers)
	if successor == 0 || !slices.Contains(o.transport.connectedTo(), serverOf(successor)) {
		return nil
	}
	o.raft.TransferLeader(successor)
	limit := time.NewTimer(handoverLimit)
	defer limit.Stop()
	for o.isLeader() || o.leader == 0 {
		if err := o.advance(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-limit.C:
			return nil
		case e := <-o.server.inbox:
			e.happen(o)
		case <-ticker.C:
			o.raft.Tick()
		}
	}
	return nil
}

// hangUp closes a connection. Its session lives on.
func (o *owner) hangUp(c *client, why sentence.Sentence) {
	if c.closing {
		return
	}
	o.detach(c, why)
	_ = c.conn.Close()
}

// detach forgets a connection that is being closed.
func (o *owner) detach(c *client, why sentence.Sentence) {
	c.closing = true
	c.queue = nil
	o.watches.RemoveAll(tree.Watcher(c.number))
	delete(o.clients, c.number)
	if c.session != 0 && o.session[c.session] == c {
		delete(o.session, c.session)
		o.tracer.Emit(trace.SessionDisconnected{Session: sessionName(c.session), Reason: why.String(), Why: &why})
	}
}
