package reactor

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/trace"
)

// Note is what the trace says about a message besides its name and size.
type Note struct {
	Subject string // "orders-0", "group readers"; "" when it is about nothing in particular
	Offset  int64  // the first offset concerned; -1: none
	Count   int    // records, partitions or members carried
	// Skip leaves the message out of the trace: it is common and says nothing new (a heartbeat, a fetch that found nothing).
	Skip bool
}

// Nothing is the note of a message about which there is nothing to say but its name.
var Nothing = Note{Offset: -1}

// message builds the trace's picture of a message.
func (n Note) message(exchange trace.Exchange, from, to string, key int16, bytes int64) trace.Message {
	return trace.Message{
		Exchange: exchange, From: from, To: to, Protocol: "kafka", Name: kmsg.NameForKey(key), Bytes: bytes,
		Subject: n.Subject, Offset: n.Offset, Count: n.Count,
	}
}

// Sent is the event that a message was handed to the socket.
func (n Note) Sent(exchange trace.Exchange, from, to string, key int16, bytes int64) trace.MessageSent {
	return trace.MessageSent{Message: n.message(exchange, from, to, key, bytes)}
}

// Received is the event that a message was read whole.
func (n Note) Received(exchange trace.Exchange, from, to string, key int16, bytes int64) trace.MessageReceived {
	return trace.MessageReceived{Message: n.message(exchange, from, to, key, bytes)}
}

// partitions notes a message that is about partitions: the first one by name, and how many there are.
func partitions(topic string, partition int32, offset int64, count int) Note {
	if topic == "" { // an id that is not known here
		return Note{Offset: offset, Count: count}
	}
	return Note{Subject: trace.KafkaPartition{Topic: topic, Partition: partition}.String(), Offset: offset, Count: count}
}

// DescribeRequest says what a request is about. Both ends of a connection use it, so that they say the same.
func DescribeRequest(body kmsg.Request) Note {
	note := Nothing
	switch r := body.(type) {
	case *kmsg.HeartbeatRequest, *kmsg.ApiVersionsRequest:
		note.Skip = true
	case *kmsg.MetadataRequest:
		note.Count = len(r.Topics)
		if len(r.Topics) > 0 && r.Topics[0].Topic != nil {
			note.Subject = *r.Topics[0].Topic
		}
	case *kmsg.ProduceRequest:
		for i := len(r.Topics) - 1; i >= 0; i-- {
			for j := len(r.Topics[i].Partitions) - 1; j >= 0; j-- {
				note = partitions(r.Topics[i].Topic, r.Topics[i].Partitions[j].Partition, -1, note.Count+1)
			}
		}
	case *kmsg.FetchRequest:
		// In a fetch session an incremental request lists only what changed, so a request that lists nothing says nothing.
		note.Skip = len(r.Topics) == 0
		for i := len(r.Topics) - 1; i >= 0; i-- {
			for j := len(r.Topics[i].Partitions) - 1; j >= 0; j-- {
				p := &r.Topics[i].Partitions[j]
				note = partitions(r.Topics[i].Topic, p.Partition, p.FetchOffset, note.Count+1)
			}
		}
	case *kmsg.LeaderAndISRRequest:
		for i := len(r.TopicStates) - 1; i >= 0; i-- {
			for j := len(r.TopicStates[i].PartitionStates) - 1; j >= 0; j-- {
				note = partitions(r.TopicStates[i].Topic, r.TopicStates[i].PartitionStates[j].Partition, -1, note.Count+1)
			}
		}
	case *kmsg.UpdateMetadataRequest:
		for i := len(r.TopicStates) - 1; i >= 0; i-- {
			for j := len(r.TopicStates[i].PartitionStates) - 1; j >= 0; j-- {
				note = partitions(r.TopicStates[i].Topic, r.TopicStates[i].PartitionStates[j].Partition, -1, note.Count+1)
			}
		}
	case *kmsg.StopReplicaRequest:
		for i := len(r.Topics) - 1; i >= 0; i-- {
			for j := len(r.Topics[i].PartitionStates) - 1; j >= 0; j-- {
				note = partitions(r.Topics[i].Topic, r.Topics[i].PartitionStates[j].Partition, -1, note.Count+1)
			}
		}
	default:
		note.Subject = subjectOf(body)
	}
	return note
}

// subjectOf names the one thing that a simple request is about.
func subjectOf(body kmsg.Request) string {
	switch r := body.(type) {
	case *kmsg.JoinGroupRequest:
		return "group " + r.Group
	case *kmsg.SyncGroupRequest:
		return "group " + r.Group
	case *kmsg.LeaveGroupRequest:
		return "group " + r.Group
	case *kmsg.OffsetCommitRequest:
		return "group " + r.Group
	case *kmsg.OffsetFetchRequest:
		return "group " + r.Group
	case *kmsg.FindCoordinatorRequest:
		return r.CoordinatorKey
	case *kmsg.CreateTopicsRequest:
		if len(r.Topics) > 0 {
			return r.Topics[0].Topic
		}
	case *kmsg.DeleteTopicsRequest:
		if len(r.TopicNames) > 0 {
			return r.TopicNames[0]
		}
	}
	return ""
}

// DescribeResponse says what a response is about: what its request was about, but for a Fetch, where only the records count.
func DescribeResponse(body kmsg.Response, request Note) Note {
	fetched, isFetch := body.(*kmsg.FetchResponse)
	if !isFetch {
		return request
	}
	note := Note{Offset: -1, Skip: true}
	for i := range fetched.Topics {
		for j := range fetched.Topics[i].Partitions {
			p := &fetched.Topics[i].Partitions[j]
			first, count := countRecords(p.RecordBatches)
			if count > 0 && note.Skip {
				note = partitions(fetched.Topics[i].Topic, p.Partition, first, 0)
			}
			note.Count += count
		}
	}
	return note
}

// countRecords walks record batches by their headers: base offset int64 at 0, length int32 at 8, record count int32 at 57.
func countRecords(batches []byte) (first int64, count int) {
	first = -1
	for len(batches) >= 61 {
		if first < 0 {
			first = int64(binary.BigEndian.Uint64(batches))
		}
		count += int(int32(binary.BigEndian.Uint32(batches[57:])))
		size := 12 + int(int32(binary.BigEndian.Uint32(batches[8:])))
		if size < 61 || size > len(batches) {
			break
		}
		batches = batches[size:]
	}
	return first, count
}

// TopicNamer finds a topic's name by its id. From Fetch version 13 on messages name topics by id only; a namer gives traces and handlers
// the name back.
type TopicNamer func(id [16]byte) (name string, known bool)

// NameRequest fills in the topic names of a Fetch request; topics that are not known keep an empty name.
func (n TopicNamer) NameRequest(body kmsg.Request) {
	r, isFetch := body.(*kmsg.FetchRequest)
	if n == nil || !isFetch || r.Version < 13 {
		return
	}
	for i := range r.Topics {
		r.Topics[i].Topic, _ = n(r.Topics[i].TopicID)
	}
	for i := range r.ForgottenTopics {
		r.ForgottenTopics[i].Topic, _ = n(r.ForgottenTopics[i].TopicID)
	}
}

// NameResponse fills in the topic names of a Fetch response.
func (n TopicNamer) NameResponse(body kmsg.Response) {
	r, isFetch := body.(*kmsg.FetchResponse)
	if n == nil || !isFetch || r.Version < 13 {
		return
	}
	for i := range r.Topics {
		r.Topics[i].Topic, _ = n(r.Topics[i].TopicID)
	}
}
