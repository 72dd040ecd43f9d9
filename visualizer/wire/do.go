package wire

import (
	"twinlog/engine/administration"
	"twinlog/engine/cluster"
	"twinlog/engine/situation"
)

// AddNode is the body of POST nodes: one more node of a role, with the next number. The answer is 201 with its cluster.NodeStatus.
type AddNode struct {
	Role string `json:"role"` // ensemble, kafka, pulsar or bookie
}

// Disk is what is wrong with a node's disk. Without a fault it is healthy.
type Disk struct {
	Node     string `json:"node"`
	DelayMS  int64  `json:"delayMS"`  // more time for each read, write and sync; up to 60000
	Full     bool   `json:"full"`     // writes fail: no space left on device
	FailSync bool   `json:"failSync"` // syncs fail with an input/output error
}

// DiskFault is the body of PUT disks/{node}; all zero heals it. The answer is a Disk.
type DiskFault struct {
	DelayMS  int64 `json:"delayMS"`
	Full     bool  `json:"full"`
	FailSync bool  `json:"failSync"`
}

// Disks is the answer to GET disks: one for each node.
type Disks struct {
	Disks []Disk `json:"disks"`
}

// DiskFiles is the answer to GET disks/{node}: what is wrong with it, and the files that can be corrupted.
type DiskFiles struct {
	Disk  Disk                 `json:"disk"`
	Files []cluster.StoredFile `json:"files"` // that hold data, the newest ones first; 200 at most
}

// Corrupt is the body of POST disks/{node}/corrupt. What is missing is chosen: the newest file with stored frames, a byte in its middle, bit 0.
// The answer is the cluster.Corruption that was done.
type Corrupt struct {
	File   string `json:"file"`   // of DiskFiles
	Topic  string `json:"topic"`  // of a Kafka-mode broker, instead of file: the newest segment of the topic's partition
	Offset *int64 `json:"offset"` // in the file
	Bit    int    `json:"bit"`    // 0 to 7
	// Partition of Topic.
	Partition int32 `json:"partition"`
}

// Reassignments is the answer to GET kafka/reassignments: what is under way. POST answers with what was begun: what each partition becomes.
type Reassignments struct {
	Reassignments []administration.MovingPartition `json:"reassignments"`
}

// Elections is the answer to POST kafka/elections.
type Elections struct {
	Elections []administration.Elected `json:"elections"`
}

// CommittedOffsets is the answer to PUT kafka/groups/{group}/offsets: what the group has committed now.
type CommittedOffsets struct {
	Offsets []administration.CommittedOffset `json:"offsets"`
}

// GrowTopic is the body of PUT kafka/topics/{name}: more partitions, other configs, or both.
type GrowTopic struct {
	Partitions int               `json:"partitions"` // in all; 0: as many as there are
	Configs    map[string]string `json:"configs"`    // an empty value takes one back to its default
}

// Done is the answer to what gives nothing back.
type Done struct {
	Done string `json:"done"` // what was done, in English, for a log
}

// Healed is the answer to POST heal: what was put right.
type Healed struct {
	Links   []Link   `json:"links"`
	Disks   []string `json:"disks"`   // nodes whose disk is healthy again
	Resumed []string `json:"resumed"` // nodes
	Started []string `json:"started"` // nodes
	// Failed says what could not be put right, and Problems the same with codes and sentences.
	Failed   []string       `json:"failed"`
	Problems []ProblemError `json:"problems"`
}

// Fail notes something that could not be put right.
func (h *Healed) Fail(problem ProblemError) {
	h.Failed, h.Problems = append(h.Failed, problem.Message), append(h.Problems, problem)
}

// Situations is the answer to GET situations. POST situations/{id} and DELETE situations answer with the Run.
type Situations struct {
	Situations []situation.Summary `json:"situations"`
	Run        *situation.Run      `json:"run"` // that is being played, or the last one; null when there was none
}
