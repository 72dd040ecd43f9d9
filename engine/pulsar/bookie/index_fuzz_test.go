package bookie

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"testing"

	"twinlog/engine/disk"
)

// FuzzIndexFile reads any bytes as an entry log's index, as they are and with a checksum that is right, which a bit that was turned over
// on the disk cannot have.
func FuzzIndexFile(f *testing.F) {
	places := &ledgerPlaces{}
	places.put(place{entry: 3, position: 40, size: 50})
	places.put(place{entry: ledgerKeyEntry, position: 4, size: 36})
	d := disk.NewMemory()
	if err := d.MkdirAll("log"); err != nil {
		f.Fatal(err)
	}
	if err := writeIndex(d, "log", map[int64]*ledgerPlaces{7: places, 9: places}, 11); err != nil {
		f.Fatal(err)
	}
	f.Add(indexBytes(f, d))
	f.Add([]byte(indexMagic))
	f.Fuzz(func(t *testing.T, content []byte) {
		readAnyIndex(t, content)
		if len(content) >= 4 {
			body := content[:len(content)-4]
			readAnyIndex(t, binary.BigEndian.AppendUint32(append([]byte{}, body...), crc32.Checksum(body, castagnoli)))
		}
	})
}

func indexBytes(f *testing.F, d disk.Disk) []byte {
	file, err := d.OpenFile("log/"+indexFile, os.O_RDONLY)
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		f.Fatal(err)
	}
	content := make([]byte, size)
	if _, err := file.ReadAt(content, 0); err != nil {
		f.Fatal(err)
	}
	return content
}

func readAnyIndex(t *testing.T, content []byte) {
	d := disk.NewMemory()
	if err := replaceFile(d, ".", indexFile, content); err != nil {
		t.Fatal(err)
	}
	index, err := openIndex(d, ".")
	if err != nil {
		return
	}
	defer index.file.Close()
	for _, row := range index.ledgers {
		index.find(row.ledger)
		for _, entry := range []int64{row.last, 0, explicitLACEntry} {
			_, _, _ = index.get(row, entry)
		}
	}
	_ = index.damage()
}
