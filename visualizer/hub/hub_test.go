package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"twinlog/engine/trace"
	"twinlog/engine/world"
	"twinlog/visualizer/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source stands for the nodes: tests put records in, the hub drains them.
type source struct {
	mu      sync.Mutex
	seq     map[string]uint64
	pending []trace.Record
}

func (s *source) emit(node string, events ...trace.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seq == nil {
		s.seq = map[string]uint64{}
	}
	for _, event := range events {
		s.seq[node]++
		s.pending = append(s.pending, trace.Record{Run: "r", Node: node, Seq: s.seq[node], At: time.Now(), Kind: event.Kind(), Data: event})
	}
}

func (s *source) Drain(records []trace.Record) []trace.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	records = append(records, s.pending...)
	s.pending = nil
	return records
}

// running starts a hub in the bubble and ends it with the test.
func running(t *testing.T, config Config) *Hub {
	t.Helper()
	h, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return h
}

// viewer follows a stream as the page does: snapshot, then every record folded in.
type viewer struct {
	n         uint64
	state     *world.State
	snapshots int
	records   int
}

func (v *viewer) take(t *testing.T, frame []byte) {
	t.Helper()
	var head struct{ Type string }
	if err := json.Unmarshal(frame, &head); err != nil {
		t.Fatal(err)
	}
	switch head.Type {
	case wire.TypeSnapshot:
		var snapshot wire.Snapshot
		if err := json.Unmarshal(frame, &snapshot); err != nil {
			t.Fatal(err)
		}
		v.state = world.New()
		if err := json.Unmarshal(snapshot.State, v.state); err != nil {
			t.Fatal(err)
		}
		v.n = snapshot.N
		v.snapshots++
	case wire.TypeRecords:
		var records wire.Records
		if err := json.Unmarshal(frame, &records); err != nil {
			t.Fatal(err)
		}
		for _, record := range records.Records {
			if record.N != v.n+1 {
				t.Fatalf("record %d after %d", record.N, v.n)
			}
			v.n = record.N
			v.state.Apply(record.Record)
			v.records++
		}
	default:
		t.Fatalf("frame of type %q", head.Type)
	}
}

func (v *viewer) takeAll(t *testing.T, s *Subscription) {
	t.Helper()
	for {
		select {
		case frame := <-s.Frames():
			v.take(t, frame)
		default:
			return
		}
	}
}

func (v *viewer) mustAgree(t *testing.T, h *Hub) {
	t.Helper()
	n, state, err := h.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mine, err := json.Marshal(v.state)
	if err != nil {
		t.Fatal(err)
	}
	if v.n != n || !bytes.Equal(mine, state) {
		t.Errorf("the viewer is at %d, the hub at %d:\n viewer %s\n hub    %s", v.n, n, mine, state)
	}
}

func TestStreamIsASnapshotAndThenEveryRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var nodes source
		h := running(t, Config{Drain: nodes.Drain})
		nodes.emit("kafka-1", trace.NodeStarted{Role: "kafka", ID: 1})
		time.Sleep(time.Second)
		s, err := h.Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var v viewer
		v.takeAll(t, s)
		if v.n != 1 || v.state.Nodes["kafka-1"].State != "starting" {
			t.Fatalf("after the snapshot: n=%d %v", v.n, v.state.Nodes)
		}
		for range 100 {
			nodes.emit("kafka-1", trace.NodeReady{})
			nodes.emit("kafka-2", trace.NodeStarted{Role: "kafka", ID: 2})
			time.Sleep(7 * time.Millisecond)
			v.takeAll(t, s)
		}
		time.Sleep(time.Second)
		v.takeAll(t, s)
		if v.snapshots != 1 || v.records != 200 {
			t.Errorf("%d snapshots, %d records", v.snapshots, v.records)
		}
		v.mustAgree(t, h)
	})
}

func TestAtMostThirtyFramesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var nodes source
		h := running(t, Config{Drain: nodes.Drain, Interval: time.Millisecond})
		s, err := h.Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		frames := 0
		for range 1000 {
			nodes.emit("kafka-1", trace.NodeReady{})
			time.Sleep(time.Millisecond)
			for len(s.frames) > 0 {
				<-s.Frames()
				frames++
			}
		}
		if frames > 31 { // the snapshot and 30
			t.Errorf("%d frames in a second", frames)
		}
	})
}

func TestSlowBrowserIsResynchronisedAndNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var nodes source
		h := running(t, Config{Drain: nodes.Drain})
		slow, err := h.Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		quick, err := h.Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer quick.Close()
		var v, quickViewer viewer
		for range 300 {
			nodes.emit("bookie-1", trace.NodeStarted{Role: "bookie", ID: 1}, trace.NodeReady{})
			time.Sleep(50 * time.Millisecond)
			quickViewer.takeAll(t, quick)
		}
		v.takeAll(t, slow)
		if v.snapshots != 1 || v.records >= 600 {
			t.Errorf("the slow one got %d snapshots and %d records; its old frames should have been thrown away", v.snapshots, v.records)
		}
		v.mustAgree(t, h)
		if quickViewer.snapshots != 1 || quickViewer.records != 600 {
			t.Errorf("the quick one got %d snapshots and %d records", quickViewer.snapshots, quickViewer.records)
		}
		if slow.resynchronised == 0 || quick.resynchronised != 0 {
			t.Errorf("resynchronised: slow %d, quick %d", slow.resynchronised, quick.resynchronised)
		}
	})
}

func TestReceivedMessageNamesItsSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var nodes source
		h := running(t, Config{Drain: nodes.Drain})
		message := trace.Message{Exchange: trace.Exchange{Connection: "a>b", Correlation: 9}, From: "kafka-1", To: "kafka-2"}
		nodes.emit("kafka-2", trace.MessageReceived{Message: message}) // drained before its sending
		nodes.emit("kafka-1", trace.MessageSent{Message: message})
		time.Sleep(time.Second)
		records, err := h.TraceAfter(t.Context(), 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(records) != 2 || records[1].Node != "kafka-2" || records[1].Cause != (trace.Ref{Node: "kafka-1", Seq: 1}) {
			t.Errorf("records: %+v", records)
		}
	})
}

func TestTooManySubscribers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var nodes source
		h := running(t, Config{Drain: nodes.Drain, MaxSubscribers: 2})
		first, _ := h.Subscribe(t.Context())
		if _, err := h.Subscribe(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Subscribe(t.Context()); !errors.Is(err, ErrTooMany) {
			t.Errorf("the third: %v", err)
		}
		first.Close()
		if _, err := h.Subscribe(t.Context()); err != nil {
			t.Errorf("after one left: %v", err)
		}
	})
}

func TestEndOfTheHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var nodes source
		var recorder keeper
		h, err := New(Config{Drain: nodes.Drain, Recorder: &recorder})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- h.Run(ctx) }()
		s, err := h.Subscribe(ctx)
		if err != nil {
			t.Fatal(err)
		}
		<-s.Frames()
		for range 700 {
			nodes.emit("kafka-1", trace.NodeReady{})
		}
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		var v viewer
		v.state = world.New()
		for frame := range s.Frames() {
			v.take(t, frame)
		}
		if v.records != 700 {
			t.Errorf("%d records of 700 were sent", v.records)
		}
		if len(recorder.chunks) != 2 || recorder.chunks[1].LastN != 700 {
			t.Errorf("recorded: %+v", recorder.chunks)
		}
		if _, _, err := h.Snapshot(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("asking afterwards: %v", err)
		}
		s.Close()
	})
}

type keeper struct{ chunks []Chunk }

func (k *keeper) Record(chunk Chunk) error {
	k.chunks = append(k.chunks, chunk)
	return nil
}

func TestQuietClassroomIsRecordedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var nodes source
		var recorder keeper
		running(t, Config{Drain: nodes.Drain, Recorder: &recorder})
		nodes.emit("kafka-1", trace.NodeReady{})
		time.Sleep(2 * sealAfter)
		synctest.Wait()
		if len(recorder.chunks) != 1 || recorder.chunks[0].LastN != 1 {
			t.Errorf("recorded: %+v", recorder.chunks)
		}
	})
}

// TestLastDrainIsTakenWhole: a record that is younger than the last drain must not wait for one that never comes.
func TestLastDrainIsTakenWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last := trace.Record{Node: "kafka-1", Seq: 1, At: time.Now().Add(time.Hour), Kind: "node.ready", Data: trace.NodeReady{}}
		var recorder keeper
		h, err := New(Config{Recorder: &recorder, Drain: func(records []trace.Record) []trace.Record {
			defer func() { last.Node = "" }()
			if last.Node == "" {
				return records
			}
			return append(records, last)
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := h.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if len(recorder.chunks) != 1 || recorder.chunks[0].LastN != 1 {
			t.Errorf("recorded: %+v", recorder.chunks)
		}
	})
}
