// Package records knows the bytes of a RecordBatch v2, which are the same on the wire and on disk. A broker changes nothing in them but
// the base offset and the leader epoch, which the checksum leaves out for that reason.
//
//	 0         8        12             16      17       21           23               27
//	+----------+--------+--------------+-------+--------+------------+----------------+
//	| base     | length | leader epoch | magic | CRC-32C| attributes | last offset    |
//	| offset   |        |              |  = 2  |        |            | delta          |
//	+----------+--------+--------------+-------+--------+------------+----------------+
//	27             35             43            51               53              57      61
//	+--------------+--------------+-------------+----------------+---------------+-------+-----------
//	| base         | max          | producer id | producer epoch | base sequence | count | records …
//	| timestamp    | timestamp    |             |                |               |       |
//	+--------------+--------------+-------------+----------------+---------------+-------+-----------
//
// Length counts what follows it. The CRC is over everything from the attributes on. Attributes: bits 0-2 compression, 3 timestamp type
// (1: the broker's time of append), 4 transactional, 5 control.
package records

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"twinlog/engine/commitlog"
)

// HeaderSize is a batch without records, in bytes.
const HeaderSize = 61

// lengthEnd is how far the fields reach that the length does not count.
const lengthEnd = 12

// MaxBatchSize bounds a batch, in bytes; topics set lower bounds (max.message.bytes).
const MaxBatchSize = 100 << 20

// Header is the fixed part of a batch.
type Header struct {
	BaseOffset      int64
	Length          int32
	LeaderEpoch     int32
	Magic           int8
	CRC             uint32
	Attributes      int16
	LastOffsetDelta int32
	BaseTimestamp   int64
	MaxTimestamp    int64
	ProducerID      int64
	ProducerEpoch   int16
	BaseSequence    int32
	Count           int32
}

const (
	compressionMask   = 0x07
	logAppendTimeFlag = 0x08
	transactionalFlag = 0x10
	controlFlag       = 0x20
)

// Size is the whole batch in bytes.
func (h Header) Size() int { return lengthEnd + int(h.Length) }

// LastOffset is the offset of the last record.
func (h Header) LastOffset() int64 { return h.BaseOffset + int64(h.LastOffsetDelta) }

// Compression is the codec of the records.
func (h Header) Compression() Compression { return Compression(h.Attributes & compressionMask) }

// LogAppendTime tells whether timestamps are the broker's.
func (h Header) LogAppendTime() bool { return h.Attributes&logAppendTimeFlag != 0 }

// Transactional tells whether the batch is part of a transaction.
func (h Header) Transactional() bool { return h.Attributes&transactionalFlag != 0 }

// Control tells whether the batch is a marker that only brokers write.
func (h Header) Control() bool { return h.Attributes&controlFlag != 0 }

// Compression is a codec's number in the attributes.
type Compression int8

// The codecs.
const (
	CompressionNone Compression = iota
	CompressionGzip
	CompressionSnappy
	CompressionLZ4
	CompressionZstd
)

var (
	errShort = errors.New("a record batch is cut off")
	errMagic = errors.New("not a record batch of magic 2")
	errSize  = errors.New("a record batch's length is out of bounds")
	errCRC   = errors.New("a record batch's checksum does not match its contents")
)

