package cluster

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"twinlog/engine/commitlog"
	"twinlog/engine/disk"
	"twinlog/engine/dump"
	"twinlog/engine/fabric"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/node"
	"twinlog/engine/trace"
)

// lookedInto is a slot whose node never ran, with a partition's log on its disk.
func lookedInto(t *testing.T) (*Slot, string) {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "kafka-1")
	files, err := disk.NewOS(dir)
	if err != nil {
		t.Fatal(err)
	}
	log, err := commitlog.Open(files, "orders-0", records.Framing{}, commitlog.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for range 70 {
		batch := records.Build([]records.Record{{Timestamp: 1, Key: []byte("k"), Value: []byte("needle")}, {Timestamp: 2}})
		records.Assign(batch, log.Next(), 7)
		if _, err := log.Append(batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "secret.log"), []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	return NewSlot(SlotConfig{Node: node.Config{Role: node.RoleKafka, ID: 1}, Fabric: fabric.NewMemory(), Disk: files, Tracer: trace.NewTracer("run-1", "kafka-1", 100)}), dir
}

func look[T any](t *testing.T, s *Slot, question Question) (answer T) {
	t.Helper()
	text, err := s.Look(t.Context(), question)
	if err != nil {
		t.Fatalf("%+v: %v", question, err)
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

const partitionFile = "orders-0/00000000000000000000.log"

func TestSegmentsOpenPageByPage(t *testing.T) {
	slot, _ := lookedInto(t)
	question := Question{What: LookFile, File: partitionFile}
	next, pages := int64(0), 0
	for question.At >= 0 {
		page := look[dump.Content](t, slot, question)
		if page.Kind != "partition" || page.Torn != nil || len(page.Frames) == 0 || len(page.Frames) > 64 {
			t.Fatalf("%+v", page)
		}
		for _, frame := range page.Frames {
			if frame.First != next || frame.Last != next+1 || frame.Batch == nil || frame.Batch.LeaderEpoch != 7 || *frame.Batch.Shown[0].Value != "needle" || frame.Batch.Shown[1].Value != nil {
				t.Fatalf("after %d: %+v", next, frame)
			}
			next += 2
		}
		opened := look[dump.Opened](t, slot, Question{What: LookFrame, File: partitionFile, At: page.Frames[0].At})
		if opened.Size != page.Frames[0].Size || len(opened.Bytes) != opened.Size || opened.Problem != "" || len(opened.Fields) < 13 {
			t.Errorf("%+v", opened)
		}
		question.At = page.Next
		pages++
	}
	if next != 140 || pages != 2 {
		t.Errorf("%d offsets on %d pages", next, pages)
	}
	if page := look[dump.Content](t, slot, Question{What: LookFile, File: "orders-0/00000000000000000000.index"}); page.Kind != "text" || !strings.Contains(strings.Join(page.Lines, "\n"), "offset index") {
		t.Errorf("%+v", page)
	}
}

func TestATornTailIsTold(t *testing.T) {
	slot, dir := lookedInto(t)
	file, err := os.OpenFile(filepath.Join(dir, partitionFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, _ := file.Stat()
	file.WriteString("torn")
	file.Close()
	page := look[dump.Content](t, slot, Question{What: LookFile, File: partitionFile})
	page = look[dump.Content](t, slot, Question{What: LookFile, File: partitionFile, At: page.Next})
	if page.Torn == nil || page.Torn.At != info.Size() || page.Torn.Bytes != 4 || page.Next != -1 {
		t.Errorf("%+v", page.Torn)
	}
}

// TestHostileQuestions: nothing but the files that are listed can be seen, and whatever is asked is answered.
func TestHostileQuestions(t *testing.T) {
	slot, dir := lookedInto(t)
	for _, name := range []string{
		"", ".", "..", "../secret.log", "../kafka-1/" + partitionFile, "/etc/passwd", filepath.Join(dir, partitionFile), "orders-0", "./" + partitionFile,
		"orders-0/../" + partitionFile, "orders-0//00000000000000000000.log", "orders-0\\00000000000000000000.log", partitionFile + "\x00", strings.Repeat("a/", 5000),
	} {
		for _, what := range []string{LookFile, LookFrame} {
			if answer, err := slot.Look(t.Context(), Question{What: what, File: name}); !errors.Is(err, ErrNotThere) {
				t.Errorf("%.40q: %s %v", name, answer, err)
			}
		}
	}
	for _, question := range []Question{
		{What: LookFile, File: partitionFile, At: -1}, {What: LookFile, File: partitionFile, At: 1 << 60}, {What: LookFrame, File: partitionFile, At: 1 << 60},
		{What: LookFrame, File: partitionFile, At: 5}, {What: LookFrame, File: partitionFile, At: -9}, {What: LookFrame, File: "orders-0/00000000000000000000.index"},
	} {
		if answer, err := slot.Look(t.Context(), question); !errors.Is(err, ErrNotThere) {
			t.Errorf("%+v: %.80s %v", question, answer, err)
		}
	}
	for question, want := range map[Question]error{
		{What: "everything"}: ErrInvalid, {What: LookThing, Thing: "group x"}: ErrWrongState, {What: LookMessage, Seq: 5}: ErrGone, {What: LookMessage, Seq: 5, Run: "run-0"}: ErrGone,
	} {
		if _, err := slot.Look(t.Context(), question); !errors.Is(err, want) {
			t.Errorf("%+v: %v", question, err)
		}
	}
}

func TestAMessageIsOpened(t *testing.T) {
	slot, _ := lookedInto(t)
	ref := slot.Tracer().EmitMessage(trace.Ref{}, trace.MessageReceived{Message: trace.Message{Protocol: "zookeeper", Bytes: 25}}, trace.Frame{Kind: 3, Head: []byte("\x00\x00\x00\x15\x00\x00\x00\x01\x00\x00\x00\x03\x00\x00\x00\x08/brokers\x00")})
	m := look[Message](t, slot, Question{What: LookMessage, Seq: ref.Seq, Run: "run-1"})
	if m.Name != "exists" || m.Problem != "" || m.Size != 25 || len(m.Bytes) != 25 || m.Fields[1].Fields[0].Value != "/brokers" {
		t.Errorf("%+v", m)
	}
}

func TestAnAnswerIsNotTooLong(t *testing.T) {
	question := Question{What: LookThing, Thing: "group readers"}
	if text, err := encodeAnswer(question, strings.Repeat("x", maxAnswer-2)); err != nil || len(text) != maxAnswer {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if _, err := encodeAnswer(question, strings.Repeat("x", maxAnswer-1)); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "group readers") {
		t.Errorf("too long: %v", err)
	}
}
