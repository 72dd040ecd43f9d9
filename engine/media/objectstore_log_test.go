package media

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"twinlog/engine/commitlog"
	"twinlog/engine/disk"
)

// framing is | size u32 | offset i64 | crc u32 | payload |.
type framing struct{}

const headerSize = 16

func (framing) HeaderSize() int { return headerSize }
func (framing) MaxSize() int    { return 1 << 20 }
func (framing) Parse(header []byte) (commitlog.Frame, error) {
	offset := int64(binary.BigEndian.Uint64(header[4:]))
	return commitlog.Frame{Size: int(binary.BigEndian.Uint32(header)), BaseOffset: offset, LastOffset: offset}, nil
}

func (framing) Checksum(header []byte) commitlog.Checksum {
	return commitlog.Checksum{From: headerSize, Want: binary.BigEndian.Uint32(header[12:])}
}

func frame(offset int64, payload int) []byte {
	frame := bytes.Repeat([]byte{byte(offset)}, headerSize+payload)
	binary.BigEndian.PutUint32(frame, uint32(len(frame)))
	binary.BigEndian.PutUint64(frame[4:], uint64(offset))
	binary.BigEndian.PutUint32(frame[12:], crc32.Checksum(frame[headerSize:], crc32.MakeTable(crc32.Castagnoli)))
	return frame
}

const logPrefix = "node/orders-0/"

// tieredLog opens a log whose sealed segments, of four frames each, can move to the store.
func tieredLog(t *testing.T, d disk.Disk, m Medium) *commitlog.Log {
	t.Helper()
	log, err := commitlog.Open(d, "log", framing{}, commitlog.Config{
		SegmentBytes: 4 * (headerSize + 100), IndexInterval: 100,
		Tier: &commitlog.Tier{Medium: m, Prefix: logPrefix, Timeout: 10 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Abandon)
	return log
}

func everything(t *testing.T, log *commitlog.Log) (all []byte) {
	t.Helper()
	for offset := log.Start(); offset < log.Next(); {
		section, err := log.Read(offset, 150)
		if err != nil {
			t.Fatal(err)
		}
		content, err := section.ReadAll()
		section.Close()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, content...)
		offset += int64(len(content) / (headerSize + 100))
	}
	return all
}

// TestSegmentsInAnObjectStore moves two segments, breaks one upload half-way, cuts the power between another upload and its adoption, and
// opens the log again: nothing is lost, the two are read by range through the same reader, and what nobody adopted is collected.
func TestSegmentsInAnObjectStore(t *testing.T) {
	store, memory := newTestStore(t), disk.NewMemory()
	m := store.open(t, "twinlog/")
	put(t, m, "node/orders-1/00000000000000000000.log", "another log's")
	log := tieredLog(t, memory, m)
	var want []byte
	for offset := range int64(22) {
		want = append(want, frame(offset, 100)...)
		if _, err := log.Append(frame(offset, 100)); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Sync(); err != nil {
		t.Fatal(err)
	}
	for _, base := range []int64{0, 4} {
		upload, err := log.Upload(t.Context(), base)
		if err == nil {
			err = upload.Adopt()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	store.meet(reset, reset, reset)
	if _, err := log.Upload(t.Context(), 8); err == nil {
		t.Fatal("an upload went through a connection that broke each time")
	}
	store.meet()
	if names, err := m.List(t.Context(), logPrefix); err != nil || len(names) != 2 {
		t.Fatalf("a broken upload left something: %v, %v", names, err)
	}
	if _, err := log.Upload(t.Context(), 12); err != nil { // whole, and nobody will know of it
		t.Fatal(err)
	}
	log.Abandon()
	memory.Crash(rand.New(rand.NewPCG(1, 2)))

	log = tieredLog(t, memory, m)
	if n, err := log.CollectOrphans(t.Context()); n != 1 || err != nil {
		t.Fatalf("%d orphans, %v", n, err)
	}
	names, err := m.List(t.Context(), "node/")
	if !slices.Equal(names, []string{logPrefix + "00000000000000000000.log", logPrefix + "00000000000000000004.log", "node/orders-1/00000000000000000000.log"}) {
		t.Fatal(names, err)
	}
	var whole int
	store.meet(slices.Repeat([]fault{func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		if r.Method == http.MethodGet && r.Header.Get("Range") == "" && !r.URL.Query().Has("list-type") {
			whole++
		}
		serve.ServeHTTP(w, r)
	}}, 1000)...)
	if got := everything(t, log); !bytes.Equal(got, want) || whole > 0 {
		t.Fatalf("%d bytes of %d, %d reads without a range", len(got), len(want), whole)
	}
}

// TestAFlippedByteInAnObjectStore is found when the segment is read for the first time, named with its place, and not served.
func TestAFlippedByteInAnObjectStore(t *testing.T) {
	store, memory := newTestStore(t), disk.NewMemory()
	m := store.open(t, "")
	log := tieredLog(t, memory, m)
	for offset := range int64(9) {
		if _, err := log.Append(frame(offset, 100)); err != nil {
			t.Fatal(err)
		}
	}
	upload, err := log.Upload(t.Context(), 0)
	if err == nil {
		err = upload.Adopt()
	}
	if err != nil {
		t.Fatal(err)
	}
	name := logPrefix + "00000000000000000000.log"
	content := []byte(read(t, m, name))
	content[headerSize+100+40] ^= 1 // in the second frame
	put(t, m, name, string(content))
	var corrupt *commitlog.CorruptError
	section, err := log.Read(1, 1)
	if err == nil {
		section.Close()
		t.Fatal("it was served")
	}
	if !errors.As(err, &corrupt) || !strings.HasSuffix(corrupt.File, name) || corrupt.Position != headerSize+100 {
		t.Fatal(err)
	}
}
