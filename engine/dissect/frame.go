package dissect

import (
	"fmt"
	"hash/crc32"
)

// Of a log's frame, whose checksum is good: a segment's reader has seen to that. A long one may be cut: what is said of its checksum is
// then only that not all bytes are here.

// RecordBatch takes a batch of a Kafka-mode partition apart.
func RecordBatch(bytes []byte) Message {
	m := Message{Protocol: "kafka", Name: "RecordBatch", Version: "2", Fields: []Field{}}
	r := newReader(bytes)
	m.Fields = recordBatch(r, "RecordBatch").Fields
	r.finish(&m)
	return m
}

// RaftEntry takes an entry of the ensemble's Raft log apart; package server draws it.
func RaftEntry(bytes []byte) Message {
	m := Message{Protocol: "raft", Name: "Entry", Fields: []Field{}}
	r := newReader(bytes)
	var size int64
	for _, field := range []struct {
		name string
		size int
	}{{"size", 4}, {"checksum", 4}, {"index", 8}, {"term", 8}, {"type", 1}} {
		f, value := r.number(field.name, field.size)
		if r.err != nil {
			break
		}
		switch field.name {
		case "size":
			size = value
		case "checksum":
			f.Type = "uint32"
			f.Value, f.Meaning = crcOf(uint32(value), size, bytes)
		case "type":
			f.Meaning = map[int64]string{0: "a command", 1: "a change of the members", 2: "a change of the members"}[value]
		}
		m.Fields = append(m.Fields, f)
	}
	if r.err == nil && r.remaining() > 0 {
		m.Fields = append(m.Fields, r.group("data", "command", func() []Field { return raftCommand(r) }))
	}
	r.finish(&m)
	return m
}

// BookieRecord takes a record of a bookie's journal or entry log apart; package bookie draws it.
func BookieRecord(bytes []byte) Message {
	m := Message{Protocol: "bookkeeper", Name: "record", Fields: []Field{}}
	r := newReader(bytes)
	var size int64
	for _, field := range []struct {
		name string
		size int
	}{{"size", 4}, {"checksum", 4}, {"sequence", 8}} {
		f, value := r.number(field.name, field.size)
		if r.err != nil {
			break
		}
		switch field.name {
		case "size":
			size = value
		case "checksum":
			f.Type = "uint32"
			f.Value, f.Meaning = crcOf(uint32(value), size, bytes)
		}
		m.Fields = append(m.Fields, f)
	}
	if r.err != nil || r.remaining() < 16 {
		r.finish(&m)
		return m
	}
	special := map[int64]string{-0x1000: "the ledger's master key", -0x2000: "the ledger is fenced", -0x8000: "the last add confirmed, as the writer stored it"}
	attempt := *r
	ledger, _ := attempt.number("ledgerId", 8)
	entry, id := attempt.number("entryId", 8)
	if meaning := special[id]; meaning != "" {
		*r = attempt
		entry.Meaning = meaning
		m.Fields = append(m.Fields, ledger, entry)
		if r.remaining() > 0 {
			m.Fields = append(m.Fields, r.blob("rest", r.remaining()))
		}
	} else {
		m.Fields = append(m.Fields, r.group("entry", "ledger entry", func() []Field { return ledgerEntry(r) }))
	}
	r.finish(&m)
	return m
}

// crcOf compares the checksum of a frame of that size with the frame's bytes, which may be fewer.
func crcOf(stored uint32, size int64, frame []byte) (value, meaning string) {
	value = fmt.Sprintf("0x%08x", stored)
	if size > int64(len(frame)) {
		return value, "CRC-32C of all that follows, of which only the beginning is here"
	}
	if sum := crc32.Checksum(frame[8:], crc32.MakeTable(crc32.Castagnoli)); sum != stored {
		return value, fmt.Sprintf("does not match the bytes after it: CRC-32C 0x%08x", sum)
	}
	return value, "CRC-32C of all that follows: good"
}
