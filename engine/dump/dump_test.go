package dump

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"twinlog/engine/commitlog"
	"twinlog/engine/disk"
	"twinlog/engine/kafka/broker/records"
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
		"Kafka-mode partition", "offset 0-1,", "2 records, leader epoch 7, 2023-11-14 22:13:20", `offset 0: key "k", value "order"`, "key null, value 1 bytes",
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
