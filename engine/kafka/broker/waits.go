package broker

import (
	"strings"
	"time"

	"twinlog/engine/commitlog"
	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/replica"
	"twinlog/engine/trace"
)

// What the operations in the purgatory say about themselves, and what a log says about its shape: for the trace, not for the work.

// Waits implements reactor.Operation.
func (op *produceOperation) Waits() reactor.WaitKind { return reactor.WaitsForReplicas }

// Describe implements reactor.Operation. It names the first partition that is not replicated yet.
func (op *produceOperation) Describe() trace.KafkaWait {
	wait := trace.KafkaWait{API: "Produce", Client: op.request.ClientID, TimeoutMS: int64(max(0, op.body.TimeoutMillis))}
	for _, part := range op.parts {
		if !part.pending {
			continue
		}
		if done, _ := part.replicated(); done {
			continue
		}
		if wait.Partitions++; wait.Partitions == 1 {
			wait.Partition, wait.Offset = part.partition.name.String(), part.result.last+1
		}
	}
	return wait
}

// Waits implements reactor.Operation.
func (op *fetchOperation) Waits() reactor.WaitKind {
	if op.replica >= 0 {
		return reactor.WaitsToReplicate
	}
	return reactor.WaitsForRecords
}

// Describe implements reactor.Operation. Of the partitions it names the one whose name comes first, so that a session that goes on
// looks the same.
func (op *fetchOperation) Describe() trace.KafkaWait {
	wait := trace.KafkaWait{
		API: "Fetch", Client: op.request.ClientID, MinBytes: int(max(0, op.body.MinBytes)), TimeoutMS: int64(max(0, op.body.MaxWaitMillis)),
		Partitions: len(op.targets),
	}
	if op.replica >= 0 {
		wait.Client = op.request.Peer
	}
	var first *fetchTarget
	for _, target := range op.targets {
		if first == nil || comesBefore(target, first) {
			first = target
		}
	}
	if first != nil {
		wait.Partition, wait.Offset = trace.KafkaPartition{Topic: first.topic, Partition: first.number}.String(), first.offset
	}
	return wait
}

// comesBefore puts the topics of clients before internal ones.
func comesBefore(a, b *fetchTarget) bool {
	aInternal, bInternal := strings.HasPrefix(a.topic, "__"), strings.HasPrefix(b.topic, "__")
	if aInternal != bInternal {
		return bInternal
	}
	return a.topic < b.topic || a.topic == b.topic && a.number < b.number
}

// Waits implements reactor.Operation.
func (a *coordinatorAppend) Waits() reactor.WaitKind { return reactor.WaitsForReplicas }

// Describe implements reactor.Operation.
func (a *coordinatorAppend) Describe() trace.KafkaWait {
	return trace.KafkaWait{API: "OffsetCommit", Partition: a.part.partition.name.String(), Partitions: 1, Offset: a.part.result.last + 1, TimeoutMS: a.timeout.Milliseconds()}
}

// Waits implements reactor.Operation.
func (untilHeard) Waits() reactor.WaitKind { return reactor.WaitsForCluster }

// Describe implements reactor.Operation.
func (u untilHeard) Describe() trace.KafkaWait {
	return trace.KafkaWait{API: "Metadata", TimeoutMS: (u.broker.settings.requestTimeout / 2).Round(time.Millisecond).Milliseconds()}
}

// shapeShown bounds the segments and epochs that the trace is told of.
const shapeShown = 16

func shapeOf(name trace.KafkaPartition, segments []commitlog.SegmentInfo, epochs []replica.EpochStart) trace.KafkaLogShapeChanged {
	event := trace.KafkaLogShapeChanged{KafkaPartition: name, SegmentCount: len(segments), Segments: []trace.KafkaSegment{}, Epochs: []trace.KafkaEpochStart{}}
	for _, segment := range segments[max(0, len(segments)-shapeShown):] {
		event.Segments = append(event.Segments, trace.KafkaSegment{Base: segment.Base, Bytes: segment.Size})
	}
	for _, epoch := range epochs[max(0, len(epochs)-shapeShown):] {
		event.Epochs = append(event.Epochs, trace.KafkaEpochStart{Epoch: epoch.Epoch, Start: epoch.Start})
	}
	return event
}
