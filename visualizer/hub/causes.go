package hub

import "twinlog/engine/trace"

// causes gives a received message the record of its sending as cause.
//
// Under load a node folds the sendings of one flow into one record, which then carries the correlation number of the last message; the
// receiver folds by its own rhythm, or not at all. Correlation numbers of a flow go up, so that the record that stands for a sending is
// the first whose number is not below the message's own.
//
// A bounded number of sendings is remembered; when one has been forgotten, its message simply has no known cause.
type causes struct {
	flows map[flowName]*sendings
	// ring holds the flows in the order of their first sending; the oldest is forgotten first.
	ring []flowName
	next int
}

// flowName tells apart what trace.Message.FlowKey does, on one connection.
type flowName struct {
	connection, name, subject string
	response                  bool
}

// sendingsKept is how many records of sendings a flow remembers.
const sendingsKept = 16

// sendings are a flow's newest records of sendings, the newest at last-1 modulo the array.
type sendings struct {
	correlations [sendingsKept]int64
	refs         [sendingsKept]trace.Ref
	count, last  int
}

func newCauses(limit int) *causes {
	return &causes{flows: make(map[flowName]*sendings), ring: make([]flowName, limit)}
}

func (c *causes) resolve(record *trace.Record) {
	switch event := record.Data.(type) {
	case trace.MessageSent:
		c.flow(event.Message).add(event.Exchange.Correlation, trace.Ref{Node: record.Node, Seq: record.Seq})
	case trace.MessageReceived:
		// A node that asked names its own request as what led to the answer; the answer's sending is nearer, where it was recorded.
		if record.Cause != (trace.Ref{}) && !event.Exchange.Response {
			return
		}
		own := record.Cause
		defer func() {
			if record.Cause == (trace.Ref{}) {
				record.Cause = own
			}
		}()
		if known := c.flows[nameOf(event.Message)]; known != nil {
			record.Cause = known.find(event.Exchange.Correlation)
			if record.Cause == (trace.Ref{}) && event.Folded.Events() > 1 {
				// It stands for several messages and carries the number of the last; at least the first has been sent.
				record.Cause = known.newest()
			}
		}
	}
}

func nameOf(message trace.Message) flowName {
	return flowName{message.Exchange.Connection, message.Name, message.Subject, message.Exchange.Response}
}

func (c *causes) flow(message trace.Message) *sendings {
	name := nameOf(message)
	known := c.flows[name]
	if known == nil {
		delete(c.flows, c.ring[c.next])
		c.ring[c.next] = name
		c.next = (c.next + 1) % len(c.ring)
		known = &sendings{}
		c.flows[name] = known
	}
	return known
}

func (s *sendings) add(correlation int64, ref trace.Ref) {
	s.correlations[s.last], s.refs[s.last] = correlation, ref
	s.last = (s.last + 1) % sendingsKept
	s.count = min(s.count+1, sendingsKept)
}

func (s *sendings) newest() trace.Ref {
	return s.refs[(s.last+sendingsKept-1)%sendingsKept]
}

// find returns the record of the smallest correlation that is not below the given one, the zero Ref when there is none. When even
// the oldest that is remembered is above, the sending may have been forgotten: then only an exact match counts.
func (s *sendings) find(correlation int64) trace.Ref {
	best, exactOnly := -1, s.count == sendingsKept
	for i := range s.count {
		number := s.correlations[i]
		switch {
		case number < correlation:
			exactOnly = false
		case best < 0 || number < s.correlations[best]:
			best = i
		}
	}
	if best < 0 || exactOnly && s.correlations[best] != correlation {
		return trace.Ref{}
	}
	return s.refs[best]
}
