package dissect

import (
	"strings"

	pb "twinlog/engine/pulsar/bookkeeperpb"
)

// ledgerMetadataHeader begins a ledger's znode; a varint length and a LedgerMetadataFormat follow.
const ledgerMetadataHeader = "BookieMetadataFormatVersion\t3\n"

// Znode takes a znode's data apart, where the systems above the ensemble keep protobuf in it: a ledger's metadata, a managed ledger's list
// of ledgers, a cursor. Of everything else, which is JSON or text, it is one field.
func Znode(path string, data []byte) Message {
	m := Message{Protocol: "zookeeper", Name: "znode", Fields: []Field{}}
	r := newReader(data)
	switch rest, managed := strings.CutPrefix(path, "/managed-ledgers/"); {
	case len(data) == 0:
	case strings.HasPrefix(path, "/ledgers/") && strings.HasPrefix(string(data), ledgerMetadataHeader):
		m.Name = "LedgerMetadataFormat"
		m.Fields = append(m.Fields, r.blob("header", len(ledgerMetadataHeader)))
		length := Field{Name: "length", Type: "varint", At: r.at}
		size := r.uvarint()
		length.Size, length.Value = r.at-length.At, countOf(int(min(size, 1<<20)), "byte")
		m.Fields = append(m.Fields, length)
		m.Fields = append(m.Fields, protobuf(r, (&pb.LedgerMetadataFormat{}).ProtoReflect().Descriptor(), nil)...)
	case managed && strings.Count(rest, "/") == 3:
		m.Name = "ManagedLedgerInfo"
		m.Fields = protobuf(r, (&pb.ManagedLedgerInfo{}).ProtoReflect().Descriptor(), nil)
	case managed && strings.Count(rest, "/") == 4:
		m.Name = "ManagedCursorInfo"
		m.Fields = protobuf(r, (&pb.ManagedCursorInfo{}).ProtoReflect().Descriptor(), nil)
	default:
		m.Fields = append(m.Fields, r.blob("data", len(data)))
	}
	if r.err != nil { // something else than what is usually there
		r = newReader(data)
		m.Name, m.Fields = "znode", []Field{r.blob("data", len(data))}
	}
	r.finish(&m)
	return m
}
