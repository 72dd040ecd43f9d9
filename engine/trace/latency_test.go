package trace

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestABucketsBoundIsCloseAbove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		took := time.Duration(rapid.Int64Range(0, int64(100*time.Second)).Draw(t, "took"))
		bucket := bucketOf(took)
		if above := float64(took) / 1e3; above > bounds[bucket] {
			t.Fatalf("%v is counted in the bucket up to %.1f µs", took, bounds[bucket])
		}
		if bucket > 0 && float64(took)/1e3 <= bounds[bucket-1] {
			t.Fatalf("%v would fit into the bucket up to %.1f µs", took, bounds[bucket-1])
		}
	})
	if bucketOf(time.Hour) != bucketsInAll-1 || bucketOf(-1) != 0 {
		t.Fatal("the first and the last bucket take what is beyond them")
	}
}

func TestLatenciesAreToldOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracer := NewTracer("run", "kafka-1", 100)
		latencies := NewLatencies("produce")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); latencies.Run(ctx, tracer) }()

		latencies.Observe(100 * time.Microsecond)
		latencies.Observe(100 * time.Microsecond)
		latencies.Observe(50 * time.Millisecond)
		time.Sleep(3500 * time.Millisecond)
		stop()
		<-ended

		records := tracer.Drain(nil)
		if len(records) != 1 {
			t.Fatalf("%d records of three seconds of which one had requests", len(records))
		}
		measured := records[0].Data.(LatencyMeasured)
		if len(measured.Buckets) != 2 || measured.Buckets[0].Count != 2 || measured.Buckets[1].Count != 1 {
			t.Fatalf("%+v", measured)
		}
		if up := measured.Buckets[0].UpToMicros; up < 100 || up > 119 {
			t.Fatalf("100 µs are told as up to %d µs", up)
		}
	})
	(*Latencies)(nil).Observe(time.Second)
}
