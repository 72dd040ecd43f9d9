package broker

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsar/log"
	"github.com/sirupsen/logrus"
	"io"
)

func (c *classroom) client(url string) pulsar.Client {
	c.t.Helper()
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	client, err := pulsar.NewClient(pulsar.ClientOptions{URL: url, OperationTimeout: 20 * time.Second, Logger: log.NewLoggerWithLogrus(quiet)})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(client.Close)
	return client
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func TestClientProducesAndConsumes(t *testing.T) {
	c := newClassroom(t, 2)
	for id := 1; id <= 2; id++ {
		client := c.client(c.brokers[id].urls.pulsar)
		for topic := range 4 { // of several bundles
			name := fmt.Sprintf("orders-%d-%d", id, topic)
			consumer, err := client.Subscribe(pulsar.ConsumerOptions{Topic: name, SubscriptionName: "audit", Type: pulsar.Shared})
			if err != nil {
				t.Fatal(err)
			}
			producer, err := client.CreateProducer(pulsar.ProducerOptions{Topic: name})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 20 {
				if _, err := producer.Send(deadline(t), &pulsar.ProducerMessage{Payload: fmt.Appendf(nil, "m%d", i)}); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 20 {
				message, err := consumer.Receive(deadline(t))
				if err != nil {
					t.Fatal(err)
				}
				if got := string(message.Payload()); got != fmt.Sprintf("m%d", i) {
					t.Fatalf("message %d is %q", i, got)
				}
				if err := consumer.Ack(message); err != nil {
					t.Fatal(err)
				}
			}
			consumer.Close()
			producer.Close()
		}
	}
	owned := 0
	for id, r := range c.brokers {
		if n := len(r.OwnedBundles()); n == 0 {
			t.Errorf("broker %d owns no bundle", id)
		} else {
			owned += n
		}
	}
	if owned != 4 {
		t.Errorf("%d bundles are owned, want 4", owned)
	}
}
