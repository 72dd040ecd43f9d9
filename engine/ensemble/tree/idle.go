package tree

import (
	"maps"
	"slices"
)

// Idle lists the containers and TTL nodes that may go, sorted: containers that have had a child and have none, TTL nodes without
// children that nobody changed for their time to live.
func (t *Tree) Idle(nowMS int64) []string {
	var idle []string
	for _, path := range slices.Sorted(maps.Keys(t.containers)) {
		if t.isIdle(t.nodes[path], nowMS) {
			idle = append(idle, path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(t.timed)) {
		if t.isIdle(t.nodes[path], nowMS) {
			idle = append(idle, path)
		}
	}
	return idle
}

func (t *Tree) isIdle(n *znode, nowMS int64) bool {
	if len(n.children) > 0 {
		return false
	}
	switch n.mode {
	case Container:
		return n.childrenCreated > 0
	case TTL:
		return nowMS-n.mtime >= n.ttl
	}
	return false
}

func (t *Tree) removeIdle(command *Command, operation *RemoveIdle) Outcome {
	node, found := t.nodes[operation.Path]
	if !found {
		return Outcome{Result: Result{Code: ErrNoNode}}
	}
	if !t.isIdle(node, command.TimeMS) {
		return Outcome{Result: Result{Code: ErrNotEmpty}}
	}
	return Outcome{Changes: []Change{t.deleteNode(operation.Path, node)}}
}
