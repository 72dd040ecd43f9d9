package broker

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/pulsar/pulsarpb"
)

// silentLog takes messages and tells of none that it is stored, before it is asked to.
type silentLog struct {
	topicLog
	taken chan func(managedledger.Position, error)
}

func (l silentLog) AddEntry(_ []byte, _ int, done func(managedledger.Position, error)) {
	l.taken <- done
}

// TestWhatAClosedTopicDoesNotWaitForBurdensNoConnection: a topic is closed although its bookies do not answer. Its client has other topics,
// on the same connection, and what it may have on its way must not become less for good.
func TestWhatAClosedTopicDoesNotWaitForBurdensNoConnection(t *testing.T) {
	c := newClassroom(t, 1)
	const topic = "persistent://public/default/silent"
	name, err := ParseTopicName(topic)
	if err != nil {
		t.Fatal(err)
	}
	client := c.connected(topic)
	client.request(namedProducer(topic, "p", 1, 0))
	served, err := c.brokers[1].existingTopic(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan func(managedledger.Position, error), 1)
	var of *connection
	if err := served.ask(t.Context(), func() {
		served.log = silentLog{served.log, taken}
		of = served.producers["p"].conn
	}); err != nil {
		t.Fatal(err)
	}
	client.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_SEND.Enum(), Send: &pulsarpb.CommandSend{
		ProducerId: proto.Uint64(1), SequenceId: proto.Uint64(0),
	}}, sealed(t, someMetadata(), []byte("m")))
	stored := <-taken
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if err := served.close(impatient, "unload"); err != nil {
		t.Fatal(err)
	}
	stored(managedledger.Position{}, managedledger.ErrClosed)
	for what, limit := range map[string]*limiter{"messages": of.sends, "bytes of messages": of.sendBytes, "bytes of the topic": served.pendingBytes} {
		limit.mu.Lock()
		if limit.used != 0 {
			t.Errorf("%d %s count as being on their way", limit.used, what)
		}
		limit.mu.Unlock()
	}
}
