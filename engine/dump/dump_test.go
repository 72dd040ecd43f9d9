package dump

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"twinlog/engine/commitlog"
	"twinlog/engine/disk"
	"twinlog/engine/ensemble/jute"
	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/media"
	"twinlog/engine/pulsar/ledger"
)

// TestDumpOfAPartition writes a log as a broker does and looks for what a student must find in its files' words.
func TestDumpOfAPartition(t *testing.T) {
	dir := t.TempDir()
	d, err := disk.NewOS(dir)
	if err != nil {
		t.Fatal(err)
	}
	log, err := commitlog.Open(d, "orders-0", records.Framing{}, commitlog.Config{SegmentBytes: 200})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		batch := records.Build([]records.Record{{Timestamp: 1_700_000_000_000 + int64(i), Key: []byte("k"), Value: []byte("order")}, {Timestamp: 1_700_000_000_000, Value: []byte{0xff}}})
		records.Assign(batch, log.Next(), 7)
		if _, err := log.Append(batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.DeleteBefore(1); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "orders-0", "*"))
	var out strings.Builder
	for _, file := range files {
		if err := File(&out, file); err != nil && !strings.HasSuffix(file, "lock") {
			t.Error(err)
		}
	}
	for _, want := range []string{
		"a Kafka-mode partition's segment", "offset 0-1,", "2 records, leader epoch 7, 2023-11-14 22:13:20", `offset 0: key "k", value "order"`, "key null, value 1 bytes",
		"sparse offset index", "offset 0 is at byte 0", "sparse time index", "the log begins at offset 1", "bytes of segment 8 were synced, up to offset 9",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

func TestDumpOfATornTailAndOfNoSegment(t *testing.T) {
	dir := t.TempDir()
	batch := records.Build([]records.Record{{Timestamp: 1, Value: []byte("whole")}})
	torn := filepath.Join(dir, "00000000000000000000.log")
	os.WriteFile(torn, append(batch, batch[:40]...), 0o644)
	var out strings.Builder
	if err := File(&out, torn); err != nil || !strings.Contains(out.String(), "no whole frame from here on (40 bytes)") {
		t.Errorf("%v\n%s", err, out.String())
	}
	noise := filepath.Join(dir, "noise.log")
	os.WriteFile(noise, []byte(strings.Repeat("noise", 100)), 0o644)
	if err := File(&out, noise); err == nil || !strings.Contains(err.Error(), "no frame of any kind") {
		t.Errorf("noise: %v", err)
	}
}

// frame is the shape that Raft entries and bookies' records share: size u32, CRC-32C u32 of the rest, offset u64, the rest.
func frame(offset uint64, rest []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(16+len(rest)))
	out = append(out, 0, 0, 0, 0)
	out = append(binary.BigEndian.AppendUint64(out, offset), rest...)
	binary.BigEndian.PutUint32(out[4:], crc32.Checksum(out[8:], crc32.MakeTable(crc32.Castagnoli)))
	return out
}

// dumped is what dump says of a file with that content.
func dumped(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := File(&out, path); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func wantIn(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

const segmentName = "00000000000000000000.log"

// raftEntry is term u64, type byte, data.
func raftEntry(index, term uint64, data []byte) []byte {
	return frame(index, append(append(binary.BigEndian.AppendUint64(nil, term), 0), data...))
}

func TestDumpOfARaftLog(t *testing.T) {
	head := protocol.CommandHead{Session: 0x1f, Origin: tree.Origin{Server: 2, Incarnation: 1, Sequence: 1}}
	request := func(op protocol.Op, write func(*jute.Encoder)) []byte {
		e := jute.NewEncoder(nil)
		write(e)
		return protocol.EncodeRequest(head, op, e.Bytes())
	}
	create := request(protocol.OpCreate, func(e *jute.Encoder) {
		e.String("/controller")
		e.Buffer([]byte(`{"brokerid":2}`))
		protocol.AppendACL(e, tree.OpenACL)
		e.Int(1) // ephemeral
	})
	acl := request(protocol.OpSetACL, func(e *jute.Encoder) {
		e.String("/controller")
		protocol.AppendACL(e, []tree.ACL{{Permissions: tree.Read | tree.Admin, ID: tree.ID{Scheme: "ip", ID: "10.0.0.1"}}})
		e.Int(3)
	})
	content := append(append(raftEntry(7, 4, nil), raftEntry(8, 4, create)...), raftEntry(9, 4, acl)...)
	wantIn(t, dumped(t, segmentName, content), "the ensemble's Raft log", "offset 7, 25 bytes: term 4: empty: a leader begins its term",
		"through server 2, session 0x1f: create ephemeral /controller with 14 bytes `{\"brokerid\":2}`\n", "set the ACL of /controller, ACL ip:10.0.0.1:ra, if its version is 3")
}

// TestDumpOfABookiesLogs: their frames have the shape of Raft entries, and must not be taken for them.
func TestDumpOfABookiesLogs(t *testing.T) {
	sealer, err := ledger.NewSealer(5, ledger.CRC32C, nil)
	if err != nil {
		t.Fatal(err)
	}
	ids := func(ledger, entry int64) []byte {
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(ledger)), uint64(entry))
	}
	position := []byte{0x08, 3, 0x10, 17}                                                                    // PositionInfo: ledger 3, entry 17
	message := append([]byte{0, 0, 0, 7, 0x0a, 1, 'p', 0x10, 9, 0x18, 1}, []byte("an unbatched message")...) // metadata: producer p, sequence 9, time 1
	for first, begin := range map[string][]byte{"key": frame(0, append(ids(5, -0x1000), make([]byte, 20)...)), "entry": frame(0, sealer.Seal(0, -1, 4, position))} {
		content := append(begin, frame(1, sealer.Seal(1, 0, 24, message))...)
		content = append(content, frame(2, ids(5, -0x2000))...)
		content = append(content, frame(3, append(ids(6, 0), make([]byte, 30)...))...)
		text := dumped(t, segmentName, content)
		wantIn(t, text, "a bookie's journal or entry log", `ledger 5, entry 1, last add confirmed 0: message of producer "p", sequence id 9`,
			`payload "an unbatched message"`, "ledger 5: fenced, no adds from here on", "ledger 6, entry 0, last add confirmed 0: 46 bytes")
		if first == "entry" {
			wantIn(t, text, "ledger 5, entry 0, nothing confirmed before it: a subscription's position: all up to 3:17 is acknowledged")
		}
	}
}

