package hub

import (
	"testing"
	"testing/synctest"
	"time"

	"twinlog/engine/trace"
)

// TestLateReaderFollowsFromAnEarlierState takes the state at different places, follows the trace from there, and must come to the present.
func TestLateReaderFollowsFromAnEarlierState(t *testing.T) {
	const records = 6300
	synctest.Test(t, func(t *testing.T) {
		var nodes source
		h := running(t, Config{Drain: nodes.Drain, CheckpointEvery: 1000})
		for n := range records / 100 {
			events := make([]trace.Event, 100)
			for i := range events {
				events[i] = trace.NodeStarted{Role: "kafka", ID: n*100 + i}
			}
			nodes.emit("kafka-1", events...)
			time.Sleep(time.Second)
		}
		for _, one := range []struct{ from, at uint64 }{
			{0, 0},
			{1, 2000}, // older states have made room
			{2300, 3000},
			{3000, 3000},
			{6001, records},
			{records + 5, records},
		} {
			at, state, err := h.StateFrom(t.Context(), one.from)
			if err != nil || at != one.at {
				t.Fatalf("from %d: the state after %d, not %d; %v", one.from, at, one.at, err)
			}
			v := viewer{n: at, state: state.Clone()}
			for v.n < records {
				following, err := h.TraceAfter(t.Context(), v.n, 10_000)
				if err != nil {
					t.Fatal(err)
				}
				for _, record := range following {
					v.n = record.N
					v.state.Apply(record.Record)
				}
			}
			v.mustAgree(t, h)
		}
	})
}

// TestStateFromIsWhatTheWindowContinues has a window that has left the oldest states behind.
func TestStateFromIsWhatTheWindowContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var nodes source
		h := running(t, Config{Drain: nodes.Drain, MaxRecords: 1000, CheckpointEvery: 1000})
		for range 43 {
			events := make([]trace.Event, 100)
			for i := range events {
				events[i] = trace.NodeReady{}
			}
			nodes.emit("kafka-1", events...)
			time.Sleep(time.Second)
		}
		for _, from := range []uint64{0, 1, 1500} {
			at, _, err := h.StateFrom(t.Context(), from)
			if err != nil || at != 4000 {
				t.Errorf("from %d: the state after %d; %v", from, at, err)
			}
			if _, err := h.TraceAfter(t.Context(), at, 1); err != nil {
				t.Errorf("from %d: %v", from, err)
			}
		}
	})
}
