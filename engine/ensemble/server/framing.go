package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"twinlog/engine/commitlog"
)

// EntryFraming is how Raft entries stand in the log. The log's offset is the entry's index.
//
//	+--------+--------+------------+------------+------+---------------+
//	| size   | crc32c | index      | term       | type | data          |
//	| uint32 | uint32 | uint64     | uint64     | byte | size-25 bytes |
//	+--------+--------+------------+------------+------+---------------+
//	0        4        8            16           24     25
//
// Big-endian. size counts the whole frame; the checksum (Castagnoli) covers everything after itself. type is raftpb.EntryType: 0 an
// ordinary entry (a command, empty when a leader begins its term), 1 and 2 changes of the members.
type EntryFraming struct{}

const (
	entryHeaderSize = 25
	// maxEntrySize: a client's largest request and room for what a command adds to it.
	maxEntrySize = 2 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// HeaderSize implements [commitlog.Framing].
func (EntryFraming) HeaderSize() int { return entryHeaderSize }

// MaxSize implements [commitlog.Framing].
func (EntryFraming) MaxSize() int { return maxEntrySize }

// Parse implements [commitlog.Framing].
func (EntryFraming) Parse(header []byte) (commitlog.Frame, error) {
	size := binary.BigEndian.Uint32(header)
	index := binary.BigEndian.Uint64(header[8:])
	if size < entryHeaderSize || size > maxEntrySize {
		return commitlog.Frame{}, fmt.Errorf("a Raft entry's size is %d, but must be %d to %d bytes", size, entryHeaderSize, maxEntrySize)
	}
	if index > 1<<62 {
		return commitlog.Frame{}, fmt.Errorf("a Raft entry's index is %d", index)
	}
	return commitlog.Frame{Size: int(size), BaseOffset: int64(index), LastOffset: int64(index), Time: time.Time{}}, nil
}

// Checksum implements [commitlog.Framing].
func (EntryFraming) Checksum(header []byte) commitlog.Checksum {
	return commitlog.Checksum{From: 8, Want: binary.BigEndian.Uint32(header[4:])}
}

func appendEntryFrame(out []byte, entry *raftpb.Entry) []byte {
	start := len(out)
	out = binary.BigEndian.AppendUint32(out, uint32(entryHeaderSize+len(entry.GetData())))
	out = binary.BigEndian.AppendUint32(out, 0)
	out = binary.BigEndian.AppendUint64(out, entry.GetIndex())
	out = binary.BigEndian.AppendUint64(out, entry.GetTerm())
	out = append(out, byte(entry.GetType()))
	out = append(out, entry.GetData()...)
	binary.BigEndian.PutUint32(out[start+4:], crc32.Checksum(out[start+8:], castagnoli))
	return out
}

// DecodeEntry reads one frame, checks it, and returns what follows it.
func DecodeEntry(frames []byte) (entry *raftpb.Entry, rest []byte, err error) {
	var framing EntryFraming
	if len(frames) < entryHeaderSize {
		return nil, nil, errors.New("a Raft entry is cut short")
	}
	frame, err := framing.Parse(frames)
	if err != nil {
		return nil, nil, err
	}
	if frame.Size > len(frames) {
		return nil, nil, errors.New("a Raft entry is cut short")
	}
	if err := commitlog.Verify(framing, frames[:frame.Size]); err != nil {
		return nil, nil, fmt.Errorf("the Raft entry at index %d: %w", frame.BaseOffset, err)
	}
	entryType := raftpb.EntryType(frames[24])
	return &raftpb.Entry{
		Index: new(binary.BigEndian.Uint64(frames[8:])),
		Term:  new(binary.BigEndian.Uint64(frames[16:])),
		Type:  &entryType,
		Data:  frames[entryHeaderSize:frame.Size:frame.Size],
	}, frames[frame.Size:], nil
}
