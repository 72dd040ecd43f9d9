package broker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/fabric"
	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/metadata"
	"twinlog/engine/trace"
)

// fetchKey is what a fetch that waits for records watches in the purgatory.
type fetchKey trace.KafkaPartition

// fetchTarget is one partition of a fetch, as its client asked for it. A session keeps it from request to request.
type fetchTarget struct {
	topic       string
	topicID     metadata.TopicID
	number      int32
	offset      int64
	maxBytes    int32
	leaderEpoch int32 // -1: the client does not say
	lastEpoch   int32 // of the record before offset, -1: the client does not say
}

// fetchOperation is one Fetch request, of a consumer or a follower, on its way: it reads at once, or waits in the purgatory until there is
// enough to read.
type fetchOperation struct {
	broker  *Broker
	request *reactor.Request
	body    *kmsg.FetchRequest

	replica  int32 // the follower's broker id; -1 for a consumer
	session  fetchSessionTurn
	targets  []*fetchTarget
	maxBytes int32
}

// handleFetch reads records.
func (b *Broker) handleFetch(r *reactor.Request) {
	body := r.Body.(*kmsg.FetchRequest)
	op := &fetchOperation{broker: b, request: r, body: body, replica: body.ReplicaID, maxBytes: b.settings.clientFetchMaxBytes}
	replicaEpoch := int64(-1)
	if body.Version >= 15 {
		op.replica, replicaEpoch = body.ReplicaState.ID, body.ReplicaState.Epoch
	}
	if body.Version >= 3 && body.MaxBytes < op.maxBytes {
		op.maxBytes = max(0, body.MaxBytes)
	}
	turn, err := b.sessions.begin(body, op.replica >= 0)
	if err != nil {
		op.refuse(err)
		return
	}
	op.session, op.targets = turn, turn.targets
	for _, target := range op.targets {
		if target.topic == "" { // a session may remember a topic from before this broker knew its name
			target.topic, _ = b.topicName(target.topicID)
		}
	}
	if op.replica >= 0 {
		op.noteFollower(replicaEpoch)
	}
	wait := max(0, time.Duration(body.MaxWaitMillis)*time.Millisecond)
	if wait == 0 || len(op.targets) == 0 {
		op.Complete(true)
		return
	}
	keys := make([]any, 0, len(op.targets))
	for _, target := range op.targets {
		keys = append(keys, fetchKey{Topic: target.topic, Partition: target.number})
	}
	waiting := b.purgatory.Watch(op, wait, keys...)
	if waiting > 0 && r.Peer == fabric.Client {
		b.config.Tracer.EmitCaused(r.Cause, trace.KafkaRequestDelayed{API: "Fetch", Subject: op.subject(), Exchange: r.Exchange, Waiting: waiting})
	}
}

func (op *fetchOperation) subject() string {
	return trace.KafkaPartition{Topic: op.targets[0].topic, Partition: op.targets[0].number}.String()
}

// refuse answers the whole request with an error. Before version 7 there is no place for one, but no session either.
func (op *fetchOperation) refuse(err *kerr.Error) {
	response := kmsg.NewPtrFetchResponse()
	response.ErrorCode = err.Code
	op.request.Respond(response)
}

// noteFollower tells the partitions how far a follower is: by asking for what comes at an offset it says that it has all below. In a
// session a partition that the request does not name is where it was.
func (op *fetchOperation) noteFollower(replicaEpoch int64) {
	for _, target := range op.targets {
		p := op.broker.replicas.find(target.topic, target.number)
		if p == nil {
			continue
		}
		offset, epoch := target.offset, target.leaderEpoch
		if _, diverges := op.diverging(p.view.Load(), target); diverges {
			continue // its log is another branch: its offset says nothing about this one
		}
		p.post(func() { p.fetched(op.replica, replicaEpoch, epoch, offset) })
	}
}

// Ready implements reactor.Operation: there is enough to read, or something to tell that is no record.
func (op *fetchOperation) Ready() bool {
	bytes := int64(0)
	for _, target := range op.targets {
		p, view, limit, err := op.locate(target)
		if err != nil {
			return true
		}
		if _, diverges := op.diverging(view, target); diverges {
			return true
		}
		if target.offset >= limit {
			continue
		}
		if op.body.MinBytes <= 1 {
			return true
		}
		size, readErr := view.records.SizeBelow(target.offset, limit, int(min(target.maxBytes, op.maxBytes)))
		if readErr != nil {
			p.logger.Debug("a fetch meets an error", "error", readErr)
			return true
		}
		bytes += size
		if bytes >= int64(op.body.MinBytes) {
			return true
		}
	}
	return op.body.MinBytes <= 0
}

// Complete implements reactor.Operation: read what there is now and answer.
func (op *fetchOperation) Complete(bool) {
	if op.request.Abandoned() {
		op.session.end(nil)
		return
	}
	left := op.maxBytes
	results := make([]*fetchResult, 0, len(op.targets))
	for _, target := range op.targets {
		result := op.read(target, left, left == op.maxBytes)
		if result.section != nil {
			left -= int32(min(result.section.Size(), int64(left)))
		}
		results = append(results, result)
	}
	results = op.session.end(results)
	encoder := fetchEncoder{version: op.request.Version, sessionID: op.session.id, op: op}
	payload, note := encoder.encode(results)
	op.request.RespondPayload(payload, note)
}
