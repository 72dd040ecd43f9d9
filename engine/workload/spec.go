package workload

import (
	"time"

	"twinlog/engine/sentence"
)

// Spec asks for a workload. What is zero gets the value that is said here.
type Spec struct {
	Engine string `json:"engine"` // kafka, pulsar, both; both unless told
	Topic  string `json:"topic"`  // "demo" unless told; in Pulsar-mode it is persistent://public/default/TOPIC
	// Partitions of a topic that does not exist yet: 3 unless told; -1 asks Pulsar-mode for a topic without partitions.
	Partitions        int    `json:"partitions"`
	ReplicationFactor int    `json:"replicationFactor"` // of a Kafka-mode topic that does not exist yet; 3, or as many as there are brokers
	MessagesPerSecond int    `json:"messagesPerSecond"` // on each side, all producers together; 20 unless told; at most 20000
	MessageBytes      int    `json:"messageBytes"`      // 100 unless told; 30 to 262144
	Keys              int    `json:"keys"`              // number of different keys; 0: messages have no key
	Acks              string `json:"acks"`              // Kafka-mode: all, 1, 0; all unless told
	Producers         int    `json:"producers"`         // on each side; 1 unless told; at most 16
	Consumers         int    `json:"consumers"`         // on each side; 1 unless told; -1 for none; at most 16
	Group             string `json:"group"`             // group id and subscription name; "demo" unless told
	SubscriptionType  string `json:"subscriptionType"`  // Exclusive, Shared, Failover, Key_Shared; Shared unless told
	// Strategy is how a Kafka-mode group shares partitions out: range, roundrobin, sticky, cooperative-sticky; cooperative-sticky unless told.
	Strategy string `json:"strategy"`
	// Static gives each Kafka-mode consumer an instance id (GROUP-1, GROUP-2, …), so that it can go and come back without a rebalance.
	Static      bool  `json:"static"`
	MaxMessages int64 `json:"maxMessages"` // on each side: stop producing after so many; 0: go on
}

// Change is what can be changed of a workload that runs.
type Change struct {
	Consumers int `json:"consumers"` // on each side; 0 to 16
}

// The states of one side of a workload.
const (
	StateStarting = "starting" // the topic is being created, clients connect
	StateRunning  = "running"
	StateFinished = "finished" // MaxMessages were produced and answered; consumers go on
	StateStopped  = "stopped"
	StateFailed   = "failed" // it could not start; LastError says why
)

// Status is a workload and how far it has got.
type Status struct {
	ID    string   `json:"id"`
	Spec  Spec     `json:"spec"` // with every default filled in
	Sides []Counts `json:"sides"`
}

// Counts is what one engine's side of a workload has done so far.
type Counts struct {
	Engine       string `json:"engine"` // kafka, pulsar
	State        string `json:"state"`
	Produced     int64  `json:"produced"`     // handed to the client library
	Acknowledged int64  `json:"acknowledged"` // the cluster said that it has them; with acks=0 nobody says so, and they count when sent
	Failed       int64  `json:"failed"`       // given up by the client library, with an error
	Consumed     int64  `json:"consumed"`     // every delivery, duplicates too
	Duplicates   int64  `json:"duplicates"`   // deliveries of a message that had been delivered before
	Lag          int64  `json:"lag"`          // acknowledged but not consumed yet
	// LastError stays after the trouble is over; LastErrorAt tells how old it is, null when there was none.
	LastError   string     `json:"lastError"`
	LastErrorAt *time.Time `json:"lastErrorAt"`
	// LastProblem is what LastError says, for a page that says it in another language.
	LastProblem *sentence.Sentence `json:"lastProblem,omitempty"`
}
