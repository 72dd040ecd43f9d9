package bookie

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path"
	"slices"
	"sort"

	"twinlog/engine/commitlog"
	"twinlog/engine/disk"
)

// indexFile is the name of a sealed entry log's index, beside the log's segment:
//
//	0        4         8           12          16
//	+--------+---------+-----------+-----------+----------------+----------------+--------+
//	| "TLEI" | version | ledgers n | records m | n ledger rows  | m record rows  | CRC-32C|
//	|        | u32 = 1 | u32       | u32       | 40 bytes each  | 16 bytes each  | u32    |
//	+--------+---------+-----------+-----------+----------------+----------------+--------+
//
//	ledger row:  | ledger i64 | last entry i64 | bytes i64 | next sequence i64 | first record row u32 | count u32 |
//	record row:  | entry i64 | position u32 | size u32 |
//
// Ledger rows are sorted by ledger, the record rows of a ledger by entry. The ledger rows stay in memory; a record row is found by
// binary search in the file. "Next sequence" is the log's, in every row. The checksum is over all that comes before it.
//
// A row is believed when it leads to the entry that was asked for. When it does not, or when no row is found, the whole file is checked
// first: a bookie that says of an entry that it never had it is believed by a ledger's recovery.
const (
	indexFile       = "ledgers.index"
	indexMagic      = "TLEI"
	indexVersion    = 1
	indexHeaderSize = 16
	ledgerRowSize   = 40
	recordRowSize   = 16
)

// sealedLedger is a ledger row.
type sealedLedger struct {
	ledger int64
	last   int64
	bytes  int64
	first  uint32
	count  uint32
}

// sealedIndex is an index file: the ledger rows, and the open file for the record rows.
type sealedIndex struct {
	file    disk.File
	ledgers []sealedLedger // sorted
	next    int64          // sequence after the last record of the log
	rows    int64          // where the record rows begin
}

// writeIndex writes an entry log's index durably: beside it, synced, renamed.
func writeIndex(d disk.Disk, dir string, ledgers map[int64]*ledgerPlaces, next int64) error {
	ids := make([]int64, 0, len(ledgers))
	records := 0
	for id, l := range ledgers {
		ids = append(ids, id)
		records += len(l.places)
	}
	slices.Sort(ids)
	b := make([]byte, 0, indexHeaderSize+len(ids)*ledgerRowSize+records*recordRowSize+4)
	b = append(b, indexMagic...)
	b = binary.BigEndian.AppendUint32(b, indexVersion)
	b = binary.BigEndian.AppendUint32(b, uint32(len(ids)))
	b = binary.BigEndian.AppendUint32(b, uint32(records))
	first := 0
	for _, id := range ids {
		l := ledgers[id]
		for _, number := range []int64{id, l.last(), l.bytes, next} {
			b = binary.BigEndian.AppendUint64(b, uint64(number))
		}
		b = binary.BigEndian.AppendUint32(b, uint32(first))
		b = binary.BigEndian.AppendUint32(b, uint32(len(l.places)))
		first += len(l.places)
	}
	for _, id := range ids {
		for _, p := range ledgers[id].places {
			b = binary.BigEndian.AppendUint64(b, uint64(p.entry))
			b = binary.BigEndian.AppendUint32(b, p.position)
			b = binary.BigEndian.AppendUint32(b, p.size)
		}
	}
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return replaceFile(d, dir, indexFile, b)
}

// replaceFile makes a file with the given bytes appear at once and durably.
func replaceFile(d disk.Disk, dir, name string, bytes []byte) error {
	fresh := path.Join(dir, name+".new")
	file, err := d.OpenFile(fresh, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(bytes, 0)
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = d.Rename(fresh, path.Join(dir, name))
	}
	if err == nil {
		err = d.SyncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("write %s/%s: %w", dir, name, err)
	}
	return nil
}

var errBadIndex = errors.New("index file is damaged")

