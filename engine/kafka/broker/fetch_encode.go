package broker

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/commitlog"
	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/trace"
)

// fetchEncoder writes a Fetch response around the sections of the logs, so that records go from file to socket without being read:
//
//	| throttle, error, session | topic | partition, error, high watermark … , records: length | <section> | topic | … | tags |
//
// It is the one response that kmsg cannot encode for us, since it would need the records in memory; fetch_encode_test.go holds every
// version against kmsg.
type fetchEncoder struct {
	version   int16
	sessionID int32
	op        *fetchOperation

	payload reactor.Payload
	pending []byte // what comes before the next section
	note    reactor.Note
	leaders []leaderEndpoint
}

// leaderEndpoint is a leader that the response names, and where it is.
type leaderEndpoint struct {
	id   int32
	host string
	port int32
	rack *string
}

func (e *fetchEncoder) flexible() bool { return e.version >= 12 }

// encode takes over the results' sections.
func (e *fetchEncoder) encode(results []*fetchResult) (*reactor.Payload, reactor.Note) {
	e.note = reactor.Note{Offset: -1, Skip: true}
	if e.version >= 1 {
		e.int32(0) // throttle
	}
	if e.version >= 7 {
		e.int16(0)
		e.int32(e.sessionID)
	}
	topics := groupByTopic(results)
	e.length(len(topics))
	for _, topic := range topics {
		e.topic(topic)
	}
	if e.flexible() {
		e.endTags()
	}
	e.flush()
	return &e.payload, e.note
}

// groupByTopic keeps the order in which topics and partitions appear.
func groupByTopic(results []*fetchResult) (topics [][]*fetchResult) {
	type key struct {
		topic string
		id    [16]byte
	}
	at := map[key]int{}
	for _, result := range results {
		k := key{result.target.topic, result.target.topicID}
		index, found := at[k]
		if !found {
			index = len(topics)
			at[k] = index
			topics = append(topics, nil)
		}
		topics[index] = append(topics[index], result)
	}
	return topics
}

func (e *fetchEncoder) topic(results []*fetchResult) {
	if e.version >= 13 {
		e.pending = append(e.pending, results[0].target.topicID[:]...)
	} else {
		e.string(results[0].target.topic)
	}
	e.length(len(results))
	for _, result := range results {
		e.partition(result)
	}
	if e.flexible() {
		e.pending = append(e.pending, 0)
	}
}

func (e *fetchEncoder) partition(result *fetchResult) {
	e.int32(result.target.number)
	e.int16(code(result.err))
	e.int64(result.highWatermark)
	if e.version >= 4 {
		e.int64(result.highWatermark) // last stable offset: the same while there are no transactions
	}
	if e.version >= 5 {
		e.int64(result.logStart)
	}
	if e.version >= 4 {
		e.abortedTransactions()
	}
	if e.version >= 11 {
		e.int32(-1) // preferred read replica
	}
	e.records(result)
	if e.flexible() {
		e.partitionTags(result)
	}
}

// abortedTransactions: null for read_uncommitted, empty for read_committed.
func (e *fetchEncoder) abortedTransactions() {
	committed := e.op != nil && e.op.body.IsolationLevel == 1
	switch {
	case committed:
		e.length(0)
	case e.flexible():
		e.pending = append(e.pending, 0)
	default:
		e.int32(-1)
	}
}

func (e *fetchEncoder) records(result *fetchResult) {
	size := result.bytes()
	if e.flexible() {
		e.pending = binary.AppendUvarint(e.pending, uint64(size)+1)
	} else {
		e.int32(int32(size))
	}
	if size == 0 {
		return
	}
	e.describe(result)
	e.flush()
	e.payload.AppendSection(result.section)
	result.section = nil
}

// describe makes the first partition with records the response's subject in the trace.
func (e *fetchEncoder) describe(result *fetchResult) {
	first, count := firstAndCount(result.section)
	if e.note.Skip {
		e.note = reactor.Note{Subject: trace.KafkaPartition{Topic: result.target.topic, Partition: result.target.number}.String(), Offset: first}
	}
	e.note.Count += count
}

