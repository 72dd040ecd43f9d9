package dissect

import (
	"fmt"
	"strconv"

	"twinlog/engine/pulsar/bookkeeper/wire"
	pb "twinlog/engine/pulsar/bookkeeperpb"
	"twinlog/engine/pulsar/ledger"
)

// bookkeeperMessage takes a packet between a bookie and its client apart, of either version; package wire draws them.
func bookkeeperMessage(bytes []byte, response bool) Message {
	m := Message{Protocol: "bookkeeper", Name: "packet"}
	r := newReader(bytes)
	length, _ := r.number("length", 4)
	if r.err == nil {
		m.Fields = append(m.Fields, length)
		if r.remaining() > 0 && r.bytes[r.at] == 0x0a { // the header, field 1
			m.Version = "3"
			descriptor := (&pb.Request{}).ProtoReflect().Descriptor()
			if response {
				descriptor = (&pb.Response{}).ProtoReflect().Descriptor()
			}
			packet := r.group("packet", string(descriptor.Name()), func() []Field { return protobuf(r, descriptor, bookkeeperInsides) })
			m.Fields = append(m.Fields, packet)
			m.Name = operationIn(packet.Fields)
		} else {
			m.Version = "2"
			m.Name = bookkeeper2(r, &m, response)
		}
	}
	r.finish(&m)
	return m
}

var bookkeeperInsides = insides{
	(&pb.AddRequest{}).ProtoReflect().Descriptor().Fields().ByName("body").FullName():               ledgerEntry,
	(&pb.ReadResponse{}).ProtoReflect().Descriptor().Fields().ByName("body").FullName():             ledgerEntry,
	(&pb.ReadLacResponse{}).ProtoReflect().Descriptor().Fields().ByName("lastEntryBody").FullName(): ledgerEntry,
}

func operationIn(packet []Field) string {
	for _, header := range packet {
		if header.Name != "header" {
			continue
		}
		for _, f := range header.Fields {
			if f.Name == "operation" {
				return f.Meaning
			}
		}
	}
	return "packet"
}

// bookkeeper2 reads a packet of version 2, and returns its name.
func bookkeeper2(r *reader, m *Message, response bool) string {
	add := func(name string, size int) int64 {
		f, value := r.number(name, size)
		if r.err == nil {
			m.Fields = append(m.Fields, f)
		}
		return value
	}
	add("version", 1)
	operation := wire.Operation(add("operation", 1))
	name := map[wire.Operation]string{1: "ADD_ENTRY", 2: "READ_ENTRY", 3: "AUTH"}[operation]
	flags := add("flags", 2)
	if len(m.Fields) >= 4 {
		m.Fields[2].Meaning = name
		m.Fields[3].Meaning = flagNames(flags)
	}
	masterKey := func() {
		f := r.blob("masterKey", wire.MasterKeySize)
		if r.err == nil {
			m.Fields = append(m.Fields, f)
		}
	}
	entry := func() {
		if r.err == nil && r.remaining() > 0 {
			m.Fields = append(m.Fields, r.group("entry", "ledger entry", func() []Field { return ledgerEntry(r) }))
		}
	}
	switch {
	case response:
		add("code", 4)
		add("ledgerId", 8)
		add("entryId", 8)
		entry()
	case operation == 1:
		masterKey()
		entry()
	case operation == 2:
		add("ledgerId", 8)
		add("entryId", 8)
		if r.remaining() > 0 {
			masterKey()
		}
	}
	return name
}

func flagNames(flags int64) string {
	names := ""
	for bit, name := range map[int64]string{1: "fence", 2: "recovery", 4: "high priority"} {
		if flags&bit != 0 {
			names += " " + name
		}
	}
	if names == "" {
		return ""
	}
	return names[1:]
}

// ledgerEntry takes an entry apart as Pulsar-mode brokers write them, with a CRC-32C digest; package ledger draws it.
func ledgerEntry(r *reader) (fields []Field) {
	for _, name := range []string{"ledgerId", "entryId", "lastAddConfirmed", "length"} {
		f, value := r.number(name, 8)
		if r.err != nil {
			return fields
		}
		if name == "lastAddConfirmed" && value == -1 {
			f.Meaning = "nothing confirmed yet"
		}
		fields = append(fields, f)
	}
	whole := r.bytes[r.at-32 : r.end]
	number, _ := strconv.ParseInt(fields[0].Value, 10, 64)
	id, _ := strconv.ParseInt(fields[1].Value, 10, 64)
	sealer, err := ledger.NewSealer(number, ledger.CRC32C, nil)
	if err != nil {
		return fields
	}
	digest, value := r.number("digest", 4)
	if r.err != nil {
		return fields
	}
	digest.Value = fmt.Sprintf("0x%08x", uint32(value))
	digest.Type, digest.Meaning = "CRC-32C", "of the fields before and the payload"
	if _, _, err := sealer.Unseal(whole, id); err == nil {
		digest.Meaning += ": good"
	}
	fields = append(fields, digest)
	if r.remaining() == 0 {
		return fields
	}
	payload := Field{Name: "payload", Type: "bytes", At: r.at, Size: r.remaining()}
	payload.Fields = entryPayload(r)
	if payload.Fields == nil {
		payload.Value = text(r.rest())
	}
	return append(fields, payload)
}

// entryPayload finds out what a broker wrote: a message as its producer sent it, or a cursor's position. Nil when it is neither.
func entryPayload(r *reader) []Field {
	attempt := *r
	if fields := pulsarPayload(&attempt); attempt.err == nil && attempt.remaining() == 0 && looksLikePulsarMessage(fields) {
		*r = attempt
		return fields
	}
	attempt = *r
	fields := protobuf(&attempt, (&pb.PositionInfo{}).ProtoReflect().Descriptor(), nil)
	if attempt.err == nil && len(fields) >= 2 && fields[0].Name == "ledgerId" && fields[1].Name == "entryId" {
		*r = attempt
		return fields
	}
	return nil
}
