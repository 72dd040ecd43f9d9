// Package cluster runs many nodes in one process and lets a caller take them apart: kill, stop, start and pause nodes, cut and slow the
// links between them.
package cluster

import (
	"context"
	"time"

	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/trace"
)

// The states of a node.
const (
	StateStarting = "starting"
	StateRunning  = "running"
	StatePaused   = "paused"
	StateStopped  = "stopped" // by an orderly stop
	StateKilled   = "killed"  // by a crash
	StateFailed   = "failed"  // by its own error
	StateLost     = "lost"    // not reachable; only seen from another process
)

// NodeStatus is a node as its owner sees it.
type NodeStatus struct {
	Name      string            `json:"name"`
	Role      string            `json:"role"` // ensemble, kafka, pulsar, bookie, visualizer
	ID        int               `json:"id"`
	State     string            `json:"state"`
	Addresses map[string]string `json:"addresses"` // by purpose, as in trace.NodeStarted
}

// LinkRule is the rule of one directed link.
type LinkRule struct {
	From string
	To   string
	Link fabric.Link
}

// DiskRule is what is wrong with a node's disk.
type DiskRule struct {
	Node  string
	Fault disk.Fault
}

// Corruption is one bit that was turned over in a node's file.
type Corruption struct {
	Node   string `json:"node"`
	File   string `json:"file"` // within the node's directory
	Offset int64  `json:"offset"`
	Bit    int    `json:"bit"`
}

// StoredFile is a file of a node's.
type StoredFile struct {
	Name     string    `json:"name"` // within the node's directory
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
}

// Control is what can be done to a set of nodes, in this process or in others. Every method may be called from any goroutine.
// Actions return when they took effect; Start returns when the node serves or has failed.
type Control interface {
	// Nodes lists the nodes in a stable order: ensemble, kafka, pulsar, bookie; by number.
	Nodes() []NodeStatus
	// Kill crashes a node: no flush, no goodbye, sockets reset.
	Kill(ctx context.Context, node string) error
	// Crash is a Kill of the node's machine: what was written and not synced is gone from its disk.
	Crash(ctx context.Context, node string) error
	// Stop shuts a node down in order.
	Stop(ctx context.Context, node string) error
	// Start starts a stopped, killed or failed node again, on the same files.
	Start(ctx context.Context, node string) error
	// Pause freezes a node's network and disk, as SIGSTOP would.
	Pause(ctx context.Context, node string) error
	// Resume ends Pause.
	Resume(ctx context.Context, node string) error
	// Links lists the links that are not healthy.
	Links() []LinkRule
	// SetLink sets the rule of one direction; the zero Link heals it.
	SetLink(from, to string, link fabric.Link) error
	// Disks lists the disks with something wrong.
	Disks() []DiskRule
	// SetDisk sets what is wrong with a node's disk, also over its next lives; the zero Fault heals it.
	SetDisk(ctx context.Context, node string, fault disk.Fault) error
	// Files lists the files of a node that hold data, the newest ones first.
	Files(ctx context.Context, node string) ([]StoredFile, error)
	// Corrupt turns over the bit at an offset of a node's file.
	Corrupt(ctx context.Context, corruption Corruption) error
	// Add starts one more node of a role and returns when it serves.
	Add(ctx context.Context, role string) (NodeStatus, error)
	// Remove stops a node in order, takes it out of the classroom and deletes its files.
	Remove(ctx context.Context, node string) error
	// Drain takes the records of all nodes since the last call, each node's in order, and appends them. One caller only.
	Drain(records []trace.Record) []trace.Record
}