// firstAndCount reads the first batch's header only: a section may be megabytes. The count is a lower bound when there are more batches.
func firstAndCount(section *commitlog.Section) (first int64, count int) {
	var header [records.HeaderSize]byte
	if section.Size() < records.HeaderSize || section.ReadInto(header[:]) != nil {
		return section.Base, 0
	}
	h, err := records.ParseHeader(header[:])
	if err != nil {
		return section.Base, 0
	}
	return h.BaseOffset, int(h.Count)
}

// partitionTags: 0 is where the follower's log parts from this one (KIP-595), 1 who leads now (KIP-951, version 16 on).
func (e *fetchEncoder) partitionTags(result *fetchResult) {
	leader, epoch, tellsLeader := e.leader(result)
	count := 0
	if result.divergence != nil {
		count++
	}
	if tellsLeader {
		count++
	}
	e.pending = append(e.pending, byte(count))
	if d := result.divergence; d != nil {
		e.pending = append(e.pending, 0, 4+8+1)
		e.int32(d.Epoch)
		e.int64(d.End)
		e.pending = append(e.pending, 0)
	}
	if tellsLeader {
		e.pending = append(e.pending, 1, 4+4+1)
		e.int32(leader)
		e.int32(epoch)
		e.pending = append(e.pending, 0)
	}
}

// leader is who leads a partition that is not, or no longer in that epoch, led here.
func (e *fetchEncoder) leader(result *fetchResult) (id, epoch int32, tell bool) {
	if e.version < 16 || e.op == nil || result.err != kerr.NotLeaderForPartition && result.err != kerr.FencedLeaderEpoch {
		return 0, 0, false
	}
	id, epoch, endpoint, rack, known := e.op.broker.leaderOf(result.target.topic, result.target.number, e.op.request.Listener)
	if !known {
		return 0, 0, false
	}
	for _, named := range e.leaders {
		if named.id == id {
			return id, epoch, true
		}
	}
	e.leaders = append(e.leaders, leaderEndpoint{id: id, host: endpoint.Host, port: endpoint.Port, rack: rack})
	return id, epoch, true
}

// endTags: 0 is where the leaders are that were named.
func (e *fetchEncoder) endTags() {
	if len(e.leaders) == 0 {
		e.pending = append(e.pending, 0)
		return
	}
	inner := fetchEncoder{version: e.version}
	inner.length(len(e.leaders))
	for _, leader := range e.leaders {
		inner.int32(leader.id)
		inner.string(leader.host)
		inner.int32(leader.port)
		if leader.rack == nil {
			inner.pending = append(inner.pending, 0)
		} else {
			inner.string(*leader.rack)
		}
		inner.pending = append(inner.pending, 0)
	}
	e.pending = append(e.pending, 1, 0)
	e.pending = binary.AppendUvarint(e.pending, uint64(len(inner.pending)))
	e.pending = append(e.pending, inner.pending...)
}

func (e *fetchEncoder) flush() {
	if len(e.pending) > 0 {
		e.payload.AppendBytes(e.pending)
		e.pending = nil
	}
}

func (e *fetchEncoder) int16(v int16) {
	e.pending = binary.BigEndian.AppendUint16(e.pending, uint16(v))
}
func (e *fetchEncoder) int32(v int32) {
	e.pending = binary.BigEndian.AppendUint32(e.pending, uint32(v))
}
func (e *fetchEncoder) int64(v int64) {
	e.pending = binary.BigEndian.AppendUint64(e.pending, uint64(v))
}

func (e *fetchEncoder) length(n int) {
	if e.flexible() {
		e.pending = binary.AppendUvarint(e.pending, uint64(n)+1)
		return
	}
	e.int32(int32(n))
}

func (e *fetchEncoder) string(s string) {
	if e.flexible() {
		e.pending = binary.AppendUvarint(e.pending, uint64(len(s))+1)
	} else {
		e.int16(int16(len(s)))
	}
	e.pending = append(e.pending, s...)
}
