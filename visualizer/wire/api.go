package wire

import (
	"encoding/json"

	"twinlog/engine/cluster"
	"twinlog/engine/sentence"
	"twinlog/engine/workload"
	"twinlog/labs"
)

// Problem is the body of every answer that is not a success. Its code says what kind of refusal it is; the sentence within says which
// one exactly, by a key that stays and its parameters.
//
//	400 badRequest      the request cannot be understood; message says what is wrong with it
//	401 tokenRequired   the page can be reached from other machines, so it asks for the teacher's token
//	403 foreignHost, foreignOrigin   the request came through another name or from another page
//	404 notFound, unknownNode, unknownWorkload, unknownLab, unknownRun, unknownSituation
//	409 wrongState      the node's state does not allow the action
//	409 refused         it cannot be done here; message says why and what to do instead
//	409 holdsData       the node to be removed holds data; message says how to move it away, force=true removes it nevertheless
//	409 conflict        Kafka-mode or Pulsar-mode refuses it in its present state
//	409 notStarted, busy   the lab has no attempt to check; another lab action, or another file, is under way
//	409 recording, emptyRun   the present run cannot be deleted; a run without records cannot be saved
//	410 gone            the records asked for have left the window
//	413 tooLarge        the body is over its bound
//	422 badFile         the file is no recorded run, or a damaged one
//	429 tooMany         too many streams or workloads
//	500 failed          the action failed; message says how
//	501 notAvailable    this process was started without that part
//	503 ending          the process is about to end
//	503 behind          the recorded run lags behind; ask again
//	507 full            the runs that are kept have no room for another one
type Problem struct {
	Error ProblemError `json:"error"`
}

// ProblemError is what went wrong: Code for programs, Message for people. Sentence is what Message says, for a page that says it in
// another language; missing when the message is not ours, such as an operating system's.
type ProblemError struct {
	Code     string             `json:"code"`
	Message  string             `json:"message"`
	Sentence *sentence.Sentence `json:"sentence,omitempty"`
}

// Ready is the answer to GET ready: with status 200 once every node serves, with 503 before.
type Ready struct {
	Ready bool `json:"ready"`
	// Waiting lists the nodes that do not serve yet.
	Waiting []string `json:"waiting"`
}

// Nodes is the answer to GET nodes. POST nodes/{name}/{crash,kill,stop,start,pause,resume} answers with the one node afterwards.
type Nodes struct {
	Nodes []cluster.NodeStatus `json:"nodes"`
}

// ClusterState is the answer to GET cluster and GET cluster?from=: the state after record N, which /api/v1/events?after=N continues.
type ClusterState struct {
	N uint64 `json:"n"`
	// State is a world.State, as JSON.
	State json.RawMessage `json:"state" ts:"WorldState"`
}

// Events is the answer to GET events?after=N&limit=: the records that follow N, at most limit of them (1000 unless told, at most
// 10000). Records that have left the window give 410.
type Events struct {
	Window  Window   `json:"window"`
	Records []Record `json:"records"`
}

// NotableRecords is the answer to GET notable?upTo=N: the notable records up to N that are kept beyond the window, oldest first. Dropped
// counts older ones that have made room.
type NotableRecords struct {
	Records []Notable `json:"records"`
	Dropped uint64    `json:"dropped"`
}

// Notable is a record that is told in the story, and what its sentence says beside it.
type Notable struct {
	Record Record       `json:"record"`
	Names  NotableNames `json:"names"`
}

// NotableNames is whom and what a record's sentence names, out of the state as it was then; empty where the sentence names none.
type NotableNames struct {
	Role   string `json:"role,omitempty"`   // of the record's node
	Client string `json:"client,omitempty"` // whose the session is
	// Consumer is what the consumer calls itself.
	Consumer string `json:"consumer,omitempty"`
	// ManagedLedger is whose the ledger is.
	ManagedLedger string `json:"managedLedger,omitempty"`
	// Broker is the node that a lookup sends its client on to.
	Broker string `json:"broker,omitempty"`
	// Bookies: from address to node.
	Bookies map[string]string `json:"bookies,omitempty"`
}

// RunTitle is the body of POST runs, which saves the present run, and of PUT runs/{name}: what the run is called, 1 to 80 characters.
type RunTitle struct {
	Title string `json:"title"`
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

// Workloads is the answer to GET workloads. POST workloads takes a workload.Spec and answers 201 with the workload.Status; DELETE
// workloads/{id} answers with its last one.
type Workloads struct {
	Workloads []workload.Status `json:"workloads"`
}

// Labs is the answer to GET labs.
type Labs struct {
	Labs []labs.Summary `json:"labs"`
}
