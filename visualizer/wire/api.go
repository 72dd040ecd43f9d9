package wire

import (
	"encoding/json"

	"twinlog/engine/cluster"
)

// Problem is the body of every answer that is not a success.
//
//	400 badRequest      the request cannot be understood; message says what is wrong with it
//	401 tokenRequired   the page can be reached from other machines, so it asks for the teacher's token
//	403 foreignHost, foreignOrigin   the request came through another name or from another page
//	404 notFound, unknownNode, unknownWorkload, unknownLab
//	409 wrongState      the node's state does not allow the action
//	410 gone            the records asked for have left the window
//	413 tooLarge        the body is over its bound
//	429 tooMany         too many streams or workloads
//	500 failed          the action failed; message says how
//	501 notAvailable    this process was started without that part
//	503 starting        not ready yet
type Problem struct {
	Error ProblemError `json:"error"`
}

// ProblemError is what went wrong: Code for programs, Message for people.
type ProblemError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Ready is the answer to GET ready: with status 200 once every node serves, with 503 before.
type Ready struct {
	Ready bool `json:"ready"`
	// Waiting lists the nodes that do not serve yet.
	Waiting []string `json:"waiting"`
}

// Nodes is the answer to GET nodes. POST nodes/{name}/{kill,stop,start,pause,resume} answers with the one node afterwards.
type Nodes struct {
	Nodes []cluster.NodeStatus `json:"nodes"`
}

// ClusterState is the answer to GET cluster: the state after record N, which /api/v1/events?after=N continues.
type ClusterState struct {
	N uint64 `json:"n"`
	// State is a world.State.
	State json.RawMessage `json:"state"`
}

// Events is the answer to GET events?after=N&limit=: the records that follow N, at most limit of them (1000 unless told, at most
// 10000). Records that have left the window give 410.
type Events struct {
	Window  Window   `json:"window"`
	Records []Record `json:"records"`
}

// Link is the rule of one direction between two nodes, the body of PUT links; all zero but the names heals it.
type Link struct {
	From           string `json:"from"`
	To             string `json:"to"`
	Cut            bool   `json:"cut"`
	DelayMS        int64  `json:"delayMS"`
	JitterMS       int64  `json:"jitterMS"`
	BytesPerSecond int64  `json:"bytesPerSecond"`
}

// Links is the answer to GET links: the links that are not healthy.
type Links struct {
	Links []Link `json:"links"`
}

// WorkloadSpec asks for a demo workload: producers and consumers that are ordinary client programs. What is zero gets the value that
// is said here. POST workloads answers 201 with the Workload.
type WorkloadSpec struct {
	Engine string `json:"engine"` // kafka, pulsar, both; both unless told
	Topic  string `json:"topic"`  // "demo" unless told; in Pulsar-mode it is persistent://public/default/TOPIC
	// Partitions of a topic that does not exist yet, 3 unless told. Pulsar-mode: 0 partitions means a topic without partitions.
	Partitions        int    `json:"partitions"`
	ReplicationFactor int    `json:"replicationFactor"` // of a Kafka-mode topic that does not exist yet; 3, or as many as there are brokers
	MessagesPerSecond int    `json:"messagesPerSecond"` // 20 unless told; at most 20000
	MessageBytes      int    `json:"messageBytes"`      // 100 unless told; at most 1 MiB
	Keys              int    `json:"keys"`              // number of different keys; 0: messages have no key
	Acks              string `json:"acks"`              // Kafka-mode: all, 1, 0; all unless told
	Producers         int    `json:"producers"`         // 1 unless told; at most 16
	Consumers         int    `json:"consumers"`         // 1 unless told; -1 for none; at most 16
	Group             string `json:"group"`             // group id and subscription name; "demo" unless told
	SubscriptionType  string `json:"subscriptionType"`  // Exclusive, Shared, Failover, Key_Shared; Shared unless told
	MaxMessages       int64  `json:"maxMessages"`       // stop producing after so many; 0: go on
}

// Workload is a workload that runs.
type Workload struct {
	ID    string           `json:"id"`
	Spec  WorkloadSpec     `json:"spec"` // with every default filled in
	Sides []WorkloadCounts `json:"sides"`
}

// WorkloadCounts is what one engine's side of a workload has done so far.
type WorkloadCounts struct {
	Engine string `json:"engine"` // kafka, pulsar
	// State is starting (the topic is being created, clients connect), running, finished (MaxMessages were produced), stopped or failed.
	State        string `json:"state"`
	Produced     int64  `json:"produced"` // handed to the client library
	Acknowledged int64  `json:"acknowledged"`
	Failed       int64  `json:"failed"` // given up by the client library, with an error
	Consumed     int64  `json:"consumed"`
	Duplicates   int64  `json:"duplicates"` // consumed more than once
	Lag          int64  `json:"lag"`        // acknowledged but not consumed yet
	LastError    string `json:"lastError"`
}

// Workloads is the answer to GET workloads.
type Workloads struct {
	Workloads []Workload `json:"workloads"`
}
