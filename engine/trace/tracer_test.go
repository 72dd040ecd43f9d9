package trace_test

import (
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"twinlog/engine/trace"
)

func appended(partition int32, leo int64) trace.KafkaAppended {
	return trace.KafkaAppended{
		KafkaPartition: trace.KafkaPartition{Topic: "orders", Partition: partition},
		Role:           "leader", BaseOffset: leo - 1, LEO: leo, Bytes: 100, Records: 1,
	}
}

// totals adds up what records of appends stand for, and checks that each partition's LEO only grows.
func totals(t *testing.T, records []trace.Record) (events int, bytes int64) {
	t.Helper()
	last := map[string]int64{}
	for _, record := range records {
		if event, ok := record.Data.(trace.KafkaAppended); ok {
			events += event.Folded.Events()
			bytes += event.Bytes
			if event.LEO <= last[event.String()] {
				t.Fatalf("%s: LEO %d after %d", event.String(), event.LEO, last[event.String()])
			}
			last[event.String()] = event.LEO
		}
	}
	return events, bytes
}

func TestNilTracerDiscards(t *testing.T) {
	var tracer *trace.Tracer
	if ref := tracer.Emit(trace.NodeReady{}); ref != (trace.Ref{}) || tracer.Node() != "" {
		t.Fatalf("ref %v, node %q", ref, tracer.Node())
	}
}

func TestEmitOrderAndCause(t *testing.T) {
	tracer := trace.NewTracer("run", "kafka-1", 100)
	first := tracer.Emit(trace.NodeReady{})
	tracer.EmitCaused(first, trace.NodePaused{})
	records := tracer.Drain(nil)
	if len(records) != 2 || records[0].Seq != 1 || records[1].Seq != 2 || records[1].Cause != first || first.Node != "kafka-1" {
		t.Fatalf("records are %+v", records)
	}
	if records[0].Kind != "node.ready" || records[0].Run != "run" || records[0].At.IsZero() {
		t.Fatalf("the record is %+v", records[0])
	}
	if more := tracer.Drain(nil); len(more) != 0 {
		t.Fatalf("drained twice: %+v", more)
	}
}

// A slow flow is recorded event by event.
func TestFewHotEventsPassSingly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracer := trace.NewTracer("run", "kafka-1", 10_000)
		for i := range int64(500) {
			tracer.Emit(appended(0, i+1))
			time.Sleep(10 * time.Millisecond)
		}
		records := tracer.Drain(nil)
		if len(records) != 500 {
			t.Fatalf("500 appends in 5 s are %d records", len(records))
		}
	})
}

// A fast flow is bounded, and nothing that it stands for is lost.
func TestManyHotEventsAreFolded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracer := trace.NewTracer("run", "kafka-1", 10_000)
		var records []trace.Record
		const each, partitions = 10_000, 3
		for i := range int64(each) {
			for p := range int32(partitions) {
				tracer.Emit(appended(p, i+1))
			}
			time.Sleep(100 * time.Microsecond)
			if i%300 == 0 {
				records = tracer.Drain(records)
			}
		}
		records = tracer.Drain(records)
		events, bytes := totals(t, records)
		if events != each*partitions || bytes != each*partitions*100 {
			t.Fatalf("%d events of %d bytes, want %d of %d", events, bytes, each*partitions, each*partitions*100)
		}
		if len(records) > 2000 {
			t.Fatalf("%d events in a second are %d records", events, len(records))
		}
		for i, record := range records {
			if record.Seq != uint64(i+1) {
				t.Fatalf("record %d has seq %d", i, record.Seq)
			}
		}
	})
}

// No record tells of what happened after a later event that is not hot.
func TestFoldingEndsAtOtherEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracer := trace.NewTracer("run", "kafka-1", 10_000)
		for i := range int64(200) {
			tracer.Emit(appended(0, i+1))
		}
		tracer.Emit(trace.KafkaTruncated{KafkaPartition: trace.KafkaPartition{Topic: "orders"}, From: 200, To: 150})
		ref := tracer.Emit(appended(0, 151))
		if again := tracer.Emit(appended(0, 152)); again != ref {
			t.Errorf("events of one record have the refs %v and %v", ref, again)
		}
		records := tracer.Drain(nil)
		last := records[len(records)-1]
		event := last.Data.(trace.KafkaAppended)
		if last.Seq != ref.Seq || event.LEO != 152 || event.Folded != 2 || event.BaseOffset != 150 {
			t.Fatalf("the last record is %+v", last)
		}
		if before := records[len(records)-3].Data.(trace.KafkaAppended); before.LEO != 200 {
			t.Fatalf("the record before the truncation is %+v", before)
		}
	})
}

