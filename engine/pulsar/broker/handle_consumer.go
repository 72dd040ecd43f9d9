package broker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/pulsar/pulsarpb"
	"twinlog/engine/pulsar/subscription"
)

var (
	earliest = managedledger.Earliest
	latest   = managedledger.Latest
)

// consumer is one consumer of a connection. What is not marked otherwise is set before the topic gets to know it.
type consumer struct {
	id           uint64
	conn         *connection
	topic        atomic.Pointer[topic] // nil until it is attached
	subscription *sub                  // belongs to the topic, as everything below connected
	name         string
	kind         subscription.Type
	priority     int
	sticky       []subscription.HashRange
	outOfOrder   bool
	metadata     map[string]string
	durable      bool
	start        managedledger.Position
	rollback     time.Duration
	properties   map[string]string
	connected    time.Time

	key          subscription.ConsumerID
	epoch        *uint64
	held         bool // its connection has enough to write
	redelivered  traffic
	sent         traffic
	lastFlow     time.Time
	lastConsumed time.Time
	lastAcked    time.Time
}

// SUBSCRIBE: attach a consumer to a subscription of a topic; both are made where they are not there.
func (c *connection) handleSubscribe(command *pulsarpb.BaseCommand, size int) error {
	subscribe := command.GetSubscribe()
	c.traceReceived(command, size, subscribe.GetTopic(), int64(subscribe.GetRequestId()), -1, 0)
	attaching := newConsumer(c, subscribe)
	c.mu.Lock()
	existing := c.consumers[attaching.id]
	full := existing == nil && len(c.producers)+len(c.consumers) >= maxAttached
	if existing == nil && !full {
		c.consumers[attaching.id] = attaching
	}
	c.mu.Unlock()
	request := subscribe.GetRequestId()
	switch {
	case full:
		c.fail(request, pulsarpb.ServerError_NotAllowedError, fmt.Errorf("more than %d producers and consumers on one connection", maxAttached))
		return nil
	case existing != nil && existing.topic.Load() != nil:
		c.succeed(request)
		return nil
	case existing != nil:
		c.fail(request, pulsarpb.ServerError_ServiceNotReady, errors.New("Consumer is already present on the connection"))
		return nil
	}
	return c.request(func(ctx context.Context) {
		fail := func(err error) {
			c.dropConsumer(attaching)
			c.fail(request, serverError(err), err)
		}
		t, err := c.topicToSubscribe(ctx, subscribe)
		if err != nil {
			fail(err)
			return
		}
		err = t.submit(ctx, func() {
			t.subscribe(attaching, subscribe.GetSubscription(), func(err error) {
				if err != nil {
					fail(err)
					return
				}
				c.succeed(request)
			})
		})
		if err != nil {
			fail(err)
		}
	})
}

