package controllerdriver

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/metadata"
	"twinlog/engine/trace"
)

// APIs are the requests that the driver serves, in the versions of Apache Kafka 3.9.
func (d *Driver) APIs() []reactor.API {
	return []reactor.API{
		{Key: kmsg.ControlledShutdown, Max: 3, Handle: d.handleControlledShutdown},
		{Key: kmsg.CreateTopics, Max: 7, Handle: d.handleCreateTopics},
		{Key: kmsg.DeleteTopics, Max: 6, Handle: d.handleDeleteTopics},
		{Key: kmsg.AlterConfigs, Max: 2, Handle: d.handleAlterConfigs},
		{Key: kmsg.CreatePartitions, Max: 3, Handle: d.handleCreatePartitions},
		{Key: kmsg.ElectLeaders, Max: 2, Handle: d.handleElectLeaders},
		{Key: kmsg.IncrementalAlterConfigs, Max: 1, Handle: d.handleIncrementalAlterConfigs},
		{Key: kmsg.AlterPartitionAssignments, Max: 0, Handle: d.handleAlterPartitionReassignments},
		{Key: kmsg.ListPartitionReassignments, Max: 0, Handle: d.handleListPartitionReassignments},
		{Key: kmsg.AlterPartition, Max: 3, Handle: d.handleAlterPartition},
		{Key: kmsg.AllocateProducerIDs, Max: 0, Handle: d.handleAllocateProducerIDs},
	}
}

// delayed is a request that was carried out and waits until this broker has heard of it, so that a client that asks here next sees it.
type delayed struct {
	ready    func(*metadata.Snapshot) bool
	complete func(expired bool)
	metadata func() *metadata.Snapshot
	about    trace.KafkaWait
}

func (w delayed) Ready() bool           { return w.ready(w.metadata()) }
func (w delayed) Complete(expired bool) { w.complete(expired) }

func (w delayed) Waits() reactor.WaitKind   { return reactor.WaitsForCluster }
func (w delayed) Describe() trace.KafkaWait { return w.about }

// await completes a request when this broker's metadata say so, or when its time is up.
func (d *Driver) await(r *reactor.Request, timeoutMillis int32, ready func(*metadata.Snapshot) bool, complete func(expired bool)) {
	operation := delayed{ready: ready, complete: complete, metadata: d.config.Metadata}
	timeout := max(0, time.Duration(timeoutMillis)*time.Millisecond)
	operation.about = trace.KafkaWait{API: kmsg.NameForKey(r.Key), Client: r.ClientID, TimeoutMS: timeout.Milliseconds()}
	if waiting := d.config.Purgatory.Watch(operation, timeout, metadataKey{}); waiting > 0 {
		d.config.Tracer.EmitCaused(r.Cause, trace.KafkaRequestDelayed{
			API: kmsg.NameForKey(r.Key), Subject: reactor.DescribeRequest(r.Body).Subject, Exchange: r.Exchange, Waiting: waiting,
		})
	}
}

// allLed says whether every partition of a topic has a leader that this broker tells clients about.
func allLed(snapshot *metadata.Snapshot, topic string, partitions int) bool {
	info, known := snapshot.Topic(topic)
	if !known || len(info.Partitions) < partitions {
		return false
	}
	for _, partition := range info.Partitions {
		if partition.Leader < 0 {
			return false
		}
	}
	return true
}
