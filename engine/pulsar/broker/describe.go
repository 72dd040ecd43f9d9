package broker

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/pulsarpb"
)

// describedMessages bounds the messages of a batch that DescribeEntry shows.
const describedMessages = 3

// DescribeEntry says in words what the payload of a ledger entry of a topic holds: a message, or a batch of them.
func DescribeEntry(headersAndPayload []byte) (string, error) {
	metadata, err := readMetadata(headersAndPayload)
	if err != nil {
		return "", err
	}
	_, payload, err := splitMessage(headersAndPayload, true)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	what := "message"
	if metadata.NumMessagesInBatch != nil {
		what = fmt.Sprintf("batch of %d messages", metadata.GetNumMessagesInBatch())
		if metadata.GetNumMessagesInBatch() == 1 {
			what = "batch of 1 message"
		}
	}
	fmt.Fprintf(&b, "%s of producer %q, sequence id %d, published %s", what, metadata.GetProducerName(), metadata.GetSequenceId(),
		time.UnixMilli(int64(metadata.GetPublishTime())).UTC().Format("2006-01-02 15:04:05.000"))
	if metadata.DeliverAtTime != nil {
		fmt.Fprintf(&b, ", to be delivered at %s", time.UnixMilli(metadata.GetDeliverAtTime()).UTC().Format("2006-01-02 15:04:05.000"))
	}
	switch {
	case len(metadata.GetEncryptionKeys()) > 0:
		fmt.Fprintf(&b, ", encrypted, %d bytes", len(payload))
	case metadata.GetCompression() != pulsarpb.CompressionType_NONE:
		fmt.Fprintf(&b, ", %d bytes compressed with %v, %d without", len(payload), metadata.GetCompression(), metadata.GetUncompressedSize())
	case metadata.NumMessagesInBatch != nil:
		describeBatch(&b, metadata, payload)
	default:
		fmt.Fprintf(&b, ": key %s, payload %s", describeKey(metadata.PartitionKey), describePayload(payload))
	}
	return b.String(), nil
}

// describeBatch shows the first messages of: size u32, SingleMessageMetadata, payload, and so on.
func describeBatch(b *strings.Builder, metadata *pulsarpb.MessageMetadata, rest []byte) {
	for number := range metadata.GetNumMessagesInBatch() {
		if number == describedMessages {
			fmt.Fprintf(b, "\n        … and %d more", metadata.GetNumMessagesInBatch()-number)
			return
		}
		single := &pulsarpb.SingleMessageMetadata{}
		if len(rest) < 4 || int64(binary.BigEndian.Uint32(rest)) > int64(len(rest)-4) {
			fmt.Fprintf(b, "\n        message %d is cut off", number)
			return
		}
		size := 4 + int(binary.BigEndian.Uint32(rest))
		if err := proto.Unmarshal(rest[4:size], single); err != nil || single.GetPayloadSize() < 0 || int(single.GetPayloadSize()) > len(rest)-size {
			fmt.Fprintf(b, "\n        message %d cannot be read: %v", number, err)
			return
		}
		end := size + int(single.GetPayloadSize())
		fmt.Fprintf(b, "\n        message %d: key %s, payload %s", number, describeKey(single.PartitionKey), describePayload(rest[size:end]))
		rest = rest[end:]
	}
}

func describeKey(key *string) string {
	if key == nil {
		return "null"
	}
	return fmt.Sprintf("%q", *key)
}

func describePayload(payload []byte) string {
	const limit = 60
	switch {
	case !utf8.Valid(payload):
		return fmt.Sprintf("%d bytes", len(payload))
	case len(payload) > limit:
		return fmt.Sprintf("%q… (%d bytes)", strings.ToValidUTF8(string(payload[:limit]), ""), len(payload))
	}
	return fmt.Sprintf("%q", payload)
}
