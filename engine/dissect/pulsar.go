package dissect

import (
	"fmt"
	"hash/crc32"
	"strings"

	"twinlog/engine/pulsar/pulsarpb"
)

// pulsarMessage takes a frame of the Pulsar binary protocol apart; package pulsar/broker draws it.
func pulsarMessage(bytes []byte) Message {
	m := Message{Protocol: "pulsar", Name: "frame"}
	r := newReader(bytes)
	var size int64
	add := func(name string) {
		f, value := r.number(name, 4)
		if size = value; r.err == nil {
			m.Fields = append(m.Fields, f)
		}
	}
	add("totalSize")
	add("commandSize")
	if r.err == nil {
		command := Field{Name: "command", Type: "BaseCommand", At: r.at}
		inner := r.within(int(size))
		command.Fields = protobuf(inner, (&pulsarpb.BaseCommand{}).ProtoReflect().Descriptor(), nil)
		r.adopt(inner)
		command.Size = r.at - command.At
		for _, f := range command.Fields {
			if f.Name == "type" {
				m.Name = f.Meaning
			}
		}
		m.Fields = append(m.Fields, command)
		if r.err == nil && r.remaining() > 0 {
			m.Fields = append(m.Fields, pulsarPayload(r)...)
		}
	}
	r.finish(&m)
	return m
}

// checksumMagic begins a payload with a checksum.
const checksumMagic = 0x0e01

// pulsarPayload takes "headers and payload" apart: what a producer sends, a ledger keeps and a consumer gets.
func pulsarPayload(r *reader) (fields []Field) {
	if r.remaining() >= 2 && int(r.bytes[r.at])<<8|int(r.bytes[r.at+1]) == checksumMagic {
		f, _ := r.number("magic", 2)
		f.Value, f.Meaning = "0x0e01", "a checksum follows"
		fields = append(fields, f)
		f, value := r.number("checksum", 4)
		if r.err != nil {
			return fields
		}
		f.Type, f.Value = "uint32", fmt.Sprintf("0x%08x", uint32(value))
		f.Meaning = "CRC-32C of all that follows"
		if r.end == len(r.bytes) && crc32.Checksum(r.bytes[r.at:r.end], crc32.MakeTable(crc32.Castagnoli)) == uint32(value) {
			f.Meaning += ": good"
		}
		fields = append(fields, f)
	}
	f, size := r.number("metadataSize", 4)
	if r.err != nil {
		return fields
	}
	fields = append(fields, f)
	metadata := Field{Name: "metadata", Type: "MessageMetadata", At: r.at}
	inner := r.within(int(size))
	metadata.Fields = protobuf(inner, (&pulsarpb.MessageMetadata{}).ProtoReflect().Descriptor(), nil)
	r.adopt(inner)
	metadata.Size = r.at - metadata.At
	fields = append(fields, metadata)
	if r.err != nil || r.remaining() == 0 {
		return fields
	}
	batched, plain := 0, true
	for _, one := range metadata.Fields {
		switch one.Name {
		case "num_messages_in_batch":
			fmt.Sscan(one.Value, &batched)
		case "compression", "encryption_keys":
			plain = plain && one.Meaning == "NONE"
		}
	}
	payload := Field{Name: "payload", Type: "bytes", At: r.at, Size: r.remaining()}
	switch {
	case batched > 0 && plain:
		payload.Type, payload.Value = "batch", countOf(batched, "message")
		payload.Fields = pulsarBatch(r, batched)
	default:
		payload.Value = text(r.rest())
		if !plain {
			payload.Meaning = "compressed or encrypted"
		}
	}
	return append(fields, payload)
}

// pulsarBatch takes the messages of a batch apart: size, SingleMessageMetadata, payload for each.
func pulsarBatch(r *reader, count int) (fields []Field) {
	for i := 0; i < count && r.err == nil && r.remaining() > 0; i++ {
		message := Field{Name: fmt.Sprintf("message[%d]", i), Type: "message", At: r.at}
		f, size := r.number("metadataSize", 4)
		if r.err != nil {
			break
		}
		message.Fields = append(message.Fields, f)
		metadata := Field{Name: "metadata", Type: "SingleMessageMetadata", At: r.at}
		inner := r.within(int(size))
		metadata.Fields = protobuf(inner, (&pulsarpb.SingleMessageMetadata{}).ProtoReflect().Descriptor(), nil)
		r.adopt(inner)
		metadata.Size = r.at - metadata.At
		message.Fields = append(message.Fields, metadata)
		payloadSize := 0
		for _, one := range metadata.Fields {
			if one.Name == "payload_size" {
				fmt.Sscan(one.Value, &payloadSize)
			}
		}
		payload := r.blob("payload", payloadSize)
		if r.err == nil {
			message.Value = payload.Value
			message.Fields = append(message.Fields, payload)
		}
		message.Size = r.at - message.At
		fields = append(fields, message)
	}
	return fields
}

// looksLikePulsarMessage guards against taking any bytes for a message.
func looksLikePulsarMessage(fields []Field) bool {
	return strings.Contains(strings.Join(names(fields), " "), "metadata") && len(fields) > 1
}

func names(fields []Field) (all []string) {
	for _, f := range fields {
		all = append(all, f.Name)
	}
	return all
}
