package broker

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/pulsarpb"
)

func (r *rawClient) request(command *pulsarpb.BaseCommand) *pulsarpb.BaseCommand {
	r.t.Helper()
	r.send(command, nil)
	return r.next()
}

func namedProducer(topic, name string, id, epoch uint64) *pulsarpb.BaseCommand {
	return &pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_PRODUCER.Enum(), Producer: &pulsarpb.CommandProducer{
		Topic: proto.String(topic), ProducerId: proto.Uint64(id), RequestId: proto.Uint64(id + 100), ProducerName: proto.String(name), Epoch: proto.Uint64(epoch),
	}}
}

func subscribe(topic, name string, id uint64, kind pulsarpb.CommandSubscribe_SubType) *pulsarpb.BaseCommand {
	return &pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_SUBSCRIBE.Enum(), Subscribe: &pulsarpb.CommandSubscribe{
		Topic: proto.String(topic), Subscription: proto.String(name), SubType: kind.Enum(), ConsumerId: proto.Uint64(id), RequestId: proto.Uint64(id + 200),
	}}
}

// connected is a raw client that has looked the topic up, so that the broker owns it.
func (c *classroom) connected(topic string) *rawClient {
	r := c.dial(1)
	r.connect()
	r.lookup(topic)
	r.next()
	return r
}

// A client that lost its connection without the broker noticing must not be locked out by its own ghost, and a living one keeps its
// name.
func TestNamesOfDeadAndLivingProducers(t *testing.T) {
	c := newClassroom(t, 1)
	const topic = "persistent://public/default/names"
	ghost := c.connected(topic)
	if success := ghost.request(namedProducer(topic, "p", 1, 0)).GetProducerSuccess(); success.GetProducerName() != "p" {
		t.Fatalf("%v", success)
	}
	// On the same connection a higher epoch replaces, another id does not.
	if success := ghost.request(namedProducer(topic, "p", 2, 1)).GetError(); success.GetError() != pulsarpb.ServerError_ProducerBusy {
		t.Fatalf("another producer of the same connection: %v", success)
	}
	// The ghost answers no PING: after the broker's patience its name is free.
	began := time.Now()
	alive := c.connected(topic)
	if success := alive.request(namedProducer(topic, "p", 1, 1)).GetProducerSuccess(); success.GetProducerName() != "p" {
		t.Fatalf("the name of a ghost: %v", success)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	// This one answers.
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		command, _, _, err := alive.frames.next()
		if err == nil && command.GetType() == pulsarpb.BaseCommand_PING {
			alive.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_PONG.Enum(), Pong: &pulsarpb.CommandPong{}}, nil)
		}
	}()
	rival := c.connected(topic)
	refusal := rival.request(namedProducer(topic, "p", 1, 2)).GetError()
	if refusal.GetError() != pulsarpb.ServerError_ProducerBusy || !strings.Contains(refusal.GetMessage(), "Producer with name 'p' is already connected") {
		t.Errorf("the name of a living producer: %v", refusal)
	}
	<-answered
}

func TestExclusiveSubscriptionOfAGhost(t *testing.T) {
	c := newClassroom(t, 1)
	const topic = "persistent://public/default/ghost"
	ghost := c.connected(topic)
	exclusive := pulsarpb.CommandSubscribe_Exclusive
	if answer := ghost.request(subscribe(topic, "s", 1, exclusive)); answer.GetSuccess() == nil {
		t.Fatalf("%v", answer)
	}
	if answer := ghost.request(subscribe(topic, "s", 1, exclusive)); answer.GetSuccess() == nil {
		t.Errorf("the same consumer again: %v", answer)
	}
	if answer := ghost.request(subscribe(topic, "s", 2, exclusive)); answer.GetError().GetError() != pulsarpb.ServerError_ConsumerBusy {
		t.Errorf("a second consumer of the same connection: %v", answer)
	}
	if answer := ghost.request(subscribe(topic, "s", 3, pulsarpb.CommandSubscribe_Shared)); answer.GetError().GetError() != pulsarpb.ServerError_ConsumerBusy {
		t.Errorf("another type: %v", answer)
	}
	heir := c.connected(topic)
	if answer := heir.request(subscribe(topic, "s", 1, exclusive)); answer.GetSuccess() == nil {
		t.Errorf("the subscription of a ghost: %v", answer)
	}
}

// Access modes (PIP-68): Exclusive is alone, WaitForExclusive gets its turn, ExclusiveWithFencing takes it; who was fenced stays out.
func TestAccessModes(t *testing.T) {
	c := newClassroom(t, 1)
	const topic = "persistent://public/default/modes"
	r := c.connected(topic)
	with := func(id uint64, mode pulsarpb.ProducerAccessMode) *pulsarpb.BaseCommand {
		command := namedProducer(topic, "", id, 0)
		command.Producer.ProducerAccessMode = mode.Enum()
		return command
	}
	first := r.request(with(1, pulsarpb.ProducerAccessMode_ExclusiveAccess)).GetProducerSuccess()
	if first == nil || first.TopicEpoch == nil {
		t.Fatalf("%v", first)
	}
	if refusal := r.request(with(2, pulsarpb.ProducerAccessMode_ExclusiveAccess)).GetError(); refusal.GetError() != pulsarpb.ServerError_ProducerFenced {
		t.Errorf("a second exclusive one: %v", refusal)
	}
	if refusal := r.request(with(3, pulsarpb.ProducerAccessMode_ShareAccess)).GetError(); refusal.GetError() != pulsarpb.ServerError_ProducerBusy {
		t.Errorf("a shared one beside: %v", refusal)
	}
	waiting := r.request(with(4, pulsarpb.ProducerAccessMode_WaitForExclusive)).GetProducerSuccess()
	if waiting == nil || waiting.GetProducerReady() {
		t.Fatalf("one that waits: %v", waiting)
	}
	r.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_CLOSE_PRODUCER.Enum(), CloseProducer: &pulsarpb.CommandCloseProducer{ProducerId: proto.Uint64(1), RequestId: proto.Uint64(9)}}, nil)
	var promoted *pulsarpb.CommandProducerSuccess
	for promoted == nil {
		promoted = r.next().GetProducerSuccess()
	}
	if !promoted.GetProducerReady() || promoted.GetRequestId() != 104 || promoted.GetTopicEpoch() <= first.GetTopicEpoch() {
		t.Errorf("promoted: %v after %v", promoted, first)
	}
	r.send(with(5, pulsarpb.ProducerAccessMode_ExclusiveWithFencing), nil)
	if closed := r.next().GetCloseProducer(); closed.GetProducerId() != 4 {
		t.Errorf("the one before was not closed: %v", closed)
	}
	if success := r.next().GetProducerSuccess(); !success.GetProducerReady() {
		t.Errorf("%v", success)
	}
	late := with(6, pulsarpb.ProducerAccessMode_ExclusiveWithFencing)
	late.Producer.TopicEpoch = proto.Uint64(first.GetTopicEpoch())
	if refusal := r.request(late).GetError(); refusal.GetError() != pulsarpb.ServerError_ProducerFenced {
		t.Errorf("with an old epoch: %v", refusal)
	}
}
