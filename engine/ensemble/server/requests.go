package server

import (
	"time"

	"twinlog/engine/ensemble/jute"
	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

// requestEvent: a client asked for something.
type requestEvent struct {
	client  *client
	request *request
}

// happen puts the request in the client's queue. What changes the tree goes to the leader and waits there; the rest is answered when
// its turn comes, which is at once unless something before it waits.
func (e requestEvent) happen(o *owner) {
	c, r := e.client, e.request
	if c.closing {
		return
	}
	if c.attachment == 0 {
		o.hangUp(c, sentence.Of("askedTooEarly", "it asked before it had a session"))
		return
	}
	o.touch(c.session)
	o.numbers.received++
	o.numbers.outstanding++
	c.statistics.received++
	c.statistics.lastXid, c.statistics.lastOp = r.header.Xid, r.header.Op
	c.queue = append(c.queue, r)
	if code := o.dispatch(c, r); code != tree.OK {
		r.outcome.Zxid = o.tree.Zxid()
		r.outcome.Code = code
	}
	if !c.closing {
		o.answerQueue(c)
	}
}

// dispatch sends on what has to go through the log; an error is the answer at once.
func (o *owner) dispatch(c *client, r *request) tree.Error {
	op := r.header.Op
	var encode func(protocol.CommandHead) []byte
	switch {
	case op == protocol.OpCreateTTL && o.config.TTLDisabled:
		return tree.ErrUnimplemented
	case op == protocol.OpReconfig && !o.config.ReconfigEnabled:
		return tree.ErrReconfigDisabled
	case op == protocol.OpReconfig:
		if _, err := protocol.DecodeWrite(op, r.body); err != nil {
			return tree.ErrMarshalling
		}
		encode = func(head protocol.CommandHead) []byte { return protocol.EncodeRequest(head, op, r.body) }
	case op == protocol.OpSync:
		encode = func(head protocol.CommandHead) []byte { return protocol.EncodeCommand(head, &tree.Barrier{}) }
	case op.IsWrite():
		if _, err := protocol.DecodeWrite(op, r.body); err != nil {
			o.log.Debug("a request that cannot be read", "client", c.conn.RemoteAddr(), "error", err)
			return tree.ErrMarshalling
		}
		encode = func(head protocol.CommandHead) []byte { return protocol.EncodeRequest(head, op, r.body) }
	default:
		return tree.OK
	}
	r.waiting = true
	if !o.submit(pendingCommand{client: c, request: r}, encode) {
		o.hangUp(c, sentence.Of("tooMuchWaits", "too much is waiting to be applied"))
	}
	return tree.OK
}

// answerQueue answers the requests at the head of a client's queue up to the first that waits.
func (o *owner) answerQueue(c *client) {
	for len(c.queue) > 0 && !c.queue[0].waiting && !c.closing {
		r := c.queue[0]
		c.queue[0] = nil
		c.queue = c.queue[1:]
		o.numbers.outstanding--
		o.answer(c, r)
	}
}

// answer replies to one request.
func (o *owner) answer(c *client, r *request) {
	a := answer{zxid: o.tree.Zxid()}
	switch {
	case r.outcome.Code != tree.OK && r.outcome.Multi == nil:
		a.code, a.zxid = r.outcome.Code, r.outcome.Zxid
		a.last = a.code == tree.ErrSessionExpired || a.code == tree.ErrSessionMoved
	case r.header.Op == protocol.OpReconfig:
		data, stat, _ := o.tree.Data(tree.ConfigPath, c.caller)
		a.zxid, a.body = r.outcome.Zxid, func(e *jute.Encoder) { e.Buffer(data); protocol.AppendStat(e, stat) }
	case r.header.Op.IsWrite():
		a = o.answerWrite(r)
	default:
		a = o.answerLocal(c, r)
	}
	o.reply(c, r, a)
}

// answer is what goes back to a client.
type answer struct {
	zxid int64
	code tree.Error
	body func(*jute.Encoder)
	last bool // the connection ends with it
}

func (o *owner) answerWrite(r *request) answer {
	a := answer{zxid: r.outcome.Zxid}
	switch op := r.header.Op; op {
	case protocol.OpMulti:
		a.body = func(e *jute.Encoder) { protocol.AppendMultiResult(e, protocol.MultiAnswers(r.body), r.outcome) }
	case protocol.OpCloseSession:
		a.last = true
	default:
		a.body = func(e *jute.Encoder) { protocol.AppendWriteResult(e, op, r.outcome.Result) }
	}
	return a
}

// maxTracedAnswer is how much of an answer the trace may want to keep; its buffer is the connection's before the trace is told.
const maxTracedAnswer = 4 << 10

func (o *owner) reply(c *client, r *request, a answer) {
	size := 0
	ok := c.out.add(r.slots, func(buffer []byte) []byte {
		e := jute.NewEncoder(buffer)
		protocol.AppendReply(e, r.header.Xid, a.zxid, a.code, a.body)
		bytes := e.Bytes()[len(buffer):]
		size = len(bytes)
		if r.traced.Name != "" {
			o.traced = append(o.traced[:0], bytes[:min(size, maxTracedAnswer)]...)
		}
		return e.Bytes()
	})
	took := time.Since(r.arrived)
	o.numbers.latency.add(took)
	c.statistics.latency.add(took)
	o.numbers.sent++
	c.statistics.sent++
	c.statistics.lastZxid, c.statistics.lastAnswer = a.zxid, time.Now()
	if o.tracer != nil && r.traced.Name != "" {
		message := r.traced
		message.Exchange.Response = true
		message.From, message.To, message.Bytes = message.To, message.From, int64(size)
		o.tracer.EmitMessage(r.cause, trace.MessageSent{Message: message}, trace.Frame{Kind: int16(r.header.Op), Head: o.traced})
	}
	switch {
	case !ok:
		o.hangUp(c, sentence.Of("readsNoAnswers", "it does not read its answers"))
	case a.last:
		why := sentence.Of("clientClosedSession", "the client closed the session")
		if a.code != tree.OK {
			why = sentence.Of("zookeeperError", "{error}", a.code.Error())
		}
		o.detach(c, why)
		c.out.finish()
	}
}

// fire tells the watchers of this server what a transaction did. It comes before any answer that shows it.
func (o *owner) fire(outcome tree.Outcome, ended int64, cause trace.Ref) {
	for _, change := range outcome.Changes {
		changed := traceChange(o.tracer, cause, outcome.Zxid, change, ended)
		for _, each := range o.watches.Fire(change) {
			if c := o.clients[int64(each.Watcher)]; c != nil && tree.Permitted(each.ACL, c.caller, tree.Read) {
				o.notify(c, each.Type, each.Path, outcome.Zxid, changed)
			}
		}
	}
}

func (o *owner) notify(c *client, event tree.EventType, path string, zxid int64, cause trace.Ref) {
	ok := c.out.add(0, func(buffer []byte) []byte {
		e := jute.NewEncoder(buffer)
		protocol.AppendNotification(e, event, path)
		return e.Bytes()
	})
	if !ok {
		o.hangUp(c, sentence.Of("readsNoEvents", "it does not read its events"))
		return
	}
	o.numbers.sent++
	o.tracer.EmitCaused(cause, trace.WatchFired{Session: sessionName(c.session), Path: path, Event: event.String(), Zxid: zxid})
}
