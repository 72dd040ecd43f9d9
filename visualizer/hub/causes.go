package hub

import "twinlog/engine/trace"

// causes gives a received message the record of its sending as cause. It remembers a bounded number of messages under way; when a
// sending has been forgotten, the message simply has no known cause.
type causes struct {
	sent map[trace.Exchange]trace.Ref
	// ring holds the exchanges in the order of their sending; the oldest is forgotten first.
	ring []trace.Exchange
	next int
}

func newCauses(limit int) *causes {
	return &causes{sent: make(map[trace.Exchange]trace.Ref), ring: make([]trace.Exchange, limit)}
}

func (c *causes) resolve(record *trace.Record) {
	switch event := record.Data.(type) {
	case trace.MessageSent:
		delete(c.sent, c.ring[c.next])
		c.ring[c.next] = event.Exchange
		c.next = (c.next + 1) % len(c.ring)
		c.sent[event.Exchange] = trace.Ref{Node: record.Node, Seq: record.Seq}
	case trace.MessageReceived:
		if sent, known := c.sent[event.Exchange]; known {
			delete(c.sent, event.Exchange)
			if record.Cause == (trace.Ref{}) {
				record.Cause = sent
			}
		}
	}
}
