package bookie

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"twinlog/engine/commitlog"
	"twinlog/engine/pulsar/bookkeeper/wire"
)

// A record, in the journal and in an entry log (the same bytes, numbered once):
//
//	0        4        8               16             24             32
//	+--------+--------+---------------+--------------+--------------+-------------
//	| size   | CRC-32C| sequence      | ledger       | entry        | rest of the
//	|        |        |               |              |              | entry
//	+--------+--------+---------------+--------------+--------------+-------------
//	                                  \__________ an entry as on the wire ________/
//
// Numbers are big-endian. Size counts the whole record; the checksum covers everything after it. The sequence is the record's offset
// in the commit log: the bookie's running number over all ledgers, with gaps in an entry log.
//
// What a bookie must remember about a ledger besides its entries is a record too, with an entry id that no entry can have:
const (
	// ledgerKeyEntry: the rest is the ledger's master key.
	ledgerKeyEntry int64 = -0x1000
	// fenceEntry: the ledger is fenced.
	fenceEntry int64 = -0x2000
	// explicitLACEntry: the rest is what WRITE_LAC stored last.
	explicitLACEntry int64 = -0x8000
)

const (
	recordHeaderSize = 16
	minimumRecord    = recordHeaderSize + 16
	maximumRecord    = recordHeaderSize + wire.MaxFrame
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// recordFraming shows records to the commit log.
type recordFraming struct{}

func (recordFraming) HeaderSize() int { return recordHeaderSize }
func (recordFraming) MaxSize() int    { return maximumRecord }

func (recordFraming) Parse(header []byte) (commitlog.Frame, error) {
	size := binary.BigEndian.Uint32(header)
	sequence := int64(binary.BigEndian.Uint64(header[8:]))
	if size < minimumRecord || size > maximumRecord {
		return commitlog.Frame{}, fmt.Errorf("a record of %d bytes: possible are %d to %d", size, minimumRecord, maximumRecord)
	}
	if sequence < 0 {
		return commitlog.Frame{}, fmt.Errorf("record number %d", sequence)
	}
	return commitlog.Frame{Size: int(size), BaseOffset: sequence, LastOffset: sequence}, nil
}

func (recordFraming) Checksum(header []byte) commitlog.Checksum {
	return commitlog.Checksum{From: 8, Want: binary.BigEndian.Uint32(header[4:])}
}

// appendRecord appends a record whose entry is given in pieces.
func appendRecord(buffer []byte, sequence int64, entry ...[]byte) []byte {
	start := len(buffer)
	buffer = append(buffer, 0, 0, 0, 0, 0, 0, 0, 0)
	buffer = binary.BigEndian.AppendUint64(buffer, uint64(sequence))
	for _, piece := range entry {
		buffer = append(buffer, piece...)
	}
	record := buffer[start:]
	binary.BigEndian.PutUint32(record, uint32(len(record)))
	binary.BigEndian.PutUint32(record[4:], crc32.Checksum(record[8:], castagnoli))
	return buffer
}

// entryIDs is the first 16 bytes of every entry.
func entryIDs(ledger, entry int64) []byte {
	ids := binary.BigEndian.AppendUint64(make([]byte, 0, 16), uint64(ledger))
	return binary.BigEndian.AppendUint64(ids, uint64(entry))
}

// recordIDs reads them from a record.
func recordIDs(record []byte) (ledger, entry int64) {
	return int64(binary.BigEndian.Uint64(record[recordHeaderSize:])), int64(binary.BigEndian.Uint64(record[recordHeaderSize+8:]))
}

// recordEntry is the entry in a record.
func recordEntry(record []byte) []byte { return record[recordHeaderSize:] }

// eachRecord calls visit with every record in a run of whole records and its place in it.
func eachRecord(records []byte, visit func(record []byte, at int) error) error {
	for at := 0; at < len(records); {
		if len(records)-at < recordHeaderSize {
			return fmt.Errorf("%d stray bytes after a record", len(records)-at)
		}
		frame, err := recordFraming{}.Parse(records[at:])
		if err != nil {
			return err
		}
		if at+frame.Size > len(records) {
			return fmt.Errorf("record %d is cut off", frame.BaseOffset)
		}
		if err := visit(records[at:at+frame.Size], at); err != nil {
			return err
		}
		at += frame.Size
	}
	return nil
}
