package controller

import (
	"twinlog/engine/kafka/metadata"
	"twinlog/engine/trace"
)

// Plan is what is to be done about an event, in this order: all writes, each together with a check of the controller's epoch; then the
// requests, to each broker in their order; then the trace events. When a write fails, nothing after it is done and the controller resigns.
type Plan struct {
	Writes   []Write
	Requests []Request
	Events   []trace.Event
}

// Empty says whether there is nothing to do.
func (p Plan) Empty() bool { return len(p.Writes) == 0 && len(p.Requests) == 0 && len(p.Events) == 0 }

// Append adds what another plan, made after this one, does.
func (p *Plan) Append(next Plan) {
	p.Writes = append(p.Writes, next.Writes...)
	p.Requests = append(p.Requests, next.Requests...)
	p.Events = append(p.Events, next.Events...)
}

// Write is one change of a znode.
type Write interface{ write() }

// CreatePartitionsParent makes /brokers/topics/T/partitions.
type CreatePartitionsParent struct{ Topic string }

// CreatePartition makes /brokers/topics/T/partitions/P.
type CreatePartition struct{ Partition Partition }

// CreateLeadership makes the state znode of a partition, which gives it version 0.
type CreateLeadership struct {
	Partition  Partition
	Leadership Leadership
}

// SetLeadership replaces the state znode of a partition if it still has the expected version; Leadership.PartitionEpoch is the version
// that it has afterwards.
type SetLeadership struct {
	Partition       Partition
	Leadership      Leadership
	ExpectedVersion int32
}

// SetAssignment changes one partition in /brokers/topics/T; the others stay as the znode says.
type SetAssignment struct {
	Partition  Partition
	Assignment Assignment
}

// DeleteTopic removes /brokers/topics/T and all below it, /config/topics/T and /admin/delete_topics/T.
type DeleteTopic struct {
	Topic string
	// Partitions are those that have znodes, HasState says which of them has a state znode.
	Partitions         []int32
	HasState           map[int32]bool
	HasPartitionsZnode bool
}

// ForgetDeletion removes /admin/delete_topics/T of a topic that is not there or may not be deleted.
type ForgetDeletion struct{ Topic string }

func (CreatePartitionsParent) write() {}
func (CreatePartition) write()        {}
func (CreateLeadership) write()       {}
func (SetLeadership) write()          {}
func (SetAssignment) write()          {}
func (DeleteTopic) write()            {}
func (ForgetDeletion) write()         {}

// Request is a message to one broker. The driver adds the controller's id and epoch.
type Request interface {
	// To is the broker, in the incarnation that the controller means. A request for a broker that has restarted since is void.
	To() (broker int32, epoch int64)
}

// Target is the broker that a request goes to.
type Target struct {
	Broker int32
	Epoch  int64
}

// To implements [Request].
func (t Target) To() (int32, int64) { return t.Broker, t.Epoch }

// LeaderAndISR tells a broker the roles of its replicas.
type LeaderAndISR struct {
	Target
	// Full: the request names every replica that the broker has; else only what changed.
	Full        bool
	Partitions  []PartitionRole
	LiveLeaders []Broker // the brokers that lead any of the partitions
}

// PartitionRole is a partition in a [LeaderAndISR] or [UpdateMetadata] request.
type PartitionRole struct {
	Partition  Partition
	TopicID    metadata.TopicID
	Leadership Leadership
	Replicas   []int32
	Adding     []int32
	Removing   []int32
	// IsNew: the replica was never told about the partition, so it may create the log.
	IsNew bool
	// Offline are the replicas that cannot serve.
	Offline []int32
}

// UpdateMetadata tells a broker what it may tell clients. Partitions that are not named stay as they are.
type UpdateMetadata struct {
	Target
	LiveBrokers []Broker
	Partitions  []PartitionRole
}

// StopReplica tells a broker to stop replicas and, where asked to, to delete them.
type StopReplica struct {
	Target
	Partitions []StoppedReplica
}

// StoppedReplica is a partition in a [StopReplica] request.
type StoppedReplica struct {
	Partition Partition
	// LeaderEpoch of the partition; EpochDuringDelete when its topic is being deleted, so that the broker obeys whatever it knows.
	LeaderEpoch int32
	Delete      bool
}

// The leader epochs of a StopReplica request that are none.
const (
	NoLeaderEpoch     int32 = -1
	EpochDuringDelete int32 = -2
)
