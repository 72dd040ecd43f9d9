package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"twinlog/engine/pulsar/managedledger"
)

// internalListener marks the connections of the internal HTTP port, so that lookups over them answer with internal addresses.
type internalListener struct{ net.Listener }

type internalConnection struct{ net.Conn }

// Accept is net.Listener's.
func (l internalListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return internalConnection{conn}, nil
}

// existingTopic returns a topic that is served here and exists; it creates none.
func (b *Broker) existingTopic(ctx context.Context, name TopicName) (*topic, error) {
	if !name.IsPersistent() {
		if t := b.topics.loadedTopic(name); t != nil {
			return t, nil
		}
		return nil, Refuse(ErrNotFound, "Topic not found: %s", name)
	}
	t, err := b.topicForClient(ctx, name, false)
	if errors.Is(err, errTopicNotFound) || errors.Is(err, errPartitionRefused) {
		return nil, Refuse(ErrNotFound, "Topic not found: %s", name)
	}
	return t, err
}

// CreateTopic creates a topic without partitions; ErrExists when there is one of the name.
func (b *Broker) CreateTopic(ctx context.Context, name TopicName, properties map[string]string) error {
	there, err := b.TopicExists(ctx, name)
	if err != nil {
		return err
	}
	if there {
		return Refuse(ErrExists, "This topic already exists: %s", name)
	}
	t, err := b.topicForClient(ctx, name, true)
	if err != nil {
		return err
	}
	if t.log == nil || len(properties) == 0 {
		return nil
	}
	return t.log.SetProperties(ctx, properties)
}

// Subscriptions lists a topic's subscriptions, sorted.
func (b *Broker) Subscriptions(ctx context.Context, name TopicName) ([]string, error) {
	t, err := b.existingTopic(ctx, name)
	if err != nil {
		return nil, err
	}
	names := []string{}
	err = t.ask(ctx, func() {
		for name := range t.subscriptions {
			names = append(names, name)
		}
	})
	slices.Sort(names)
	return names, err
}

// CreateSubscription makes a subscription that begins at a position.
func (b *Broker) CreateSubscription(ctx context.Context, topicName TopicName, name string, initial managedledger.Position, properties map[string]string) error {
	t, err := b.topicForClient(ctx, topicName, true)
	if err != nil {
		return err
	}
	err = t.createSubscription(ctx, name, initial, properties)
	if errors.Is(err, ErrExists) {
		return Refuse(ErrExists, "Subscription already exists for topic %s", topicName)
	}
	return err
}

// DeleteSubscription deletes a subscription; one with consumers only with force, which disconnects them.
func (b *Broker) DeleteSubscription(ctx context.Context, topicName TopicName, name string, force bool) error {
	return b.onSubscription(ctx, topicName, name, func(t *topic, s *sub, answer func(error)) {
		if len(s.consumers) > 0 && !force {
			answer(Refuse(ErrPreconditionFailed, "Subscription has active connected consumers"))
			return
		}
		s.disconnect()
		t.deleteSubscription(s, answer)
	})
}

