package visualizer

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"twinlog/engine/cluster"
	"twinlog/engine/workload"
	"twinlog/labs"
	"twinlog/visualizer/store"
	"twinlog/visualizer/wire"
)

const apiPrefix = "/api/v1"

// route is one way into the API. The OpenAPI document is made of the same table that serves the requests.
type route struct {
	method string
	path   string // gin's form: /nodes/:name/:action
	about  string
	handle gin.HandlerFunc
	query  []parameter
	body   any // a value of the type that the request's body has, nil for none
	status int // of success
	answer any // a value of the type that the answer has; nil: any JSON object
	// The media types of a body and of an answer that are not JSON.
	bodyType, answerType string
	// problems are the statuses of the refusals that are this route's own; 400 to 403 and 500 can come from every route.
	problems []int
}

type parameter struct {
	name  string
	about string
	kind  string // JSON Schema's type
}

func (s *Server) table() []route {
	who := []parameter{{"lang", "en or zh; en unless told", "string"}, {"student", "whose attempt; student unless told", "string"}}
	place := []parameter{{"after", "the n of the last record that is known; 0: from the beginning", "integer"},
		{"limit", "at most so many records; 1000 unless told, at most 10000", "integer"}}
	return slices.Concat(s.diskTable(), s.inspectTable(), s.administrationTable(), s.situationTable(), s.notesTable(), []route{
		{method: "GET", path: "/ready", about: "Whether every node has begun to serve", handle: s.getReady,
			status: 200, answer: wire.Ready{}, problems: []int{503}},
		{method: "GET", path: "/nodes", about: "All nodes, in a stable order", handle: s.getNodes, status: 200, answer: wire.Nodes{}},
		{method: "POST", path: "/nodes", about: "Adds a node of a role, with the next number, and answers when it serves", handle: s.postNode, body: wire.AddNode{},
			status: 201, answer: cluster.NodeStatus{}, problems: []int{409}},
		{method: "DELETE", path: "/nodes/:name", about: "Stops a node in order, takes it out of the classroom and deletes its files", handle: s.deleteNode,
			query:  []parameter{{"force", "true: even when it holds data", "boolean"}},
			status: 200, answer: cluster.NodeStatus{}, problems: []int{404, 409, 503}},
		{method: "POST", path: "/nodes/:name/:action", about: "kill (the process crashes), crash (the machine does: what was not synced is lost), " +
			"stop (in order), start, pause (as SIGSTOP) or resume a node; answers when it has taken effect",
			handle: s.postNodeAction, status: 200, answer: cluster.NodeStatus{}, problems: []int{404, 409}},
		{method: "GET", path: "/cluster", about: "The state of the whole classroom now", handle: s.getCluster, status: 200, answer: wire.ClusterState{},
			query: []parameter{{"from", "the earliest state at hand that is not before this record, instead of the one now; 0: from the beginning, if that is at hand", "integer"}}},
		{method: "GET", path: "/events", about: "The trace's records after a place", handle: s.getEvents, status: 200, answer: wire.Events{},
			query: place, problems: []int{410}},
		{method: "GET", path: "/notable", about: "The notable records, of the whole run as far as they are kept: faults, actions, elections, changes", handle: s.getNotable,
			status: 200, answer: wire.NotableRecords{}, query: []parameter{{"upTo", "the n of the last record that is wanted; all unless told", "integer"}}},
		{method: "GET", path: "/runs", about: "The recorded runs, the newest first; the present one is among them", handle: s.getRuns, status: 200,
			answer: store.RunList{}, problems: []int{501}},
		{method: "POST", path: "/runs", about: "Saves the present run, as it is by now, under a title", handle: s.postRun, body: wire.RunTitle{},
			status: 201, answer: store.Run{}, problems: []int{409, 501, 507}},
		{method: "POST", path: runFilePath, about: "Opens a run's file, as GET runs/{name}/file wrote it, and keeps its run", handle: s.postRunFile,
			bodyType: runFileType, status: 201, answer: store.Run{}, problems: []int{409, 413, 422, 501, 507}},
		{method: "PUT", path: "/runs/:name", about: "Gives a run a title", handle: s.putRun, body: wire.RunTitle{}, status: 200, answer: store.Run{},
			problems: []int{404, 501}},
		{method: "DELETE", path: "/runs/:name", about: "Forgets a run; answers with those that are left", handle: s.deleteRun, status: 200,
			answer: store.RunList{}, problems: []int{404, 409, 501}},
		{method: "GET", path: "/runs/:name/file", about: "A recorded run as one file, to be opened at any twinlog", handle: s.getRunFile, status: 200,
			answerType: runFileType, problems: []int{404, 409, 501}},
		{method: "GET", path: "/runs/:name/state", about: "The state of the whole classroom after a record of a recorded run", handle: s.getRunState,
			status: 200, answer: wire.ClusterState{}, query: []parameter{{"n", "the record; the last one before it where the run has a hole", "integer"}},
			problems: []int{404, 501}},
		{method: "GET", path: "/runs/:name/events", about: "The records of a recorded run after a place; large ones come in several answers, and only one without records is the end",
			handle: s.getRunEvents, status: 200,
			answer: wire.Events{}, query: place, problems: []int{404, 501}},
		{method: "GET", path: "/stream", about: "WebSocket: a snapshot, then every record; see the frames WireSnapshot and WireRecords. " +
			"They are text messages, or binary ones with the same bytes for who offers the subprotocol " + bytesProtocol, handle: s.getStream,
			status: 101, problems: []int{426, 429}},
		{method: "GET", path: "/links", about: "The links that are not healthy", handle: s.getLinks, status: 200, answer: wire.Links{}},
		{method: "PUT", path: "/links", about: "Sets the rule of one direction between two nodes; without a fault it heals it", handle: s.putLinks,
			body: wire.Link{}, status: 200, answer: wire.Links{}, problems: []int{404}},
		{method: "POST", path: "/heal", about: "Puts everything right: links and disks healthy, nodes resumed or started", handle: s.postHeal, status: 200,
			answer: wire.Healed{}},
		{method: "GET", path: "/workloads", about: "The demo workloads and how far they have got", handle: s.getWorkloads, status: 200,
			answer: wire.Workloads{}, problems: []int{501}},
		{method: "POST", path: "/workloads", about: "Starts a demo workload; an empty body starts the default one on both engines", handle: s.postWorkload,
			body: workload.Spec{}, status: 201, answer: workload.Status{}, problems: []int{429, 501}},
		{method: "PUT", path: "/workloads/:id", about: "Changes the number of a workload's consumers while it runs", handle: s.putWorkload,
			body: workload.Change{}, status: 200, answer: workload.Status{}, problems: []int{404, 501}},
		{method: "DELETE", path: "/workloads/:id", about: "Stops a workload and gives its last counts", handle: s.deleteWorkload, status: 200,
			answer: workload.Status{}, problems: []int{404, 501}},
		{method: "GET", path: "/labs", about: "The labs", handle: s.getLabs, query: who, status: 200, answer: wire.Labs{}, problems: []int{501}},
		{method: "GET", path: "/labs/:id", about: "A lab: its text, its tasks and how far the attempt has got", handle: s.getLab,
			query: who, status: 200, answer: labs.Detail{}, problems: []int{404, 501}},
		{method: "POST", path: "/labs/:id/:action", about: "start, check, solve or reset a lab; answer a question before the outcome; play one step of the solution",
			handle: s.postLabAction, query: append(slices.Clone(who), parameter{"task", "start: the task to begin at; the solution up to it is really played", "string"},
				parameter{"question", "answer: which one", "string"}, parameter{"choice", "answer: the value of the choice; empty skips", "string"},
				parameter{"step", "step: its number, the first is 0", "integer"}),
			status: 200, answer: labs.Attempt{}, problems: []int{404, 409, 501}},
		{method: "GET", path: progressPath, about: "What students did in the labs, hash-chained, as one file", handle: s.getProgress,
			query: []parameter{{"student", "whose; everybody's unless told", "string"}}, status: 200, answerType: progressType, problems: []int{413, 422, 501}},
		{method: "POST", path: progressPath, about: "Verifies such a file and merges it", handle: s.postProgress, bodyType: progressType, status: 200,
			answer: labs.Imported{}, problems: []int{413, 422, 501}},
	})
}

func (s *Server) getReady(c *gin.Context) {
	answer := wire.Ready{Ready: true, Waiting: []string{}}
	if !s.served.Load() {
		for _, node := range s.config.Control.Nodes() {
			if node.State != cluster.StateRunning {
				answer.Waiting = append(answer.Waiting, node.Name)
			}
		}
		answer.Ready = len(answer.Waiting) == 0
		s.served.CompareAndSwap(false, answer.Ready)
	}
	if !answer.Ready {
		c.Header("Retry-After", "1")
		c.JSON(http.StatusServiceUnavailable, answer)
		return
	}
	c.JSON(http.StatusOK, answer)
}