func TestDumpOfConsumerOffsets(t *testing.T) {
	key := []byte("\x00\x01\x00\x04demo\x00\x06orders\x00\x00\x00\x02")                                                      // version 1, group, topic, partition
	value := []byte("\x00\x03\x00\x00\x00\x00\x00\x00\x00\x2a\x00\x00\x00\x05\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00") // version 3, offset, epoch, metadata, time
	batch := records.Build([]records.Record{{Timestamp: 1, Key: key, Value: value}, {Timestamp: 1, Key: key}})
	wantIn(t, dumped(t, "__consumer_offsets-3/"+segmentName, batch), "a segment of __consumer_offsets", `group "demo", orders-2: committed offset 42, leader epoch 5, at 00:00:00`,
		"the committed offset is deleted (tombstone)")
}

func TestDumpOfADirectory(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"leader-epoch-checkpoint": "0\n1\n4 17\n", "unknown.bin": "?"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := File(&out, dir); err != nil {
		t.Fatal(err)
	}
	wantIn(t, out.String(), "a leader epoch, and the offset of the first record", "  4 17\n", "unknown.bin: not a file that can be put in words")
	if err := File(&out, filepath.Join(dir, "unknown.bin")); err == nil || !strings.Contains(err.Error(), "known are segments") {
		t.Errorf("an unknown file: %v", err)
	}
}

func TestDumpOfMovedSegments(t *testing.T) {
	memory := media.NewMemory()
	dir := t.TempDir()
	d, _ := disk.NewOS(dir)
	log, err := commitlog.Open(d, "orders-0", records.Framing{}, commitlog.Config{SegmentBytes: 100, Tier: &commitlog.Tier{Medium: memory, Prefix: "orders-0/"}})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Abandon()
	for range 3 {
		batch := records.Build([]records.Record{{Timestamp: 1, Value: []byte("an order")}})
		records.Assign(batch, log.Next(), 7)
		if _, err := log.Append(batch); err != nil {
			t.Fatal(err)
		}
	}
	upload, err := log.Upload(t.Context(), 0)
	if err == nil {
		err = upload.Adopt()
	}
	var out strings.Builder
	if err == nil {
		err = File(&out, filepath.Join(dir, "orders-0", "moved"))
	}
	if err != nil || !strings.Contains(out.String(), "00000000000000000000.log: offsets 0 to 0,") {
		t.Fatal(err, out.String())
	}
	if section, err := log.Read(0, 1); err != nil || section.Size() == 0 {
		t.Fatal(err)
	}
}

// TestZerosThatWereWrittenAheadAreNoDamage, in words and for the page. A partition's segment is not filled ahead: there they are what a crash
// left.
func TestZerosThatWereWrittenAheadAreNoDamage(t *testing.T) {
	const name = "00000000000000000000.log"
	for kind, whole := range map[string][]byte{"raft": raftEntry(7, 4, nil), "partition": records.Build([]records.Record{{Timestamp: 1, Value: []byte("whole")}})} {
		ahead, torn := "200000 bytes of zeros, written ahead", "no whole frame from here on (200000 bytes)"
		segment := append(whole, make([]byte, 200_000)...)
		text := dumped(t, name, segment)
		if strings.Contains(text, ahead) != (kind == "raft") || strings.Contains(text, torn) != (kind != "raft") {
			t.Error(text)
		}
		page, err := Read(bytes.NewReader(segment), name, int64(len(segment)), 0)
		if err != nil || page.Kind != kind || page.Torn == nil || page.Torn.Ahead != (kind == "raft") {
			t.Errorf("%s: %+v, %v", kind, page.Torn, err)
		}
		segment[len(segment)-1] = 1
		wantIn(t, dumped(t, name, segment), torn)
	}
}

// TestZerosAreNoFrame in any framing: a log that is filled ahead finds its end by that.
func TestZerosAreNoFrame(t *testing.T) {
	for _, kind := range kindsOf("any") {
		if frame, err := kind.framing.Parse(make([]byte, kind.framing.HeaderSize())); err == nil {
			t.Errorf("%s: zeros are %+v", kind.name, frame)
		}
	}
}
