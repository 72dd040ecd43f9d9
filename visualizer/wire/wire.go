// Package wire is what the server and the page say to each other: the frames of the WebSocket at /api/v1/stream and the bodies of the
// HTTP API. The page's TypeScript types are generated from it, from engine/trace and from engine/world.
//
// The stream, from the server's side:
//
//	first     {"type":"snapshot", "n":N, "at":T, "state":{…}, "window":{"firstN":A,"lastN":N}}
//	then      {"type":"records", "records":[{"n":N+1,…}, {"n":N+2,…}, …]}     at most 30 a second, no n left out, none twice
//	too slow  a new snapshot in place of the records that the client did not take in time
//
// A snapshot is the state after record n; folding each later record into it gives the state after that record. Records before
// the snapshot are at /api/v1/events as far back as the window goes. The client has nothing to say on the stream.
package wire

import (
	"encoding/json"
	"time"

	"twinlog/engine/trace"
)

// Record is a trace record with its place in the order in which the hub took the records of all nodes: 1, 2, 3, … without a gap. The
// order never contradicts a node's own order nor cause and effect.
type Record struct {
	N uint64 `json:"n"`
	trace.Record
}

// Window says which records can still be asked for at /api/v1/events. FirstN is LastN+1 while it is empty.
type Window struct {
	FirstN uint64 `json:"firstN"`
	LastN  uint64 `json:"lastN"`
}

// The types of frames.
const (
	TypeSnapshot = "snapshot"
	TypeRecords  = "records"
)

// Snapshot is the first frame of a stream, and again whenever the client was too slow.
type Snapshot struct {
	Type string    `json:"type" ts:"\"snapshot\""`
	N    uint64    `json:"n"`  // the last record that State holds; 0: none
	At   time.Time `json:"at"` // of that record
	// State is a world.State, as JSON.
	State  json.RawMessage `json:"state" ts:"WorldState"`
	Window Window          `json:"window"`
	// Resynchronised counts how often this stream had to be given a new snapshot because the client was too slow.
	Resynchronised int `json:"resynchronised"`
}

// Records is each later frame.
type Records struct {
	Type    string   `json:"type" ts:"\"records\""`
	Records []Record `json:"records"`
}

// UnmarshalJSON reads a record with its place; without it the embedded record's own method would read everything but N.
func (r *Record) UnmarshalJSON(text []byte) error {
	var place struct {
		N uint64 `json:"n"`
	}
	if err := json.Unmarshal(text, &place); err != nil {
		return err
	}
	r.N = place.N
	return r.Record.UnmarshalJSON(text)
}
