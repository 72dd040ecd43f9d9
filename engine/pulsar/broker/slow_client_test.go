package broker

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/pulsarpb"
)

// A consumer that has permits and does not read its socket makes the broker wait, not keep everything in memory; when it reads, it
// gets everything.
func TestSlowConsumerIsWaitedFor(t *testing.T) {
	c := newClassroom(t, 1)
	const topic, messages, size = "persistent://public/default/slow", 60, 500_000
	slow := c.connected(topic)
	slow.request(subscribe(topic, "s", 1, pulsarpb.CommandSubscribe_Shared))
	slow.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_FLOW.Enum(), Flow: &pulsarpb.CommandFlow{ConsumerId: proto.Uint64(1), MessagePermits: proto.Uint32(1000)}}, nil)
	producer := c.connected(topic)
	producer.request(namedProducer(topic, "p", 1, 0))
	for sequence := range uint64(messages) {
		producer.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_SEND.Enum(), Send: &pulsarpb.CommandSend{
			ProducerId: proto.Uint64(1), SequenceId: proto.Uint64(sequence),
		}}, sealed(t, someMetadata(), make([]byte, size)))
		if receipt := producer.next().GetSendReceipt(); receipt.GetSequenceId() != sequence {
			t.Fatalf("%v", receipt)
		}
	}
	waitUntil(t, "the broker stops sending", func() bool {
		before := c.stats(topic).MsgOutCounter
		time.Sleep(50 * time.Millisecond)
		return c.stats(topic).MsgOutCounter == before && before > 0
	})
	if sent := c.stats(topic).MsgOutCounter; sent == messages {
		t.Errorf("all %d messages were handed to a client that reads nothing", sent)
	}
	for _, waiting := range c.waitingBytes() {
		if waiting > outboxHigh+2*maxReadBytes {
			t.Errorf("%d bytes wait for one client", waiting)
		}
	}
	for i := range messages {
		if message := slow.next(); message.GetMessage().GetMessageId().GetEntryId() != uint64(i) {
			t.Fatalf("message %d: %v", i, message)
		}
	}
}

// waitingBytes is what each connection of the first broker has to write.
func (c *classroom) waitingBytes() (bytes []int) {
	table := c.brokers[1].connections
	table.mu.Lock()
	defer table.mu.Unlock()
	for conn := range table.open {
		conn.out.mu.Lock()
		bytes = append(bytes, conn.out.bytes)
		conn.out.mu.Unlock()
	}
	return bytes
}
