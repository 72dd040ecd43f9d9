package records

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Record is one record of a batch.
//
//	length varint | attributes int8 | timestamp delta varlong | offset delta varint | key length varint, key | value length varint, value |
//	header count varint | headers: key length varint, key, value length varint, value
//
// Varints are zigzag; a length of -1 is null.
type Record struct {
	Offset    int64
	Timestamp int64 // milliseconds since 1970
	Key       []byte
	Value     []byte
	Headers   []RecordHeader
}

// RecordHeader is one header of a record.
type RecordHeader struct {
	Key   string
	Value []byte
}

var errRecord = errors.New("a record is malformed")

// EachRecord decompresses a whole batch and calls do with every record; do returns false to stop. Keys and values point into memory that
// do must not keep past the call.
func EachRecord(batch []byte, do func(Record) bool) error {
	h, err := ParseHeader(batch)
	if err != nil {
		return err
	}
	return eachRecord(h, batch, do)
}

func eachRecord(h Header, batch []byte, do func(Record) bool) error {
	if h.Size() > len(batch) {
		return errShort
	}
	body, err := decompress(h.Compression(), batch[HeaderSize:h.Size()])
	if err != nil {
		return err
	}
	r := reader{body}
	for range h.Count {
		record, err := r.record(h)
		if err != nil {
			return err
		}
		if !do(record) {
			return nil
		}
	}
	if len(r.bytes) > 0 {
		return fmt.Errorf("%d bytes follow the last record: %w", len(r.bytes), errRecord)
	}
	return nil
}

// reader takes records off the front of bytes.
type reader struct{ bytes []byte }

func (r *reader) varint() (int64, error) {
	value, n := binary.Varint(r.bytes)
	if n <= 0 {
		return 0, errRecord
	}
	r.bytes = r.bytes[n:]
	return value, nil
}

// field reads a length and as many bytes; nil for -1.
func (r *reader) field() ([]byte, error) {
	length, err := r.varint()
	if err != nil || length < -1 || length > int64(len(r.bytes)) {
		return nil, errRecord
	}
	if length == -1 {
		return nil, nil
	}
	field := r.bytes[:length:length]
	r.bytes = r.bytes[length:]
	return field, nil
}

func (r *reader) record(h Header) (Record, error) {
	bytes, err := r.field()
	if err != nil || len(bytes) == 0 {
		return Record{}, errRecord
	}
	inner := reader{bytes[1:]} // attributes are not used
	timestampDelta, err := inner.varint()
	if err != nil {
		return Record{}, err
	}
	offsetDelta, err := inner.varint()
	if err != nil {
		return Record{}, err
	}
	record := Record{Offset: h.BaseOffset + offsetDelta, Timestamp: h.BaseTimestamp + timestampDelta}
	if h.LogAppendTime() {
		record.Timestamp = h.MaxTimestamp
	}
	if record.Key, err = inner.field(); err != nil {
		return Record{}, err
	}
	if record.Value, err = inner.field(); err != nil {
		return Record{}, err
	}
	if record.Headers, err = inner.headers(); err != nil {
		return Record{}, err
	}
	if len(inner.bytes) > 0 {
		return Record{}, errRecord
	}
	return record, nil
}

func (r *reader) headers() ([]RecordHeader, error) {
	count, err := r.varint()
	if err != nil || count < 0 || count > int64(len(r.bytes)) {
		return nil, errRecord
	}
	var headers []RecordHeader
	for range count {
		key, err := r.field()
		if err != nil || key == nil {
			return nil, errRecord
		}
		value, err := r.field()
		if err != nil {
			return nil, err
		}
		headers = append(headers, RecordHeader{Key: string(key), Value: value})
	}
	return headers, nil
}

// Build makes an uncompressed batch out of records: what a broker itself writes, such as a coordinator's offsets. Offsets in the records
// are ignored: they are 0, 1, 2 … until Assign.
func Build(records []Record) []byte {
	base, latest := records[0].Timestamp, records[0].Timestamp
	for _, record := range records {
		latest = max(latest, record.Timestamp)
	}
	batch := make([]byte, HeaderSize, HeaderSize+64*len(records))
	for i, record := range records {
		batch = appendRecord(batch, record, int64(i), record.Timestamp-base)
	}
	order := binary.BigEndian
	order.PutUint32(batch[8:], uint32(len(batch)-lengthEnd))
	order.PutUint32(batch[12:], ^uint32(0))
	batch[16] = 2
	order.PutUint32(batch[23:], uint32(len(records)-1))
	order.PutUint64(batch[27:], uint64(base))
	order.PutUint64(batch[35:], uint64(latest))
	order.PutUint64(batch[43:], ^uint64(0)) // no producer id, epoch, sequence
	order.PutUint16(batch[51:], ^uint16(0))
	order.PutUint32(batch[53:], ^uint32(0))
	order.PutUint32(batch[57:], uint32(len(records)))
	order.PutUint32(batch[17:], crc32.Checksum(batch[21:], castagnoli))
	return batch
}

func appendRecord(dst []byte, record Record, offsetDelta, timestampDelta int64) []byte {
	body := []byte{0}
	body = binary.AppendVarint(body, timestampDelta)
	body = binary.AppendVarint(body, offsetDelta)
	body = appendField(body, record.Key)
	body = appendField(body, record.Value)
	body = binary.AppendVarint(body, int64(len(record.Headers)))
	for _, header := range record.Headers {
		body = appendField(body, append([]byte{}, header.Key...))
		body = appendField(body, header.Value)
	}
	return append(binary.AppendVarint(dst, int64(len(body))), body...)
}

func appendField(dst, field []byte) []byte {
	if field == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(field))), field...)
}

// WithProducer makes a batch an idempotent producer's, in place.
func WithProducer(batch []byte, id int64, epoch int16, sequence int32) []byte {
	order := binary.BigEndian
	order.PutUint64(batch[43:], uint64(id))
	order.PutUint16(batch[51:], uint16(epoch))
	order.PutUint32(batch[53:], uint32(sequence))
	order.PutUint32(batch[17:], crc32.Checksum(batch[21:], castagnoli))
	return batch
}
