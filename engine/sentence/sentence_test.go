package sentence_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"twinlog/engine/sentence"
)

func TestPatternsAreFilled(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{sentence.Of("a", `no topic "{topic}" here; {topic} is not known`, "orders").String(), `no topic "orders" here; orders is not known`},
		{sentence.Of("a", "{count} {count|node|nodes} of {all}", 1, 3).String(), "1 node of 3"},
		{sentence.Of("a", "{count} {count|node|nodes}", int32(2)).String(), "2 nodes"},
		{sentence.Of("a", "one of {names}", []string{"a", "b"}).String(), "one of a, b"},
		{sentence.Of("a", "{why}", errors.New("disk\x1b[31m full")).String(), "disk\uFFFD[31m full"},
		{sentence.Of("a", "{name}", strings.Repeat("é", 400)).String(), strings.Repeat("é", 150) + "…"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}

func TestErrorsAreOfTheirKinds(t *testing.T) {
	kind, cause := errors.New("kind"), errors.New("cause")
	inner := sentence.Error(kind, "inner", "it is {state}", "paused")
	outer := sentence.Error(nil, "outer", "cannot stop {node}: {why}", "kafka-1", inner)
	if outer.Error() != "cannot stop kafka-1: it is paused" || !errors.Is(outer, kind) || errors.Is(outer, cause) {
		t.Errorf("%v", outer)
	}
	said, ok := sentence.In(fmt.Errorf("around it: %w", outer))
	text, err := json.Marshal(said)
	want := `{"key":"outer","params":{"node":"kafka-1","why":{"key":"inner","params":{"state":"paused"}}}}`
	if !ok || err != nil || string(text) != want {
		t.Errorf("%s %v, want %s", text, err, want)
	}
	var again sentence.Sentence
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	told := sentence.Repeat(kind, outer.Error(), &again)
	if said, _ := sentence.In(told); told.Error() != outer.Error() || !errors.Is(told, kind) || said.Key != "outer" {
		t.Errorf("%v repeated as %+v", told, said)
	}
	if _, ok := sentence.In(cause); ok {
		t.Error("an error that is no sentence says one")
	}
}