// openIndex opens an index file; an error that wraps os.ErrNotExist or errBadIndex means that it has to be made anew.
func openIndex(d disk.Disk, dir string) (*sealedIndex, error) {
	file, err := d.OpenFile(path.Join(dir, indexFile), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	index, err := readIndex(file)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s/%s: %w", dir, indexFile, err)
	}
	return index, nil
}

func readIndex(file disk.File) (*sealedIndex, error) {
	size, err := file.Size()
	if err != nil {
		return nil, err
	}
	if size < indexHeaderSize+4 || size > 1<<32 {
		return nil, errBadIndex
	}
	b := make([]byte, size)
	if n, err := file.ReadAt(b, 0); int64(n) != size {
		return nil, err
	}
	body := b[:size-4]
	ledgers, records := int64(binary.BigEndian.Uint32(b[8:])), int64(binary.BigEndian.Uint32(b[12:]))
	rows := indexHeaderSize + ledgers*ledgerRowSize
	if string(b[:4]) != indexMagic || binary.BigEndian.Uint32(b[4:]) != indexVersion || rows+records*recordRowSize+4 != size ||
		crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(b[size-4:]) {
		return nil, errBadIndex
	}
	index := &sealedIndex{file: file, rows: rows, ledgers: make([]sealedLedger, ledgers)}
	for i := range index.ledgers {
		row := b[indexHeaderSize+i*ledgerRowSize:]
		index.ledgers[i] = sealedLedger{
			ledger: int64(binary.BigEndian.Uint64(row)), last: int64(binary.BigEndian.Uint64(row[8:])), bytes: int64(binary.BigEndian.Uint64(row[16:])),
			first: binary.BigEndian.Uint32(row[32:]), count: binary.BigEndian.Uint32(row[36:]),
		}
		index.next = int64(binary.BigEndian.Uint64(row[24:]))
	}
	return index, nil
}

// damage checks the file as it is now: nil, or an error that tells of it.
func (x *sealedIndex) damage() error {
	size, err := x.file.Size()
	if err != nil || size < indexHeaderSize+4 {
		return errors.Join(err, x.damaged("it is %d bytes long", size))
	}
	sum := crc32.New(castagnoli)
	var stored [4]byte
	if _, err = io.Copy(sum, io.NewSectionReader(x.file, 0, size-4)); err == nil {
		_, err = x.file.ReadAt(stored[:], size-4)
	}
	if err != nil {
		return fmt.Errorf("read entry log index %s: %w", x.file.Name(), err)
	}
	if wanted := binary.BigEndian.Uint32(stored[:]); sum.Sum32() != wanted {
		return x.damaged("its checksum is %08x, but its bytes give %08x", wanted, sum.Sum32())
	}
	return nil
}

func (x *sealedIndex) damaged(format string, args ...any) error {
	return &commitlog.CorruptError{File: x.file.Name(), Err: fmt.Errorf(format, args...)}
}

// find finds a ledger's row.
func (x *sealedIndex) find(ledger int64) (sealedLedger, bool) {
	at, found := slices.BinarySearchFunc(x.ledgers, ledger, func(l sealedLedger, id int64) int { return cmp.Compare(l.ledger, id) })
	if !found {
		return sealedLedger{}, false
	}
	return x.ledgers[at], true
}

// get finds a record's place by binary search in the file.
func (x *sealedIndex) get(l sealedLedger, entry int64) (place, bool, error) {
	var failed error
	var row [recordRowSize]byte
	read := func(i int) place {
		if n, err := x.file.ReadAt(row[:], x.rows+int64(int(l.first)+i)*recordRowSize); n < recordRowSize && failed == nil {
			failed = fmt.Errorf("read entry log index: %w", err)
		}
		return place{
			entry: int64(binary.BigEndian.Uint64(row[:])), position: binary.BigEndian.Uint32(row[8:]), size: binary.BigEndian.Uint32(row[12:]),
		}
	}
	at := sort.Search(int(l.count), func(i int) bool { return failed != nil || read(i).entry >= entry })
	if failed != nil || at == int(l.count) {
		return place{}, false, failed
	}
	found := read(at)
	return found, found.entry == entry && failed == nil, failed
}