func (c *connection) topicToSubscribe(ctx context.Context, subscribe *pulsarpb.CommandSubscribe) (*topic, error) {
	name, err := ParseTopicName(subscribe.GetTopic())
	if err != nil {
		return nil, err
	}
	if subscribe.GetSubscription() == "" {
		return nil, Refuse(ErrNotAllowed, "a subscription without name")
	}
	t, err := c.broker.topicForClient(ctx, name, subscribe.GetForceTopicCreation())
	if err != nil {
		return nil, err
	}
	if schema := subscribe.GetSchema(); schema != nil && schema.GetType() != pulsarpb.Schema_None {
		if err := c.broker.checkConsumerSchema(ctx, name, schema); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func newConsumer(c *connection, subscribe *pulsarpb.CommandSubscribe) *consumer {
	attaching := &consumer{
		id: subscribe.GetConsumerId(), conn: c, name: subscribe.GetConsumerName(), kind: subscription.Type(subscribe.GetSubType()),
		priority: int(subscribe.GetPriorityLevel()), metadata: pairs(subscribe.GetMetadata()), durable: subscribe.GetDurable(),
		properties: pairs(subscribe.GetSubscriptionProperties()), connected: time.Now(), epoch: subscribe.ConsumerEpoch,
		rollback: time.Duration(subscribe.GetStartMessageRollbackDurationSec()) * time.Second,
	}
	if attaching.name == "" {
		attaching.name = fmt.Sprintf("%s-%d", c.remote, attaching.id)
	}
	attaching.start = latest
	if subscribe.GetInitialPosition() == pulsarpb.CommandSubscribe_Earliest {
		attaching.start = earliest
	}
	if id := subscribe.GetStartMessageId(); id != nil && !attaching.durable {
		attaching.start = positionOf(id)
	}
	if meta := subscribe.GetKeySharedMeta(); meta != nil {
		attaching.outOfOrder = meta.GetAllowOutOfOrderDelivery()
		if meta.GetKeySharedMode() == pulsarpb.KeySharedMeta_STICKY {
			for _, r := range meta.GetHashRanges() {
				attaching.sticky = append(attaching.sticky, subscription.HashRange{Start: int(r.GetStart()), End: int(r.GetEnd())})
			}
		}
	}
	return attaching
}

// positionOf reads a message id; what does not fit a position is before or after all of them.
func positionOf(id *pulsarpb.MessageIdData) managedledger.Position {
	position := managedledger.Position{Ledger: int64(id.GetLedgerId()), Entry: int64(id.GetEntryId())}
	if position.Ledger < 0 {
		return earliest
	}
	if position.Ledger == latest.Ledger {
		return latest
	}
	return position
}

func (c *connection) dropConsumer(dropped *consumer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || c.consumers[dropped.id] != dropped {
		return false
	}
	delete(c.consumers, dropped.id)
	return true
}

func (c *connection) holdsConsumer(held *consumer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.gone && c.consumers[held.id] == held
}

// closeConsumer tells the client to subscribe again, here or where the topic is now.
func (c *connection) closeConsumer(closed *consumer) {
	if !c.dropConsumer(closed) {
		return
	}
	c.send(&pulsarpb.BaseCommand{
		Type: pulsarpb.BaseCommand_CLOSE_CONSUMER.Enum(),
		CloseConsumer: &pulsarpb.CommandCloseConsumer{
			ConsumerId: proto.Uint64(closed.id), RequestId: proto.Uint64(^uint64(0)),
		},
	})
}

// attached finds a consumer of the connection and its topic; nil when it is not attached.
func (c *connection) attached(id uint64) (*consumer, *topic) {
	c.mu.Lock()
	found := c.consumers[id]
	c.mu.Unlock()
	if found == nil {
		return nil, nil
	}
	return found, found.topic.Load()
}

// CLOSE_CONSUMER: the client is done with it.
func (c *connection) handleCloseConsumer(command *pulsarpb.BaseCommand, size int) error {
	closing := command.GetCloseConsumer()
	found, t := c.attached(closing.GetConsumerId())
	if found == nil || t == nil {
		if found != nil {
			c.dropConsumer(found)
		}
		c.succeed(closing.GetRequestId())
		return nil
	}
	c.traceReceived(command, size, t.name.String(), int64(closing.GetRequestId()), -1, 0)
	finish := func() {
		c.dropConsumer(found)
		c.succeed(closing.GetRequestId())
	}
	if t.submit(c.broker.context, func() { t.removeConsumer(found); finish() }) != nil {
		finish()
	}
	return nil
}

// FLOW: the client has room for so many more messages. Permits that come before the consumer is attached are meant for an earlier
// consumer of the same id, which was closed; the client gives permits anew when it knows that it is attached.
func (c *connection) handleFlow(command *pulsarpb.BaseCommand, size int) error {
	flow := command.GetFlow()
	permits := int(flow.GetMessagePermits())
	found, t := c.attached(flow.GetConsumerId())
	if t == nil {
		return nil
	}
	c.sequence++
	c.traceReceived(command, size, t.name.String(), c.sequence, -1, permits)
	return ignoreClosing(t.submit(c.broker.context, func() { t.flow(found, permits) }))
}

// ACK: messages are done with.
func (c *connection) handleAck(command *pulsarpb.BaseCommand, size int) error {
	ack := command.GetAck()
	found, t := c.attached(ack.GetConsumerId())
	answer := func(err error) {
		if ack.RequestId == nil {
			return
		}
		response := &pulsarpb.CommandAckResponse{ConsumerId: ack.ConsumerId, RequestId: ack.RequestId}
		if err != nil {
			response.Error, response.Message = serverError(err).Enum(), proto.String(err.Error())
		}
		c.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_ACK_RESPONSE.Enum(), AckResponse: response})
	}
	if t == nil {
		answer(errNoSuchConsumer)
		return nil
	}
	c.sequence++
	c.traceReceived(command, size, t.name.String(), c.sequence, -1, len(ack.GetMessageId()))
	if err := t.submit(c.broker.context, func() { t.acknowledge(found, ack, answer) }); err != nil {
		answer(err)
	}
	return nil
}