// A gauge is told beside what goes on: hot events are merged across it.
func TestFoldingGoesOnAcrossGauges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, gauge := range []trace.Event{
			trace.KafkaReactorMeasured{Connections: 1}, trace.LatencyMeasured{Operation: "produce"}, trace.PulsarBrokerMeasured{Connections: 1},
			trace.PulsarSubscriptionMeasured{Topic: "orders", Subscription: "audit"},
		} {
			tracer := trace.NewTracer("run", "kafka-1", 10_000)
			for i := range int64(200) {
				tracer.Emit(appended(0, i+1))
			}
			before := tracer.Emit(appended(0, 201))
			if ref := tracer.Emit(gauge); ref.Seq != before.Seq+1 {
				t.Errorf("%s has the record %v after %v", gauge.Kind(), ref, before)
			}
			if after := tracer.Emit(appended(0, 202)); after != before {
				t.Errorf("%s ends merging: %v after %v", gauge.Kind(), after, before)
			}
			if events, _ := totals(t, tracer.Drain(nil)); events != 202 {
				t.Errorf("%s: %d of 202 events", gauge.Kind(), events)
			}
		}
	})
}

// What a subscription's gauge repeats is not told before it in a newer state: the reader would fall back to an older one.
func TestACursorDoesNotMoveAheadOfItsGauge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracer := trace.NewTracer("run", "pulsar-1", 10_000)
		move := func(subscription string, entry int64) trace.Ref {
			return tracer.Emit(trace.PulsarCursorMoved{Topic: "orders", Subscription: subscription, Entry: entry})
		}
		for i := range int64(200) {
			move("audit", i)
			move("mail", i)
		}
		audit, mail := move("audit", 200), move("mail", 200)
		gauge := tracer.Emit(trace.PulsarSubscriptionMeasured{Topic: "orders", Subscription: "audit", Entry: 200})
		if ref := move("audit", 201); ref.Seq <= gauge.Seq || ref == audit {
			t.Errorf("a later move is told in %v, before the gauge %v", ref, gauge)
		}
		if ref := move("mail", 201); ref != mail {
			t.Errorf("the move of another subscription is told in %v, not in %v", ref, mail)
		}
	})
}

func TestFullTracerCounts(t *testing.T) {
	tracer := trace.NewTracer("run", "kafka-1", 10)
	for range 25 {
		tracer.Emit(trace.NodeReady{})
	}
	records := tracer.Drain(nil)
	if len(records) != 11 || records[10].Data != (trace.RecordsDropped{Count: 15}) || records[10].Seq != 11 {
		t.Fatalf("%d records, the last is %+v", len(records), records[len(records)-1])
	}
}

// A restarted node goes on in the same sequence; what its dead predecessor still says is not heard.
func TestLives(t *testing.T) {
	tracer := trace.NewTracer("run", "kafka-1", 100)
	first := tracer.Life()
	first.Emit(trace.NodeReady{})
	first.Silence()
	if ref := first.Emit(trace.NodePaused{}); ref != (trace.Ref{}) {
		t.Errorf("a silenced life recorded %v", ref)
	}
	if ref := tracer.Life().Emit(trace.NodeReady{}); ref.Seq != 2 {
		t.Errorf("the second life begins at %v", ref)
	}
	if records := tracer.Drain(nil); len(records) != 2 {
		t.Errorf("records are %+v", records)
	}
}

func TestConcurrentEmit(t *testing.T) {
	tracer := trace.NewTracer("run", "kafka-1", 100_000)
	var writers sync.WaitGroup
	for p := range int32(4) {
		writers.Go(func() {
			for i := range int64(5000) {
				tracer.Emit(appended(p, i+1))
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	var records []trace.Record
	for finished := false; !finished; {
		select {
		case <-done:
			finished = true
		default:
		}
		records = tracer.Drain(records)
	}
	if events, _ := totals(t, records); events != 20_000 {
		t.Fatalf("%d of 20000 events", events)
	}
}

func BenchmarkEmit(b *testing.B) {
	drained := func(b *testing.B, emit func(tracer *trace.Tracer, i int)) {
		tracer := trace.NewTracer("run", "kafka-1", 1<<16)
		var records []trace.Record
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			emit(tracer, i)
			if i++; i%4096 == 0 {
				records = tracer.Drain(records[:0])
			}
		}
	}
	b.Run("cold", func(b *testing.B) {
		drained(b, func(tracer *trace.Tracer, i int) { tracer.Emit(trace.RecordsDropped{Count: int64(i)}) })
	})
	b.Run("appended", func(b *testing.B) {
		drained(b, func(tracer *trace.Tracer, i int) { tracer.Emit(appended(int32(i%6), int64(i))) })
	})
	b.Run("message", func(b *testing.B) {
		subjects := make([]string, 6)
		for i := range subjects {
			subjects[i] = "orders-" + strconv.Itoa(i)
		}
		drained(b, func(tracer *trace.Tracer, i int) {
			tracer.Emit(trace.MessageSent{Message: trace.Message{
				Exchange: trace.Exchange{Connection: "127.0.0.1:40000>127.0.0.1:9092", Correlation: int64(i)},
				From:     "kafka-1", To: "kafka-2", Protocol: "kafka", Name: "Fetch", Bytes: 1000, Subject: subjects[i%6], Offset: int64(i), Count: 1,
			}})
		})
	})
}
