package broker_test

import (
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/records"
)

// produceRequest is a raw request with one batch for orders-0.
func produceRequest(version, acks int16, batch []byte) *kmsg.ProduceRequest {
	request := kmsg.NewPtrProduceRequest()
	request.Version, request.Acks, request.TimeoutMillis = version, acks, 5000
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic = "orders"
	partition := kmsg.NewProduceRequestTopicPartition()
	partition.Records = batch
	topic.Partitions = append(topic.Partitions, partition)
	request.Topics = append(request.Topics, topic)
	return request
}

func batchOf(timestamp int64, values ...string) []byte {
	var list []records.Record
	for i, value := range values {
		list = append(list, records.Record{Timestamp: timestamp + int64(i), Value: []byte(value)})
	}
	return records.Build(list)
}

func (c *cluster) produceRaw(id int32, request *kmsg.ProduceRequest) kmsg.ProduceResponseTopicPartition {
	c.t.Helper()
	return c.ask(id, request).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
}

func fetchRequest(version int16, offset int64) *kmsg.FetchRequest {
	request := kmsg.NewPtrFetchRequest()
	request.Version, request.ReplicaID, request.SessionEpoch, request.MaxBytes = version, -1, -1, 1<<20
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic = "orders"
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.FetchOffset, partition.PartitionMaxBytes, partition.CurrentLeaderEpoch = offset, 1<<20, -1
	topic.Partitions = append(topic.Partitions, partition)
	request.Topics = append(request.Topics, topic)
	return request
}

func (c *cluster) fetchRaw(id int32, request *kmsg.FetchRequest) kmsg.FetchResponseTopicPartition {
	c.t.Helper()
	return c.ask(id, request).(*kmsg.FetchResponse).Topics[0].Partitions[0]
}

func (c *cluster) listOffset(id int32, version int16, timestamp int64) kmsg.ListOffsetsResponseTopicPartition {
	c.t.Helper()
	request := kmsg.NewPtrListOffsetsRequest()
	request.Version, request.ReplicaID = version, -1
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = "orders"
	partition := kmsg.NewListOffsetsRequestTopicPartition()
	partition.Timestamp, partition.CurrentLeaderEpoch, partition.MaxNumOffsets = timestamp, -1, 10
	topic.Partitions = append(topic.Partitions, partition)
	request.Topics = append(request.Topics, topic)
	return c.ask(id, request).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
}

func wantError(t *testing.T, what string, got int16, want *kerr.Error) {
	t.Helper()
	code := int16(0)
	if want != nil {
		code = want.Code
	}
	if got != code {
		t.Errorf("%s: error %v, want %v", what, kerr.ErrorForCode(got), kerr.ErrorForCode(code))
	}
}

func TestProduceErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, nil)
		c.createTopic("orders", 1, 1, nil)
		for _, step := range []struct {
			what    string
			request *kmsg.ProduceRequest
			want    *kerr.Error
		}{
			{"acks 5", produceRequest(9, 5, batchOf(1, "a")), kerr.InvalidRequiredAcks},
			{"a damaged batch", produceRequest(9, 1, append(batchOf(1, "a"), 0)), kerr.InvalidRecord},
			{"no batch", produceRequest(9, 1, nil), kerr.CorruptMessage},
			{"an old format", produceRequest(2, 1, append(make([]byte, 16), 1, 0, 0, 0, 0, 0)), kerr.UnsupportedForMessageFormat},
			{"a good batch", produceRequest(9, -1, batchOf(1, "a")), nil},
		} {
			answer := c.produceRaw(1, step.request)
			wantError(t, step.what, answer.ErrorCode, step.want)
			if step.want == nil && answer.BaseOffset != 0 || step.want != nil && answer.BaseOffset != -1 {
				t.Errorf("%s: base offset %d", step.what, answer.BaseOffset)
			}
		}
		unknown := produceRequest(9, 1, batchOf(1, "a"))
		unknown.Topics[0].Partitions[0].Partition = 7
		wantError(t, "an unknown partition", c.produceRaw(1, unknown).ErrorCode, kerr.UnknownTopicOrPartition)
	})
}

