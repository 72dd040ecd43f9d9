package trace

import (
	"strconv"

	"twinlog/engine/sentence"
)

// KafkaPartition names a partition of a topic.
type KafkaPartition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
}

func (p KafkaPartition) String() string { return p.Topic + "-" + strconv.Itoa(int(p.Partition)) }

// KafkaBrokerRegistered: the broker's ephemeral znode under /brokers/ids is there.
type KafkaBrokerRegistered struct {
	Broker int32  `json:"broker"`
	Epoch  int64  `json:"epoch"` // the znode's czxid
	Host   string `json:"host"`
	Port   int32  `json:"port"`
}

// KafkaControllerElected: the broker won the race for /controller.
type KafkaControllerElected struct {
	Broker int32 `json:"broker"`
	Epoch  int32 `json:"epoch"`
}

// KafkaControllerResigned: the broker is no longer the controller and knows it.
type KafkaControllerResigned struct {
	Broker int32  `json:"broker"`
	Epoch  int32  `json:"epoch"`
	Reason string `json:"reason"`
	// Why is what Reason says.
	Why *sentence.Sentence `json:"why,omitempty"`
}

// KafkaControllerRefused: a broker refused what a controller sent after a newer one had been elected (STALE_CONTROLLER_EPOCH).
type KafkaControllerRefused struct {
	Controller int32  `json:"controller"` // broker id of who sent it
	Epoch      int32  `json:"epoch"`      // that it carried
	Newest     int32  `json:"newest"`     // epoch that the broker has heard of
	API        string `json:"api"`        // LeaderAndISR, UpdateMetadata, StopReplica
}

// KafkaTopicCreated: the controller took a topic on: a new one, or at its election one that is there. Replicas[p] is the assignment of partition p, preferred leader first.
type KafkaTopicCreated struct {
	Topic    string            `json:"topic"`
	TopicID  string            `json:"topicID"`
	Replicas [][]int32         `json:"replicas"`
	Config   map[string]string `json:"config,omitempty"`
	// Found: the topic was there when the controller was elected.
	Found bool `json:"found,omitempty"`
}

// KafkaTopicDeleted: the controller removed a topic's last trace.
type KafkaTopicDeleted struct {
	Topic string `json:"topic"`
}

// KafkaPartitionStateChanged: the controller wrote a partition's state znode, or found it so at its election.
type KafkaPartitionStateChanged struct {
	KafkaPartition
	Leader          int32   `json:"leader"` // -1: none
	LeaderEpoch     int32   `json:"leaderEpoch"`
	ISR             []int32 `json:"isr"`
	Replicas        []int32 `json:"replicas"`
	PartitionEpoch  int32   `json:"partitionEpoch"`
	ControllerEpoch int32   `json:"controllerEpoch"`
	Reason          Reason  `json:"reason"`
}

// KafkaReplicaRoleChanged: a broker took on a role for its replica.
type KafkaReplicaRoleChanged struct {
	KafkaPartition
	Role        string `json:"role"` // leader, follower, offline, deleted
	Leader      int32  `json:"leader"`
	LeaderEpoch int32  `json:"leaderEpoch"`
	LEO         int64  `json:"leo"`
	// HighWatermark as this replica knows it.
	HighWatermark int64 `json:"highWatermark"`
	LogStart      int64 `json:"logStart"`
}

// KafkaAppended: a replica's log grew. Hot.
type KafkaAppended struct {
	KafkaPartition
	Role       string `json:"role"` // leader, follower
	BaseOffset int64  `json:"baseOffset"`
	LEO        int64  `json:"leo"` // after the append
	Bytes      int64  `json:"bytes"`
	Records    int    `json:"records"`
	Folded     Folded `json:"folded,omitempty"`
}

// KafkaHighWatermarkAdvanced: a replica's high watermark moved. Hot.
type KafkaHighWatermarkAdvanced struct {
	KafkaPartition
	Role          string `json:"role"`
	HighWatermark int64  `json:"highWatermark"`
	Folded        Folded `json:"folded,omitempty"`
}

