package trace

import (
	"slices"
	"strconv"
	"time"
)

// KafkaReactorMeasured: how busy a broker's network layer is. A gauge: recorded when something changed, ten times a second at most, and
// once more when it is calm again. Queued and Busy are the most since the record before; requests that are too common to be told
// (heartbeats, fetches of a session that ask for nothing new) count only while a measurement meets them.
type KafkaReactorMeasured struct {
	Connections int `json:"connections"`
	Queued      int `json:"queued"`     // requests in the request queue
	QueueLimit  int `json:"queueLimit"` // queued.max.requests; when it is reached, clients are held back
	Busy        int `json:"busy"`       // handlers at work
	Handlers    int `json:"handlers"`   // num.io.threads
	// What waits in the purgatory, by what it waits for; the most since the record before.
	Produces     int `json:"produces"`     // acks=all: for replicas
	Fetches      int `json:"fetches"`      // of consumers: for records
	ReplicaFetch int `json:"replicaFetch"` // of followers: for records
	Others       int `json:"others"`       // for the cluster: a topic to be created, metadata to be heard
	// Waits are requests in the purgatory one by one, those that have waited longest first: 12 at most. A request that waits for
	// replicas is listed once it has waited for 100 ms.
	Waits []KafkaWait `json:"waits,omitempty"`
}

// KafkaWait is a request in the purgatory.
type KafkaWait struct {
	API string `json:"api"` // Produce, Fetch, CreateTopics …; OffsetCommit stands for all that a group coordinator writes
	// Client is the follower that fetches, or the client id of who waits.
	Client string `json:"client,omitempty"`
	// Partition that it waits for, the first of Partitions; empty when it does not wait for one.
	Partition  string `json:"partition,omitempty"`
	Partitions int    `json:"partitions,omitempty"`
	// Offset: a produce request waits until the high watermark is there; a fetch waits for a record at it.
	Offset int64 `json:"offset"`
	// MinBytes is how much a fetch waits for.
	MinBytes int `json:"minBytes,omitempty"`
	// Since is when it began to wait; only of a produce request and other long waits: a fetch asks again when its time is up, so that its
	// beginning says nothing.
	Since time.Time `json:"since,omitzero"`
	// TimeoutMS is how long it waits at most.
	TimeoutMS int64 `json:"timeoutMS"`
}

// Equal tells whether two records say the same.
func (e KafkaReactorMeasured) Equal(other KafkaReactorMeasured) bool {
	return slices.Equal(e.Waits, other.Waits) && e.counts() == other.counts()
}

func (e KafkaReactorMeasured) counts() [9]int {
	return [...]int{e.Connections, e.Queued, e.QueueLimit, e.Busy, e.Handlers, e.Produces, e.Fetches, e.ReplicaFetch, e.Others}
}

// KafkaProduceRefused: a partition of a produce request was answered with an error. Hot.
type KafkaProduceRefused struct {
	KafkaPartition
	Error string `json:"error"` // the protocol's name, such as NOT_ENOUGH_REPLICAS
	Acks  int16  `json:"acks"`
	// ISR is how many replicas are in sync, MinISR is min.insync.replicas; 0 when this broker has no replica.
	ISR    int `json:"isr"`
	MinISR int `json:"minISR"`
	// Appended: the records are in the leader's log all the same, and nobody knows whether they stay.
	Appended bool   `json:"appended,omitempty"`
	Folded   Folded `json:"folded,omitempty"`
}

// KafkaLogShapeChanged: a replica's log has other segments or other leader epochs than before. Hot.
type KafkaLogShapeChanged struct {
	KafkaPartition
	// Segments, oldest first, the newest 16 of SegmentCount. The last one is the active one, which grows on.
	Segments     []KafkaSegment `json:"segments"`
	SegmentCount int            `json:"segmentCount"`
	// Epochs says where each leader epoch begins, oldest first, the newest 16 of them.
	Epochs []KafkaEpochStart `json:"epochs"`
	Folded Folded            `json:"folded,omitempty"`
}

// KafkaSegment is one file of a log.
type KafkaSegment struct {
	Base  int64 `json:"base"`  // first offset, which is the file's name
	Bytes int64 `json:"bytes"` // of the active segment: when the shape was told
}

// KafkaEpochStart is where a leader epoch begins in a log.
type KafkaEpochStart struct {
	Epoch int32 `json:"epoch"`
	Start int64 `json:"start"`
}

func (KafkaReactorMeasured) Kind() string { return "kafka.reactorMeasured" }
func (KafkaProduceRefused) Kind() string  { return "kafka.produceRefused" }
func (KafkaLogShapeChanged) Kind() string { return "kafka.logShapeChanged" }

func (KafkaReactorMeasured) follows() (kind, flow string) { return "", "" }

func (e KafkaProduceRefused) FlowKey() string {
	return e.String() + "/" + e.Error + "/" + strconv.Itoa(int(e.Acks))
}
func (e KafkaLogShapeChanged) FlowKey() string { return e.String() }

func (e KafkaProduceRefused) Merge(later Event) Event {
	merged := later.(KafkaProduceRefused)
	merged.Folded = e.Folded.plus(merged.Folded)
	return merged
}

func (e KafkaLogShapeChanged) Merge(later Event) Event {
	merged := later.(KafkaLogShapeChanged)
	merged.Folded = e.Folded.plus(merged.Folded)
	return merged
}
