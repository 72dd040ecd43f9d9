package managedledger

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	pb "twinlog/engine/pulsar/bookkeeperpb"
)

// DescribeCursorEntry says in words what the payload of an entry of a cursor's ledger holds: how far a subscription got.
func DescribeCursorEntry(payload []byte) (string, error) {
	info := &pb.PositionInfo{}
	if err := proto.Unmarshal(payload, info); err != nil {
		return "", fmt.Errorf("a cursor's position: %w", err)
	}
	text := fmt.Sprintf("a subscription's position: all up to %d:%d is acknowledged", info.GetLedgerId(), info.GetEntryId())
	if ranges := len(info.GetIndividualDeletedMessages()); ranges > 0 {
		text += fmt.Sprintf(", and %d ranges behind it", ranges)
	}
	if batches := len(info.GetBatchedEntryDeletionIndexInfo()); batches > 0 {
		text += fmt.Sprintf(", and parts of %d batches", batches)
	}
	return text, nil
}
