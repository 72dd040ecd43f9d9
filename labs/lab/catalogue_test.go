package lab_test

import (
	"slices"
	"testing"

	"twinlog/labs/catalogue"
	"twinlog/labs/lab"
	"twinlog/labs/observe"
)

func mustLoad(t *testing.T, id string) *lab.Lab {
	t.Helper()
	loaded, err := lab.Load(catalogue.Files, id, nil)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func outcomeOf(t *testing.T, l *lab.Lab, question string, world observe.World) string {
	t.Helper()
	at := slices.IndexFunc(l.Questions, func(q *lab.Question) bool { return q.ID == question })
	outcome, err := l.Questions[at].Outcome(world)
	if err != nil {
		t.Fatal(err)
	}
	if outcome == nil {
		return ""
	}
	return outcome.Right
}

// A server that starts tells its old changes again, before anybody leads. They are neither writes that one server alone has taken, nor the
// write that lab 04 asks for.
func TestWhatAServerTellsAgainIsNoWrite(t *testing.T) {
	l := mustLoad(t, "04-znodes-and-quorum")
	event := func(n uint64, node, kind string, data map[string]any) observe.Event {
		return observe.Event{N: n, Node: node, Kind: kind, Data: data}
	}
	changed := func(n uint64, node, path string, zxid float64) observe.Event {
		return event(n, node, "ensemble.znodeChanged", map[string]any{"path": path, "zxid": zxid})
	}
	events := []observe.Event{
		event(1, "ensemble-2", "ensemble.znodeCreated", map[string]any{"path": "/school/diary", "zxid": 100.0}),
		changed(2, "ensemble-2", "/school/config", 101),
		changed(3, "ensemble-2", "/school/diary", 102),
		changed(4, "ensemble-2", "/school/diary", 103),
		event(5, "ensemble-2", "node.stopped", map[string]any{}),
		changed(6, "ensemble-3", "/school/diary", 104), // was under way
		changed(7, "ensemble-1", "/school/config", 101),
		changed(8, "ensemble-1", "/school/diary", 102),
		changed(9, "ensemble-1", "/school/diary", 103),
		event(10, "ensemble-3", "ensemble.roleChanged", map[string]any{"role": "leader"}),
	}
	seen := world()
	seen.Deaths = []observe.Death{{N: 5, Node: "ensemble-2"}}
	seen.Events = events
	if answer := outcomeOf(t, l, "one-left", seen); answer != "waits" {
		t.Errorf("changes that were told again: the writes are %q", answer)
	}
	written := l.Tasks[len(l.Tasks)-1]
	if written.Holds(seen) {
		t.Errorf("task %s passed with an old change", written.ID)
	}
	seen.Events = append(slices.Clone(events), changed(11, "ensemble-3", "/school/config", 200))
	if !written.Holds(seen) {
		t.Errorf("task %s has not passed with a new change", written.ID)
	}
	seen.Events = slices.Insert(slices.Clone(events), 9, changed(9, "ensemble-3", "/school/diary", 105))
	if answer := outcomeOf(t, l, "one-left", seen); answer != "taken" {
		t.Errorf("two new changes without a majority: the writes are %q", answer)
	}
}

// Where records go is not known from a topic of another shape than the task asks for.
func TestWhereRecordsGoIsAskedOfThePartitionsThatWereAskedFor(t *testing.T) {
	l := mustLoad(t, "01-first-messages")
	seen := world()
	seen.Kafka.Topics["orders"] = observe.KafkaTopic{Partitions: 1, Replicas: 1, Records: 20, SpreadPartition: 1}
	if answer := outcomeOf(t, l, "spread", seen); answer != "" {
		t.Errorf("one partition: %q", answer)
	}
	seen.Kafka.Topics["orders"] = observe.KafkaTopic{Partitions: 3, Replicas: 3, Records: 20, SpreadPartition: 2}
	if answer := outcomeOf(t, l, "spread", seen); answer != "2" {
		t.Errorf("three partitions: %q", answer)
	}
}
