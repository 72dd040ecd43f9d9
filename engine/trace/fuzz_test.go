package trace_test

import (
	"encoding/json"
	"testing"

	"twinlog/engine/trace"
)

// FuzzRecord: a recorded run and what another process tells are anybody's bytes. A record that is read is written and read again as the
// same.
func FuzzRecord(f *testing.F) {
	for _, kind := range trace.Kinds() {
		f.Add([]byte(`{"run":"r","node":"n","seq":3,"at":"2026-01-02T03:04:05Z","cause":{"node":"m","seq":1},"kind":"` + kind + `","data":{}}`))
	}
	f.Add([]byte(`{"kind":"kafka.appended","data":{"topic":"t","partition":1,"leo":5,"folded":9}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var record trace.Record
		if err := json.Unmarshal(text, &record); err != nil {
			return
		}
		written, err := json.Marshal(record)
		if err != nil {
			return // a time that JSON cannot say
		}
		var again trace.Record
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("%s is written as %s: %v", text, written, err)
		}
		if second, err := json.Marshal(again); err != nil || string(second) != string(written) {
			t.Errorf("%s is written as %s and then as %s, %v", text, written, second, err)
		}
		if event, is := record.Data.(interface{ FlowKey() string }); is {
			event.FlowKey()
		}
	})
}