// KafkaFollowerFetched: the leader learned a follower's log end from its fetch. Hot.
type KafkaFollowerFetched struct {
	KafkaPartition
	Replica int32  `json:"replica"`
	LEO     int64  `json:"leo"`
	Folded  Folded `json:"folded,omitempty"`
}

// KafkaLogStartAdvanced: the oldest records of a replica are gone (retention or DeleteRecords).
type KafkaLogStartAdvanced struct {
	KafkaPartition
	LogStart int64 `json:"logStart"`
}

// KafkaTruncated: a follower cut its log back to where it agrees with the leader.
type KafkaTruncated struct {
	KafkaPartition
	From        int64 `json:"from"` // LEO before
	To          int64 `json:"to"`   // LEO after
	LeaderEpoch int32 `json:"leaderEpoch"`
}

// KafkaReplicaDamaged: a broker found that the log of one of its replicas does not hold all that was in it, and what it does about that.
type KafkaReplicaDamaged struct {
	KafkaPartition
	// Course is stepsAside: it asks the controller to take the replica out of the ISR, so that another one leads. The last member stays, and
	// the partition is offline if it cannot be read. Or beginsAnew: the replica is out of the ISR, its log was cut, and it follows.
	Course string `json:"course"`
	LEO    int64  `json:"leo"` // where the log ends; -1: it cannot be read
}

// KafkaISRChanged: the leader's committed ISR changed.
type KafkaISRChanged struct {
	KafkaPartition
	ISR            []int32 `json:"isr"`
	Added          []int32 `json:"added,omitempty"`
	Removed        []int32 `json:"removed,omitempty"`
	PartitionEpoch int32   `json:"partitionEpoch"`
}

// KafkaAcknowledged: a produce request was answered without error: the client may count on these records as far as Acks goes. Hot.
type KafkaAcknowledged struct {
	KafkaPartition
	Acks       int16  `json:"acks"`
	BaseOffset int64  `json:"baseOffset"`
	LastOffset int64  `json:"lastOffset"`
	Folded     Folded `json:"folded,omitempty"`
}

// KafkaRequestDelayed: a request waits in the purgatory.
type KafkaRequestDelayed struct {
	API      string   `json:"api"`
	Subject  string   `json:"subject"`
	Exchange Exchange `json:"exchange"`
	Waiting  int      `json:"waiting"` // requests in the purgatory, this one included
	Folded   Folded   `json:"folded,omitempty"`
}

// KafkaGroupMember is one member of a consumer group as its coordinator sees it.
type KafkaGroupMember struct {
	ID         string `json:"id"`
	InstanceID string `json:"instanceID,omitempty"`
	ClientID   string `json:"clientID"`
	// Joined: its JoinGroup request waits for the other members.
	Joined   bool             `json:"joined,omitempty"`
	Assigned []KafkaPartition `json:"assigned"`
}

// KafkaGroupChanged: a group's state, generation or membership changed at its coordinator.
type KafkaGroupChanged struct {
	Group      string             `json:"group"`
	State      string             `json:"state"` // Empty, PreparingRebalance, CompletingRebalance, Stable, Dead
	Generation int32              `json:"generation"`
	Strategy   string             `json:"strategy"`
	Leader     string             `json:"leader"`
	Members    []KafkaGroupMember `json:"members"`
	// Pending counts the clients that were given a member id and have not joined with it yet.
	Pending int    `json:"pending,omitempty"`
	Reason  string `json:"reason"`
	// Why is what Reason says.
	Why *sentence.Sentence `json:"why,omitempty"`
}

// KafkaOffsetCommitted: a group's committed offset moved. Hot.
type KafkaOffsetCommitted struct {
	KafkaPartition
	Group  string `json:"group"`
	Offset int64  `json:"offset"`
	Folded Folded `json:"folded,omitempty"`
}

