package broker

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/kafka/replica"
	"twinlog/engine/trace"
)

// produceKey is what a produce request that waits for replicas watches in the purgatory.
type produceKey trace.KafkaPartition

// produceOperation is one Produce request on its way: it is appended to all its partitions at once, and with acks=all then waits until
// every one of them has it on all in-sync replicas.
type produceOperation struct {
	broker  *Broker
	request *reactor.Request
	body    *kmsg.ProduceRequest
	parts   []*producePart
	left    atomic.Int32 // appends under way, plus one until all were started
}

// producePart is one partition of the request. Written by one goroutine before left goes down, read by others after it reached 0.
type producePart struct {
	topic     string
	number    int32
	partition *partition // nil when it is not here
	result    appendResult
	records   []records.InvalidRecord
	pending   bool // appended, and waits for replicas
}

// handleProduce appends record batches.
func (b *Broker) handleProduce(r *reactor.Request) {
	body := r.Body.(*kmsg.ProduceRequest)
	op := &produceOperation{broker: b, request: r, body: body}
	op.left.Store(1)
	for i := range body.Topics {
		topic := &body.Topics[i]
		for j := range topic.Partitions {
			part := &producePart{topic: topic.Topic, number: topic.Partitions[j].Partition}
			op.parts = append(op.parts, part)
			op.start(part, topic.Partitions[j].Records)
		}
	}
	op.oneDone()
}

// refused is the result of a partition to which nothing was appended.
func refused(err *kerr.Error, text string) appendResult {
	return appendResult{err: err, text: text, base: -1, appendTime: -1, logStart: -1}
}

// start checks a partition's batch and hands it to the partition.
func (op *produceOperation) start(part *producePart, batch []byte) {
	if acks := op.body.Acks; acks < -1 || acks > 1 {
		part.result = refused(kerr.InvalidRequiredAcks, "")
		return
	}
	if op.body.TransactionID != nil {
		part.result = refused(kerr.TransactionalIDAuthorizationFailed, "this broker has no transaction coordinator yet; produce without transactional.id")
		return
	}
	part.partition = op.broker.replicas.find(part.topic, part.number)
	if part.partition == nil {
		part.result = refused(op.broker.missing(part.topic, part.number), "")
		return
	}
	header, err := records.Validate(batch, op.rules(part.partition))
	if err != nil {
		part.fail(err)
		return
	}
	if header.Transactional() {
		part.result = refused(kerr.InvalidTxnState, "this broker has no transaction coordinator yet; produce without transactional.id")
		return
	}
	op.left.Add(1)
	posted := part.partition.post(func() {
		part.result = part.partition.appendAsLeader(batch, header, op.body.Acks)
		op.oneDone()
	})
	if !posted {
		part.result = refused(kerr.NotLeaderForPartition, "")
		op.oneDone()
	}
}

func (op *produceOperation) rules(p *partition) records.Rules {
	settings := p.topic.Load()
	return records.Rules{
		MaxBatchBytes: settings.MaxMessageBytes, Compacted: settings.Compacted, AppendTime: settings.AppendTime,
		BeforeMaxMS: settings.BeforeMaxMS, AfterMaxMS: settings.AfterMaxMS,
		NowMS: time.Now().UnixMilli(), ProduceVersion: op.body.Version,
	}
}

func (part *producePart) fail(err error) {
	var bad *records.Invalid
	if !errors.As(err, &bad) {
		part.result = refused(kerr.UnknownServerError, err.Error())
		return
	}
	part.result = refused(bad.Kafka, bad.Text)
	part.records = bad.Records
}

// missing is why a partition is not here: another broker has it, or nobody.
func (b *Broker) missing(topic string, number int32) *kerr.Error {
	if b.replicas.isUnreadable(trace.KafkaPartition{Topic: topic, Partition: number}) {
		return kerr.KafkaStorageError
	}
	snapshot := b.metadata.Load()
	if _, known := snapshot.Partition(topic, number); known || snapshot.ControllerID < 0 {
		return kerr.NotLeaderForPartition
	}
	return kerr.UnknownTopicOrPartition
}

// oneDone is called when an append ended, and once more when all were started. The last caller goes on with the request.
func (op *produceOperation) oneDone() {
	if op.left.Add(-1) > 0 {
		return
	}
	switch op.body.Acks {
	case 0:
		op.finishUnacknowledged()
	case -1:
		op.await()
	default:
		op.respond()
	}
}

// finishUnacknowledged: with acks=0 there is no response, not even about an error; closing the connection is the only way to tell.
func (op *produceOperation) finishUnacknowledged() {
	for _, part := range op.parts {
		if part.result.err != nil {
			op.showRefusal(part)
			op.request.Disconnect(part.result.err)
			return
		}
	}
	op.request.RespondNothing()
}

