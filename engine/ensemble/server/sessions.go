package server

import (
	"crypto/rand"
	"time"

	"twinlog/engine/ensemble/jute"
	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

// firstSessionID is ZooKeeper's: the server's number in the highest byte, then the time, then room for a count.
func firstSessionID(server int, nowMS int64) int64 {
	return int64(server)<<56 | int64(uint64(nowMS)<<24>>8)
}

// connectEvent: a client sent its first frame.
type connectEvent struct{ client *client }

// happen asks for a session, a new one or the client's old one. Both are decided in the log, so that a server that lags cannot
// mistake a session for a dead one. A server that cannot serve the client closes the connection, so that it tries another.
func (e connectEvent) happen(o *owner) {
	c := e.client
	switch {
	case !o.serving.on:
		_ = c.conn.Close()
		return
	case c.connect.LastZxidSeen > o.tree.Zxid():
		o.log.Info("a client has seen more than this server has", "client", c.conn.RemoteAddr(), "seen", sessionName(c.connect.LastZxidSeen),
			"here", sessionName(o.tree.Zxid()))
		_ = c.conn.Close()
		return
	}
	asked := time.Duration(c.connect.TimeoutMS) * time.Millisecond
	c.timeoutMS = int32(min(max(asked, o.config.MinSessionTimeout), o.config.MaxSessionTimeout).Milliseconds())
	c.statistics.established = time.Now()
	o.clients[c.number] = c
	var operation tree.Operation
	if c.session = c.connect.Session; c.session == 0 {
		o.nextID++
		c.session = o.nextID
		_, _ = rand.Read(c.password[:]) // it cannot fail
		operation = &tree.CreateSession{Password: c.password, TimeoutMS: c.timeoutMS}
	} else {
		c.password = c.connect.Password
		operation = &tree.AttachSession{Password: c.password, TimeoutMS: c.timeoutMS}
	}
	sent := o.submit(pendingCommand{client: c}, func(head protocol.CommandHead) []byte {
		return protocol.EncodeCommand(head, operation)
	})
	if !sent {
		o.hangUp(c, sentence.Of("tooMuchWaits", "too much is waiting to be applied"))
	}
}

// connected answers the first frame, once the session is created or attached, or is known to be gone.
func (o *owner) connected(c *client, outcome tree.Outcome) {
	if outcome.Code != tree.OK {
		c.out.add(1, func(buffer []byte) []byte {
			e := jute.NewEncoder(buffer)
			protocol.AppendConnectResponse(e, c.connect, 0, 0, [16]byte{})
			return e.Bytes()
		})
		o.detach(c, sentence.Of("sessionIsGone", "the session is gone"))
		c.out.finish()
		return
	}
	c.attachment = outcome.Attachment
	o.session[c.session] = c
	c.statistics.lastZxid = outcome.Zxid
	c.out.add(1, func(buffer []byte) []byte {
		e := jute.NewEncoder(buffer)
		protocol.AppendConnectResponse(e, c.connect, c.timeoutMS, c.session, c.password)
		return e.Bytes()
	})
	o.tracer.Emit(trace.SessionConnected{Session: sessionName(c.session), Client: peerNode(c.conn), Address: c.conn.RemoteAddr().String()})
}

// disconnectEvent: a connection ended.
type disconnectEvent struct {
	client *client
	err    error
}

func (e disconnectEvent) happen(o *owner) {
	if !e.client.closing {
		why := sentence.Of("clientClosedConnection", "the client closed the connection")
		if e.err != nil {
			why = sentence.Of("connectionFailed", "the connection failed: {why}", e.err)
		}
		o.detach(e.client, why)
	}
}

// noteSession does on every server what follows from a session's command.
func (o *owner) noteSession(command *tree.Command, outcome tree.Outcome) {
	if outcome.Code != tree.OK {
		return
	}
	id := command.Session
	switch operation := command.Operation.(type) {
	case *tree.CreateSession:
		o.tracer.Emit(trace.SessionCreated{Session: sessionName(id), TimeoutMS: int64(outcome.TimeoutMS), Zxid: outcome.Zxid})
		o.startClock(id, outcome.TimeoutMS)
	case *tree.AttachSession:
		// The attachment is another one now, here or elsewhere: what comes through the old connection would be refused.
		if old := o.session[id]; old != nil {
			o.hangUp(old, sentence.Of("sessionMoved", "the session moved to another connection"))
		}
		o.startClock(id, outcome.TimeoutMS)
	case *tree.CloseSession:
		o.tracer.Emit(trace.SessionEnded{Session: sessionName(id), Expired: operation.Expired, Zxid: outcome.Zxid})
		if o.leading.expiry != nil {
			o.leading.expiry.Forget(id)
		}
		if c := o.session[id]; c != nil && operation.Expired {
			o.hangUp(c, sentence.Of("sessionExpired", "the session expired"))
		}
	}
}

func (o *owner) startClock(id int64, timeoutMS int32) {
	if o.leading.expiry != nil {
		o.leading.expiry.Touch(id, timeoutMS)
	}
}
