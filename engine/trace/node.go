package trace

import "twinlog/engine/sentence"

// NodeStarted: the node's process (or its slot in a shared process) begins; its ports are not open yet.
type NodeStarted struct {
	Role string `json:"role"` // ensemble, kafka, pulsar, bookie, visualizer
	ID   int    `json:"id"`   // the number in its name; a Kafka-mode broker's id
	// Addresses by purpose: "zookeeper", "peer", "kafka", "pulsar", "http", "bookie".
	Addresses map[string]string `json:"addresses"`
}

// NodeReady: every port of the node answers and it can do its work.
type NodeReady struct{}

// NodeStopped: the node is gone.
type NodeStopped struct {
	Reason string `json:"reason"` // killed (a crash: no flush, no goodbye), stopped (orderly), failed (its own error), lost (others no longer see it)
	Detail string `json:"detail,omitempty"`
	// Why is what Detail says, where it can be said in another language.
	Why *sentence.Sentence `json:"why,omitempty"`
}

// NodePaused: network and disk are frozen, as by SIGSTOP.
type NodePaused struct{}

// NodeResumed ends NodePaused.
type NodeResumed struct{}

// LinkChanged: the rule of one direction between two nodes was set. All zero: the link is healthy again.
type LinkChanged struct {
	From           string `json:"from"`
	To             string `json:"to"`
	Cut            bool   `json:"cut"`
	DelayMS        int64  `json:"delayMS"`
	JitterMS       int64  `json:"jitterMS"`
	BytesPerSecond int64  `json:"bytesPerSecond"`
}

// UnsyncedLost: the node's crash was one of its machine: what had been written and not synced is gone from its disk.
type UnsyncedLost struct {
	Bytes int64 `json:"bytes"`
	Files int   `json:"files"` // files that were created and whose directory had not been synced
}

// DiskChanged: what is wrong with the node's disk was set. All zero: it is healthy again.
type DiskChanged struct {
	DelayMS  int64 `json:"delayMS"`  // more time for each read, write and sync
	Full     bool  `json:"full"`     // writes fail: no space left on device
	FailSync bool  `json:"failSync"` // syncs fail with an input/output error
}

// DiskCorrupted: one bit of a file was turned over behind the node's back.
type DiskCorrupted struct {
	File   string `json:"file"` // within the node's directory
	Offset int64  `json:"offset"`
	Bit    int    `json:"bit"` // 0 to 7
}

// DamageFound: the node read a file and found that it does not hold what was written. What is damaged is not served. Told once for a place.
type DamageFound struct {
	File     string `json:"file"`     // within the node's directory
	Position int64  `json:"position"` // first byte of the frame (record batch, entry) that is damaged
	Reason   string `json:"reason"`
	// Why is what Reason says, where it can be said in another language.
	Why *sentence.Sentence `json:"why,omitempty"`
}

// NodeRemoved: the node was stopped and is no part of the classroom any more; its files are gone. It can be added again, with nothing on
// its disk.
type NodeRemoved struct{}

// RecordsDropped: the node's trace buffer was full; Count records are missing between this one and the one before it.
type RecordsDropped struct {
	Count int64 `json:"count"`
}

func (NodeStarted) Kind() string    { return "node.started" }
func (NodeReady) Kind() string      { return "node.ready" }
func (NodeStopped) Kind() string    { return "node.stopped" }
func (NodePaused) Kind() string     { return "node.paused" }
func (NodeResumed) Kind() string    { return "node.resumed" }
func (UnsyncedLost) Kind() string   { return "node.unsyncedLost" }
func (DiskChanged) Kind() string    { return "node.diskChanged" }
func (DiskCorrupted) Kind() string  { return "node.diskCorrupted" }
func (DamageFound) Kind() string    { return "node.damageFound" }
func (NodeRemoved) Kind() string    { return "node.removed" }
func (LinkChanged) Kind() string    { return "node.linkChanged" }
func (RecordsDropped) Kind() string { return "trace.recordsDropped" }