// await goes to the purgatory with what was appended.
func (op *produceOperation) await() {
	var keys []any
	for _, part := range op.parts {
		if part.result.err == nil {
			part.pending = true
			keys = append(keys, produceKey(part.partition.name))
		}
	}
	if len(keys) == 0 {
		op.respond()
		return
	}
	timeout := max(0, time.Duration(op.body.TimeoutMillis)*time.Millisecond)
	if waiting := op.broker.purgatory.Watch(op, timeout, keys...); waiting > 0 {
		op.broker.config.Tracer.EmitCaused(op.request.Cause, trace.KafkaRequestDelayed{
			API: "Produce", Subject: reactor.DescribeRequest(op.body).Subject, Exchange: op.request.Exchange, Waiting: waiting,
		})
	}
}

// replicated tells how a pending partition stands: done, and with which error.
func (part *producePart) replicated() (done bool, err *kerr.Error) {
	view := part.partition.view.Load()
	switch {
	case view.Role != replica.RoleLeader || view.LeaderEpoch < part.result.leaderEpoch:
		return true, kerr.NotLeaderForPartition
	case view.HighWatermark <= part.result.last:
		return false, nil
	case view.UnderMinISR():
		return true, kerr.NotEnoughReplicasAfterAppend
	}
	return true, nil
}

// Ready implements reactor.Operation.
func (op *produceOperation) Ready() bool {
	for _, part := range op.parts {
		if part.pending {
			if done, _ := part.replicated(); !done {
				return false
			}
		}
	}
	return true
}

// Complete implements reactor.Operation. What is not replicated by now stays in the log: the producer is told that nobody knows.
func (op *produceOperation) Complete(bool) {
	for _, part := range op.parts {
		if !part.pending {
			continue
		}
		done, err := part.replicated()
		if !done {
			err = kerr.RequestTimedOut
		}
		part.result.err = err
	}
	op.respond()
}

func (op *produceOperation) respond() {
	response := kmsg.NewPtrProduceResponse()
	topics := map[string]int{}
	for _, part := range op.parts {
		at, found := topics[part.topic]
		if !found {
			at = len(response.Topics)
			topics[part.topic] = at
			topic := kmsg.NewProduceResponseTopic()
			topic.Topic = part.topic
			response.Topics = append(response.Topics, topic)
		}
		response.Topics[at].Partitions = append(response.Topics[at].Partitions, op.answer(part, response))
	}
	op.request.Respond(response)
	if !slices.ContainsFunc(op.parts, func(part *producePart) bool { return part.result.err != nil }) {
		op.broker.produceLatencies.Observe(time.Since(op.request.Received))
	}
}

func (op *produceOperation) answer(part *producePart, response *kmsg.ProduceResponse) kmsg.ProduceResponseTopicPartition {
	answer := kmsg.NewProduceResponseTopicPartition()
	answer.Partition, answer.ErrorCode = part.number, code(part.result.err)
	answer.BaseOffset, answer.LogAppendTime, answer.LogStartOffset = part.result.base, part.result.appendTime, part.result.logStart
	if part.result.text != "" {
		answer.ErrorMessage = &part.result.text
	}
	for _, bad := range part.records {
		record := kmsg.NewProduceResponseTopicPartitionErrorRecord()
		record.RelativeOffset, record.ErrorMessage = bad.Index, kmsg.StringPtr(bad.Text)
		answer.ErrorRecords = append(answer.ErrorRecords, record)
	}
	op.showRefusal(part)
	switch part.result.err {
	case nil:
		op.broker.config.Tracer.EmitCaused(op.request.Cause, trace.KafkaAcknowledged{
			KafkaPartition: part.partition.name, Acks: op.body.Acks, BaseOffset: part.result.base, LastOffset: part.result.last,
		})
	case kerr.NotLeaderForPartition:
		answer.BaseOffset = -1
		op.tellLeader(part, &answer, response)
	default:
		answer.BaseOffset = -1
	}
	return answer
}

// showRefusal tells the trace about a partition that the client gets an error for.
func (op *produceOperation) showRefusal(part *producePart) {
	if part.result.err == nil {
		return
	}
	event := trace.KafkaProduceRefused{
		KafkaPartition: trace.KafkaPartition{Topic: part.topic, Partition: part.number}, Error: part.result.err.Message, Acks: op.body.Acks,
		Appended: part.pending,
	}
	if part.partition != nil {
		event.ISR, event.MinISR = len(part.partition.view.Load().ISR), part.partition.topic.Load().MinISR
	}
	op.broker.config.Tracer.EmitCaused(op.request.Cause, event)
}

// tellLeader saves the client a Metadata request (KIP-951, version 10 on).
func (op *produceOperation) tellLeader(part *producePart, answer *kmsg.ProduceResponseTopicPartition, response *kmsg.ProduceResponse) {
	if op.request.Version < 10 {
		return
	}
	leader, epoch, endpoint, rack, known := op.broker.leaderOf(part.topic, part.number, op.request.Listener)
	if !known {
		return
	}
	answer.CurrentLeader.LeaderID, answer.CurrentLeader.LeaderEpoch = leader, epoch
	for _, listed := range response.Brokers {
		if listed.NodeID == leader {
			return
		}
	}
	broker := kmsg.NewProduceResponseBroker()
	broker.NodeID, broker.Host, broker.Port, broker.Rack = leader, endpoint.Host, endpoint.Port, rack
	response.Brokers = append(response.Brokers, broker)
}

var _ reactor.Operation = (*produceOperation)(nil)
