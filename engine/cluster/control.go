// Package cluster runs many nodes in one process and lets a caller take them apart: kill, stop, start and pause nodes, cut and slow the
// links between them.
package cluster

import (
	"context"
	"errors"

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

var (
	// ErrUnknownNode: no node of that name.
	ErrUnknownNode = errors.New("no such node")
	// ErrWrongState: the node's state does not allow the action.
	ErrWrongState = errors.New("the node's state does not allow that")
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

// Control is what can be done to a set of nodes, in this process or in others. Every method may be called from any goroutine.
// Actions return when they took effect; Start returns when the node serves or has failed.
type Control interface {
	// Nodes lists the nodes in a stable order: ensemble, kafka, pulsar, bookie; by number.
	Nodes() []NodeStatus
	// Kill crashes a node: no flush, no goodbye, sockets reset.
	Kill(ctx context.Context, node string) error
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
	// Drain takes the records of all nodes since the last call, each node's in order, and appends them. One caller only.
	Drain(records []trace.Record) []trace.Record
}
