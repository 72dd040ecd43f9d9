package broker_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"twinlog/engine/fabric"
	"twinlog/engine/trace"
)

// The page can follow one record from the client into every replica and back: each message between nodes is told by both ends under the same
// name, and says the same.
func TestTraceOfOneRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, nil)
		c.createTopic("orders", 1, 3, nil)
		client := c.client()
		if _, err := produce(client, "orders", 0, "hello"); err != nil {
			t.Fatal(err)
		}
		client.Close() // it would ask for metadata every five minutes
		leader, _ := c.leader("orders", 0)
		node := func(id int32) string { return "kafka-" + string(rune('0'+id)) }

		sent := map[trace.Exchange]trace.Message{}
		for _, e := range events[trace.MessageSent](c) {
			sent[e.Exchange] = e.Message
		}
		carried := map[string]bool{} // followers to which a Fetch response with the record went
		names := map[string]bool{}
		for _, e := range events[trace.MessageReceived](c) {
			names[e.Name] = true
			if e.Protocol != "kafka" || !strings.HasPrefix(e.To, "kafka-") {
				t.Errorf("a message is told as %+v", e.Message)
			}
			if e.From == fabric.Client {
				continue
			}
			origin, known := sent[e.Exchange]
			if !known {
				t.Errorf("%s %+v was received, but nobody sent it", e.Name, e.Exchange)
				continue
			}
			// A Fetch that overtakes LeaderAndIsr names a topic id of which the leader has not heard yet: it has no subject there.
			if origin.From != e.From || origin.To != e.To || origin.Name != e.Name || origin.Subject != e.Subject && e.Subject != "" || origin.Bytes != e.Bytes {
				t.Errorf("the two ends disagree:\nsent     %+v\nreceived %+v", origin, e.Message)
			}
			if e.Name == "Fetch" && e.Exchange.Response && e.Subject == "orders-0" && e.Count == 1 && e.From == node(leader) {
				carried[e.To] = true
			}
		}
		if len(carried) != 2 {
			t.Errorf("the record's way to two followers is not told, but to %v", carried)
		}
		for _, name := range []string{"CreateTopics", "LeaderAndISR", "UpdateMetadata", "Fetch", "Produce", "Metadata"} {
			if !names[name] {
				t.Errorf("no %s was received; there were %v", name, names)
			}
		}
		if acknowledged := events[trace.KafkaAcknowledged](c); len(acknowledged) != 1 || acknowledged[0].Acks != -1 || acknowledged[0].LastOffset != 0 {
			t.Errorf("acknowledgements: %+v", acknowledged)
		}
		if delayed := events[trace.KafkaRequestDelayed](c); len(delayed) == 0 {
			t.Error("the produce request's wait in the purgatory is not told")
		}
		time.Sleep(time.Second) // the followers ask for the next record
		before := len(events[trace.MessageReceived](c))
		time.Sleep(10 * time.Minute) // of the bubble
		if after := len(events[trace.MessageReceived](c)); after > before {
			t.Errorf("an idle cluster tells of %d messages", after-before)
		}
	})
}