// A batch whose acknowledgement was lost is sent again: it gets the first answer, also from another leader, and is there once.
func TestDuplicateAfterLeaderChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, nil)
		c.createTopic("orders", 1, 2, nil)
		leader, _ := c.leader("orders", 0)
		for sequence := range int32(3) {
			answer := c.produceRaw(leader, produceRequest(9, -1, records.WithProducer(batchOf(1, "a"), 77, 0, sequence)))
			wantError(t, "in order", answer.ErrorCode, nil)
		}
		c.kill(leader)
		other := 3 - leader
		c.eventually("the other broker leads", func() bool { l, _ := c.leader("orders", 0); return l == other })
		again := c.produceRaw(other, produceRequest(9, 1, records.WithProducer(batchOf(1, "a"), 77, 0, 2)))
		wantError(t, "again", again.ErrorCode, nil)
		if again.BaseOffset != 2 {
			t.Errorf("the duplicate is said to be at %d", again.BaseOffset)
		}
		wantError(t, "a gap", c.produceRaw(other, produceRequest(9, 1, records.WithProducer(batchOf(1, "a"), 77, 0, 9))).ErrorCode, kerr.OutOfOrderSequenceNumber)
		wantError(t, "a new epoch", c.produceRaw(other, produceRequest(9, 1, records.WithProducer(batchOf(1, "a"), 77, 1, 0))).ErrorCode, nil)
		wantError(t, "the old epoch", c.produceRaw(other, produceRequest(9, 1, records.WithProducer(batchOf(1, "a"), 77, 0, 3))).ErrorCode, kerr.InvalidProducerEpoch)
		if end := c.listOffset(other, 5, -1).Offset; end != 4 {
			t.Errorf("the log ends at %d, not 4", end)
		}
	})
}

func TestFetchAndListOffsets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, nil)
		c.createTopic("orders", 1, 1, nil)
		c.produceRaw(1, produceRequest(9, 1, batchOf(1000, "a", "b", "c")))
		c.produceRaw(1, produceRequest(9, 1, batchOf(2000, "d", "e")))

		for _, version := range []int16{4, 11, 12} {
			inside := c.fetchRaw(1, fetchRequest(version, 1))
			wantError(t, "inside", inside.ErrorCode, nil)
			if h, err := records.ParseHeader(inside.RecordBatches); err != nil || h.BaseOffset != 0 {
				t.Errorf("v%d: a fetch in the middle of a batch must give the whole batch: %+v, %v", version, h, err)
			}
			if end := c.fetchRaw(1, fetchRequest(version, 5)); end.ErrorCode != 0 || len(end.RecordBatches) != 0 || end.HighWatermark != 5 {
				t.Errorf("v%d: at the end: %+v", version, end)
			}
			wantError(t, "beyond the end", c.fetchRaw(1, fetchRequest(version, 6)).ErrorCode, kerr.OffsetOutOfRange)
		}
		wantError(t, "an old format", c.fetchRaw(1, fetchRequest(3, 0)).ErrorCode, kerr.UnsupportedVersion)
		stale := fetchRequest(11, 0)
		stale.Topics[0].Partitions[0].CurrentLeaderEpoch = 9
		wantError(t, "an epoch to come", c.fetchRaw(1, stale).ErrorCode, kerr.UnknownLeaderEpoch)

		waiting := fetchRequest(11, 5)
		waiting.MinBytes, waiting.MaxWaitMillis = 1, 700
		began := time.Now()
		c.fetchRaw(1, waiting)
		if took := time.Since(began); took != 700*time.Millisecond {
			t.Errorf("an empty fetch was answered after %v", took)
		}
		produced := make(chan struct{}) // the cluster may not be taken down while the producer waits for its answer
		go func() {
			defer close(produced)
			time.Sleep(100 * time.Millisecond)
			c.produceRaw(1, produceRequest(9, 1, batchOf(3000, "f")))
		}()
		began = time.Now()
		if got := c.fetchRaw(1, waiting); len(got.RecordBatches) == 0 || time.Since(began) > 200*time.Millisecond {
			t.Errorf("a fetch that waits was answered after %v with %d bytes", time.Since(began), len(got.RecordBatches))
		}
		<-produced

		for _, look := range []struct{ timestamp, offset, at int64 }{
			{-1, 6, -1}, {-2, 0, -1}, {0, 0, 1000}, {1001, 1, 1001}, {1500, 3, 2000}, {2001, 4, 2001}, {-3, 5, 3000}, {9999, -1, -1},
		} {
			if got := c.listOffset(1, 7, look.timestamp); got.Offset != look.offset || got.Timestamp != look.at || got.ErrorCode != 0 {
				t.Errorf("timestamp %d: %+v, want offset %d at %d", look.timestamp, got, look.offset, look.at)
			}
		}
		if old := c.listOffset(1, 0, -1); len(old.OldStyleOffsets) != 2 || old.OldStyleOffsets[0] != 6 || old.OldStyleOffsets[1] != 0 {
			t.Errorf("version 0 answers %v", old.OldStyleOffsets)
		}

		deletion := kmsg.NewPtrDeleteRecordsRequest()
		deletion.Version = 2
		deletion.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "orders", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: 4}}}}
		if got := c.ask(1, deletion).(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]; got.ErrorCode != 0 || got.LowWatermark != 4 {
			t.Errorf("DeleteRecords answers %+v", got)
		}
		wantError(t, "before the start", c.fetchRaw(1, fetchRequest(11, 3)).ErrorCode, kerr.OffsetOutOfRange)
		deletion.Topics[0].Partitions[0].Offset = 99
		wantError(t, "delete beyond the end", c.ask(1, deletion).(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0].ErrorCode, kerr.OffsetOutOfRange)
	})
}

