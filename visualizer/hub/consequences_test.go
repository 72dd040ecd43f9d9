package hub

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"twinlog/engine/trace"
)

// chain resolves the records in their order and returns the way back from the last one, each as "node kind".
func chain(records ...trace.Record) []string {
	causes, follows := newCauses(64), newConsequences(64)
	at := time.Date(2026, 3, 9, 8, 0, 0, 0, time.UTC)
	known := map[trace.Ref]*trace.Record{}
	seqs := map[string]uint64{}
	for i := range records {
		record := &records[i]
		seqs[record.Node]++
		record.Seq, record.Kind, record.At = seqs[record.Node], record.Data.Kind(), at.Add(time.Duration(i)*time.Millisecond)
		if record.Cause.Seq != 0 { // an offset back among the node's own
			record.Cause.Seq = record.Seq - record.Cause.Seq
		}
		causes.resolve(record)
		follows.resolve(record)
		known[trace.Ref{Node: record.Node, Seq: record.Seq}] = record
	}
	var way []string
	for at := &records[len(records)-1]; at != nil; at = known[at.Cause] {
		way = append(way, at.Node+" "+at.Kind)
	}
	slices.Reverse(way)
	return way
}

func on(node string, event trace.Event) trace.Record { return trace.Record{Node: node, Data: event} }

// ownCause is a record that names the one so many before it on the same node.
func ownCause(node string, back uint64, event trace.Event) trace.Record {
	return trace.Record{Node: node, Data: event, Cause: trace.Ref{Node: node, Seq: back}}
}

func message(from, to, protocol, name, subject string, correlation int64, response bool) trace.Message {
	return trace.Message{From: from, To: to, Protocol: protocol, Name: name, Subject: subject,
		Exchange: trace.Exchange{Connection: "c", Correlation: correlation, Response: response}}
}

func TestNewControllerFollowsFromTheKill(t *testing.T) {
	election := []trace.Record{
		on("ensemble-1", trace.SessionConnected{Session: "0x1", Client: "kafka-2"}),
		on("ensemble-3", trace.SessionConnected{Session: "0x3", Client: "kafka-1"}),
		on("kafka-2", trace.NodeStopped{Reason: "killed"}),
		on("ensemble-1", trace.SessionDisconnected{Session: "0x1"}),
		on("ensemble-1", trace.SessionEnded{Session: "0x1", Expired: true, Zxid: 7}),
		on("ensemble-1", trace.ZnodeDeleted{Path: "/controller", Session: "0x1", Zxid: 7}),
		on("ensemble-3", trace.SessionEnded{Session: "0x1", Expired: true, Zxid: 7}),
		on("ensemble-3", trace.ZnodeDeleted{Path: "/controller", Session: "0x1", Zxid: 7}),
		ownCause("ensemble-3", 1, trace.WatchFired{Session: "0x3", Path: "/controller", Event: "deleted", Zxid: 7}),
		on("kafka-1", trace.MessageSent{Message: message("kafka-1", "ensemble-3", "zookeeper", "multi", "/controller", 5, false)}),
		on("ensemble-3", trace.MessageReceived{Message: message("kafka-1", "ensemble-3", "zookeeper", "multi", "/controller", 5, false)}),
		on("ensemble-1", trace.ZnodeCreated{Path: "/controller", Session: "0x3", Zxid: 8}),
		ownCause("ensemble-3", 1, trace.ZnodeCreated{Path: "/controller", Session: "0x3", Zxid: 8}),
		ownCause("ensemble-3", 2, trace.MessageSent{Message: message("ensemble-3", "kafka-1", "zookeeper", "multi", "/controller", 5, true)}),
		on("kafka-1", trace.MessageReceived{Message: message("ensemble-3", "kafka-1", "zookeeper", "multi", "/controller", 5, true)}),
		on("kafka-1", trace.KafkaControllerElected{Broker: 1, Epoch: 2}),
		on("kafka-1", trace.KafkaPartitionStateChanged{KafkaPartition: trace.KafkaPartition{Topic: "demo"}, Leader: 3}),
		on("kafka-1", trace.MessageSent{Message: message("kafka-1", "kafka-3", "kafka", "LeaderAndISR", "demo-0", 9, false)}),
		on("kafka-3", trace.MessageReceived{Message: message("kafka-1", "kafka-3", "kafka", "LeaderAndISR", "demo-0", 9, false)}),
		on("kafka-3", trace.KafkaReplicaRoleChanged{KafkaPartition: trace.KafkaPartition{Topic: "demo"}, Role: "leader"}),
	}
	want := []string{
		"kafka-2 node.stopped", "ensemble-1 ensemble.sessionEnded", "ensemble-3 ensemble.sessionEnded", "ensemble-3 ensemble.znodeDeleted",
		"ensemble-3 ensemble.watchFired", "kafka-1 message.sent", "ensemble-3 message.received", "ensemble-3 message.sent", "kafka-1 message.received",
		"kafka-1 kafka.controllerElected", "kafka-1 kafka.partitionStateChanged", "kafka-1 message.sent", "kafka-3 message.received",
		"kafka-3 kafka.replicaRoleChanged",
	}
	if got := chain(election...); !slices.Equal(got, want) {
		t.Errorf("the way is\n%q\nand not\n%q", got, want)
	}
}

