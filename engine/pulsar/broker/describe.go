package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/pulsarpb"
	"twinlog/engine/sentence"
)

// describedMessages bounds the messages of a batch that DescribeEntry shows.
const describedMessages = 3

// DescribeEntry says in words what the payload of a ledger entry of a topic holds: a message, or a batch of them.
func DescribeEntry(headersAndPayload []byte) (sentence.Sentence, error) {
	metadata, err := readMetadata(headersAndPayload)
	if err != nil {
		return sentence.Sentence{}, err
	}
	_, payload, err := splitMessage(headersAndPayload, true)
	if err != nil {
		return sentence.Sentence{}, err
	}
	said := sentence.Of("entryMessage", "message")
	if metadata.NumMessagesInBatch != nil {
		said = sentence.Of("entryBatch", "batch of {count} {count|message|messages}", int(metadata.GetNumMessagesInBatch()))
	}
	said = sentence.Of("entryOf", `{what} of producer "{producer}", sequence id {sequence}, published {at}`, said, metadata.GetProducerName(),
		strconv.FormatUint(metadata.GetSequenceId(), 10), instant(int64(metadata.GetPublishTime())))
	if metadata.DeliverAtTime != nil {
		said = sentence.Of("entryDelayed", "{what}, to be delivered at {at}", said, instant(metadata.GetDeliverAtTime()))
	}
	switch {
	case len(metadata.GetEncryptionKeys()) > 0:
		said = sentence.Of("entryEncrypted", "{what}, encrypted, {count} {count|byte|bytes}", said, len(payload))
	case metadata.GetCompression() != pulsarpb.CompressionType_NONE:
		said = sentence.Of("entryCompressed", "{what}, {count} {count|byte|bytes} compressed with {codec}, {without} without", said, len(payload), metadata.GetCompression().String(), int(metadata.GetUncompressedSize()))
	case metadata.NumMessagesInBatch != nil:
		said = describeBatch(said, metadata, payload)
	default:
		said = sentence.Of("entryAlone", "{what}: key {key}, payload {payload}", said, describeKey(metadata.PartitionKey), describePayload(payload))
	}
	return said, nil
}

func instant(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.000") }

var errSize = errors.New("its size is wrong")

// describeBatch adds the first messages of: size u32, SingleMessageMetadata, payload, and so on.
func describeBatch(said sentence.Sentence, metadata *pulsarpb.MessageMetadata, rest []byte) sentence.Sentence {
	for number := range int(metadata.GetNumMessagesInBatch()) {
		if number == describedMessages {
			return sentence.Of("batchMore", "{what}\n        … and {count} more", said, int(metadata.GetNumMessagesInBatch())-number)
		}
		single := &pulsarpb.SingleMessageMetadata{}
		if len(rest) < 4 || int64(binary.BigEndian.Uint32(rest)) > int64(len(rest)-4) {
			return sentence.Of("batchCutOff", "{what}\n        message {number} is cut off", said, number)
		}
		size := 4 + int(binary.BigEndian.Uint32(rest))
		err := proto.Unmarshal(rest[4:size], single)
		if err == nil && (single.GetPayloadSize() < 0 || int(single.GetPayloadSize()) > len(rest)-size) {
			err = errSize
		}
		if err != nil {
			return sentence.Of("batchUnreadable", "{what}\n        message {number} cannot be read: {why}", said, number, err)
		}
		end := size + int(single.GetPayloadSize())
		said = sentence.Of("batchMessage", "{what}\n        message {number}: key {key}, payload {payload}", said, number, describeKey(single.PartitionKey), describePayload(rest[size:end]))
		rest = rest[end:]
	}
	return said
}

func describeKey(key *string) string {
	if key == nil {
		return "null"
	}
	return fmt.Sprintf("%q", *key)
}

func describePayload(payload []byte) any {
	const limit = 60
	switch {
	case !utf8.Valid(payload):
		return sentence.Of("someBytes", "{count} {count|byte|bytes}", len(payload))
	case len(payload) > limit:
		return sentence.Of("textBegins", "{begin}… ({count} {count|byte|bytes})", fmt.Sprintf("%q", strings.ToValidUTF8(string(payload[:limit]), "")), len(payload))
	}
	return fmt.Sprintf("%q", payload)
}
