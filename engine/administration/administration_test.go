package administration

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

func TestPulsarNames(t *testing.T) {
	for name, want := range map[string]string{
		"orders":                     "persistent://public/default/orders",
		"persistent://shop/eu/a.b":   "persistent://shop/eu/a.b",
		"non-persistent://a/b/c":     "non-persistent://a/b/c",
		"":                           "",
		"../../clusters":             "",
		"persistent://a/b":           "",
		"persistent://a/b/c/d":       "",
		"persistent://a/b/c?force=1": "",
		"ftp://a/b/c":                "",
	} {
		if got, err := FullPulsarName(name); got != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%q is %q, %v", name, got, err)
		}
	}
}

func TestReassignmentsThatMakeNoSense(t *testing.T) {
	for _, wanted := range []Reassignment{
		{}, {Topic: "t"}, {Replicas: []int32{1}}, {Topic: "t", Partition: -1, Replicas: []int32{1}}, {Cancel: true},
		{Topic: "t", Replicas: []int32{1}, Balance: []int32{1}}, {Topic: "t", Cancel: true, Balance: []int32{1}}, {Balance: make([]int32, 100)},
	} {
		if err := wanted.check(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", wanted, err)
		}
	}
}

// TestSpreadIsBalancedAndMovesNothingTwice spreads two topics over other brokers, and then again over the same.
func TestSpreadIsBalancedAndMovesNothingTwice(t *testing.T) {
	topics := kadm.TopicDetails{}
	for _, name := range []string{"a", "b"} {
		partitions := kadm.PartitionDetails{}
		for p := range int32(6) {
			partitions[p] = kadm.PartitionDetail{Topic: name, Partition: p, Replicas: []int32{1, 2}}
		}
		topics[name] = kadm.TopicDetail{Topic: name, Partitions: partitions}
	}
	request, err := spread(topics, Reassignment{Balance: []int32{2, 3, 4}})
	if err != nil {
		t.Fatal(err)
	}
	leaders, replicas := map[int32]int{}, map[int32]int{}
	for topic, partitions := range request {
		for p, target := range partitions {
			leaders[target[0]]++
			for _, id := range target {
				replicas[id]++
			}
			detail := topics[topic].Partitions[p]
			detail.Replicas = target
			topics[topic].Partitions[p] = detail
		}
	}
	for _, id := range []int32{2, 3, 4} {
		if leaders[id] != 4 || replicas[id] != 8 {
			t.Errorf("broker %d leads %d and holds %d of 12 partitions", id, leaders[id], replicas[id])
		}
	}
	if again, err := spread(topics, Reassignment{Balance: []int32{2, 3, 4}}); err != nil || len(again) != 0 {
		t.Errorf("a second time: %v, %v", again, err)
	}
	if _, err := spread(topics, Reassignment{Balance: []int32{2}}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "2 replicas") {
		t.Errorf("too few brokers: %v", err)
	}
}
