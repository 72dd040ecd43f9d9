package broker

import (
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/pulsar/pulsarpb"
	"twinlog/engine/trace"
)

// publish is one message on its way to the ledger.
type publish struct {
	producer *producer
	sequence uint64
	highest  uint64
	messages int
	chunk    bool
	data     []byte
	exchange int64
	frame    int
	received time.Time
}

func (m *publish) release(t *topic) {
	m.producer.conn.sends.release(1)
	m.producer.conn.sendBytes.release(int64(len(m.data)))
	t.pendingBytes.release(int64(len(m.data)))
}

func (t *topic) publish(m *publish) {
	p := m.producer
	if t.producers[p.name] != p || t.closing {
		m.release(t) // disconnected meanwhile: the client sends it again
		return
	}
	if t.dedup != nil {
		switch t.dedup.check(p.name, m) {
		case duplicate:
			m.release(t)
			t.receipt(m, managedledger.Position{Ledger: -1, Entry: -1})
			return
		case undecided:
			m.release(t)
			p.conn.sendError(p, m.sequence, pulsarpb.ServerError_PersistenceError, errors.New("Cannot determine whether the message is a duplicate at this time"))
			return
		}
	}
	if t.log == nil {
		t.publishNow(m)
		return
	}
	t.adds++
	m.producer.pending++
	t.log.AddEntry(m.data, m.messages, func(position managedledger.Position, err error) {
		if !t.post(func() { t.added(m, position, err) }) {
			m.release(t) // the topic is closed and waits for it no longer, but its connection goes on
		}
	})
}

// added: the ledger has the message on disk, or does not take it.
func (t *topic) added(m *publish, position managedledger.Position, err error) {
	m.release(t)
	if t.adds > 0 {
		t.adds--
	}
	p := m.producer
	switch {
	case err == nil:
		if t.dedup != nil {
			t.dedup.stored(p.name, m, position)
		}
		t.stored(m, position)
	case errors.Is(err, managedledger.ErrTerminated):
		// Every client understands the answer to the PRODUCER that follows; not every one gives up over a SEND_ERROR.
		t.disconnectProducers()
	case t.producers[p.name] == p:
		t.refused(err)
	}
	p.settled()
}

// stored gives the receipt. A producer that was disconnected meanwhile gets none and sends the message again; consumers may see it
// twice, as whenever a receipt is lost.
func (t *topic) stored(m *publish, position managedledger.Position) {
	t.in.add(m.messages, len(m.data))
	t.broker.flowed.in(m.messages, len(m.data))
	m.producer.sent.add(m.messages, len(m.data))
	t.lastActive = time.Now()
	t.broker.tracer.Emit(trace.PulsarPublished{
		Topic: t.name.String(), Ledger: position.Ledger, Entry: position.Entry, Messages: m.messages, Bytes: int64(len(m.data)),
	})
	t.receipt(m, position)
	t.broker.publishLatencies.Observe(time.Since(m.received))
	t.dirty = true
}

func (t *topic) receipt(m *publish, position managedledger.Position) {
	p := m.producer
	if p.topic.Load() != t || !p.conn.holdsProducer(p) {
		return
	}
	reply := &pulsarpb.BaseCommand{
		Type: pulsarpb.BaseCommand_SEND_RECEIPT.Enum(),
		SendReceipt: &pulsarpb.CommandSendReceipt{
			ProducerId: proto.Uint64(p.id), SequenceId: proto.Uint64(m.sequence), HighestSequenceId: proto.Uint64(m.highest),
			MessageId: &pulsarpb.MessageIdData{LedgerId: proto.Uint64(uint64(position.Ledger)), EntryId: proto.Uint64(uint64(position.Entry))},
		},
	}
	sent := p.conn.sendPayload(reply, nil)
	p.conn.traceSent(reply, sent, t.name.String(), m.exchange, position.Entry, m.messages)
}

// refused: the ledger does not take messages now. Producers start again, and what is stored then is in order; a topic that another
// broker has taken over is closed here.
func (t *topic) refused(err error) {
	t.broker.logger.Warn("messages could not be stored; the topic's producers are disconnected", "topic", t.name.String(), "error", err)
	t.disconnectProducers()
	if errors.Is(err, managedledger.ErrFenced) || errors.Is(err, managedledger.ErrClosed) {
		t.broker.topics.closeLater(t, trace.ReasonFenced)
	}
}

// afterAdds runs a function when the producer's messages that are on their way are stored.
func (p *producer) afterAdds(run func()) {
	if p.pending == 0 {
		run()
		return
	}
	p.afterwards = append(p.afterwards, run)
}

// settled notes that one of the producer's messages is stored, or will not be.
func (p *producer) settled() {
	p.pending--
	if p.pending > 0 {
		return
	}
	afterwards := p.afterwards
	p.afterwards = nil
	for _, run := range afterwards {
		run()
	}
}
