package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/trace"
)

// occupy keeps everybody away while work that waits for storage runs; then those who came meanwhile are served.
func (s *sub) occupy(work func(ctx context.Context) error, done func(error)) {
	s.busy = true
	s.topic.inBackground(func(ctx context.Context) {
		err := work(ctx)
		s.topic.post(func() {
			s.busy = false
			done(err)
			arrivals := s.arrivals
			s.arrivals = nil
			for _, arrival := range arrivals {
				arrival()
			}
			s.dispatch()
		})
	})
}

// seekTarget is where a subscription is to be set.
type seekTarget struct {
	position    managedledger.Position
	ackSet      []int64
	byTime      bool
	publishTime uint64 // ms since 1970
}

// seek sets a subscription to another position. Its consumers are closed first, on living connections; no message follows until
// they subscribed again.
func (t *topic) seek(s *sub, target seekTarget, answer func(error)) {
	switch {
	case t.closing || s.stopped:
		answer(errTopicClosing)
		return
	case t.log == nil:
		answer(Refuse(ErrNotAllowed, "a non-persistent topic has no past to seek in"))
		return
	case s.busy || !s.open:
		answer(Refuse(ErrConflict, "subscription %q is being reset or deleted", s.name))
		return
	}
	s.disconnect()
	s.state.Reset()
	s.generation++
	s.reading = false
	s.occupy(func(ctx context.Context) error {
		position, err := t.resolve(ctx, target)
		if err != nil {
			return err
		}
		return s.cursor.Reset(ctx, position)
	}, func(err error) {
		s.rewind()
		answer(err)
		if err == nil {
			s.moved()
		}
	})
}

// resolve finds the position that a seek means: by time, the first message that was published at or after it.
func (t *topic) resolve(ctx context.Context, target seekTarget) (managedledger.Position, error) {
	if !target.byTime {
		return target.position, nil
	}
	before, found, err := t.log.FindLast(ctx, func(entry managedledger.Entry) (bool, error) {
		metadata, err := readMetadata(entry.Data)
		if err != nil {
			return false, err
		}
		return metadata.GetPublishTime() < target.publishTime, nil
	})
	if err != nil {
		return managedledger.Position{}, fmt.Errorf("looking for the first message since %d: %w", target.publishTime, err)
	}
	if !found {
		return earliest, nil
	}
	return t.log.Next(before), nil
}

// unsubscribe deletes a subscription, asked by one of its consumers.
func (t *topic) unsubscribe(c *consumer, force bool, answer func(error)) {
	s := c.subscription
	if t.closing || s == nil || s.stopped {
		answer(errTopicClosing)
		return
	}
	if len(s.consumers) > 1 && !force {
		answer(errConsumersRemain)
		return
	}
	if s.consumers[c.key] == c {
		s.leaveQuietly(c)
	}
	c.conn.dropConsumer(c)
	s.disconnect()
	t.deleteSubscription(s, answer)
}

// leaveQuietly takes a consumer off that asked for the end of the subscription itself.
func (s *sub) leaveQuietly(c *consumer) {
	delete(s.consumers, c.key)
	s.state.RemoveConsumer(c.key)
	s.topic.broker.tracer.Emit(trace.PulsarConsumerDetached{Topic: s.topic.name.String(), Subscription: s.name, Consumer: c.traceName()})
}

// deleteSubscription removes a subscription that has no consumers any more.
func (t *topic) deleteSubscription(s *sub, answer func(error)) {
	finish := func(err error) {
		if err != nil && !errors.Is(err, managedledger.ErrNotFound) {
			answer(err)
			return
		}
		s.stopped = true
		if t.subscriptions[s.name] == s {
			delete(t.subscriptions, s.name)
		}
		t.lastActive = time.Now()
		t.broker.tracer.Emit(trace.PulsarSubscriptionDeleted{Topic: t.name.String(), Subscription: s.name})
		answer(nil)
	}
	if t.log == nil || !s.durable {
		s.stop()
		finish(nil)
		return
	}
	s.occupy(func(ctx context.Context) error { return t.log.DeleteCursor(ctx, encodeZnode(s.name)) }, finish)
}
