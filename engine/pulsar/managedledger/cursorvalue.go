package managedledger

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	pb "twinlog/engine/pulsar/bookkeeperpb"
)

const (
	// maxStoredRanges and maxStoredBatches bound what is stored about a cursor in its ledger; what is beyond is delivered again after a
	// crash.
	maxStoredRanges  = 10_000
	maxStoredBatches = 10_000
	// maxZnodeRanges: a cursor with more ranges than that is not put into its znode when it is closed.
	maxZnodeRanges = 1000
)

// positionInfo is the value of an entry of a cursor ledger.
func (a *acknowledged) positionInfo() *pb.PositionInfo {
	return &pb.PositionInfo{
		LedgerId: proto.Int64(a.markDelete.Ledger), EntryId: proto.Int64(a.markDelete.Entry),
		IndividualDeletedMessages: a.rangeMessages(), Properties: longProperties(a.properties), BatchedEntryDeletionIndexInfo: a.batchMessages(),
	}
}

func (a *acknowledged) rangeMessages() (messages []*pb.MessageRange) {
	for _, r := range a.ranges[:min(len(a.ranges), maxStoredRanges)] {
		open := Position{Ledger: r.First.Ledger, Entry: r.First.Entry - 1}
		messages = append(messages, &pb.MessageRange{LowerEndpoint: nested(open), UpperEndpoint: nested(r.Last)})
	}
	return messages
}

func (a *acknowledged) batchMessages() (messages []*pb.BatchedEntryDeletionIndexInfo) {
	batches := a.sortedBatches()
	for _, p := range batches[:min(len(batches), maxStoredBatches)] {
		messages = append(messages, &pb.BatchedEntryDeletionIndexInfo{Position: nested(p), DeleteSet: a.batches[p]})
	}
	return messages
}

func longProperties(properties map[string]int64) (messages []*pb.LongProperty) {
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		messages = append(messages, &pb.LongProperty{Name: proto.String(name), Value: proto.Int64(properties[name])})
	}
	return messages
}

// acknowledgedFrom reads what was stored. A range over a ledger's end, which Pulsar may write, is split with the help of the list.
func acknowledgedFrom(
	markDelete Position, ranges []*pb.MessageRange, batches []*pb.BatchedEntryDeletionIndexInfo, properties []*pb.LongProperty, l ledgerList,
) acknowledged {
	a := acknowledged{markDelete: markDelete, properties: map[string]int64{}}
	for _, r := range ranges {
		lower, upper := position(r.GetLowerEndpoint()), position(r.GetUpperEndpoint())
		for _, part := range splitRange(lower, upper, l) {
			if part.First.Compare(markDelete) > 0 && part.size() > 0 {
				a.ranges = append(a.ranges, part)
				a.single += part.size()
			}
		}
	}
	slices.SortFunc(a.ranges, func(r, s Range) int { return r.First.Compare(s.First) })
	for _, b := range batches {
		if a.batches == nil {
			a.batches = make(map[Position][]int64)
		}
		a.batches[position(b.GetPosition())] = b.GetDeleteSet()
	}
	for _, p := range properties {
		a.properties[p.GetName()] = p.GetValue()
	}
	return a
}

// splitRange makes ranges within ledgers out of (lower, upper].
func splitRange(lower, upper Position, l ledgerList) (parts []Range) {
	first := Position{Ledger: lower.Ledger, Entry: lower.Entry + 1}
	for _, info := range l {
		if info.Ledger < first.Ledger || first.Ledger >= upper.Ledger {
			continue
		}
		if info.Ledger > first.Ledger {
			first = Position{Ledger: info.Ledger}
		}
		if info.Ledger < upper.Ledger {
			if info.Entries > first.Entry {
				parts = append(parts, Range{First: first, Last: Position{Ledger: info.Ledger, Entry: info.Entries - 1}})
			}
			first = Position{Ledger: info.Ledger + 1}
		}
	}
	if first.Ledger <= upper.Ledger {
		if first.Ledger < upper.Ledger {
			first = Position{Ledger: upper.Ledger}
		}
		parts = append(parts, Range{First: first, Last: upper})
	}
	return parts
}

// cursorInfo is the value of a cursor's znode.
type cursorInfo struct {
	ledger     int64 // where the positions are, -1: here
	state      acknowledged
	properties map[string]string
	active     int64 // Unix milliseconds
}

func (i cursorInfo) encode() ([]byte, error) {
	message := &pb.ManagedCursorInfo{
		CursorsLedgerId: proto.Int64(i.ledger), MarkDeleteLedgerId: proto.Int64(i.state.markDelete.Ledger),
		MarkDeleteEntryId: proto.Int64(i.state.markDelete.Entry), LastActive: proto.Int64(i.active),
		Properties: longProperties(i.state.properties),
	}
	if i.ledger < 0 {
		message.IndividualDeletedMessages, message.BatchedEntryDeletionIndexInfo = i.state.rangeMessages(), i.state.batchMessages()
	}
	for _, name := range slices.Sorted(maps.Keys(i.properties)) {
		message.CursorProperties = append(message.CursorProperties, &pb.StringProperty{Name: proto.String(name), Value: proto.String(i.properties[name])})
	}
	return proto.Marshal(message)
}

func decodeCursorInfo(value []byte, l ledgerList) (cursorInfo, error) {
	message := &pb.ManagedCursorInfo{}
	if err := proto.Unmarshal(value, message); err != nil {
		return cursorInfo{}, fmt.Errorf("cursor znode: %w", err)
	}
	i := cursorInfo{ledger: message.GetCursorsLedgerId(), active: message.GetLastActive(), properties: map[string]string{}}
	markDelete := Position{Ledger: message.GetMarkDeleteLedgerId(), Entry: message.GetMarkDeleteEntryId()}
	i.state = acknowledgedFrom(markDelete, message.GetIndividualDeletedMessages(), message.GetBatchedEntryDeletionIndexInfo(), message.GetProperties(), l)
	for _, property := range message.GetCursorProperties() {
		i.properties[property.GetName()] = property.GetValue()
	}
	return i, nil
}
