package managedledger

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	pb "twinlog/engine/pulsar/bookkeeperpb"
	"twinlog/engine/sentence"
)

// DescribeCursorEntry says in words what the payload of an entry of a cursor's ledger holds: how far a subscription got.
func DescribeCursorEntry(payload []byte) (sentence.Sentence, error) {
	info := &pb.PositionInfo{}
	if err := proto.Unmarshal(payload, info); err != nil {
		return sentence.Sentence{}, fmt.Errorf("a cursor's position: %w", err)
	}
	said := sentence.Of("cursorAt", "a subscription's position: all up to {position} is acknowledged", fmt.Sprintf("%d:%d", info.GetLedgerId(), info.GetEntryId()))
	if ranges := len(info.GetIndividualDeletedMessages()); ranges > 0 {
		said = sentence.Of("cursorRanges", "{what}, and {count} {count|range|ranges} behind it", said, ranges)
	}
	if batches := len(info.GetBatchedEntryDeletionIndexInfo()); batches > 0 {
		said = sentence.Of("cursorBatches", "{what}, and parts of {count} {count|batch|batches}", said, batches)
	}
	return said, nil
}
