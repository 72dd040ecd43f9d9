// Package attach makes nodes in other processes look like a cluster in this one. Each process with a node runs an [Agent], a small HTTP
// server that tells the node's state and trace and takes orders about it; a [Remote] finds the agents and is a [cluster.Control] of them
// all.
//
//	GET  /status                    Report
//	GET  /trace?run=R&after=SEQ     JSON lines, one Line each, until the client goes
//	POST /kill /crash /stop /start /pause /resume    Report, or Problem with 409 (wrong state, refused), 500 (it failed)
//	PUT  /link                      a LinkRule as body; 204, or Problem with 400
//	PUT  /disk                      a DiskRule as body; Report, or Problem with 400
//	GET  /files                     []cluster.StoredFile
//	POST /corrupt                   a cluster.Corruption as body; 204, or Problem with 400
//	POST /look                      a cluster.Question as body; JSON of at most 4 MiB, or Problem with 400, 404 (it is not there),
//	                                409 (wrong state, refused), 410 (it was there, and is gone)
//
// A trace stream begins with the record after SEQ of run R; with what is kept of the trace when the process is another run. A Line with a
// Report comes first, after every change, and at least every second: a Remote that hears nothing for some seconds takes the process for
// lost.
//
// The agents ask for no token. They belong on a network of their own, as the containers of a compose file have, and must not be published.
package attach

import (
	"time"

	"twinlog/engine/cluster"
	"twinlog/engine/fabric"
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

const (
	// beat is how often an agent says that it is there.
	beat = time.Second
	// silence is how long a Remote hears nothing before the process is lost.
	silence = 3 * beat
	// gatherInterval is how often an agent moves new records from the tracer to its history.
	gatherInterval = time.Second / 30
	// maxBody bounds the body of a request.
	maxBody = 64 << 10
	// maxLine bounds a line of a trace stream.
	maxLine = 4 << 20
)

// Report is what an agent says about its node.
type Report struct {
	Run   string             `json:"run"` // of the process
	Node  cluster.NodeStatus `json:"node"`
	Links []LinkRule         `json:"links"` // that are not healthy, as this process knows them
	Disk  DiskRule           `json:"disk"`
}

// Line is one line of a trace stream: one of the two is set.
type Line struct {
	Report *Report       `json:"report,omitempty"`
	Record *trace.Record `json:"record,omitempty"`
}

// Problem is the body of an answer that is no success.
type Problem struct {
	Code    string `json:"code"` // wrongState, refused, failed, badRequest, notFound, gone
	Message string `json:"message"`
	// Sentence is what Message says; missing when it is not ours.
	Sentence *sentence.Sentence `json:"sentence,omitempty"`
}

// LinkRule is a cluster.LinkRule as JSON.
type LinkRule struct {
	From           string        `json:"from"`
	To             string        `json:"to"`
	Cut            bool          `json:"cut"`
	Delay          time.Duration `json:"delayNS"`
	Jitter         time.Duration `json:"jitterNS"`
	BytesPerSecond int64         `json:"bytesPerSecond"`
}

func ruleOf(from, to string, link fabric.Link) LinkRule {
	return LinkRule{From: from, To: to, Cut: link.Cut, Delay: link.Delay, Jitter: link.Jitter, BytesPerSecond: link.BytesPerSecond}
}

func (r LinkRule) link() fabric.Link {
	return fabric.Link{Cut: r.Cut, Delay: r.Delay, Jitter: r.Jitter, BytesPerSecond: r.BytesPerSecond}
}