// ParseHeader reads a header. It fails on what cannot be a batch of magic 2.
func ParseHeader(bytes []byte) (Header, error) {
	if len(bytes) < HeaderSize {
		return Header{}, errShort
	}
	order := binary.BigEndian
	h := Header{
		BaseOffset:      int64(order.Uint64(bytes)),
		Length:          int32(order.Uint32(bytes[8:])),
		LeaderEpoch:     int32(order.Uint32(bytes[12:])),
		Magic:           int8(bytes[16]),
		CRC:             order.Uint32(bytes[17:]),
		Attributes:      int16(order.Uint16(bytes[21:])),
		LastOffsetDelta: int32(order.Uint32(bytes[23:])),
		BaseTimestamp:   int64(order.Uint64(bytes[27:])),
		MaxTimestamp:    int64(order.Uint64(bytes[35:])),
		ProducerID:      int64(order.Uint64(bytes[43:])),
		ProducerEpoch:   int16(order.Uint16(bytes[51:])),
		BaseSequence:    int32(order.Uint32(bytes[53:])),
		Count:           int32(order.Uint32(bytes[57:])),
	}
	if h.Magic != 2 {
		return Header{}, fmt.Errorf("magic %d: %w", h.Magic, errMagic)
	}
	if h.Length < HeaderSize-lengthEnd || h.Length > MaxBatchSize-lengthEnd {
		return Header{}, fmt.Errorf("%d bytes: %w", h.Length, errSize)
	}
	if h.BaseOffset < 0 || h.LastOffsetDelta < 0 || h.BaseOffset > maxOffset-int64(h.LastOffsetDelta) {
		return Header{}, fmt.Errorf("offsets %d+%d are out of bounds", h.BaseOffset, h.LastOffsetDelta)
	}
	return h, nil
}

const maxOffset = 1<<63 - 2

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// verify checks the checksum of a whole batch.
func verify(batch []byte) error {
	if len(batch) < HeaderSize {
		return errShort
	}
	if crc32.Checksum(batch[21:], castagnoli) != binary.BigEndian.Uint32(batch[17:]) {
		return errCRC
	}
	return nil
}

// Assign gives a batch its place in the log. Both fields are outside the checksum.
func Assign(batch []byte, baseOffset int64, leaderEpoch int32) {
	binary.BigEndian.PutUint64(batch, uint64(baseOffset))
	binary.BigEndian.PutUint32(batch[12:], uint32(leaderEpoch))
}

// StampAppendTime makes all records of a batch as old as their append (message.timestamp.type=LogAppendTime).
func StampAppendTime(batch []byte, nowMS int64) {
	attributes := binary.BigEndian.Uint16(batch[21:])
	binary.BigEndian.PutUint16(batch[21:], attributes|logAppendTimeFlag)
	binary.BigEndian.PutUint64(batch[35:], uint64(nowMS))
	binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], castagnoli))
}

// Framing tells commitlog where batches begin and end.
type Framing struct{}

var _ commitlog.Framing = Framing{}

// HeaderSize implements commitlog.Framing.
func (Framing) HeaderSize() int { return HeaderSize }

// Parse implements commitlog.Framing.
func (Framing) Parse(header []byte) (commitlog.Frame, error) {
	h, err := ParseHeader(header)
	if err != nil {
		return commitlog.Frame{}, err
	}
	frame := commitlog.Frame{Size: h.Size(), BaseOffset: h.BaseOffset, LastOffset: h.LastOffset()}
	if h.MaxTimestamp >= 0 && h.MaxTimestamp < maxTimestamp {
		frame.Time = time.UnixMilli(h.MaxTimestamp)
	}
	return frame, nil
}

// maxTimestamp is where a timestamp in milliseconds no longer fits in nanoseconds (the year 2262).
const maxTimestamp = (1<<63 - 1) / 1_000_000

// Checksum implements commitlog.Framing.
func (Framing) Checksum(header []byte) commitlog.Checksum {
	return commitlog.Checksum{From: 21, Want: binary.BigEndian.Uint32(header[17:])}
}

// MaxSize implements commitlog.Framing.
func (Framing) MaxSize() int { return MaxBatchSize }

// Each calls do with every whole batch in bytes. It stops at a batch that is cut off at the end, which is no error: a Fetch response may
// end in one.
func Each(bytes []byte, do func(h Header, batch []byte) error) error {
	for len(bytes) >= HeaderSize {
		h, err := ParseHeader(bytes)
		if err != nil {
			return err
		}
		if h.Size() > len(bytes) {
			return nil
		}
		if err := do(h, bytes[:h.Size()]); err != nil {
			return err
		}
		bytes = bytes[h.Size():]
	}
	return nil
}
