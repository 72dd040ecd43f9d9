package broker

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/pulsar/pulsarpb"
	"twinlog/engine/pulsar/subscription"
	"twinlog/engine/trace"
)

const (
	// maxReadBytes bounds one read of a subscription.
	maxReadBytes = 1 << 20
	// After failed reads the next one waits, twice as long each time.
	firstReadRetry = 100 * time.Millisecond
	lastReadRetry  = 5 * time.Second
)

// dispatchAll lets every subscription look for something to send: a message was stored.
func (t *topic) dispatchAll() {
	for _, s := range t.subscriptions {
		s.dispatch()
	}
}

// dispatch starts the next read, if there is something to read and somebody to send it to.
func (s *sub) dispatch() {
	if s.reading || s.busy || s.stopped || !s.open || len(s.consumers) == 0 {
		return
	}
	now := time.Now()
	if now.Before(s.holdUntil) {
		s.wakeAt(s.holdUntil)
		return
	}
	if s.announce {
		s.announceActive()
	}
	if s.cursor == nil {
		return // a non-persistent topic: nothing to read
	}
	for _, c := range s.consumers {
		s.holdIfFull(c)
	}
	if next := s.state.Due(now); !next.IsZero() {
		s.wakeAt(next)
	}
	plan := s.state.Plan()
	switch {
	case len(plan.Replay) > 0:
		s.readReplay(plan.Replay)
	case plan.Forward > 0 && s.read.Compare(s.topic.log.LastConfirmed()) <= 0:
		s.readForward(plan.Forward)
	}
}

