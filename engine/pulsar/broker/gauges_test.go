package broker

import (
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/bundle"
	"twinlog/engine/pulsar/pulsarpb"
	"twinlog/engine/trace"
)

// seen collects what a broker records of one kind.
type seen[E trace.Event] struct {
	tracer *trace.Tracer
	events []E
}

func (s *seen[E]) last() (event E, found bool) {
	for _, record := range s.tracer.Drain(nil) {
		if event, right := record.Data.(E); right {
			s.events = append(s.events, event)
		}
	}
	if len(s.events) == 0 {
		return event, false
	}
	return s.events[len(s.events)-1], true
}

func acknowledge(consumer uint64, ledger uint64, entry uint64) *pulsarpb.BaseCommand {
	return &pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_ACK.Enum(), Ack: &pulsarpb.CommandAck{
		ConsumerId: proto.Uint64(consumer), AckType: pulsarpb.CommandAck_Individual.Enum(),
		MessageId: []*pulsarpb.MessageIdData{{LedgerId: proto.Uint64(ledger), EntryId: proto.Uint64(entry)}},
	}}
}

// A cursor with a hole is told as it is: how far it is without a gap, what is acknowledged behind the gap, what the consumer holds.
func TestTraceTellsACursorInFull(t *testing.T) {
	c := newClassroom(t, 1)
	const topic = "persistent://public/default/holes"
	r := c.connected(topic)
	r.request(subscribe(topic, "s", 1, pulsarpb.CommandSubscribe_Shared))
	r.request(namedProducer(topic, "p", 1, 0))
	var ledger uint64
	for sequence := range uint64(6) {
		ledger = r.publish(1, sequence, time.Now()).GetMessageId().GetLedgerId()
	}
	r.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_FLOW.Enum(), Flow: &pulsarpb.CommandFlow{ConsumerId: proto.Uint64(1), MessagePermits: proto.Uint32(10)}}, nil)
	for range 6 {
		r.next()
	}
	for _, entry := range []uint64{0, 2, 3, 5} {
		r.send(acknowledge(1, ledger, entry), nil)
	}
	told := &seen[trace.PulsarSubscriptionMeasured]{tracer: c.brokers[1].tracer}
	waitUntil(t, "the trace tells the cursor", func() bool {
		event, found := told.last()
		return found && event.Entry == 0 && event.AcknowledgedEntries == 3
	})
	event, _ := told.last()
	id := int64(ledger)
	if want := []trace.PulsarEntryRange{{Ledger: id, First: 2, Last: 3}, {Ledger: id, First: 5, Last: 5}}; !reflect.DeepEqual(event.Acknowledged, want) {
		t.Errorf("acknowledged singly: %v, want %v", event.Acknowledged, want)
	}
	if event.Backlog != 2 || event.Pending != 2 || event.ReadEntry != 6 || event.Redelivered != 0 {
		t.Errorf("%+v", event)
	}
	if len(event.Consumers) != 1 || event.Consumers[0].Permits != 4 || event.Consumers[0].Unacked != 2 {
		t.Errorf("consumers: %+v", event.Consumers)
	}
	// What the consumer does not want now comes again, and is counted.
	r.send(&pulsarpb.BaseCommand{
		Type:                            pulsarpb.BaseCommand_REDELIVER_UNACKNOWLEDGED_MESSAGES.Enum(),
		RedeliverUnacknowledgedMessages: &pulsarpb.CommandRedeliverUnacknowledgedMessages{ConsumerId: proto.Uint64(1)},
	}, nil)
	waitUntil(t, "redeliveries are counted", func() bool { event, _ := told.last(); return event.Redelivered == 2 })
	before := len(told.events)
	time.Sleep(3 * subscriptionGaugeAfter) // nothing happens, so nothing is to be told
	if told.last(); len(told.events) != before {
		t.Errorf("an idle subscription was told %d times", len(told.events)-before)
	}
}

// An Exclusive subscription keeps no list of what its consumer holds: it is what was read and is not acknowledged.
func TestTraceTellsWhatAnExclusiveConsumerHolds(t *testing.T) {
	c := newClassroom(t, 1)
	const topic = "persistent://public/default/exclusive"
	r := c.connected(topic)
	r.request(subscribe(topic, "s", 1, pulsarpb.CommandSubscribe_Exclusive))
	r.request(namedProducer(topic, "p", 1, 0))
	var ledger uint64
	for sequence := range uint64(5) {
		ledger = r.publish(1, sequence, time.Now()).GetMessageId().GetLedgerId()
	}
	r.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_FLOW.Enum(), Flow: &pulsarpb.CommandFlow{ConsumerId: proto.Uint64(1), MessagePermits: proto.Uint32(3)}}, nil)
	for range 3 {
		r.next()
	}
	r.send(acknowledge(1, ledger, 1), nil)
	told := &seen[trace.PulsarSubscriptionMeasured]{tracer: c.brokers[1].tracer}
	waitUntil(t, "three are read, one of them is acknowledged", func() bool {
		event, found := told.last()
		return found && event.AcknowledgedEntries == 1 && event.Pending == 2 && event.Backlog == 4
	})
}

// The broker's load is told while it changes: what flows, who is connected, and that nothing flows any more.
func TestTraceTellsTheBrokersLoad(t *testing.T) {
	c := newClassroom(t, 1)
	const topic = "persistent://public/default/load"
	told := &seen[trace.PulsarBrokerMeasured]{tracer: c.brokers[1].tracer}
	r := c.connected(topic)
	r.request(namedProducer(topic, "p", 1, 0))
	for sequence := range uint64(50) {
		r.publish(1, sequence, time.Now())
	}
	waitUntil(t, "all messages were told in some second", func() bool {
		told.last()
		sum := int64(0)
		for _, event := range told.events {
			sum += event.RateIn
		}
		return sum >= 40 // a rate is per second, and a second of a ticker is a little more or less
	})
	waitUntil(t, "the flow is over", func() bool { event, _ := told.last(); return event.RateIn == 0 && event.Connections == 1 })
}

func TestTraceTellsWhichBundleALookupFellInto(t *testing.T) {
	c := newClassroom(t, 2)
	told := &seen[trace.PulsarLookupAnswered]{tracer: c.brokers[1].tracer}
	for _, short := range []string{"a", "b", "c", "d", "e", "f"} {
		name, err := ParseTopicName(short)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := c.brokers[1].Lookup(deadline(t), name, false, "", "tcp")
		if err != nil {
			t.Fatal(err)
		}
		event, _ := told.last()
		hash := bundle.Hash(name.String())
		if event.Bundle != answer.Bundle.Range.String() || event.Hash != hash || event.Namespace != defaultNamespace || event.Result != answer.Result {
			t.Errorf("%s: recorded %+v, answered %+v", short, event, answer)
		}
	}
}
