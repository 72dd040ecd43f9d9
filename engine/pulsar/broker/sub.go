package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/pulsar/pulsarpb"
	"twinlog/engine/pulsar/subscription"
	"twinlog/engine/trace"
)

// sub drives one subscription: it tells the pure state what happens, and does what it says. It belongs to the topic's goroutine.
type sub struct {
	topic   *topic
	name    string
	durable bool
	cursor  cursor // nil while it is being opened, and for non-persistent topics
	state   *subscription.State

	open       bool
	openErr    error
	openings   []func(error) // called when it is open, or cannot be
	busy       bool          // being reset or deleted: nothing is read, who comes waits
	arrivals   []func()      // run when it is no longer busy
	stopped    bool
	consumers  map[subscription.ConsumerID]*consumer
	read       managedledger.Position // where reading goes on
	reading    bool
	generation int // of reading: what an older one brings is dropped
	failures   int
	holdUntil  time.Time // nothing is read before
	announce   bool      // a new active consumer is to be told when holdUntil is over
	timer      *time.Timer
	timerAt    time.Time

	out      traffic
	lastMove time.Time
	expired  int64

	redelivered int64                            // messages
	measuring   *time.Timer                      // nil while nothing is to be told; see gauges.go
	told        trace.PulsarSubscriptionMeasured // last
}

func (t *topic) newSub(name string, durable bool) *sub {
	s := &sub{
		topic: t, name: name, durable: durable, consumers: map[subscription.ConsumerID]*consumer{},
		state: subscription.New(subscription.Config{Type: subscription.Exclusive, Partition: t.name.Partition()}),
	}
	t.subscriptions[name] = s
	return s
}

// openSubscription opens the cursor of a subscription, making it where it is not there.
func (t *topic) openSubscription(name string, initial managedledger.Position, durable bool, properties map[string]string) *sub {
	s := t.newSub(name, durable)
	if t.log == nil {
		s.open = true
		return s
	}
	t.inBackground(func(ctx context.Context) {
		var opened cursor
		var err error
		if durable {
			opened, err = t.log.OpenCursor(ctx, encodeZnode(name), managedledger.CursorOptions{Initial: initial, CursorProperties: properties})
		} else {
			opened, err = t.log.OpenNonDurableCursor(encodeZnode(name), initial)
		}
		t.post(func() { s.opened(opened, err) })
	})
	return s
}

func (s *sub) opened(with cursor, err error) {
	if err != nil {
		s.openErr = fmt.Errorf("opening the cursor of subscription %q of %s: %w", s.name, s.topic.name, err)
		if s.topic.subscriptions[s.name] == s {
			delete(s.topic.subscriptions, s.name)
		}
	} else {
		s.cursor, s.open = with, true
		s.rewind()
		s.measureSoon()
	}
	openings := s.openings
	s.openings = nil
	for _, call := range openings {
		call(s.openErr)
	}
}

// whenOpen calls back when the cursor is open, or cannot be opened.
func (s *sub) whenOpen(call func(error)) {
	if s.open || s.openErr != nil {
		call(s.openErr)
		return
	}
	s.openings = append(s.openings, call)
}

// subscribe attaches a consumer.
func (t *topic) subscribe(c *consumer, name string, answer func(error)) {
	if t.closing {
		answer(errTopicClosing)
		return
	}
	s := t.subscriptions[name]
	if s == nil {
		s = t.openSubscription(name, c.start, c.durable, c.properties)
	}
	if s.busy {
		s.arrivals = append(s.arrivals, func() { t.subscribe(c, name, answer) })
		return
	}
	s.whenOpen(func(err error) {
		switch {
		case err != nil:
			answer(err)
		case t.closing:
			answer(errTopicClosing)
		default:
			s.join(c, answer)
		}
	})
}

func (s *sub) join(c *consumer, answer func(error)) {
	if s.durable != c.durable && len(s.consumers) > 0 {
		answer(Refuse(ErrNotAllowed, "a durable and a non-durable consumer cannot share subscription %q", s.name))
		return
	}
	if err := s.state.SetType(c.kind); err != nil {
		answer(err)
		return
	}
	s.topic.nextConsumer++
	c.key = subscription.ConsumerID(s.topic.nextConsumer)
	effects, err := s.state.AddConsumer(subscription.Consumer{
		ID: c.key, Name: c.name, Priority: c.priority, Sticky: c.sticky, OutOfOrder: c.outOfOrder,
	})
	if errors.Is(err, subscription.ErrBusy) {
		s.challenge(c, answer)
		return
	}
	if err != nil {
		answer(err)
		return
	}
	c.subscription = s
	s.consumers[c.key] = c
	c.topic.Store(s.topic)
	if !c.conn.holdsConsumer(c) {
		s.leave(c)
		return
	}
	s.topic.lastActive = time.Now()
	s.topic.broker.tracer.Emit(trace.PulsarConsumerAttached{
		Topic: s.topic.name.String(), Subscription: s.name, Type: s.state.Type().String(), Consumer: c.traceName(), Name: c.name, Client: c.conn.remote,
	})
	// The client knows of its consumer only after SUCCESS: what concerns the consumer follows it.
	answer(nil)
	s.apply(effects)
	s.dispatch()
	s.measureSoon()
}

// traceName is unique within the broker.
func (c *consumer) traceName() string { return fmt.Sprintf("%s/%d", c.conn.remote, c.id) }

