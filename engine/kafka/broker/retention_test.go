package broker

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"twinlog/engine/commitlog"
	"twinlog/engine/disk"
	"twinlog/engine/kafka/broker/configs"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/kafka/broker/replicalog"
	"twinlog/engine/trace"
)

// TestRetentionOfATopic: what the topic's values mean to a log of three sealed segments of 100 bytes and an active one of 10.
func TestRetentionOfATopic(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	at := func(secondsAgo int) time.Time { return now.Add(-time.Duration(secondsAgo) * time.Second) }
	segments := []commitlog.SegmentInfo{
		{Base: 0, Next: 10, Size: 100, MaxTime: at(50)}, {Base: 10, Next: 20, Size: 100, MaxTime: at(40)},
		{Base: 20, Next: 30, Size: 100, MaxTime: at(30)}, {Base: 30, Next: 31, Size: 10, MaxTime: at(20)},
	}
	for name, c := range map[string]struct{ ms, bytes, want int64 }{
		"for ever":                        {-1, -1, 0},
		"by age":                          {45_000, -1, 10},
		"exactly as old is kept":          {50_000, -1, 0},
		"an age that no clock reaches":    {1<<63 - 1, -1, 0},
		"no age at all":                   {0, -1, 30},
		"by bytes":                        {-1, 210, 10},
		"one byte more":                   {-1, 211, 0},
		"no bytes at all":                 {-1, 0, 30},
		"whichever lets more go":          {45_000, 110, 20},
		"the active one stays, too old":   {1, -1, 30},
		"the active one stays, too large": {-1, 1, 30},
	} {
		settings := configs.TopicSettings{RetentionMS: c.ms, RetentionBytes: c.bytes}
		if got := retentionOf(settings, segments).Start(segments, now); got != c.want {
			t.Errorf("%s: the log starts at %d, want %d", name, got, c.want)
		}
	}
}

// TestManyPartitionsShareOpenFiles: however many logs a broker has, the pool's bound holds, and each log can still be written and read.
func TestManyPartitionsShareOpenFiles(t *testing.T) {
	const logs, bound = 40, 5
	d, files := disk.NewMemory(), commitlog.NewFilePool(bound)
	batch := records.Build([]records.Record{{Timestamp: 1_000, Value: []byte("value")}})
	var all []*replicalog.Log
	for i := range logs {
		log, err := replicalog.Open(d, fmt.Sprintf("orders-%d", i), logConfig(configs.TopicSettings{SegmentBytes: 100, SegmentMS: 1000}, files), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		defer log.Abandon()
		all = append(all, log)
	}
	for range 3 {
		for i, log := range all {
			records.Assign(batch, log.Next(), 1)
			if err := log.Append(batch, time.Now()); err != nil {
				t.Fatal(err)
			}
			section, err := log.Records().Read(log.Next()-1, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			got, err := section.ReadAll()
			section.Close()
			if err != nil || !bytes.Equal(got, batch) {
				t.Fatalf("log %d: %d bytes, %v", i, len(got), err)
			}
			if open := files.Open(); open > bound {
				t.Fatalf("%d files are open", open)
			}
		}
	}
}

// TestRollingFollowsTheTopic: segment.ms and segment.bytes seal segments of a log that is open already.
func TestRollingFollowsTheTopic(t *testing.T) {
	never := configs.TopicSettings{SegmentBytes: 1 << 30, SegmentMS: 1 << 60, MinISR: 1}
	log, err := replicalog.Open(disk.NewMemory(), "orders-0", logConfig(never, nil), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer log.Abandon()
	p := newPartition(trace.KafkaPartition{Topic: "orders"}, partitionDeps{changed: func(*partition, change) {}}, log, never, 0, slog.New(slog.DiscardHandler))
	add := func(ms int64, wantSegments int) {
		t.Helper()
		batch := records.Build([]records.Record{{Timestamp: ms, Value: []byte("value")}})
		records.Assign(batch, log.Next(), 1)
		if err := log.Append(batch, time.Now()); err != nil {
			t.Fatal(err)
		}
		if got := len(log.Records().Segments()); got != wantSegments {
			t.Fatalf("%d segments, want %d", got, wantSegments)
		}
	}
	add(1_000_000, 1)
	add(9_000_000, 1)
	byAge := never
	byAge.SegmentMS = 60_000
	p.configure(byAge)
	add(9_000_001, 2)
	add(9_060_001, 2)
	add(9_060_002, 3)
	bySize := never
	bySize.SegmentBytes = 100
	p.configure(bySize)
	add(9_060_003, 4)
}
