package trace

import "time"

// Record is one event as a node recorded it.
type Record struct {
	// Run names the process run that produced the record, so that a restarted container's Seq 1 is not taken for the first one.
	Run  string    `json:"run"`
	Node string    `json:"node"`
	Seq  uint64    `json:"seq"`
	At   time.Time `json:"at"`
	// Cause is the record that led to this one; the zero Ref when it is not known.
	Cause Ref    `json:"cause,omitzero"`
	Kind  string `json:"kind"`
	Data  Event  `json:"data"`
}

// Ref names a record.
type Ref struct {
	Node string `json:"node"`
	Seq  uint64 `json:"seq"`
}

// Event is anything that can be recorded. The set is closed: every type is in this package.
type Event interface {
	// Kind is the event's name on the wire, such as "kafka.highWatermarkAdvanced": area, dot, what happened.
	Kind() string
}
