package broker

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/pulsarpb"
)

// A client that closes sends its last acknowledgement and its farewell in one go; the farewell must not be obeyed first. The topic is
// held up until both wait for it, round after round, so that an order left to chance would not hold.
func TestFarewellDoesNotOvertakeAcknowledgements(t *testing.T) {
	c := newClassroom(t, 1)
	const topic = "persistent://public/default/farewell"
	name, err := ParseTopicName(topic)
	if err != nil {
		t.Fatal(err)
	}
	producer := c.connected(topic)
	producer.request(namedProducer(topic, "p", 1, 0))
	for round := range uint64(16) {
		consumer := c.connected(topic)
		consumer.request(subscribe(topic, "s", 1, pulsarpb.CommandSubscribe_Exclusive))
		consumer.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_FLOW.Enum(), Flow: &pulsarpb.CommandFlow{ConsumerId: proto.Uint64(1), MessagePermits: proto.Uint32(10)}}, nil)
		producer.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_SEND.Enum(), Send: &pulsarpb.CommandSend{
			ProducerId: proto.Uint64(1), SequenceId: proto.Uint64(round),
		}}, sealed(t, someMetadata(), []byte("m")))
		producer.next()
		message := consumer.next().GetMessage()
		served, err := c.brokers[1].existingTopic(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		held, gate := make(chan struct{}), make(chan struct{})
		served.post(func() { close(held); <-gate })
		<-held
		consumer.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_ACK.Enum(), Ack: &pulsarpb.CommandAck{
			ConsumerId: proto.Uint64(1), AckType: pulsarpb.CommandAck_Individual.Enum(), MessageId: []*pulsarpb.MessageIdData{message.GetMessageId()},
		}}, nil)
		consumer.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_CLOSE_CONSUMER.Enum(), CloseConsumer: &pulsarpb.CommandCloseConsumer{
			ConsumerId: proto.Uint64(1), RequestId: proto.Uint64(300),
		}}, nil)
		waitUntil(t, "the acknowledgement and the farewell wait for the topic", func() bool {
			served.mu.Lock()
			defer served.mu.Unlock()
			return len(served.commands)+len(served.posted) == 2
		})
		close(gate)
		if answer := consumer.next(); answer.GetSuccess().GetRequestId() != 300 {
			t.Fatalf("round %d: the farewell is answered with %v", round, answer)
		}
		if backlog := c.stats(topic).Subscriptions["s"].MsgBacklog; backlog != 0 {
			t.Fatalf("round %d: backlog %d after the last message was acknowledged", round, backlog)
		}
		consumer.conn.Close()
	}
}