// ignoreClosing: what was for a topic that is being closed is simply not done; the client hears of the close.
func ignoreClosing(err error) error {
	if errors.Is(err, errTopicClosing) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// REDELIVER_UNACKNOWLEDGED_MESSAGES: a consumer wants messages again.
func (c *connection) handleRedeliver(command *pulsarpb.BaseCommand, size int) error {
	redeliver := command.GetRedeliverUnacknowledgedMessages()
	found, t := c.attached(redeliver.GetConsumerId())
	if t == nil {
		return nil
	}
	c.sequence++
	c.traceReceived(command, size, t.name.String(), c.sequence, -1, len(redeliver.GetMessageIds()))
	positions := make([]subscription.Position, 0, len(redeliver.GetMessageIds()))
	for _, id := range redeliver.GetMessageIds() {
		positions = append(positions, subscription.Position(positionOf(id)))
	}
	return ignoreClosing(t.submit(c.broker.context, func() { t.redeliver(found, positions, redeliver.ConsumerEpoch) }))
}

// UNSUBSCRIBE: delete the subscription.
func (c *connection) handleUnsubscribe(command *pulsarpb.BaseCommand, size int) error {
	unsubscribe := command.GetUnsubscribe()
	found, t := c.attached(unsubscribe.GetConsumerId())
	if t == nil {
		c.fail(unsubscribe.GetRequestId(), pulsarpb.ServerError_MetadataError, errNoSuchConsumer)
		return nil
	}
	c.traceReceived(command, size, t.name.String(), int64(unsubscribe.GetRequestId()), -1, 0)
	answer := c.answer(unsubscribe.GetRequestId())
	if err := t.submit(c.broker.context, func() { t.unsubscribe(found, unsubscribe.GetForce(), answer) }); err != nil {
		answer(err)
	}
	return nil
}

// answer is SUCCESS or ERROR.
func (c *connection) answer(request uint64) func(error) {
	return func(err error) {
		if err != nil {
			c.fail(request, serverError(err), err)
			return
		}
		c.succeed(request)
	}
}

// SEEK: set the subscription to a message or a time. All its consumers are closed and subscribe again.
func (c *connection) handleSeek(command *pulsarpb.BaseCommand, size int) error {
	seek := command.GetSeek()
	found, t := c.attached(seek.GetConsumerId())
	if t == nil {
		c.fail(seek.GetRequestId(), pulsarpb.ServerError_MetadataError, errNoSuchConsumer)
		return nil
	}
	c.traceReceived(command, size, t.name.String(), int64(seek.GetRequestId()), -1, 0)
	target := seekTarget{position: latest}
	switch {
	case seek.GetMessageId() != nil:
		target.position = positionOf(seek.GetMessageId())
		target.ackSet = seek.GetMessageId().GetAckSet()
	case seek.MessagePublishTime != nil:
		target.byTime, target.publishTime = true, seek.GetMessagePublishTime()
	default:
		c.fail(seek.GetRequestId(), pulsarpb.ServerError_MetadataError, errors.New("SEEK names neither a message nor a time"))
		return nil
	}
	answer := c.answer(seek.GetRequestId())
	if err := t.submit(c.broker.context, func() { t.seek(found.subscription, target, answer) }); err != nil {
		answer(err)
	}
	return nil
}

// GET_LAST_MESSAGE_ID: the topic's last message, and how far the subscription is.
func (c *connection) handleGetLastMessageID(command *pulsarpb.BaseCommand, size int) error {
	ask := command.GetGetLastMessageId()
	found, t := c.attached(ask.GetConsumerId())
	if t == nil {
		c.fail(ask.GetRequestId(), pulsarpb.ServerError_MetadataError, errNoSuchConsumer)
		return nil
	}
	c.traceReceived(command, size, t.name.String(), int64(ask.GetRequestId()), -1, 0)
	return c.request(func(ctx context.Context) {
		last, err := t.lastMessage(ctx)
		if err != nil {
			c.fail(ask.GetRequestId(), serverError(err), err)
			return
		}
		response := &pulsarpb.CommandGetLastMessageIdResponse{RequestId: ask.RequestId, LastMessageId: last}
		if marked, ok := t.markDeleted(ctx, found); ok {
			response.ConsumerMarkDeletePosition = &pulsarpb.MessageIdData{
				LedgerId: proto.Uint64(uint64(marked.Ledger)), EntryId: proto.Uint64(uint64(marked.Entry)),
			}
		}
		c.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_GET_LAST_MESSAGE_ID_RESPONSE.Enum(), GetLastMessageIdResponse: response})
	})
}

// CONSUMER_STATS: what the broker knows about one consumer.
func (c *connection) handleConsumerStats(command *pulsarpb.BaseCommand, _ int) error {
	ask := command.GetConsumerStats()
	response := &pulsarpb.CommandConsumerStatsResponse{RequestId: ask.RequestId}
	found, t := c.attached(ask.GetConsumerId())
	reply := func() {
		c.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_CONSUMER_STATS_RESPONSE.Enum(), ConsumerStatsResponse: response})
	}
	if t == nil {
		response.ErrorCode = pulsarpb.ServerError_ConsumerNotFound.Enum()
		response.ErrorMessage = proto.String(errNoSuchConsumer.Error())
		reply()
		return nil
	}
	return ignoreClosing(t.submit(c.broker.context, func() {
		t.fillConsumerStats(found, response)
		reply()
	}))
}
