package broker

import (
	"context"
	"errors"
	"fmt"

	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/trace"
)

// UnloadTopic closes a topic; the next client loads it again. ErrNotFound when it is not loaded here.
func (b *Broker) UnloadTopic(ctx context.Context, name TopicName) error {
	t := b.topics.loadedTopic(name)
	if t == nil {
		return Refuse(ErrNotFound, "Topic not found: %s is not loaded on %s", name, b.id)
	}
	return b.topics.closeTopic(ctx, t, closeFor(trace.ReasonUnload))
}

// ErrInUse: the topic or subscription has clients, and force was not given.
var ErrInUse = errors.New("Topic has active producers/subscriptions")

// DeleteTopic deletes a topic with everything that is stored of it. With force its clients are disconnected first.
func (b *Broker) DeleteTopic(ctx context.Context, name TopicName, force bool) error {
	t, err := b.topicForClient(ctx, name, false)
	if errors.Is(err, errTopicNotFound) {
		return Refuse(ErrNotFound, "Topic not found: %s", name)
	}
	if err != nil {
		return err
	}
	inUse := false
	if err := t.ask(ctx, func() { inUse = len(t.producers) > 0 || len(t.subscriptions) > 0 }); err != nil {
		return err
	}
	if inUse && !force {
		return Refuse(ErrInUse, "%v: %s", ErrInUse, name)
	}
	err = b.topics.closeTopic(ctx, t, func(ctx context.Context, t *topic) error { return t.delete(ctx) })
	if errors.Is(err, managedledger.ErrNotFound) {
		err = nil
	}
	return err
}

// delete ends the topic here and everywhere.
func (t *topic) delete(ctx context.Context) error {
	t.post(func() { t.startClosing(trace.ReasonDeleted) })
	select {
	case <-t.done:
	case <-ctx.Done():
		t.post(t.abandonAdds)
		<-t.done
	}
	t.cancel()
	t.reads.Wait()
	if t.log != nil {
		if err := t.log.Delete(ctx); err != nil {
			return fmt.Errorf("deleting topic %s: %w", t.name, err)
		}
	}
	t.broker.tracer.Emit(trace.PulsarTopicDeleted{Topic: t.name.String()})
	t.broker.reportSoon()
	return nil
}