// onSubscription runs an operation on a subscription in its topic's goroutine and waits for its answer.
func (b *Broker) onSubscription(ctx context.Context, topicName TopicName, name string, operation func(*topic, *sub, func(error))) error {
	t, err := b.existingTopic(ctx, topicName)
	if err != nil {
		return err
	}
	result := make(chan error, 1)
	err = t.submit(ctx, func() {
		s := t.subscriptions[name]
		switch {
		case t.closing:
			result <- errTopicClosing
		case s == nil:
			result <- Refuse(ErrNotFound, "Subscription %s not found for topic %s", name, topicName)
		case s.busy:
			result <- Refuse(ErrConflict, "subscription %s is being reset or deleted", name)
		default:
			operation(t, s, func(err error) { result <- err })
		}
	})
	if err != nil {
		return err
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// SeekSubscription sets a subscription to a message, or to a time when the position is nil.
func (b *Broker) SeekSubscription(ctx context.Context, topicName TopicName, name string, position *managedledger.Position, publishTime time.Time) error {
	target := seekTarget{byTime: true, publishTime: uint64(max(0, publishTime.UnixMilli()))}
	if position != nil {
		target = seekTarget{position: *position}
	}
	return b.onSubscription(ctx, topicName, name, func(t *topic, s *sub, answer func(error)) { t.seek(s, target, answer) })
}

// SkipMessages acknowledges the next n messages of a subscription, all of them when n is negative.
func (b *Broker) SkipMessages(ctx context.Context, topicName TopicName, name string, n int64) error {
	return b.onSubscription(ctx, topicName, name, func(t *topic, s *sub, answer func(error)) {
		if s.cursor == nil {
			answer(Refuse(ErrBadRequest, "a non-persistent topic keeps no backlog"))
			return
		}
		s.state.Reset()
		s.generation++
		s.reading = false
		s.occupy(func(ctx context.Context) error {
			if n < 0 {
				return s.cursor.ClearBacklog(ctx)
			}
			return s.cursor.Skip(ctx, n)
		}, func(err error) {
			s.rewind()
			s.moved()
			answer(err)
		})
	})
}

// ExpireMessages acknowledges what is older than age, for one subscription or, with an empty name, for all.
func (b *Broker) ExpireMessages(ctx context.Context, topicName TopicName, name string, age time.Duration) error {
	t, err := b.existingTopic(ctx, topicName)
	if err != nil {
		return err
	}
	if t.log == nil {
		return Refuse(ErrBadRequest, "a non-persistent topic keeps no messages")
	}
	return t.expire(ctx, name, age)
}

// Terminate seals a topic for ever: it can still be read. It returns the last message's position, entry -1 when there is none.
func (b *Broker) Terminate(ctx context.Context, name TopicName) (managedledger.Position, error) {
	t, err := b.existingTopic(ctx, name)
	if err != nil {
		return managedledger.Position{}, err
	}
	if t.log == nil {
		return managedledger.Position{}, Refuse(ErrNotAllowed, "Termination of a non-persistent topic is not allowed")
	}
	last, err := t.log.Terminate(ctx)
	if err != nil {
		return managedledger.Position{}, fmt.Errorf("terminating topic %s: %w", name, err)
	}
	return last, t.ask(ctx, func() {
		t.disconnectProducers()
		t.dispatchAll()
	})
}

// ErrNotAllowed: the operation makes no sense for the topic.
var ErrNotAllowed = errors.New("not allowed")

// LastMessage is the position of a topic's last message, and its index in the last batch, -1 when that is no batch.
func (b *Broker) LastMessage(ctx context.Context, name TopicName) (managedledger.Position, int, error) {
	t, err := b.existingTopic(ctx, name)
	if err != nil {
		return managedledger.Position{}, 0, err
	}
	id, err := t.lastMessage(ctx)
	if err != nil {
		return managedledger.Position{}, 0, err
	}
	return managedledger.Position{Ledger: int64(id.GetLedgerId()), Entry: int64(id.GetEntryId())}, int(id.GetBatchIndex()), nil
}

// MessageAt finds the first message that was published at or after a time.
func (b *Broker) MessageAt(ctx context.Context, name TopicName, at time.Time) (managedledger.Position, error) {
	t, err := b.existingTopic(ctx, name)
	if err != nil || t.log == nil {
		return managedledger.Position{}, cmpError(err, ErrNotAllowed)
	}
	position, err := t.resolve(ctx, seekTarget{byTime: true, publishTime: uint64(max(0, at.UnixMilli()))})
	if err == nil && position == earliest {
		position = t.log.Next(t.log.First())
	}
	return position, err
}

// ReadMessage reads one stored entry: its headers and its payload as the producer sent them.
func (b *Broker) ReadMessage(ctx context.Context, name TopicName, at managedledger.Position) (StoredMessage, error) {
	t, err := b.existingTopic(ctx, name)
	if err != nil || t.log == nil {
		return StoredMessage{}, cmpError(err, ErrNotAllowed)
	}
	return t.readMessage(ctx, at)
}

// PeekMessage reads the n-th message (from 1) that a subscription has not acknowledged.
func (b *Broker) PeekMessage(ctx context.Context, name TopicName, subscriptionName string, n int) (StoredMessage, error) {
	var found StoredMessage
	err := b.onSubscription(ctx, name, subscriptionName, func(t *topic, s *sub, answer func(error)) {
		if s.cursor == nil {
			answer(ErrNotAllowed)
			return
		}
		marked := s.cursor.MarkDeleted()
		t.inBackground(func(ctx context.Context) {
			from := managedledger.Position{Ledger: marked.Ledger, Entry: marked.Entry + 1}
			left := max(1, n)
			for {
				entries, next, err := s.cursor.Read(ctx, from, left, maxReadBytes)
				if err != nil {
					answer(err)
					return
				}
				if len(entries) >= left {
					found, err = t.readMessage(ctx, entries[left-1].Position)
					answer(err)
					return
				}
				if len(entries) == 0 && next.Compare(t.log.LastConfirmed()) > 0 || next == from {
					answer(Refuse(ErrNotFound, "Message not found: subscription %s of %s has no %d messages left", subscriptionName, name, n))
					return
				}
				left -= len(entries)
				from = next
			}
		})
	})
	return found, err
}

// StoredMessage is one entry as it is stored.
type StoredMessage struct {
	Position   managedledger.Position
	Producer   string
	Published  time.Time
	Properties map[string]string
	Batch      int // messages in it, 0 when it is no batch
	Payload    []byte
}

func (t *topic) readMessage(ctx context.Context, at managedledger.Position) (StoredMessage, error) {
	entries, err := t.log.ReadEntries(ctx, at, 1, maxReadBytes)
	if err != nil {
		return StoredMessage{}, err
	}
	if len(entries) == 0 || entries[0].Position != at {
		return StoredMessage{}, Refuse(ErrNotFound, "Message not found: %v of %s", at, t.name)
	}
	metadata, err := readMetadata(entries[0].Data)
	if err != nil {
		return StoredMessage{}, err
	}
	_, payload, err := splitMessage(entries[0].Data, false)
	if err != nil {
		return StoredMessage{}, err
	}
	message := StoredMessage{
		Position: at, Producer: metadata.GetProducerName(), Published: time.UnixMilli(int64(metadata.GetPublishTime())),
		Properties: pairs(metadata.GetProperties()), Payload: payload,
	}
	if metadata.NumMessagesInBatch != nil {
		message.Batch = int(metadata.GetNumMessagesInBatch())
	}
	return message, nil
}

// TopicProperties are the key-value pairs that a topic was given.
func (b *Broker) TopicProperties(ctx context.Context, name TopicName) (map[string]string, error) {
	t, err := b.existingTopic(ctx, name)
	if err != nil {
		return nil, err
	}
	if t.log == nil {
		return map[string]string{}, nil
	}
	properties := maps.Clone(t.log.Properties())
	delete(properties, topicEpochProperty)
	return properties, nil
}

// ChangeTopicProperties changes them. The topic's own bookkeeping among them stays.
func (b *Broker) ChangeTopicProperties(ctx context.Context, name TopicName, change func(map[string]string)) error {
	t, err := b.existingTopic(ctx, name)
	if err != nil {
		return err
	}
	if t.log == nil {
		return Refuse(ErrNotAllowed, "a non-persistent topic has no properties")
	}
	properties := maps.Clone(t.log.Properties())
	if properties == nil {
		properties = map[string]string{}
	}
	epoch, hasEpoch := properties[topicEpochProperty]
	change(properties)
	if hasEpoch {
		properties[topicEpochProperty] = epoch
	}
	return t.log.SetProperties(ctx, properties)
}

// ChangePartitionedProperties changes the properties of a partitioned topic.
func (b *Broker) ChangePartitionedProperties(name TopicName, change func(map[string]string)) error {
	for {
		var metadata PartitionedTopic
		version, err := b.readJSON(partitionedZnode(name), &metadata)
		if err != nil {
			return err
		}
		if metadata.Properties == nil {
			metadata.Properties = map[string]string{}
		}
		change(metadata.Properties)
		if err := b.writeJSON(partitionedZnode(name), metadata, version); !errors.Is(err, ErrConflict) {
			return err
		}
	}
}
