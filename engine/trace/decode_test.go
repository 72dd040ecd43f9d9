package trace

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEveryEventCanBeDecoded(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^func \(\w+\) Kind\(\) string +\{ return "([^"]+)" \}`)
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile(entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range declared.FindAllStringSubmatch(string(text), -1) {
			want = append(want, match[1])
		}
	}
	slices.Sort(want)
	if got := Kinds(); !slices.Equal(got, want) {
		t.Errorf("decoders and types differ:\n decoders %v\n types    %v", got, want)
	}
}

func TestRecordSurvivesJSON(t *testing.T) {
	at := time.Date(2026, 11, 30, 8, 0, 0, 123456789, time.UTC)
	for _, record := range []Record{
		{Run: "r", Node: "kafka-1", Seq: 7, At: at, Kind: "node.ready", Data: NodeReady{}},
		{Run: "r", Node: "kafka-2", Seq: 8, At: at, Cause: Ref{Node: "kafka-1", Seq: 7}, Kind: "message.received",
			Data: MessageReceived{Message{Exchange: Exchange{Connection: "a>b", Correlation: 3}, From: "kafka-1", To: "kafka-2", Offset: -1}}},
		{Run: "r", Node: "kafka-1", Seq: 9, At: at, Kind: "kafka.isrChanged",
			Data: KafkaISRChanged{KafkaPartition: KafkaPartition{Topic: "t", Partition: 1}, ISR: []int32{1, 2}, PartitionEpoch: 4}},
	} {
		text, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		var got Record
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !reflect.DeepEqual(got, record) {
			t.Errorf("%s\n got  %+v\n want %+v", text, got, record)
		}
	}
}

func TestUnknownKindIsAnError(t *testing.T) {
	var record Record
	err := json.Unmarshal([]byte(`{"node":"kafka-1","seq":1,"kind":"kafka.teleported","data":{}}`), &record)
	if err == nil || !strings.Contains(err.Error(), "kafka.teleported") {
		t.Errorf("err = %v", err)
	}
}
