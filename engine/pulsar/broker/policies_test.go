package broker

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/pulsarpb"
)

const defaultNamespace = "public/default"

func (c *classroom) setPolicy(field, value string) {
	c.t.Helper()
	err := c.brokers[1].ChangePolicies(defaultNamespace, func(p *Policies) error { return p.SetField(field, []byte(value)) })
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *classroom) stats(topic string) TopicStats {
	c.t.Helper()
	name, err := ParseTopicName(topic)
	if err != nil {
		c.t.Fatal(err)
	}
	stats, err := c.brokers[1].TopicStats(deadline(c.t), name)
	if err != nil {
		c.t.Fatal(err)
	}
	return stats
}

func brisk(config *Config) {
	config.MaintenanceEvery = 50 * time.Millisecond
	config.InactiveTopicsFor = 200 * time.Millisecond
}

// send sends one message of a producer and returns the receipt.
func (r *rawClient) publish(id, sequence uint64, published time.Time) *pulsarpb.CommandSendReceipt {
	r.t.Helper()
	metadata := someMetadata()
	metadata.SequenceId = proto.Uint64(sequence)
	metadata.PublishTime = proto.Uint64(uint64(published.UnixMilli()))
	r.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_SEND.Enum(), Send: &pulsarpb.CommandSend{
		ProducerId: proto.Uint64(id), SequenceId: proto.Uint64(sequence),
	}}, sealed(r.t, metadata, []byte("message")))
	return r.next().GetSendReceipt()
}

func TestMessageTTLAcknowledges(t *testing.T) {
	c := newClassroom(t, 0)
	c.start(1, brisk)
	const topic = "persistent://public/default/ttl"
	r := c.connected(topic)
	r.request(subscribe(topic, "s", 1, pulsarpb.CommandSubscribe_Shared))
	r.request(namedProducer(topic, "p", 1, 0))
	r.publish(1, 0, time.Now().Add(-time.Hour))
	r.publish(1, 1, time.Now().Add(time.Hour))
	if backlog := c.stats(topic).Subscriptions["s"].MsgBacklog; backlog != 2 {
		t.Fatalf("backlog %d", backlog)
	}
	c.setPolicy("message_ttl_in_seconds", "60")
	waitUntil(t, "the old message expires", func() bool { return c.stats(topic).Subscriptions["s"].MsgBacklog == 1 })
}

func TestBacklogQuotaStopsProducers(t *testing.T) {
	c := newClassroom(t, 0)
	c.start(1, brisk)
	const topic = "persistent://public/default/quota"
	r := c.connected(topic)
	r.request(subscribe(topic, "s", 1, pulsarpb.CommandSubscribe_Shared))
	r.request(namedProducer(topic, "p", 1, 0))
	r.publish(1, 0, time.Now())
	c.setPolicy("backlog_quota_map", `{"destination_storage":{"limitSize":10,"limitTime":0,"policy":"producer_exception"}}`)
	if closed := r.next().GetCloseProducer(); closed.GetProducerId() != 1 {
		t.Fatalf("the producer was not closed: %v", closed)
	}
	if refusal := r.request(namedProducer(topic, "p", 1, 1)).GetError(); refusal.GetError() != pulsarpb.ServerError_ProducerBlockedQuotaExceededException {
		t.Errorf("%v", refusal)
	}
	c.setPolicy("backlog_quota_map", `{}`)
	waitUntil(t, "the producer is let in", func() bool {
		return r.request(namedProducer(topic, "p", 1, 2)).GetProducerSuccess() != nil
	})
}

func TestUnusedTopicsAreDeleted(t *testing.T) {
	c := newClassroom(t, 0)
	c.start(1, brisk)
	const topic, used = "persistent://public/default/unused", "persistent://public/default/used"
	r := c.connected(topic)
	r.lookup(used)
	r.next()
	r.request(subscribe(used, "s", 1, pulsarpb.CommandSubscribe_Shared))
	r.request(namedProducer(topic, "p", 1, 0))
	r.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_CLOSE_PRODUCER.Enum(), CloseProducer: &pulsarpb.CommandCloseProducer{ProducerId: proto.Uint64(1), RequestId: proto.Uint64(9)}}, nil)
	r.next()
	exists := func(topic string) bool {
		name, _ := ParseTopicName(topic)
		there, err := c.brokers[1].TopicExists(deadline(t), name)
		return err == nil && there
	}
	if !exists(topic) {
		t.Fatal("the topic is gone at once")
	}
	waitUntil(t, "the unused topic is deleted", func() bool { return !exists(topic) })
	if !exists(used) {
		t.Error("a topic with a subscription was deleted")
	}
}

