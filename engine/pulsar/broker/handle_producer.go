package broker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/pulsarpb"
)

// producer is one producer of a connection. What is not marked otherwise is set before the topic gets to know it.
type producer struct {
	id           uint64
	conn         *connection
	topic        atomic.Pointer[topic] // nil until it is attached
	name         string
	epoch        uint64
	named        bool // by its user
	access       pulsarpb.ProducerAccessMode
	encrypted    bool
	metadata     map[string]string
	connected    time.Time
	schema       []byte // version, in PRODUCER_SUCCESS
	lastSequence int64  // in PRODUCER_SUCCESS
	topicEpoch   *uint64

	// The following belong to the topic.
	sent       traffic
	pending    int      // messages that are not yet stored
	afterwards []func() // run when pending is 0
}

// PRODUCER: attach a producer to a topic, which is loaded and, where that is the rule, created.
func (c *connection) handleProducer(command *pulsarpb.BaseCommand, size int) error {
	create := command.GetProducer()
	c.traceReceived(command, size, create.GetTopic(), int64(create.GetRequestId()), -1, 0)
	p := &producer{
		id: create.GetProducerId(), conn: c, name: create.GetProducerName(), epoch: create.GetEpoch(),
		named: create.GetUserProvidedProducerName() && create.GetProducerName() != "", access: create.GetProducerAccessMode(),
		encrypted: create.GetEncrypted(), metadata: pairs(create.GetMetadata()), connected: time.Now(), lastSequence: -1,
		topicEpoch: create.TopicEpoch,
	}
	c.mu.Lock()
	existing := c.producers[p.id]
	full := existing == nil && len(c.producers)+len(c.consumers) >= maxAttached
	if existing == nil && !full {
		c.producers[p.id] = p
	}
	c.mu.Unlock()
	switch {
	case full:
		c.fail(create.GetRequestId(), pulsarpb.ServerError_NotAllowedError, fmt.Errorf("more than %d producers and consumers on one connection", maxAttached))
		return nil
	case existing != nil && existing.topic.Load() != nil:
		// The client asks again on a living connection: it is attached already.
		c.producerSuccess(existing, create.GetRequestId(), true)
		return nil
	case existing != nil:
		c.fail(create.GetRequestId(), pulsarpb.ServerError_ServiceNotReady, errors.New("Producer is already present on the connection"))
		return nil
	}
	return c.request(func(ctx context.Context) {
		if err := c.attachProducer(ctx, p, create); err != nil {
			c.dropProducer(p)
			c.fail(create.GetRequestId(), serverError(err), err)
		}
	})
}

func (c *connection) attachProducer(ctx context.Context, p *producer, create *pulsarpb.CommandProducer) error {
	name, err := ParseTopicName(create.GetTopic())
	if err != nil {
		return err
	}
	t, err := c.broker.topicForClient(ctx, name, true)
	if err != nil {
		return err
	}
	if p.name == "" {
		if p.name, err = c.broker.names.next(c.broker); err != nil {
			return err
		}
	}
	if schema := create.GetSchema(); schema != nil && schema.GetType() != pulsarpb.Schema_None {
		if p.schema, err = c.broker.addSchema(ctx, name, schema); err != nil {
			return err
		}
	}
	if initial := create.GetInitialSubscriptionName(); initial != "" {
		if err := t.createSubscription(ctx, initial, earliest, nil); err != nil && !errors.Is(err, ErrExists) {
			return err
		}
	}
	return t.submit(ctx, func() {
		t.addProducer(p, func(ready bool, err error) {
			if err != nil {
				c.dropProducer(p)
				c.fail(create.GetRequestId(), serverError(err), err)
				return
			}
			c.producerSuccess(p, create.GetRequestId(), ready)
		})
	})
}

func (c *connection) producerSuccess(p *producer, request uint64, ready bool) {
	success := &pulsarpb.CommandProducerSuccess{
		RequestId: proto.Uint64(request), ProducerName: proto.String(p.name), LastSequenceId: proto.Int64(p.lastSequence),
		SchemaVersion: append([]byte{}, p.schema...), ProducerReady: proto.Bool(ready), TopicEpoch: p.topicEpoch,
	}
	c.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_PRODUCER_SUCCESS.Enum(), ProducerSuccess: success})
}