func (KafkaBrokerRegistered) Kind() string      { return "kafka.brokerRegistered" }
func (KafkaControllerElected) Kind() string     { return "kafka.controllerElected" }
func (KafkaControllerResigned) Kind() string    { return "kafka.controllerResigned" }
func (KafkaControllerRefused) Kind() string     { return "kafka.controllerRefused" }
func (KafkaTopicCreated) Kind() string          { return "kafka.topicCreated" }
func (KafkaTopicDeleted) Kind() string          { return "kafka.topicDeleted" }
func (KafkaPartitionStateChanged) Kind() string { return "kafka.partitionStateChanged" }
func (KafkaReplicaRoleChanged) Kind() string    { return "kafka.replicaRoleChanged" }
func (KafkaAppended) Kind() string              { return "kafka.appended" }
func (KafkaHighWatermarkAdvanced) Kind() string { return "kafka.highWatermarkAdvanced" }
func (KafkaFollowerFetched) Kind() string       { return "kafka.followerFetched" }
func (KafkaLogStartAdvanced) Kind() string      { return "kafka.logStartAdvanced" }
func (KafkaTruncated) Kind() string             { return "kafka.truncated" }
func (KafkaReplicaDamaged) Kind() string        { return "kafka.replicaDamaged" }
func (KafkaISRChanged) Kind() string            { return "kafka.isrChanged" }
func (KafkaAcknowledged) Kind() string          { return "kafka.acknowledged" }
func (KafkaRequestDelayed) Kind() string        { return "kafka.requestDelayed" }
func (KafkaGroupChanged) Kind() string          { return "kafka.groupChanged" }
func (KafkaOffsetCommitted) Kind() string       { return "kafka.offsetCommitted" }

func (e KafkaAppended) FlowKey() string              { return e.String() }
func (e KafkaHighWatermarkAdvanced) FlowKey() string { return e.String() }
func (e KafkaFollowerFetched) FlowKey() string {
	return e.String() + "/" + strconv.Itoa(int(e.Replica))
}
func (e KafkaAcknowledged) FlowKey() string {
	return e.String() + "/" + strconv.Itoa(int(e.Acks))
}
func (e KafkaRequestDelayed) FlowKey() string  { return e.API + "/" + e.Subject }
func (e KafkaOffsetCommitted) FlowKey() string { return e.Group + "/" + e.String() }

func (e KafkaAppended) Merge(later Event) Event {
	merged := later.(KafkaAppended)
	merged.BaseOffset = e.BaseOffset
	merged.Bytes += e.Bytes
	merged.Records += e.Records
	merged.Folded = e.Folded.plus(merged.Folded)
	return merged
}

func (e KafkaHighWatermarkAdvanced) Merge(later Event) Event {
	merged := later.(KafkaHighWatermarkAdvanced)
	merged.Folded = e.Folded.plus(merged.Folded)
	return merged
}

func (e KafkaFollowerFetched) Merge(later Event) Event {
	merged := later.(KafkaFollowerFetched)
	merged.Folded = e.Folded.plus(merged.Folded)
	return merged
}

func (e KafkaAcknowledged) Merge(later Event) Event {
	merged := later.(KafkaAcknowledged)
	merged.BaseOffset = min(e.BaseOffset, merged.BaseOffset)
	merged.LastOffset = max(e.LastOffset, merged.LastOffset)
	merged.Folded = e.Folded.plus(merged.Folded)
	return merged
}

func (e KafkaRequestDelayed) Merge(later Event) Event {
	merged := later.(KafkaRequestDelayed)
	merged.Folded = e.Folded.plus(merged.Folded)
	return merged
}

func (e KafkaOffsetCommitted) Merge(later Event) Event {
	merged := later.(KafkaOffsetCommitted)
	merged.Folded = e.Folded.plus(merged.Folded)
	return merged
}
