package replicalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"

	"twinlog/engine/disk"
	"twinlog/engine/kafka/replica"
)

// A producer snapshot NNN.snapshot says what the idempotent producers had written up to offset NNN, so that opening a log need not read
// all of it. Kafka's form, version 1:
//
//	version int16 = 1 | CRC-32C of all that follows, uint32 | count int32 | count times:
//	  producer id int64 | epoch int16 | last sequence int32 | last offset int64 | offset delta int32 | timestamp int64 |
//	  coordinator epoch int32 | first offset of the open transaction int64
//
// Only a producer's last batch is in it; the four before it are no longer recognised as duplicates after a restart.
const (
	snapshotSuffix  = ".snapshot"
	snapshotVersion = 1
	snapshotHead    = 2 + 4
	snapshotEntry   = 8 + 2 + 4 + 8 + 4 + 8 + 4 + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func snapshotName(dir string, offset int64) string {
	return fmt.Sprintf("%s/%020d%s", dir, offset, snapshotSuffix)
}

func encodeSnapshot(states []replica.ProducerState) []byte {
	order := binary.BigEndian
	out := make([]byte, snapshotHead, snapshotHead+4+len(states)*snapshotEntry)
	out = order.AppendUint32(out, uint32(len(states)))
	for _, state := range states {
		last := replica.Batch{BaseSequence: -1, Records: 1, LastOffset: -1, BaseOffset: -1}
		if n := len(state.Batches); n > 0 {
			last = state.Batches[n-1]
		}
		out = order.AppendUint64(out, uint64(state.ID))
		out = order.AppendUint16(out, uint16(state.Epoch))
		out = order.AppendUint32(out, uint32(state.LastSequence()))
		out = order.AppendUint64(out, uint64(last.LastOffset))
		out = order.AppendUint32(out, uint32(last.LastOffset-last.BaseOffset))
		out = order.AppendUint64(out, uint64(state.Written.UnixMilli()))
		out = order.AppendUint32(out, ^uint32(0))
		out = order.AppendUint64(out, ^uint64(0))
	}
	order.PutUint16(out, snapshotVersion)
	order.PutUint32(out[2:], crc32.Checksum(out[snapshotHead:], castagnoli))
	return out
}

var errSnapshot = errors.New("the producer snapshot is damaged")

func decodeSnapshot(in []byte) ([]replica.ProducerState, error) {
	order := binary.BigEndian
	if len(in) < snapshotHead+4 || order.Uint16(in) != snapshotVersion || order.Uint32(in[2:]) != crc32.Checksum(in[snapshotHead:], castagnoli) {
		return nil, errSnapshot
	}
	count := int(order.Uint32(in[snapshotHead:]))
	in = in[snapshotHead+4:]
	if len(in) != count*snapshotEntry {
		return nil, errSnapshot
	}
	states := make([]replica.ProducerState, 0, count)
	for ; len(in) > 0; in = in[snapshotEntry:] {
		state := replica.ProducerState{
			ID: int64(order.Uint64(in)), Epoch: int16(order.Uint16(in[8:])), Written: time.UnixMilli(int64(order.Uint64(in[26:]))),
		}
		lastSequence, lastOffset, delta := int32(order.Uint32(in[10:])), int64(order.Uint64(in[14:])), int32(order.Uint32(in[22:]))
		if lastSequence >= 0 && lastOffset >= 0 {
			state.Batches = []replica.Batch{{
				ProducerID: state.ID, Epoch: state.Epoch, BaseSequence: subtractSequence(lastSequence, delta), Records: delta + 1,
				BaseOffset: lastOffset - int64(delta), LastOffset: lastOffset, Timestamp: state.Written.UnixMilli(),
			}}
		}
		states = append(states, state)
	}
	return states, nil
}

// subtractSequence goes back in sequence numbers, which wrap from 2^31-1 to 0.
func subtractSequence(sequence, decrement int32) int32 {
	return int32((uint32(sequence) - uint32(decrement)) & 0x7fffffff)
}

// snapshots lists the offsets for which there is a snapshot, in order.
func snapshots(d disk.Disk, dir string) ([]int64, error) {
	entries, err := d.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var offsets []int64
	for _, entry := range entries {
		name, is := strings.CutSuffix(entry.Name(), snapshotSuffix)
		if offset, err := strconv.ParseInt(name, 10, 64); is && err == nil {
			offsets = append(offsets, offset)
		}
	}
	return offsets, nil
}