// challenge: the subscription is taken; perhaps by a consumer whose client is gone without a word.
func (s *sub) challenge(c *consumer, answer func(error)) {
	var holder *consumer
	for _, other := range s.consumers {
		holder = other
	}
	if holder == nil || holder.conn == c.conn {
		answer(subscription.ErrBusy)
		return
	}
	holder.conn.alive(func(alive bool) {
		handed := s.topic.post(func() {
			if s.consumers[holder.key] == holder {
				if alive {
					answer(subscription.ErrBusy)
					return
				}
				s.topic.removeConsumer(holder)
			}
			s.topic.subscribe(c, s.name, answer)
		})
		if !handed {
			answer(errTopicClosing)
		}
	})
}

// apply does what a change among the consumers asks for. A new active consumer of a Failover subscription waits, so that the one
// before it can acknowledge what it has; then it is told, and reading starts again.
func (s *sub) apply(effects subscription.Effects) {
	switch {
	case effects.Rewind && s.state.Type() == subscription.Failover:
		s.generation++
		s.reading = false
		s.holdUntil = time.Now().Add(s.topic.broker.config.FailoverDelay)
		s.announce = effects.HasActive
	case effects.Rewind:
		s.rewind()
		s.traceActive()
	case s.state.Type() == subscription.Failover && !s.announce:
		for _, change := range effects.Active {
			s.tellActive(s.consumers[change.Consumer], change.Active)
		}
	}
}

// announceActive ends the wait of a new active consumer.
func (s *sub) announceActive() {
	s.announce = false
	s.rewind()
	for _, status := range s.state.Consumers() {
		s.tellActive(s.consumers[status.ID], status.Active)
	}
	s.traceActive()
}

func (s *sub) tellActive(c *consumer, active bool) {
	if c == nil {
		return
	}
	c.conn.send(&pulsarpb.BaseCommand{
		Type:                 pulsarpb.BaseCommand_ACTIVE_CONSUMER_CHANGE.Enum(),
		ActiveConsumerChange: &pulsarpb.CommandActiveConsumerChange{ConsumerId: proto.Uint64(c.id), IsActive: proto.Bool(active)},
	})
}

func (s *sub) traceActive() {
	for _, status := range s.state.Consumers() {
		if c := s.consumers[status.ID]; c != nil && status.Active {
			s.topic.broker.tracer.Emit(trace.PulsarActiveConsumerChanged{Topic: s.topic.name.String(), Subscription: s.name, Consumer: c.traceName()})
		}
	}
}

// removeConsumer lets a consumer go. The subscription of a reader goes with its last consumer.
func (t *topic) removeConsumer(c *consumer) {
	if s := c.subscription; s != nil {
		s.leave(c)
	}
}

func (s *sub) leave(c *consumer) {
	if s.consumers[c.key] != c {
		return
	}
	delete(s.consumers, c.key)
	effects := s.state.RemoveConsumer(c.key)
	s.topic.lastActive = time.Now()
	s.topic.broker.tracer.Emit(trace.PulsarConsumerDetached{Topic: s.topic.name.String(), Subscription: s.name, Consumer: c.traceName()})
	if s.stopped {
		return
	}
	s.apply(effects)
	s.measureSoon()
	if len(s.consumers) == 0 && !s.durable && !s.busy {
		s.discard()
		return
	}
	s.dispatch()
}

// discard ends a subscription that is not stored.
func (s *sub) discard() {
	s.stop()
	if s.topic.subscriptions[s.name] == s {
		delete(s.topic.subscriptions, s.name)
	}
	if closing := s.cursor; closing != nil {
		s.topic.inBackground(func(ctx context.Context) {
			if err := closing.Close(ctx); err != nil {
				s.topic.broker.logger.Debug("closing a reader's cursor", "topic", s.topic.name.String(), "error", err)
			}
		})
	}
}

// disconnect closes every consumer; their clients subscribe again.
func (s *sub) disconnect() {
	keys := make([]subscription.ConsumerID, 0, len(s.consumers))
	for key := range s.consumers {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		c := s.consumers[key]
		delete(s.consumers, key)
		s.state.RemoveConsumer(key)
		s.topic.broker.tracer.Emit(trace.PulsarConsumerDetached{Topic: s.topic.name.String(), Subscription: s.name, Consumer: c.traceName()})
		c.conn.closeConsumer(c)
	}
}

// stop ends reading for good.
func (s *sub) stop() {
	s.stopped = true
	s.generation++
	for _, timer := range []*time.Timer{s.timer, s.measuring} {
		if timer != nil {
			timer.Stop()
		}
	}
	arrivals := s.arrivals
	s.arrivals = nil
	for _, arrival := range arrivals {
		arrival()
	}
}

// rewind goes back to the first message that is not acknowledged.
func (s *sub) rewind() {
	s.generation++
	s.reading = false
	if s.cursor != nil {
		marked := s.cursor.MarkDeleted()
		s.read = managedledger.Position{Ledger: marked.Ledger, Entry: marked.Entry + 1}
	}
}

// redeliver sends messages again: Shared and Key_Shared the named ones, Exclusive and Failover everything not acknowledged.
func (t *topic) redeliver(c *consumer, positions []subscription.Position, epoch *uint64) {
	s := c.subscription
	if s == nil || s.consumers[c.key] != c {
		return
	}
	if epoch != nil {
		c.epoch = epoch
	}
	if s.state.Redeliver(c.key, positions) {
		s.rewind()
	}
	s.dispatch()
	s.measureSoon()
}

func (t *topic) flow(c *consumer, permits int) {
	s := c.subscription
	if s == nil || s.consumers[c.key] != c {
		return
	}
	c.lastFlow = time.Now()
	s.state.Flow(c.key, permits)
	s.dispatch()
}
