package wire

import (
	"encoding/json"
	"reflect"
	"testing"

	"twinlog/engine/trace"
)

func TestRecordKeepsItsPlace(t *testing.T) {
	want := Record{N: 42, Record: trace.Record{Run: "r", Node: "kafka-1", Seq: 7, Kind: "node.ready", Data: trace.NodeReady{}}}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Record
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s\n got  %+v\n want %+v", text, got, want)
	}
}
