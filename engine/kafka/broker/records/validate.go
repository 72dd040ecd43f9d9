package records

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Rules are what a topic demands of what is produced to it.
type Rules struct {
	MaxBatchBytes int   // max.message.bytes
	Compacted     bool  // every record needs a key
	NowMS         int64 // the broker's clock
	// BeforeMaxMS and AfterMaxMS bound how far a record's timestamp may lie before and after now (message.timestamp.before.max.ms,
	// message.timestamp.after.max.ms); negative: as far as they like.
	BeforeMaxMS int64
	AfterMaxMS  int64
	AppendTime  bool // message.timestamp.type=LogAppendTime: the records' own times do not matter
	// ProduceVersion is the request's version: zstd needs 7.
	ProduceVersion int16
}

// Invalid is a batch that is refused: the protocol's error, a text, and the records that are to blame (KIP-467).
type Invalid struct {
	Kafka   *kerr.Error
	Text    string
	Records []InvalidRecord
}

// InvalidRecord is one record that is to blame.
type InvalidRecord struct {
	Index int32
	Text  string
}

func (i *Invalid) Error() string { return fmt.Sprintf("%s: %s", i.Kafka.Message, i.Text) }

func invalid(kafka *kerr.Error, format string, args ...any) error {
	return &Invalid{Kafka: kafka, Text: fmt.Sprintf(format, args...)}
}

// maxReportedRecords bounds the list in an answer.
const maxReportedRecords = 100

// Validate checks what a client wants to append to a partition: exactly one whole batch of magic 2, intact, in order, within the
// topic's rules. It returns the batch's header.
func Validate(bytes []byte, rules Rules) (Header, error) {
	h, err := validateFrame(bytes, rules)
	if err != nil {
		return Header{}, err
	}
	if err := validateHeader(h, rules); err != nil {
		return Header{}, err
	}
	return h, validateRecords(h, bytes, rules)
}

func validateFrame(bytes []byte, rules Rules) (Header, error) {
	if len(bytes) > 16 && bytes[16] < 2 {
		return Header{}, invalid(kerr.UnsupportedForMessageFormat, "record format %d is not stored here; use a client of 0.11 or later", bytes[16])
	}
	h, err := ParseHeader(withoutOffset(bytes))
	switch {
	case errors.Is(err, errMagic):
		return Header{}, invalid(kerr.InvalidRecord, "%v", err)
	case err != nil:
		return Header{}, invalid(kerr.CorruptMessage, "%v", err)
	case h.Size() > rules.MaxBatchBytes:
		return Header{}, invalid(kerr.MessageTooLarge, "the batch has %d bytes, the topic takes %d (max.message.bytes)", h.Size(), rules.MaxBatchBytes)
	case h.Size() > len(bytes):
		return Header{}, invalid(kerr.CorruptMessage, "%v", errShort)
	case h.Size() < len(bytes):
		return Header{}, invalid(kerr.InvalidRecord, "a produce request may hold one record batch a partition, this one is followed by %d more bytes", len(bytes)-h.Size())
	}
	if err := verify(bytes); err != nil {
		return Header{}, invalid(kerr.CorruptMessage, "%v", err)
	}
	return h, nil
}

// withoutOffset parses a batch as if it began at 0: what a client writes there does not matter.
func withoutOffset(bytes []byte) []byte {
	if len(bytes) < HeaderSize {
		return bytes
	}
	header := append(make([]byte, 0, HeaderSize), bytes[:HeaderSize]...)
	clear(header[:8])
	return header
}

func validateHeader(h Header, rules Rules) error {
	switch {
	case h.Count <= 0:
		return invalid(kerr.InvalidRecord, "a batch of %d records", h.Count)
	case h.LastOffsetDelta != h.Count-1:
		return invalid(kerr.InvalidRecord, "a batch of %d records whose last offset delta is %d", h.Count, h.LastOffsetDelta)
	case h.Control():
		return invalid(kerr.InvalidRecord, "clients may not write control records")
	case h.ProducerID >= 0 && (h.BaseSequence < 0 || h.ProducerEpoch < 0):
		return invalid(kerr.InvalidRecord, "producer %d sends epoch %d and sequence %d", h.ProducerID, h.ProducerEpoch, h.BaseSequence)
	case h.LogAppendTime():
		return invalid(kerr.InvalidTimestamp, "a client may not say that timestamps are the broker's")
	case h.Compression() > CompressionZstd:
		return invalid(kerr.InvalidRecord, "compression codec %d is not known", h.Compression())
	case h.Compression() == CompressionZstd && rules.ProduceVersion < 7:
		return invalid(kerr.UnsupportedCompressionType, "zstd needs Produce version 7 or later")
	}
	return nil
}

// validateRecords walks the records, decompressed where need be.
func validateRecords(h Header, bytes []byte, rules Rules) error {
	var bad []InvalidRecord
	kafka := kerr.InvalidRecord
	index := int32(0)
	blame := func(format string, args ...any) {
		if len(bad) < maxReportedRecords {
			bad = append(bad, InvalidRecord{index, fmt.Sprintf(format, args...)})
		}
	}
	err := eachRecord(h, bytes, func(r Record) bool { // h begins at offset 0
		switch {
		case r.Offset != int64(index):
			blame("its offset delta is %d, not %d", r.Offset, index)
		case rules.Compacted && r.Key == nil:
			blame("a compacted topic takes no record without a key")
		case !rules.timely(r.Timestamp):
			kafka = kerr.InvalidTimestamp
			blame("its timestamp %d is out of the topic's range around %d", r.Timestamp, rules.NowMS)
		}
		index++
		return true
	})
	if err != nil {
		return invalid(kerr.CorruptMessage, "%v", err)
	}
	if len(bad) > 0 {
		return &Invalid{Kafka: kafka, Text: fmt.Sprintf("%d records of the batch are invalid", len(bad)), Records: bad}
	}
	return nil
}

// timely tells whether a record's timestamp is within the topic's range; -1 is none.
func (r Rules) timely(timestamp int64) bool {
	if r.AppendTime || timestamp == -1 {
		return true
	}
	tooOld := r.BeforeMaxMS >= 0 && timestamp < r.NowMS-r.BeforeMaxMS
	tooNew := r.AfterMaxMS >= 0 && timestamp > r.NowMS+r.AfterMaxMS
	return !tooOld && !tooNew
}
