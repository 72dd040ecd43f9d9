package broker

import (
	"bytes"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/commitlog"
	"twinlog/engine/disk"
	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/kafka/broker/replicalog"
	"twinlog/engine/kafka/metadata"
	"twinlog/engine/kafka/replica"
)

// Every version of the hand-written encoding, held against kmsg's.
func TestFetchEncoding(t *testing.T) {
	log, err := replicalog.Open(disk.NewMemory(), "t-0", commitlog.Config{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	batch := records.Build([]records.Record{{Timestamp: 1, Value: []byte("hello")}, {Timestamp: 2, Value: []byte("world")}})
	if err := log.Append(batch, time.Now()); err != nil {
		t.Fatal(err)
	}
	b := brokerThatKnows(t)
	for version := int16(0); version <= 17; version++ {
		section, err := log.Records().Read(0, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		body := kmsg.NewPtrFetchRequest()
		body.Version = version
		if version%2 == 1 {
			body.IsolationLevel = 1
		}
		op := &fetchOperation{broker: b, request: &reactor.Request{Version: version, Listener: "PLAINTEXT"}, body: body}
		target := func(topic string, id byte, number int32) *fetchTarget {
			return &fetchTarget{topic: topic, topicID: metadata.TopicID{id}, number: number}
		}
		encoder := fetchEncoder{version: version, sessionID: 77, op: op}
		payload, note := encoder.encode([]*fetchResult{
			{target: target("t", 1, 0), highWatermark: 2, logStart: 0, section: section},
			{target: target("u", 2, 5), highWatermark: -1, logStart: -1, err: kerr.NotLeaderForPartition},
			{target: target("t", 1, 1), highWatermark: 9, logStart: 3, divergence: &replica.Divergence{Epoch: 4, End: 6}},
		})
		if note.Skip || note.Subject != "t-0" || note.Count != 2 {
			t.Errorf("v%d: the note is %+v", version, note)
		}
		var got bytes.Buffer
		for _, part := range payload.Parts() {
			if _, err := part.WriteTo(&got); err != nil {
				t.Fatal(err)
			}
		}
		if int64(got.Len()) != payload.Size() {
			t.Errorf("v%d: %d bytes, announced %d", version, got.Len(), payload.Size())
		}
		if want := expectedFetch(version, batch).AppendTo(nil); !bytes.Equal(got.Bytes(), want) {
			t.Errorf("v%d:\n got %x\nwant %x", version, got.Bytes(), want)
		}
		payload.Close()
	}
}

func expectedFetch(version int16, batch []byte) *kmsg.FetchResponse {
	response := kmsg.NewPtrFetchResponse()
	response.Version, response.SessionID = version, 77
	partition := func(number int32, err int16, highWatermark, logStart int64, batches []byte) kmsg.FetchResponseTopicPartition {
		p := kmsg.NewFetchResponseTopicPartition()
		p.Partition, p.ErrorCode, p.HighWatermark, p.LastStableOffset, p.LogStartOffset = number, err, highWatermark, highWatermark, logStart
		p.RecordBatches = batches
		if version%2 == 1 {
			p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
		}
		return p
	}
	diverging := partition(1, 0, 9, 3, []byte{})
	diverging.DivergingEpoch.Epoch, diverging.DivergingEpoch.EndOffset = 4, 6
	moved := partition(5, kerr.NotLeaderForPartition.Code, -1, -1, []byte{})
	if version >= 16 {
		moved.CurrentLeader.LeaderID, moved.CurrentLeader.LeaderEpoch = 2, 8
		named := kmsg.NewFetchResponseBroker()
		named.NodeID, named.Host, named.Port, named.Rack = 2, "h2", 9093, kmsg.StringPtr("r")
		response.Brokers = append(response.Brokers, named)
	}
	response.Topics = []kmsg.FetchResponseTopic{
		{Topic: "t", TopicID: [16]byte{1}, Partitions: []kmsg.FetchResponseTopicPartition{partition(0, 0, 2, 0, batch), diverging}},
		{Topic: "u", TopicID: [16]byte{2}, Partitions: []kmsg.FetchResponseTopicPartition{moved}},
	}
	return response
}

// brokerThatKnows is a broker that never ran and knows that broker 2 leads u-5.
func brokerThatKnows(t *testing.T) *Broker {
	t.Helper()
	b := &Broker{}
	update := kmsg.NewPtrUpdateMetadataRequest()
	update.LiveBrokers = []kmsg.UpdateMetadataRequestLiveBroker{{
		ID: 2, Rack: kmsg.StringPtr("r"), Endpoints: []kmsg.UpdateMetadataRequestLiveBrokerEndpoint{{ListenerName: "PLAINTEXT", Host: "h2", Port: 9093}},
	}}
	update.TopicStates = []kmsg.UpdateMetadataRequestTopicState{{
		Topic: "u", TopicID: [16]byte{2}, PartitionStates: []kmsg.UpdateMetadataRequestTopicPartition{{Partition: 5, Leader: 2, LeaderEpoch: 8}},
	}}
	b.metadata.Store(metadata.EmptySnapshot().Apply(update))
	return b
}
