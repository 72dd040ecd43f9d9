package world

import (
	"time"

	"twinlog/engine/trace"
)

// kafkaReactorMeasured: a measurement says all that there is to say.
func (s *State) kafkaReactorMeasured(node string, event trace.KafkaReactorMeasured) {
	reactor := &KafkaReactor{
		Connections: event.Connections, Queued: event.Queued, QueueLimit: event.QueueLimit, Busy: event.Busy, Handlers: event.Handlers,
		Produces: event.Produces, Fetches: event.Fetches, ReplicaFetch: event.ReplicaFetch, Others: event.Others,
		Waits: make([]KafkaWait, 0, len(event.Waits)),
	}
	for _, wait := range event.Waits {
		since := ""
		if !wait.Since.IsZero() {
			since = wait.Since.Format(time.RFC3339Nano) // as encoding/json writes it
		}
		reactor.Waits = append(reactor.Waits, KafkaWait{
			API: wait.API, Client: wait.Client, Partition: wait.Partition, Partitions: wait.Partitions, Offset: wait.Offset,
			MinBytes: wait.MinBytes, Since: since, TimeoutMS: wait.TimeoutMS,
		})
	}
	s.Kafka.Reactors[node] = reactor
}

// take notes of which segments and leader epochs the log is made.
func (l *KafkaLog) take(event trace.KafkaLogShapeChanged) {
	l.SegmentCount = event.SegmentCount
	l.Segments = make([]KafkaSegment, 0, len(event.Segments))
	for _, segment := range event.Segments {
		l.Segments = append(l.Segments, KafkaSegment(segment))
	}
	l.Epochs = make([]KafkaEpochStart, 0, len(event.Epochs))
	for _, epoch := range event.Epochs {
		l.Epochs = append(l.Epochs, KafkaEpochStart(epoch))
	}
}
