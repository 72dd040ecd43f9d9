package broker

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/pulsar/pulsarpb"
)

// lastMessage is the id of the topic's last message: entry -1 when the topic is empty, and the last message of a batch.
func (t *topic) lastMessage(ctx context.Context) (*pulsarpb.MessageIdData, error) {
	partition := int32(t.name.Partition())
	empty := &pulsarpb.MessageIdData{
		LedgerId: proto.Uint64(^uint64(0)), EntryId: proto.Uint64(^uint64(0)), Partition: proto.Int32(partition), BatchIndex: proto.Int32(-1),
	}
	if t.log == nil {
		return nil, Refuse(ErrNotAllowed, "a non-persistent topic keeps no messages")
	}
	last := t.log.LastConfirmed()
	if last.Entry < 0 {
		return empty, nil
	}
	id := &pulsarpb.MessageIdData{
		LedgerId: proto.Uint64(uint64(last.Ledger)), EntryId: proto.Uint64(uint64(last.Entry)),
		Partition: proto.Int32(partition), BatchIndex: proto.Int32(-1),
	}
	entries, err := t.log.ReadEntries(ctx, last, 1, maxReadBytes)
	if err != nil {
		return nil, fmt.Errorf("reading the last message of %s: %w", t.name, err)
	}
	if len(entries) == 0 {
		return id, nil // trimmed: it was acknowledged by everybody; its id is still the last one
	}
	metadata, err := readMetadata(entries[0].Data)
	if err != nil {
		return nil, fmt.Errorf("reading the last message of %s: %w", t.name, err)
	}
	if metadata.NumMessagesInBatch != nil {
		id.BatchIndex = proto.Int32(metadata.GetNumMessagesInBatch() - 1)
		id.BatchSize = proto.Int32(metadata.GetNumMessagesInBatch())
	}
	return id, nil
}

// markDeleted is how far a consumer's subscription is.
func (t *topic) markDeleted(ctx context.Context, c *consumer) (managedledger.Position, bool) {
	var marked managedledger.Position
	known := false
	err := t.ask(ctx, func() {
		if s := c.subscription; s != nil && s.cursor != nil {
			marked, known = s.cursor.MarkDeleted(), true
		}
	})
	return marked, known && err == nil
}
