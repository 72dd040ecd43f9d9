package offloaded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sort"
)

const (
	dataMagic  = "TLOD"
	indexMagic = "TLOI"
	version    = 1

	dataHeaderSize  = 28
	frameHeaderSize = 16
	indexHeaderSize = 44
	blockItemSize   = 16
	checksumSize    = 4

	// blockSize is how many bytes a block has at least, the last one excepted.
	blockSize = 64 << 10
	// maxPayload bounds one entry, so that a damaged length makes nobody reserve memory for it.
	maxPayload = 64 << 20
	// maxIndex bounds an index: 2 GiB of entries, the largest ledger, have one of half a megabyte.
	maxIndex = 64 << 20
)

// ErrDamaged: what lies on the medium is not what was put there. The error around it names the object and the place in it.
var ErrDamaged = errors.New("the object is damaged")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Ledger is what is known of a sealed ledger beforehand: it tells the size of the data before the first entry is read.
type Ledger struct {
	ID      int64
	Entries int64
	Bytes   int64 // payloads
}

func (l Ledger) dataSize() int64 { return dataHeaderSize + l.Entries*frameHeaderSize + l.Bytes }

// appendDataHeader appends the first bytes of the data.
func appendDataHeader(b []byte, l Ledger) []byte {
	from := len(b)
	b = append(b, dataMagic...)
	b = binary.BigEndian.AppendUint16(b, version)
	b = append(b, 0, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(l.ID))
	b = binary.BigEndian.AppendUint64(b, uint64(l.Entries))
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b[from:], castagnoli))
}

// checkDataHeader tells what is wrong with the first bytes of the data of a ledger.
func checkDataHeader(b []byte, l Ledger) error {
	if want := appendDataHeader(nil, l); string(b) != string(want) {
		return damaged("its first %d bytes are not those of ledger %d with %d entries", dataHeaderSize, l.ID, l.Entries)
	}
	return nil
}

// appendFrame appends an entry with what surrounds it.
func appendFrame(b []byte, ledger, entry int64, payload []byte) []byte {
	at := len(b)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	b = binary.BigEndian.AppendUint64(b, uint64(entry))
	b = binary.BigEndian.AppendUint32(b, frameChecksum(ledger, b[at:at+12], payload))
	return append(b, payload...)
}

func frameChecksum(ledger int64, lengthAndEntry, payload []byte) uint32 {
	var id [8]byte
	binary.BigEndian.PutUint64(id[:], uint64(ledger))
	sum := crc32.Update(crc32.Checksum(id[:], castagnoli), castagnoli, lengthAndEntry)
	return crc32.Update(sum, castagnoli, payload)
}

// decodeFrame reads the entry at the beginning of b, which must be the one with that number. The payload lies in b.
func decodeFrame(b []byte, ledger, entry int64) (payload, rest []byte, err error) {
	if len(b) < frameHeaderSize {
		return nil, nil, damaged("entry %d is cut off", entry)
	}
	length := int64(binary.BigEndian.Uint32(b))
	if found := int64(binary.BigEndian.Uint64(b[4:])); found != entry {
		return nil, nil, damaged("entry %d is where entry %d should be", found, entry)
	}
	if length > int64(len(b)-frameHeaderSize) {
		return nil, nil, damaged("entry %d of %d bytes is cut off", entry, length)
	}
	end := frameHeaderSize + length
	payload = b[frameHeaderSize:end:end]
	if frameChecksum(ledger, b[:12], payload) != binary.BigEndian.Uint32(b[12:]) {
		return nil, nil, damaged("the checksum of entry %d does not match", entry)
	}
	return payload, b[end:], nil
}

// block is a run of entries in the data.
type block struct {
	first  int64 // entry
	offset int64
}

// index tells where the entries are.
type index struct {
	ledger Ledger
	blocks []block
}

func (x index) append(b []byte) []byte {
	from := len(b)
	b = append(b, indexMagic...)
	b = binary.BigEndian.AppendUint16(b, version)
	b = append(b, 0, 0)
	for _, number := range []int64{x.ledger.ID, x.ledger.Entries, x.ledger.Bytes, x.ledger.dataSize()} {
		b = binary.BigEndian.AppendUint64(b, uint64(number))
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(x.blocks)))
	for _, one := range x.blocks {
		b = binary.BigEndian.AppendUint64(b, uint64(one.first))
		b = binary.BigEndian.AppendUint64(b, uint64(one.offset))
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b[from:], castagnoli))
}

// decodeIndex reads an index. Whatever it returns without an error can be read by without further checks of places.
func decodeIndex(b []byte) (index, error) {
	if len(b) < indexHeaderSize+checksumSize || string(b[:4]) != indexMagic {
		return index{}, damaged("it is no index of an offloaded ledger")
	}
	if found := binary.BigEndian.Uint16(b[4:]); found != version {
		return index{}, fmt.Errorf("the index has version %d, known is %d", found, version)
	}
	body := b[:len(b)-checksumSize]
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(b[len(body):]) {
		return index{}, damaged("the checksum of the index does not match")
	}
	number := func(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }
	x := index{ledger: Ledger{ID: number(8), Entries: number(16), Bytes: number(24)}}
	count := int64(binary.BigEndian.Uint32(b[40:]))
	const most = 1 << 48 // entries and bytes, so that their sums cannot overflow
	switch l := x.ledger; {
	case l.Entries < 1 || l.Entries > most || l.Bytes < 0 || l.Bytes > most || number(32) != l.dataSize():
		return index{}, damaged("%d entries of %d bytes cannot be %d bytes of data", l.Entries, l.Bytes, number(32))
	case count < 1 || int64(len(body)) != indexHeaderSize+count*blockItemSize:
		return index{}, damaged("an index of %d bytes has not %d blocks", len(b), count)
	}
	x.blocks = make([]block, count)
	for i := range x.blocks {
		at := indexHeaderSize + i*blockItemSize
		x.blocks[i] = block{first: number(at), offset: number(at + 8)}
	}
	return x, x.check()
}

// check: the blocks divide the data, in order, into pieces that a reader can hold.
func (x index) check() error {
	if x.blocks[0] != (block{first: 0, offset: dataHeaderSize}) {
		return damaged("the first block begins with entry %d at %d", x.blocks[0].first, x.blocks[0].offset)
	}
	for i, one := range x.blocks {
		next := x.after(i)
		if next.first <= one.first || next.first > x.ledger.Entries { // before anything is calculated with it
			return damaged("block %d begins with entry %d, and what is after it with entry %d of %d", i, one.first, next.first, x.ledger.Entries)
		}
		entries, bytes := next.first-one.first, next.offset-one.offset
		if bytes < entries*frameHeaderSize || bytes > blockSize+frameHeaderSize+maxPayload {
			return damaged("block %d has entries %d to %d at bytes %d to %d", i, one.first, next.first-1, one.offset, next.offset-1)
		}
	}
	return nil
}

// after is where the block after block i begins, or the end of the data.
func (x index) after(i int) block {
	if i+1 < len(x.blocks) {
		return x.blocks[i+1]
	}
	return block{first: x.ledger.Entries, offset: x.ledger.dataSize()}
}

// blockOf is the block that has an entry.
func (x index) blockOf(entry int64) int {
	return sort.Search(len(x.blocks), func(i int) bool { return x.blocks[i].first > entry }) - 1
}
