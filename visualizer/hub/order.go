package hub

import (
	"time"

	"twinlog/engine/trace"
)

// ordering merges the records of many nodes into one order. Invariants:
//
//   - each node's own order is kept;
//   - a record never comes before the one that led to it: the sending of the message that it received, or the cause that it names, as
//     long as that one is here too;
//   - beyond that, earlier times come first.
//
// The nodes are drained one after the other, so that a node drained late can show the effect of something that happened on a node after
// that was drained. Therefore a record that is younger than the beginning of the drain waits for the next one, and not longer.
type ordering struct {
	queues map[string][]waiting
	// sent: by exchange, the node in whose queue the sending waits.
	sent map[trace.Exchange]string
}

type waiting struct {
	record trace.Record
	held   bool // waited for one drain already
}

func newOrdering() *ordering {
	return &ordering{queues: map[string][]waiting{}, sent: map[trace.Exchange]string{}}
}

// add takes what one drain brought, each node's records in order.
func (o *ordering) add(records []trace.Record) {
	for _, record := range records {
		o.queues[record.Node] = append(o.queues[record.Node], waiting{record: record})
		if sent, ok := record.Data.(trace.MessageSent); ok {
			o.sent[sent.Exchange] = record.Node
		}
	}
}

// release appends to out, in order, the records that happened until the given instant and those that have waited for it once.
func (o *ordering) release(until time.Time, out []trace.Record) []trace.Record {
	for {
		node, found := o.earliest(until)
		if !found {
			break
		}
		out = append(out, o.take(o.first(node)))
	}
	for node, queue := range o.queues {
		for i := range queue {
			queue[i].held = true
		}
		if len(queue) == 0 {
			delete(o.queues, node)
		}
	}
	return out
}

// earliest is the node whose next record is the earliest of those that may go.
func (o *ordering) earliest(until time.Time) (node string, found bool) {
	for name, queue := range o.queues {
		if len(queue) == 0 || !queue[0].held && queue[0].record.At.After(until) {
			continue
		}
		if !found || o.before(name, node) {
			node, found = name, true
		}
	}
	return node, found
}

func (o *ordering) before(a, b string) bool {
	first, second := o.queues[a][0].record.At, o.queues[b][0].record.At
	if first.Equal(second) {
		return a < b
	}
	return first.Before(second)
}

// first follows the causes of a node's next record to the node that has to go first. Clocks that are not the same clock can make the
// causes go round in a circle only if a trace is wrong; then the times decide.
func (o *ordering) first(node string) string {
	at := node
	for range len(o.queues) {
		before, waits := o.waitsFor(at)
		if !waits {
			return at
		}
		at = before
	}
	return node
}

// waitsFor tells whose record a node's next record has to wait for.
func (o *ordering) waitsFor(node string) (before string, waits bool) {
	record := o.queues[node][0].record
	if received, ok := record.Data.(trace.MessageReceived); ok {
		if sender, ok := o.sent[received.Exchange]; ok && sender != node {
			return sender, true
		}
	}
	if cause := record.Cause; cause != (trace.Ref{}) && cause.Node != node {
		if queue := o.queues[cause.Node]; len(queue) > 0 && queue[0].record.Seq <= cause.Seq {
			return cause.Node, true
		}
	}
	return "", false
}

func (o *ordering) take(node string) trace.Record {
	queue := o.queues[node]
	record := queue[0].record
	queue[0] = waiting{} // let its event go
	o.queues[node] = queue[1:]
	if sent, ok := record.Data.(trace.MessageSent); ok {
		delete(o.sent, sent.Exchange)
	}
	return record
}