// wakeAt dispatches again at a time, unless an earlier one is set.
func (s *sub) wakeAt(at time.Time) {
	now := time.Now()
	if s.timerAt.After(now) && !at.Before(s.timerAt) {
		return
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	s.timerAt = at
	s.timer = time.AfterFunc(at.Sub(now), func() {
		s.topic.post(func() {
			s.timerAt = time.Time{}
			s.dispatch()
		})
	})
}

func (s *sub) readForward(entries int) {
	s.reading = true
	from, generation := s.read, s.generation
	s.topic.inBackground(func(ctx context.Context) {
		read, next, err := s.cursor.Read(ctx, from, entries, maxReadBytes)
		s.topic.post(func() { s.haveRead(generation, read, next, err) })
	})
}

func (s *sub) haveRead(generation int, entries []managedledger.Entry, next managedledger.Position, err error) {
	if generation != s.generation {
		return // rewound or reset meanwhile: that read is under way already
	}
	s.reading = false
	if err != nil {
		s.readFailed(err)
		return
	}
	s.failures = 0
	progressed := len(entries) > 0 || next.Compare(s.read) > 0
	rest := s.deliver(entries)
	switch {
	case rest < len(entries):
		s.read = entries[rest].Position
	default:
		s.read = next
	}
	if progressed {
		s.dispatch()
	}
}

// readReplay reads entries again that are to be sent again. One that is not there any more was acknowledged.
func (s *sub) readReplay(positions []subscription.Position) {
	s.reading = true
	generation := s.generation
	s.topic.inBackground(func(ctx context.Context) {
		entries, err := s.readEach(ctx, positions)
		s.topic.post(func() {
			if generation != s.generation {
				return
			}
			s.reading = false
			if err != nil {
				s.readFailed(err)
				return
			}
			s.failures = 0
			found := make(map[subscription.Position]bool, len(entries))
			for _, entry := range entries {
				found[subscription.Position(entry.Position)] = true
			}
			for _, position := range positions {
				if !found[position] {
					s.state.Acked(position)
				}
			}
			s.deliver(entries)
			s.dispatch()
		})
	})
}

// readEach reads the entries at positions that are in order; neighbours are read together.
func (s *sub) readEach(ctx context.Context, positions []subscription.Position) ([]managedledger.Entry, error) {
	var found []managedledger.Entry
	bytes := 0
	for i := 0; i < len(positions) && bytes < maxReadBytes; {
		run := 1
		for i+run < len(positions) && positions[i+run] == positions[i+run-1].Next() {
			run++
		}
		entries, err := s.topic.log.ReadEntries(ctx, managedledger.Position(positions[i]), run, maxReadBytes)
		if err != nil {
			return nil, err
		}
		wanted := positions[i : i+run]
		for _, entry := range entries {
			for len(wanted) > 0 && wanted[0].Compare(subscription.Position(entry.Position)) < 0 {
				wanted = wanted[1:]
			}
			if len(wanted) > 0 && wanted[0] == subscription.Position(entry.Position) && !s.cursor.IsDeleted(entry.Position) {
				found = append(found, entry)
				bytes += len(entry.Data)
			}
		}
		i += run
	}
	return found, nil
}

func (s *sub) readFailed(err error) {
	if errors.Is(err, managedledger.ErrFenced) || errors.Is(err, managedledger.ErrClosed) || s.topic.context.Err() != nil {
		return // the topic goes away, and its clients with it
	}
	s.failures++
	pause := min(firstReadRetry<<min(s.failures-1, 6), lastReadRetry)
	s.topic.broker.logger.Warn("reading for a subscription failed", "topic", s.topic.name.String(), "subscription", s.name, "retry", pause, "error", err)
	s.holdUntil = time.Now().Add(pause)
	s.wakeAt(s.holdUntil)
}

// deliver hands entries out and returns the index of the first one that is to be read again.
func (s *sub) deliver(entries []managedledger.Entry) (rest int) {
	now := time.Now()
	described := make([]subscription.Entry, 0, len(entries))
	index := make([]int, 0, len(entries))
	for i, entry := range entries {
		if s.cursor.IsDeleted(entry.Position) {
			continue // acknowledged between the read and now
		}
		described = append(described, s.describe(entry))
		index = append(index, i)
	}
	deliveries, rest := s.state.Dispatch(described, now)
	for _, delivery := range deliveries {
		s.sendEntry(delivery, entries[index[delivery.Index]], described[delivery.Index].Messages)
	}
	if rest < len(described) {
		return index[rest]
	}
	return len(entries)
}

// describe says what the dispatch decision has to know about an entry.
func (s *sub) describe(entry managedledger.Entry) subscription.Entry {
	described := subscription.Entry{Position: subscription.Position(entry.Position), Messages: 1}
	metadata, err := readMetadata(entry.Data)
	if err != nil {
		return described // stored as it came; its consumer will say what is wrong with it
	}
	if metadata.NumMessagesInBatch != nil {
		described.Messages = max(1, int(metadata.GetNumMessagesInBatch()))
		if left := s.ackSet(entry.Position); left != nil {
			described.Messages = max(1, subscription.AckSet(left).Remaining())
		}
	}
	if s.state.Type() == subscription.KeyShared {
		described.Slot = subscription.KeyHash(stickyKey(metadata))
	}
	if metadata.GetNumChunksFromMsg() > 1 {
		described.Chunk = metadata.GetUuid()
		described.Last = metadata.GetChunkId() == metadata.GetNumChunksFromMsg()-1
	}
	if at := metadata.GetDeliverAtTime(); at > 0 {
		// The producer cut its time down to milliseconds; the next one is the first that is surely not too early.
		described.NotYet = time.UnixMilli(at + 1)
	}
	return described
}

func (s *sub) ackSet(position managedledger.Position) []int64 {
	if s.cursor == nil {
		return nil
	}
	return s.cursor.AckSet(position)
}

// stickyKey is what Key_Shared keeps together: the ordering key, else the key, else nothing but the message itself.
func stickyKey(metadata *pulsarpb.MessageMetadata) []byte {
	if metadata.OrderingKey != nil {
		return metadata.GetOrderingKey()
	}
	if metadata.PartitionKey != nil {
		if metadata.GetPartitionKeyB64Encoded() {
			if key, err := base64.StdEncoding.DecodeString(metadata.GetPartitionKey()); err == nil {
				return key
			}
		}
		return []byte(metadata.GetPartitionKey())
	}
	return fmt.Appendf(nil, "%s-%d", metadata.GetProducerName(), metadata.GetSequenceId())
}

// sendEntry sends the stored bytes of an entry to a consumer.
func (s *sub) sendEntry(delivery subscription.Delivery, entry managedledger.Entry, messages int) {
	c := s.consumers[delivery.Consumer]
	if c == nil {
		return
	}
	command := &pulsarpb.BaseCommand{
		Type: pulsarpb.BaseCommand_MESSAGE.Enum(),
		Message: &pulsarpb.CommandMessage{
			ConsumerId: proto.Uint64(c.id),
			MessageId: &pulsarpb.MessageIdData{
				LedgerId: proto.Uint64(uint64(entry.Position.Ledger)), EntryId: proto.Uint64(uint64(entry.Position.Entry)),
				Partition: proto.Int32(int32(s.topic.name.Partition())),
			},
			RedeliveryCount: proto.Uint32(delivery.Redeliveries),
			AckSet:          s.ackSet(entry.Position),
			ConsumerEpoch:   c.epoch,
		},
	}
	frame := c.conn.sendPayload(command, entry.Data)
	now := time.Now()
	c.lastConsumed = now
	c.sent.add(messages, len(entry.Data))
	s.out.add(messages, len(entry.Data))
	s.topic.broker.flowed.out(messages, len(entry.Data))
	if delivery.Redeliveries > 0 {
		s.redelivered += int64(messages)
		c.redelivered.add(messages, len(entry.Data))
	}
	t := s.topic
	t.broker.tracer.Emit(trace.PulsarDispatched{
		Topic: t.name.String(), Subscription: s.name, Consumer: c.traceName(), Ledger: entry.Position.Ledger, Entry: entry.Position.Entry,
		Messages: messages, FromCache: entry.FromCache,
	})
	c.conn.traceSent(command, frame, t.name.String(), -1, entry.Position.Entry, messages)
	s.measureSoon()
}

// holdIfFull stops reading for a consumer while its connection has enough to write.
func (s *sub) holdIfFull(c *consumer) {
	if c.held {
		return
	}
	c.held = c.conn.out.full(func() {
		s.topic.post(func() {
			c.held = false
			s.state.Hold(c.key, false)
			s.dispatch()
		})
	})
	if c.held {
		s.state.Hold(c.key, true)
	}
}

// publishNow is a non-persistent topic: what finds a consumer with permits is sent, everything else is gone.
func (t *topic) publishNow(m *publish) {
	m.release(t)
	t.entryCounter++
	position := managedledger.Position{Ledger: 0, Entry: t.entryCounter - 1}
	t.in.add(m.messages, len(m.data))
	t.broker.flowed.in(m.messages, len(m.data))
	m.producer.sent.add(m.messages, len(m.data))
	t.lastActive = time.Now()
	for _, s := range t.subscriptions {
		entry := managedledger.Entry{Position: position, Data: m.data, FromCache: true}
		described := s.describe(entry)
		described.NotYet = time.Time{}
		deliveries, _ := s.state.Dispatch([]subscription.Entry{described}, time.Now())
		for _, delivery := range deliveries {
			s.sendEntry(delivery, entry, described.Messages)
		}
		s.state.Acked(described.Position)
	}
	t.broker.tracer.Emit(trace.PulsarPublished{
		Topic: t.name.String(), Ledger: position.Ledger, Entry: position.Entry, Messages: m.messages, Bytes: int64(len(m.data)),
	})
	t.receipt(m, position)
}