func TestAcknowledgementFollowsFromTheRecord(t *testing.T) {
	partition := trace.KafkaPartition{Topic: "demo"}
	got := chain(
		on("kafka-1", trace.MessageReceived{Message: message("client", "kafka-1", "kafka", "Produce", "demo-0", 1, false)}),
		on("kafka-1", trace.KafkaAppended{KafkaPartition: partition, Role: "leader"}),
		on("kafka-2", trace.MessageSent{Message: message("kafka-2", "kafka-1", "kafka", "Fetch", "demo-0", 2, false)}),
		on("kafka-1", trace.MessageReceived{Message: message("kafka-2", "kafka-1", "kafka", "Fetch", "demo-0", 2, false)}),
		on("kafka-1", trace.KafkaFollowerFetched{KafkaPartition: partition, Replica: 2}),
		on("kafka-1", trace.KafkaHighWatermarkAdvanced{KafkaPartition: partition, Role: "leader"}),
	)
	want := []string{"kafka-2 message.sent", "kafka-1 message.received", "kafka-1 kafka.followerFetched", "kafka-1 kafka.highWatermarkAdvanced"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// topicOne is a topic, and its managed ledger's name.
const (
	topicOne  = "persistent://public/default/one"
	ledgerOne = "public/default/persistent/one"
)

func addEntry(response bool) trace.Message {
	m := message("pulsar-1", "bookie-1", "bookkeeper", "ADD_ENTRY", "ledger 4", 3, response)
	m.Offset = 17
	if response {
		m.From, m.To = m.To, m.From
	}
	return m
}

func TestPublishedEntryFollowsFromItsBookies(t *testing.T) {
	receipt := message("pulsar-1", "client", "pulsar", "SEND_RECEIPT", topicOne, 1, true)
	receipt.Offset = 17
	got := chain(
		on("pulsar-1", trace.LedgerOpened{Ledger: 4, ManagedLedger: ledgerOne}),
		on("pulsar-1", trace.MessageReceived{Message: message("client", "pulsar-1", "pulsar", "SEND", topicOne, 1, false)}),
		on("pulsar-1", trace.MessageSent{Message: addEntry(false)}),
		on("bookie-1", trace.MessageReceived{Message: addEntry(false)}),
		on("bookie-1", trace.EntryStored{Ledger: 4, Entry: 17}),
		on("bookie-1", trace.MessageSent{Message: addEntry(true)}),
		on("pulsar-1", trace.MessageReceived{Message: addEntry(true)}),
		on("pulsar-1", trace.LastAddConfirmedAdvanced{Ledger: 4, LastAddConfirmed: 17}),
		on("pulsar-1", trace.PulsarPublished{Topic: topicOne, Ledger: 4, Entry: 17}),
		on("pulsar-1", trace.MessageSent{Message: receipt}),
	)
	want := []string{"pulsar-1 message.received", "pulsar-1 message.sent", "bookie-1 message.received", "bookie-1 bookkeeper.entryStored", "bookie-1 message.sent",
		"pulsar-1 message.received", "pulsar-1 bookkeeper.lastAddConfirmedAdvanced", "pulsar-1 pulsar.published", "pulsar-1 message.sent"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAnEntryFollowsFromItsOwnTopicAlone: neither another topic's message nor an acknowledgement's cursor ledger is what led to it.
func TestAnEntryFollowsFromItsOwnTopicAlone(t *testing.T) {
	other := message("client", "pulsar-1", "pulsar", "SEND", "persistent://public/default/other", 1, false)
	for name, opened := range map[string]trace.LedgerOpened{
		"of one topic":      {Ledger: 4, ManagedLedger: ledgerOne},
		"of a cursor":       {Ledger: 4, ManagedLedger: "public/default/persistent/other", Cursor: "readers"},
		"that nobody knows": {Ledger: 5},
	} {
		got := chain(on("pulsar-1", opened), on("pulsar-1", trace.MessageReceived{Message: other}), on("pulsar-1", trace.MessageSent{Message: addEntry(false)}))
		if !slices.Equal(got, []string{"pulsar-1 message.sent"}) {
			t.Errorf("an entry of the ledger %s follows from %q", name, got)
		}
	}
}

// TestWhatIsReadLaterFollowsFromItsFlow: a consumer that comes late is fed because it asks, not because of the newest message.
func TestWhatIsReadLaterFollowsFromItsFlow(t *testing.T) {
	got := chain(
		on("pulsar-1", trace.MessageReceived{Message: message("client", "pulsar-1", "pulsar", "FLOW", topicOne, 1, false)}),
		on("pulsar-1", trace.PulsarPublished{Topic: topicOne, Ledger: 4, Entry: 99}),
		on("pulsar-1", trace.PulsarDispatched{Topic: topicOne, Ledger: 4, Entry: 3}),
	)
	if !slices.Equal(got, []string{"pulsar-1 message.received", "pulsar-1 pulsar.dispatched"}) {
		t.Errorf("got %q", got)
	}
}

func TestRememberedConsequencesAreBounded(t *testing.T) {
	follows := newConsequences(10)
	for i := range 1000 {
		record := on("kafka-1", trace.SessionConnected{Session: fmt.Sprint(i), Client: "kafka-1"})
		follows.resolve(&record)
		record = on("kafka-1", trace.ZnodeCreated{Path: fmt.Sprint("/", i), Zxid: int64(i)})
		follows.resolve(&record)
	}
	if len(follows.newest) > 10 || len(follows.names) > 10 {
		t.Errorf("%d facts and %d names are remembered", len(follows.newest), len(follows.names))
	}
}

func TestNodeThatRunsAgainCausesNothing(t *testing.T) {
	got := chain(
		on("ensemble-1", trace.SessionConnected{Session: "0x1", Client: "kafka-2"}),
		on("kafka-2", trace.NodePaused{}),
		on("kafka-2", trace.NodeResumed{}),
		on("ensemble-1", trace.SessionDisconnected{Session: "0x1"}),
	)
	if want := []string{"ensemble-1 ensemble.sessionDisconnected"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