// acks=0 has no answer: the next response on the connection is the next request's; an error closes the connection.
func TestUnacknowledgedProduce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, nil)
		c.createTopic("orders", 1, 1, nil)
		conn, err := c.fabric.Of("client").Dial(t.Context(), address(1))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		send := func(request kmsg.Request, correlation uint32) {
			frame := make([]byte, 4)
			frame = binary.BigEndian.AppendUint16(frame, uint16(request.Key()))
			frame = binary.BigEndian.AppendUint16(frame, uint16(request.GetVersion()))
			frame = binary.BigEndian.AppendUint32(frame, correlation)
			frame = append(frame, 0xff, 0xff) // no client id
			frame = request.AppendTo(frame)
			binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
			conn.Write(frame)
		}
		send(produceRequest(7, 0, batchOf(1, "a")), 1)
		send(kmsg.NewPtrApiVersionsRequest(), 2)
		var head [8]byte
		if _, err := conn.Read(head[:]); err != nil || binary.BigEndian.Uint32(head[4:]) != 2 {
			t.Fatalf("the first response is %x, %v", head, err)
		}
		if end := c.listOffset(1, 5, -1).Offset; end != 1 {
			t.Errorf("the log ends at %d", end)
		}
		bad := produceRequest(7, 0, batchOf(1, "a"))
		bad.Topics[0].Topic = "nowhere"
		send(bad, 3)
		rest := make([]byte, 1<<20)
		conn.SetReadDeadline(time.Now().Add(time.Minute))
		for err == nil {
			_, err = conn.Read(rest)
		}
		if timeout, is := err.(interface{ Timeout() bool }); is && timeout.Timeout() {
			t.Error("after an error the connection stays open")
		}
	})
}

func TestMetadataCreatesTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, nil)
		ask := func(topic string, create bool) kmsg.MetadataResponseTopic {
			request := kmsg.NewPtrMetadataRequest()
			request.Version, request.AllowAutoTopicCreation = 12, create
			wanted := kmsg.NewMetadataRequestTopic()
			wanted.Topic = &topic
			request.Topics = append(request.Topics, wanted)
			return c.ask(1, request).(*kmsg.MetadataResponse).Topics[0]
		}
		wantError(t, "a bad name", ask("#!", true).ErrorCode, kerr.InvalidTopicException)
		wantError(t, "not asked to", ask("fresh", false).ErrorCode, kerr.UnknownTopicOrPartition)
		wantError(t, "asked to", ask("fresh", true).ErrorCode, kerr.LeaderNotAvailable)
		c.eventually("the topic is there", func() bool {
			topic := ask("fresh", false)
			return topic.ErrorCode == 0 && topic.Partitions[0].Leader == 1
		})
		byID := kmsg.NewPtrMetadataRequest()
		byID.Version = 12
		byID.Topics = []kmsg.MetadataRequestTopic{{TopicID: ask("fresh", false).TopicID}, {TopicID: [16]byte{9}}}
		answers := c.ask(1, byID).(*kmsg.MetadataResponse).Topics
		if answers[0].Topic == nil || *answers[0].Topic != "fresh" {
			t.Errorf("by id: %+v", answers[0])
		}
		wantError(t, "an unknown id", answers[1].ErrorCode, kerr.UnknownTopicID)
	})
}

// A controller of an older epoch, or one that means an earlier life of the broker, is refused.
func TestControllerFencing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, nil)
		request := kmsg.NewPtrLeaderAndISRRequest()
		request.Version, request.ControllerEpoch, request.BrokerEpoch = 7, 0, -1
		wantError(t, "an old controller", c.ask(1, request).(*kmsg.LeaderAndISRResponse).ErrorCode, kerr.StaleControllerEpoch)
		update := kmsg.NewPtrUpdateMetadataRequest()
		update.Version, update.ControllerEpoch, update.BrokerEpoch = 8, 99, 0
		wantError(t, "an earlier life", c.ask(1, update).(*kmsg.UpdateMetadataResponse).ErrorCode, kerr.StaleBrokerEpoch)
	})
}