func TestTopicsAreNotCreatedAgainstThePolicy(t *testing.T) {
	c := newClassroom(t, 1)
	c.setPolicy("autoTopicCreationOverride", `{"allowAutoTopicCreation":false}`)
	const topic = "persistent://public/default/refused"
	r := c.connected(topic)
	if refusal := r.request(namedProducer(topic, "p", 1, 0)).GetError(); refusal.GetError() != pulsarpb.ServerError_TopicNotFound {
		t.Errorf("%v", refusal)
	}
	ask := &pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_PARTITIONED_METADATA.Enum(), PartitionMetadata: &pulsarpb.CommandPartitionedTopicMetadata{
		Topic: proto.String(topic), RequestId: proto.Uint64(5),
	}}
	if answer := r.request(ask).GetPartitionMetadataResponse(); answer.GetError() != pulsarpb.ServerError_TopicNotFound {
		t.Errorf("%v", answer)
	}
	c.setPolicy("autoTopicCreationOverride", `{"allowAutoTopicCreation":true,"topicType":"partitioned","defaultNumPartitions":3}`)
	ask.PartitionMetadata.MetadataAutoCreationEnabled = proto.Bool(false)
	if answer := r.request(ask).GetPartitionMetadataResponse(); answer.GetError() != pulsarpb.ServerError_TopicNotFound {
		t.Errorf("asked not to create: %v", answer)
	}
	ask.PartitionMetadata.MetadataAutoCreationEnabled = proto.Bool(true)
	if answer := r.request(ask).GetPartitionMetadataResponse(); answer.GetPartitions() != 3 {
		t.Errorf("%v", answer)
	}
	if refusal := r.request(namedProducer(topic+"-partition-3", "p", 1, 0)).GetError(); refusal == nil {
		t.Error("a partition beyond the last one was created")
	}
}

// A message that a producer sends again is stored once, also when the topic was loaded anew in between (PIP-6).
func TestDeduplication(t *testing.T) {
	c := newClassroom(t, 0)
	c.start(1, brisk)
	c.setPolicy("deduplicationEnabled", "true")
	const topic = "persistent://public/default/dedup"
	r := c.connected(topic)
	r.request(subscribe(topic, "s", 1, pulsarpb.CommandSubscribe_Shared))
	if success := r.request(namedProducer(topic, "p", 1, 0)).GetProducerSuccess(); success.GetLastSequenceId() != -1 {
		t.Fatalf("%v", success)
	}
	for sequence := range uint64(3) {
		if receipt := r.publish(1, sequence, time.Now()); receipt.GetMessageId().GetEntryId() != sequence {
			t.Fatalf("%v", receipt)
		}
	}
	if receipt := r.publish(1, 1, time.Now()); receipt.GetMessageId().GetLedgerId() != ^uint64(0) || receipt.GetSequenceId() != 1 {
		t.Errorf("the receipt of a duplicate: %v", receipt)
	}
	name, _ := ParseTopicName(topic)
	if err := c.brokers[1].UnloadTopic(deadline(t), name); err != nil {
		t.Fatal(err)
	}
	for r.next().GetCloseConsumer() == nil {
	}
	success := r.request(namedProducer(topic, "p", 1, 1)).GetProducerSuccess()
	if success.GetLastSequenceId() != 2 {
		t.Errorf("after the topic was loaded again: %v", success)
	}
	if receipt := r.publish(1, 2, time.Now()); receipt.GetMessageId().GetLedgerId() != ^uint64(0) {
		t.Errorf("a duplicate after the topic was loaded again: %v", receipt)
	}
	if receipt := r.publish(1, 3, time.Now()); receipt.GetMessageId().GetEntryId() == ^uint64(0) {
		t.Errorf("a new message: %v", receipt)
	}
	if backlog := c.stats(topic).Subscriptions["s"].MsgBacklog; backlog != 4 {
		t.Errorf("%d messages are stored, want 4", backlog)
	}
}

func TestNonPersistentTopicDropsWhatNobodyWants(t *testing.T) {
	c := newClassroom(t, 1)
	const topic = "non-persistent://public/default/ticker"
	r := c.connected(topic)
	r.request(namedProducer(topic, "p", 1, 0))
	r.publish(1, 0, time.Now()) // nobody listens
	r.request(subscribe(topic, "s", 1, pulsarpb.CommandSubscribe_Shared))
	r.publish(1, 1, time.Now()) // no permits
	r.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_FLOW.Enum(), Flow: &pulsarpb.CommandFlow{ConsumerId: proto.Uint64(1), MessagePermits: proto.Uint32(1)}}, nil)
	metadata := someMetadata()
	r.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_SEND.Enum(), Send: &pulsarpb.CommandSend{ProducerId: proto.Uint64(1), SequenceId: proto.Uint64(2)}}, sealed(t, metadata, []byte("third")))
	message, payload, _, err := r.frames.next()
	if err != nil || message.GetMessage() == nil {
		t.Fatalf("%v, %v", message, err)
	}
	if _, body, err := splitMessage(payload, true); err != nil || string(body) != "third" {
		t.Errorf("%q, %v", body, err)
	}
}
