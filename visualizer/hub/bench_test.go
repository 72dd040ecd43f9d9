package hub

import (
	"fmt"
	"testing"
	"time"

	"twinlog/engine/trace"
)

// BenchmarkGather is what a record costs the hub, with ten browsers connected: ordering, cause, state, JSON, window, frames.
func BenchmarkGather(b *testing.B) {
	const batch = 350 // a thirtieth of 10,500 records a second
	var pending []trace.Record
	h, err := New(Config{Drain: func(records []trace.Record) []trace.Record { return append(records, pending...) }})
	if err != nil {
		b.Fatal(err)
	}
	for range 10 {
		h.subscribers[&Subscription{hub: h, frames: make(chan []byte, framesKept)}] = struct{}{}
	}
	partition := trace.KafkaPartition{Topic: "orders"}
	seq, at := uint64(0), time.Now().Add(-time.Hour)
	emit := func(node string, event trace.Event) {
		seq++
		at = at.Add(time.Microsecond)
		pending = append(pending, trace.Record{Run: "run", Node: node, Seq: seq, At: at, Kind: event.Kind(), Data: event})
	}
	for i := range 10 {
		emit(fmt.Sprintf("kafka-%d", i), trace.KafkaReplicaRoleChanged{KafkaPartition: partition, Role: "leader"})
	}
	b.ReportAllocs()
	records := 0
	for b.Loop() {
		h.gather()
		for subscription := range h.subscribers {
			for len(subscription.frames) > 0 {
				<-subscription.frames
			}
		}
		records += len(pending)
		pending = pending[:0]
		for i := range batch / 5 {
			leader, follower := fmt.Sprintf("kafka-%d", i%10), fmt.Sprintf("kafka-%d", (i+1)%10)
			message := trace.Message{Exchange: trace.Exchange{Connection: "127.0.0.1:40000>127.0.0.1:9092", Correlation: int64(seq)}, From: follower, To: leader,
				Protocol: "kafka", Name: "Fetch", Bytes: 120, Subject: "orders-0", Offset: int64(seq)}
			emit(follower, trace.MessageSent{Message: message})
			emit(leader, trace.MessageReceived{Message: message})
			emit(leader, trace.KafkaAppended{KafkaPartition: partition, Role: "leader", BaseOffset: int64(seq), LEO: int64(seq) + 10, Bytes: 1000, Records: 10})
			emit(leader, trace.KafkaHighWatermarkAdvanced{KafkaPartition: partition, Role: "leader", HighWatermark: int64(seq)})
			emit(leader, trace.KafkaAcknowledged{KafkaPartition: partition, Acks: -1, BaseOffset: int64(seq), LastOffset: int64(seq) + 9})
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(records), "ns/record")
}
