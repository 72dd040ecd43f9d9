package broker

import (
	"errors"
	"time"

	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/pulsar/pulsarpb"
	"twinlog/engine/pulsar/subscription"
	"twinlog/engine/trace"
)

// acknowledge marks messages as done with. With a request id the answer follows when that is stored; without one it is stored soon.
func (t *topic) acknowledge(c *consumer, ack *pulsarpb.CommandAck, answer func(error)) {
	s := c.subscription
	if s == nil || s.consumers[c.key] != c || t.closing {
		answer(errNoSuchConsumer)
		return
	}
	c.lastAcked = time.Now()
	if t.log == nil {
		answer(nil) // nothing is kept of a non-persistent topic's messages
		return
	}
	var done func(error)
	if ack.RequestId != nil {
		done = func(err error) { t.post(func() { answer(err) }) }
	}
	if ack.GetAckType() == pulsarpb.CommandAck_Cumulative {
		s.acknowledgeThrough(ack, answer, done)
	} else {
		s.acknowledgeEach(ack.GetMessageId(), answer, done)
	}
	s.moved()
	s.dispatch() // whoever had too many unacknowledged messages, or waited for a key, may go on
}

// acknowledgeThrough: everything up to a message. It makes no sense where several consumers share the messages, and is ignored there.
func (s *sub) acknowledgeThrough(ack *pulsarpb.CommandAck, answer, done func(error)) {
	if s.state.Type() == subscription.Shared || s.state.Type() == subscription.KeyShared {
		answer(nil)
		return
	}
	if len(ack.GetMessageId()) != 1 {
		answer(errors.New("a cumulative acknowledgement names one message"))
		return
	}
	id := ack.GetMessageId()[0]
	position := positionOf(id)
	if subscription.AckSet(id.GetAckSet()).Remaining() > 0 {
		// Part of a batch: all entries before it, and of it what the set says.
		before := s.topic.log.Previous(position)
		s.cursor.MarkDelete(before, nil, nil)
		s.cursor.DeleteBatch(position, id.GetAckSet(), done)
		s.state.AckedThrough(subscription.Position(before))
		return
	}
	s.cursor.MarkDelete(position, nil, done)
	s.state.AckedThrough(subscription.Position(position))
}

// acknowledgeEach: single messages. Which consumer got them does not matter.
func (s *sub) acknowledgeEach(ids []*pulsarpb.MessageIdData, answer, done func(error)) {
	whole := make([]managedledger.Position, 0, len(ids))
	var parts []*pulsarpb.MessageIdData
	for _, id := range ids {
		if len(id.GetAckSet()) > 0 && subscription.AckSet(id.GetAckSet()).Remaining() > 0 {
			parts = append(parts, id)
			continue
		}
		whole = append(whole, positionOf(id))
	}
	for i, id := range parts {
		position := positionOf(id)
		last := i == len(parts)-1 && len(whole) == 0
		var stored func(error)
		if last {
			stored = done
		}
		if s.cursor.DeleteBatch(position, id.GetAckSet(), stored) {
			s.state.Acked(subscription.Position(position))
		} else {
			s.state.AckedPart(subscription.Position(position), subscription.AckSet(s.cursor.AckSet(position)).Remaining())
		}
	}
	if len(whole) == 0 {
		if len(parts) == 0 {
			answer(nil)
		}
		return
	}
	s.cursor.Delete(whole, done)
	for _, position := range whole {
		s.state.Acked(subscription.Position(position))
	}
}

// moved records how far the subscription is.
func (s *sub) moved() {
	s.lastMove = time.Now()
	s.traceMark()
	s.measureSoon()
}

func (s *sub) traceMark() {
	if s.cursor == nil {
		return
	}
	marked := s.cursor.MarkDeleted()
	s.topic.broker.tracer.Emit(trace.PulsarCursorMoved{
		Topic: s.topic.name.String(), Subscription: s.name, Ledger: marked.Ledger, Entry: marked.Entry, Backlog: s.cursor.Backlog(),
	})
}
