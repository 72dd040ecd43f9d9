package reactor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/fabric"
	"twinlog/engine/trace"
)

// measurements drains the gauge's records.
func measurements(tracer *trace.Tracer) (all []trace.KafkaReactorMeasured) {
	for _, record := range tracer.Drain(nil) {
		if measured, is := record.Data.(trace.KafkaReactorMeasured); is {
			all = append(all, measured)
		}
	}
	return all
}

func TestReactorTellsHowBusyItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := fabric.NewMemory()
		tracer := trace.NewTracer("run", "kafka-1", 1000)
		release := make(chan struct{})
		table := &Table{}
		table.Add(API{Key: kmsg.Metadata, Max: 12, Handle: func(r *Request) { <-release; r.Respond(kmsg.NewPtrMetadataResponse()) }})
		purgatory := NewPurgatory(1)
		server, err := NewServer(Config{Table: table, Handlers: 2, QueuedRequests: 5, Tracer: tracer, Purgatory: purgatory})
		if err != nil {
			t.Fatal(err)
		}
		listener, err := network.Of("kafka-1").Listen("127.0.0.1:9092")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(ctx, Listener{Name: "PLAINTEXT", Listener: listener}) }()
		for range 3 { // two handlers: one request waits in the queue
			conn, err := network.Of(fabric.Client).Dial(ctx, "127.0.0.1:9092")
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.Write(encoded(kmsg.NewPtrMetadataRequest(), 12, 1))
		}
		time.Sleep(measureEvery + time.Millisecond)
		full := measurements(tracer)
		if len(full) != 1 || full[0].Busy != 2 || full[0].Handlers != 2 || full[0].Queued == 0 || full[0].QueueLimit != 5 || full[0].Connections != 3 {
			t.Errorf("with two handlers held and a third request: %+v", full)
		}
		close(release)
		time.Sleep(time.Second)
		calm := measurements(tracer)
		if len(calm) == 0 || calm[len(calm)-1].Busy != 0 || calm[len(calm)-1].Queued != 0 {
			t.Errorf("that it is calm again is not told: %+v", calm)
		}
		time.Sleep(time.Minute)
		if idle := measurements(tracer); len(idle) != 0 {
			t.Errorf("an idle reactor is told %d times", len(idle))
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		purgatory.Close()
	})
}

func TestPurgatoryListsLongWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPurgatory(1)
		defer p.Close()
		began := time.Now()
		var long, short operation
		p.Watch(&long, time.Hour, "a")
		time.Sleep(listedAfter)
		p.Watch(&short, time.Hour, "a")
		peaks, waits := p.measured(time.Now())
		if peaks[WaitsForReplicas] != 2 || len(waits) != 1 || !waits[0].Since.Equal(began) || waits[0].Partition != "orders-0" {
			t.Errorf("peaks %v, waits %+v", peaks, waits)
		}
		long.ready.Store(true)
		p.Wake("a")
		synctest.Wait()
		if peaks, _ := p.measured(time.Now()); peaks[WaitsForReplicas] != 2 {
			t.Errorf("the most since the last measurement is %v", peaks)
		}
		if peaks, waits := p.measured(time.Now()); peaks[WaitsForReplicas] != 1 || len(waits) != 0 {
			t.Errorf("afterwards: peaks %v, waits %+v", peaks, waits)
		}
	})
}

// Whatever waits in great number, a record stays small.
func TestListedWaitsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPurgatory(1)
		defer p.Close()
		operations := make([]operation, 500)
		for i := range operations {
			p.Watch(&operations[i], time.Hour, i)
		}
		time.Sleep(time.Second)
		peaks, waits := p.measured(time.Now())
		if peaks[WaitsForReplicas] != 500 || len(waits) != listedWaits {
			t.Errorf("%d wait, %d are listed", peaks[WaitsForReplicas], len(waits))
		}
	})
}

func TestFetchThatAsksAgainStaysListed(t *testing.T) {
	fetch := trace.KafkaWait{API: "Fetch", Client: "kafka-2"}
	produce := trace.KafkaWait{API: "Produce", Client: "p", Since: time.Now()}
	var kept lingering
	for i, step := range []struct{ waits, want []trace.KafkaWait }{
		{[]trace.KafkaWait{produce, fetch}, []trace.KafkaWait{produce, fetch}},
		{nil, []trace.KafkaWait{fetch}},
		{[]trace.KafkaWait{fetch}, []trace.KafkaWait{fetch}},
		{nil, []trace.KafkaWait{fetch}},
		{nil, nil},
	} {
		got := kept.with(step.waits)
		if len(got) != len(step.want) || len(got) > 0 && got[len(got)-1] != step.want[len(step.want)-1] {
			t.Errorf("step %d: %+v, want %+v", i, got, step.want)
		}
	}
}
