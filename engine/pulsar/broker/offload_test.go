package broker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"

	"twinlog/engine/media"
	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/trace"
)

// A topic's sealed ledgers go to the medium and leave the bookies; then their broker dies, and a consumer reads everything from the
// earliest message on, from the next owner.
func TestConsumerReadsWhatOnlyTheMediumHas(t *testing.T) {
	c := newRealClassroom(t, 0, 3)
	medium := media.NewMemory()
	for id := 1; id <= 2; id++ {
		c.start(id, func(config *Config) {
			config.Medium, config.OffloadDeletionLag = medium, -1
			config.LedgerEntries, config.LedgerRollover, config.MaintenanceEvery = 10, -1, 50*time.Millisecond
		})
	}
	const topic = "persistent://public/default/archive"
	client := c.client(c.brokers[1].urls.pulsar + "," + strings.TrimPrefix(c.brokers[2].urls.pulsar, "pulsar://"))
	// A subscription that does not acknowledge keeps everything.
	keeper, err := client.Subscribe(pulsar.ConsumerOptions{Topic: topic, SubscriptionName: "keeper", SubscriptionInitialPosition: pulsar.SubscriptionPositionEarliest})
	if err != nil {
		t.Fatal(err)
	}
	keeper.Close()
	producer, err := client.CreateProducer(pulsar.ProducerOptions{Topic: topic, DisableBatching: true})
	if err != nil {
		t.Fatal(err)
	}
	const messages = 35
	for i := range messages {
		if _, err := producer.Send(deadline(t), &pulsar.ProducerMessage{Payload: fmt.Appendf(nil, "m%d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	producer.Close()

	name, err := ParseTopicName(topic)
	if err != nil {
		t.Fatal(err)
	}
	owner := c.owner(topic)
	broker := c.brokers[owner]
	stats, err := broker.InternalStats(deadline(t), name)
	if err != nil {
		t.Fatal(err)
	}
	last := stats.Ledgers[len(stats.Ledgers)-1].Ledger
	if err := broker.OffloadTopic(deadline(t), name, managedledger.Position{Ledger: last}); err != nil {
		t.Fatal(err)
	}
	gone := 0
	waitUntil(t, "the sealed ledgers leave the bookies", func() bool {
		for _, record := range broker.tracer.Drain(nil) {
			if _, left := record.Data.(trace.PulsarLedgerDeletedFromBookies); left {
				gone++
			}
		}
		return gone == len(stats.Ledgers)-1
	})
	if status, err := broker.OffloadStatus(deadline(t), name); err != nil || status.State != managedledger.OffloadSuccess || status.FirstInBookies.Ledger != last {
		t.Errorf("status %+v, %v", status, err)
	}
	if stats, err := broker.InternalStats(deadline(t), name); err != nil || !stats.Ledgers[0].Offloaded || stats.Ledgers[len(stats.Ledgers)-1].Offloaded {
		t.Errorf("internal statistics %+v, %v", stats.Ledgers, err)
	}
	if stats, err := broker.TopicStats(deadline(t), name); err != nil || stats.OffloadedSize == 0 || stats.OffloadedSize >= stats.StorageSize {
		t.Errorf("%d of %d bytes are offloaded, %v", stats.OffloadedSize, stats.StorageSize, err)
	}

	c.kill(owner)
	next := c.client(c.brokers[3-owner].urls.pulsar)
	var consumer pulsar.Consumer
	waitUntil(t, "the other broker serves the topic", func() bool { // not before the dead one's session ends
		consumer, err = next.Subscribe(pulsar.ConsumerOptions{Topic: topic, SubscriptionName: "late", SubscriptionInitialPosition: pulsar.SubscriptionPositionEarliest})
		return err == nil
	})
	defer consumer.Close()
	for i := range messages {
		message, err := consumer.Receive(deadline(t))
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		if got := string(message.Payload()); got != fmt.Sprintf("m%d", i) {
			t.Fatalf("message %d is %q", i, got)
		}
	}
	var loaded trace.PulsarTopicLoaded
	for _, record := range c.brokers[c.owner(topic)].tracer.Drain(nil) {
		if event, is := record.Data.(trace.PulsarTopicLoaded); is && event.Topic == topic {
			loaded = event
		}
	}
	if len(loaded.Offloaded) != len(stats.Ledgers)-1 || !loaded.Offloaded[0].DeletedFromBookies {
		t.Errorf("the next owner found %+v", loaded.Offloaded)
	}
}
