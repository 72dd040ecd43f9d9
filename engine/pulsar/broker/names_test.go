package broker

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTopicNames(t *testing.T) {
	for text, want := range map[string]string{
		"orders":                              "persistent://public/default/orders",
		"acme/sales/orders":                   "persistent://acme/sales/orders",
		"non-persistent://acme/sales/orders":  "non-persistent://acme/sales/orders",
		"persistent://acme/sales/a/b c":       "persistent://acme/sales/a/b c",
		"persistent://a/b/orders-partition-3": "persistent://a/b/orders-partition-3",
	} {
		name, err := ParseTopicName(text)
		if err != nil || name.String() != want {
			t.Errorf("%q: %v, %v", text, name, err)
		}
	}
	for _, text := range []string{"", "a/b", "http://a/b/c", "persistent://a/b", "persistent://a/b/", "persistent://a b/c/d", "persistent:///b/c", "persistent://a/b/" + strings.Repeat("x", 2000)} {
		if name, err := ParseTopicName(text); !errors.Is(err, ErrBadName) {
			t.Errorf("%q is taken for %v: %v", text, name, err)
		}
	}
}

func TestPartitionsOfNames(t *testing.T) {
	for text, want := range map[string]int{
		"t-partition-0": 0, "t-partition-12": 12, "t": -1, "t-partition-": -1, "t-partition-x": -1, "t-partition-01": -1, "t-partition--1": -1,
		"t-partition-1-partition-2": 2,
	} {
		name, err := ParseTopicName(text)
		if err != nil || name.Partition() != want {
			t.Errorf("%q: partition %d, %v", text, name.Partition(), err)
		}
	}
	name, _ := ParseTopicName("t")
	if p := name.PartitionName(4); p.Partition() != 4 || p.Parent() != name {
		t.Errorf("%v of %v", p, p.Parent())
	}
}

// A topic's name survives its way through a znode, and takes one path element there.
func TestZnodeEncodingComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "name")
		element := encodeZnode(text)
		back, err := decodeZnode(element)
		if err != nil || back != text || strings.Contains(element, "/") {
			t.Fatalf("%q as %q: %q, %v", text, element, back, err)
		}
	})
}

// Policies keep what this broker does not know.
func TestPoliciesKeepUnknownFields(t *testing.T) {
	var policies Policies
	if err := json.Unmarshal([]byte(`{"replication_clusters":["a"],"encryption_required":true,"message_ttl_in_seconds":5}`), &policies); err != nil {
		t.Fatal(err)
	}
	if err := policies.SetField("retention_policies", []byte(`{"retentionTimeInMinutes":1,"retentionSizeInMB":2}`)); err != nil {
		t.Fatal(err)
	}
	if err := policies.SetField("message_ttl_in_seconds", nil); err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(policies)
	if err != nil {
		t.Fatal(err)
	}
	var again Policies
	if err := json.Unmarshal(encoded, &again); err != nil {
		t.Fatal(err)
	}
	if string(again.Field("encryption_required")) != "true" || again.known.Retention.Megabytes != 2 || again.known.MessageTTL != nil {
		t.Errorf("%s", encoded)
	}
	if again.Field("persistence") != nil {
		t.Error("a policy that is not set has a value")
	}
	if err := again.SetField("retention_policies", []byte(`[]`)); !errors.Is(err, ErrBadRequest) {
		t.Errorf("a value of the wrong kind: %v", err)
	}
}
