package reactor

import (
	"testing"
	"time"

	"twinlog/engine/commitlog"
	"twinlog/engine/disk"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/trace"
)

// TestTracingDoesNotWaitForADisk: what a fetch answers from a file is kept to be looked at while the disk is well. Of a disk that is paused,
// slow or gone only the header is kept, at once.
func TestTracingDoesNotWaitForADisk(t *testing.T) {
	system, err := disk.NewOS(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	faults := disk.NewFaults(system)
	log, err := commitlog.Open(faults, "orders-0", records.Framing{}, commitlog.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Abandon()
	batch := records.Build([]records.Record{{Timestamp: 1, Value: []byte("an order")}})
	records.Assign(batch, log.Next(), 1)
	if _, err := log.Append(batch); err != nil {
		t.Fatal(err)
	}
	section, err := log.Read(0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	payload := &Payload{}
	payload.AppendBytes([]byte("before "))
	payload.AppendSection(section)
	payload.AppendBytes([]byte(" after"))
	defer payload.Close()

	tracer := trace.NewTracer("run", "kafka-1", 100)
	size := int64(len("head ")) + payload.Size()
	kept := func() string {
		t.Helper()
		seq := make(chan uint64, 1)
		go func() {
			sent := trace.MessageSent{Message: trace.Message{Protocol: "kafka", Name: "Fetch", Bytes: size}}
			seq <- tracer.EmitMessage(trace.Ref{}, sent, trace.Frame{Head: []byte("head "), More: payload.copyBeginning}).Seq
		}()
		select {
		case seq := <-seq:
			frame, found := tracer.Frame(seq)
			if !found || frame.Size != size {
				t.Errorf("%v, of %d bytes, want %d", found, frame.Size, size)
			}
			return string(frame.Bytes)
		case <-time.After(10 * time.Second):
			faults.Sever() // so that whoever waits ends
			t.Fatal("tracing waits for the disk")
			return ""
		}
	}
	whole, header := "head before "+string(batch)+" after", "head before "
	if got := kept(); got != whole {
		t.Errorf("of a healthy disk %q is kept", got)
	}
	faults.Freeze()
	if got := kept(); got != header {
		t.Errorf("of a paused disk %q is kept", got)
	}
	faults.Thaw()
	faults.Set(disk.Fault{Delay: time.Hour})
	if got := kept(); got != header {
		t.Errorf("of a slow disk %q is kept", got)
	}
	faults.Set(disk.Fault{})
	if got := kept(); got != whole {
		t.Errorf("of a disk that is well again %q is kept", got)
	}
	faults.Sever()
	if got := kept(); got != header {
		t.Errorf("of a severed disk %q is kept", got)
	}
}