// dropProducer forgets a producer that is not, or no longer, attached; it reports whether it was this connection's.
func (c *connection) dropProducer(p *producer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || c.producers[p.id] != p {
		return false
	}
	delete(c.producers, p.id)
	return true
}

// holdsProducer tells whether the producer is still wanted: its connection lives and its client has not closed it.
func (c *connection) holdsProducer(p *producer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.gone && c.producers[p.id] == p
}

// closeProducer tells the client that its producer has to find the topic's new place. What the producer still sends is ignored.
func (c *connection) closeProducer(p *producer) {
	if !c.dropProducer(p) {
		return
	}
	c.send(&pulsarpb.BaseCommand{
		Type: pulsarpb.BaseCommand_CLOSE_PRODUCER.Enum(),
		CloseProducer: &pulsarpb.CommandCloseProducer{
			ProducerId: proto.Uint64(p.id), RequestId: proto.Uint64(^uint64(0)),
		},
	})
}

// CLOSE_PRODUCER: the client is done with it. Messages on their way still get their receipts, before the answer.
func (c *connection) handleCloseProducer(command *pulsarpb.BaseCommand, size int) error {
	closing := command.GetCloseProducer()
	c.mu.Lock()
	p := c.producers[closing.GetProducerId()]
	c.mu.Unlock()
	if p == nil {
		c.succeed(closing.GetRequestId())
		return nil
	}
	t := p.topic.Load()
	if t == nil {
		c.dropProducer(p)
		c.succeed(closing.GetRequestId())
		return nil
	}
	c.traceReceived(command, size, t.name.String(), int64(closing.GetRequestId()), -1, 0)
	finish := func() {
		c.dropProducer(p)
		c.succeed(closing.GetRequestId())
	}
	if t.submit(c.broker.context, func() { t.removeProducer(p); p.afterAdds(finish) }) != nil {
		finish()
	}
	return nil
}

// SEND: store a message. Its receipt follows when it is stored.
func (c *connection) handleSend(command *pulsarpb.BaseCommand, payload []byte, size int) error {
	send := command.GetSend()
	c.mu.Lock()
	p := c.producers[send.GetProducerId()]
	c.mu.Unlock()
	if p == nil {
		return nil // closed meanwhile, by us; the client sends it again where the topic is now
	}
	t := p.topic.Load()
	if t == nil {
		return fmt.Errorf("%w: SEND before PRODUCER_SUCCESS", errFrame)
	}
	if len(payload) == 0 {
		return fmt.Errorf("%w: SEND without a message", errFrame)
	}
	c.sequence++
	message := &publish{
		producer: p, sequence: send.GetSequenceId(), highest: send.GetHighestSequenceId(),
		messages: max(1, int(send.GetNumMessages())), chunk: send.GetIsChunk(), data: payload, exchange: c.sequence, frame: size, received: time.Now(),
	}
	if _, _, err := splitMessage(payload, true); err != nil {
		if !errors.Is(err, errChecksum) {
			return err
		}
		c.sendError(p, message.sequence, pulsarpb.ServerError_ChecksumError, err)
		return nil
	}
	c.traceReceived(command, size, t.name.String(), c.sequence, -1, message.messages)
	if !c.sends.acquire(1, c.closed) || !c.sendBytes.acquire(int64(len(payload)), c.closed) || !t.pendingBytes.acquire(int64(len(payload)), c.closed) {
		return errors.New("closed while its messages waited")
	}
	if err := t.submit(c.broker.context, func() { t.publish(message) }); err != nil {
		message.release(t)
	}
	return nil
}

func (c *connection) sendError(p *producer, sequence uint64, code pulsarpb.ServerError, err error) {
	c.send(&pulsarpb.BaseCommand{
		Type: pulsarpb.BaseCommand_SEND_ERROR.Enum(),
		SendError: &pulsarpb.CommandSendError{
			ProducerId: proto.Uint64(p.id), SequenceId: proto.Uint64(sequence), Error: code.Enum(), Message: proto.String(err.Error()),
		},
	})
}

func pairs(list []*pulsarpb.KeyValue) map[string]string {
	values := make(map[string]string, len(list))
	for _, pair := range list {
		values[pair.GetKey()] = pair.GetValue()
	}
	return values
}
