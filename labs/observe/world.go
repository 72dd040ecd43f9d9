// Package observe is what a check may look at: what clients see through the protocols, and the trace.
package observe

// World is the observed world at the time of a check. Its expr tags are the names that a lab's conditions use.
type World struct {
	Kafka  Kafka  `expr:"kafka"`  // through the Kafka protocol; also works on a cluster that is not ours
	Pulsar Pulsar `expr:"pulsar"` // through Pulsar's admin API
	// Trace is what the trace tells; Start is what it told when the attempt began.
	Trace Trace `expr:"trace"`
	Start Trace `expr:"start"`
	// Events since the attempt's start, oldest first.
	Events []Event `expr:"events"`
	// Deaths of nodes, answers to Kafka producers and ledgers of Pulsar topics, since the attempt's start, oldest first.
	Deaths       []Death        `expr:"deaths"`
	Acknowledged []Acknowledged `expr:"acknowledged"`
	Ledgers      []LedgerLife   `expr:"ledgers"`

	// KafkaError and PulsarError tell why a cluster could not be looked at. What needs it can then not be judged.
	KafkaError  error `expr:"-"`
	PulsarError error `expr:"-"`
}

// Kafka is a Kafka cluster as its clients see it. A missing topic or group is the zero value.
type Kafka struct {
	Brokers    int                   `expr:"brokers"`
	Controller int                   `expr:"controller"` // broker id; -1: none
	Topics     map[string]KafkaTopic `expr:"topics"`
	Groups     map[string]KafkaGroup `expr:"groups"`
}

// KafkaTopic is a topic as Metadata and ListOffsets tell.
type KafkaTopic struct {
	Partitions      int   `expr:"partitions"`
	Replicas        int   `expr:"replicas"`        // of its first partition
	InSync          int   `expr:"inSync"`          // smallest ISR of its partitions
	WithoutLeader   int   `expr:"withoutLeader"`   // partitions
	Records         int64 `expr:"records"`         // between the log start and the high watermark, over all partitions
	SpreadPartition int   `expr:"spreadPartition"` // partitions that hold a record
	// Config is the topic's effective configuration as DescribeConfigs tells.
	Config map[string]string `expr:"config"`
}

// KafkaGroup is a consumer group as its coordinator tells.
type KafkaGroup struct {
	State   string `expr:"state"`
	Members int    `expr:"members"`
	// Committed and Lag are by topic, summed over partitions. A topic of which nothing is committed is not in Committed; Lag counts
	// partitions without a commit as unread, of topics that the group has committed or is assigned.
	Committed map[string]int64 `expr:"committed"`
	Lag       map[string]int64 `expr:"lag"`
}

// Pulsar is a Pulsar cluster as its admin API tells. Topics are by full name.
type Pulsar struct {
	Brokers int                    `expr:"brokers"`
	Topics  map[string]PulsarTopic `expr:"topics"`
}

// PulsarTopic is a topic's stats.
type PulsarTopic struct {
	Exists        bool                          `expr:"exists"`
	Messages      int64                         `expr:"messages"` // published since the topic was loaded
	Subscriptions map[string]PulsarSubscription `expr:"subscriptions"`
}

// PulsarSubscription is a subscription's stats.
type PulsarSubscription struct {
	Exists  bool   `expr:"exists"`
	Type    string `expr:"type"`
	Backlog int64  `expr:"backlog"` // messages not yet acknowledged
	Acked   int64  `expr:"acked"`   // messages acknowledged: published minus backlog
}

// Event is one trace record as an expression sees it.
type Event struct {
	N    uint64         `expr:"n"`
	Node string         `expr:"node"`
	Kind string         `expr:"kind"`
	Data map[string]any `expr:"data"`
}

// Unchecked is how the kinds begin of records that checks are not shown. They are most of a trace and decide nothing: messages on their
// way, the single steps of what other records tell as a whole, and measurements.
var Unchecked = []string{
	"message.", "kafka.appended", "kafka.highWatermarkAdvanced", "kafka.followerFetched", "bookkeeper.entryStored",
	"bookkeeper.lastAddConfirmedAdvanced", "ensemble.commitAdvanced", "pulsar.dispatched",
	"kafka.requestDelayed", "kafka.reactorMeasured", "pulsar.subscriptionMeasured", "pulsar.brokerMeasured", "trace.latencyMeasured",
	"ensemble.logAppended",
}
