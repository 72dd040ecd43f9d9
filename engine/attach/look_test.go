package attach_test

import (
	"encoding/json"
	"errors"
	"testing"

	"twinlog/engine/cluster"
	"twinlog/engine/trace"
)

// TestLookingIntoAnotherProcess: a message's bytes and every refusal come through the agent as if the node were here.
func TestLookingIntoAnotherProcess(t *testing.T) {
	m := &members{changed: make(chan struct{})}
	w := watch(t, m)
	one := startProcess(t, 1, "run-a")
	m.set(one)
	w.await(t, "it runs", func() bool { return w.state("kafka-1") == cluster.StateRunning })
	ref := one.slot.Tracer().EmitMessage(trace.Ref{}, trace.MessageReceived{Message: trace.Message{Protocol: "zookeeper", Bytes: 25}},
		trace.Frame{Kind: 3, Head: []byte("\x00\x00\x00\x15\x00\x00\x00\x01\x00\x00\x00\x03\x00\x00\x00\x08/brokers\x00")})
	answer, err := w.Look(t.Context(), "kafka-1", cluster.Question{What: cluster.LookMessage, Seq: ref.Seq})
	check(t, err)
	var message cluster.Message
	check(t, json.Unmarshal(answer, &message))
	if message.Name != "exists" || len(message.Bytes) != 25 {
		t.Errorf("%s", answer)
	}
	for question, want := range map[cluster.Question]error{
		{What: cluster.LookMessage, Seq: 99_999}:              cluster.ErrGone,
		{What: cluster.LookMessage, Seq: ref.Seq, Run: "old"}: cluster.ErrGone,
		{What: cluster.LookFile, File: "../etc/passwd"}:       cluster.ErrNotThere,
		{What: cluster.LookThing, Thing: "group x"}:           cluster.ErrRefused, // an idle node tells nothing
		{What: "nonsense"}: cluster.ErrInvalid,
	} {
		if _, err := w.Look(t.Context(), "kafka-1", question); !errors.Is(err, want) {
			t.Errorf("%+v: %v", question, err)
		}
	}
	if _, err := w.Look(t.Context(), "kafka-9", cluster.Question{What: cluster.LookMessage, Seq: 1}); !errors.Is(err, cluster.ErrUnknownNode) {
		t.Errorf("an unknown node: %v", err)
	}
	one.stop(t)
}
