package broker

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"

	"twinlog/engine/fabric/freeport"
)

// load produces numbered messages to a topic until it is told to stop, and remembers which were acknowledged.
type load struct {
	mu           sync.Mutex
	acknowledged map[string]bool
	failed       []error
	stop         chan struct{}
	done         chan struct{}
}

func (c *classroom) produce(client pulsar.Client, topic string) *load {
	c.t.Helper()
	producer, err := client.CreateProducer(pulsar.ProducerOptions{Topic: topic, SendTimeout: 60 * time.Second, BatchingMaxPublishDelay: time.Millisecond})
	if err != nil {
		c.t.Fatal(err)
	}
	l := &load{acknowledged: map[string]bool{}, stop: make(chan struct{}), done: make(chan struct{})}
	c.t.Cleanup(func() { // of a test that failed: a client that is closed while somebody sends panics, and hides why
		select {
		case <-l.stop:
		default:
			close(l.stop)
		}
		<-l.done
	})
	go func() {
		defer close(l.done)
		defer producer.Close()
		for i := 0; ; i++ {
			select {
			case <-l.stop:
				if err := producer.FlushWithCtx(context.Background()); err != nil {
					l.note("", err)
				}
				return
			default:
			}
			payload := fmt.Sprintf("%s-%d", topic, i)
			producer.SendAsync(context.Background(), &pulsar.ProducerMessage{Payload: []byte(payload)},
				func(_ pulsar.MessageID, _ *pulsar.ProducerMessage, err error) { l.note(payload, err) })
		}
	}()
	return l
}

func (l *load) note(payload string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failed = append(l.failed, err)
		return
	}
	l.acknowledged[payload] = true
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acknowledged)
}

// waitFor waits until so many more messages are acknowledged.
func (l *load) waitFor(t *testing.T, more int) {
	t.Helper()
	target := l.count() + more
	deadline := time.Now().Add(patience)
	for l.count() < target {
		if time.Now().After(deadline) {
			t.Fatalf("%d messages are acknowledged, waiting for %d", l.count(), target)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// The owner of a topic crashes while messages come in: another broker fences and recovers its ledger; the producer goes on; every
// acknowledged message is read back.
func TestOwnerCrashesUnderLoad(t *testing.T) {
	c := newRealClassroom(t, 2, 4)
	const topic = "persistent://public/default/crash"
	client := c.client(c.brokers[1].urls.pulsar + "," + strings.TrimPrefix(c.brokers[2].urls.pulsar, "pulsar://"))
	consumer, err := client.Subscribe(pulsar.ConsumerOptions{Topic: topic, SubscriptionName: "audit", SubscriptionInitialPosition: pulsar.SubscriptionPositionEarliest})
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	l := c.produce(client, topic)
	l.waitFor(t, 500)
	c.kill(c.owner(topic))
	l.waitFor(t, 500)
	close(l.stop)
	<-l.done
	for _, err := range l.failed {
		t.Errorf("a message failed: %v", err)
	}
	c.expectAll(consumer, l)
}

// expectAll reads until every acknowledged message came.
func (c *classroom) expectAll(consumer pulsar.Consumer, l *load) {
	c.t.Helper()
	missing := map[string]bool{}
	for payload := range l.acknowledged {
		missing[payload] = true
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for len(missing) > 0 {
		message, err := consumer.Receive(ctx)
		if err != nil {
			c.t.Fatalf("%d of %d acknowledged messages are lost: %v", len(missing), len(l.acknowledged), err)
		}
		delete(missing, string(message.Payload()))
		if err := consumer.Ack(message); err != nil {
			c.t.Fatal(err)
		}
	}
}

// A bundle is unloaded while messages come in: clients are told, find the new owner, and miss nothing.
func TestUnloadUnderLoad(t *testing.T) {
	c := newRealClassroom(t, 2, 4)
	const topic = "persistent://public/default/unload"
	client := c.client(c.brokers[1].urls.pulsar)
	consumer, err := client.Subscribe(pulsar.ConsumerOptions{Topic: topic, SubscriptionName: "audit", Type: pulsar.Shared})
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	l := c.produce(client, topic)
	name, _ := ParseTopicName(topic)
	for range 3 {
		l.waitFor(t, 300)
		owner := c.brokers[c.owner(topic)]
		in, err := owner.BundleOf(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := owner.UnloadBundle(deadline(t), in); err != nil {
			t.Fatal(err)
		}
	}
	l.waitFor(t, 300)
	close(l.stop)
	<-l.done
	for _, err := range l.failed {
		t.Errorf("a message failed: %v", err)
	}
	c.expectAll(consumer, l)
}

// The owner is stopped for longer than its session, as by SIGSTOP. Another broker takes over; when the first one goes on, it must not
// store anything that a client then misses: its ledger is fenced, its session gone, its topic closed.
func TestOwnerSleepsThroughItsSession(t *testing.T) {
	c := newRealClassroom(t, 2, 4)
	const topic = "persistent://public/default/sleep"
	client := c.client(c.brokers[1].urls.pulsar + "," + strings.TrimPrefix(c.brokers[2].urls.pulsar, "pulsar://"))
	consumer, err := client.Subscribe(pulsar.ConsumerOptions{Topic: topic, SubscriptionName: "audit", SubscriptionInitialPosition: pulsar.SubscriptionPositionEarliest})
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	l := c.produce(client, topic)
	l.waitFor(t, 300)
	id := c.owner(topic)
	sleeper := c.brokers[id]
	sleeper.view.Freeze()
	other := c.brokers[3-id]
	name, _ := ParseTopicName(topic)
	in, err := other.BundleOf(name)
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the sleeper's session expired", func() bool {
		_, owned, err := other.owner(in)
		return err == nil && !owned
	})
	// A client of its own, because the others' connections are with the sleeper.
	probe, err := c.client(other.urls.pulsar).CreateProducer(pulsar.ProducerOptions{Topic: topic, DisableBatching: true})
	if err != nil {
		t.Fatal(err)
	}
	probe.Close()
	if c.owner(topic) == 0 || other.topics.loadedTopic(name) == nil {
		t.Fatal("the other broker does not serve the topic")
	}
	sleeper.view.Thaw()
	l.waitFor(t, 300)
	waitUntil(t, "the sleeper gave the topic up", func() bool { return sleeper.topics.loadedTopic(name) == nil })
	close(l.stop)
	<-l.done
	for _, err := range l.failed {
		t.Errorf("a message failed: %v", err)
	}
	c.expectAll(consumer, l)
	waitUntil(t, "the sleeper is registered again", func() bool {
		brokers, err := other.Brokers()
		return err == nil && len(brokers) == 2
	})
}

func waitUntil(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("in vain: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// longSession is one that nobody waits for by accident, however slow the machine is.
const longSession = 3 * time.Minute

// A broker that starts again at the same address within its old session takes its bundles over from its earlier life.
func TestBrokerRestartsWithinItsSession(t *testing.T) {
	c := newRealClassroom(t, 0, 4)
	pulsarAddress, httpAddress := freeport.Address(t), freeport.Address(t)
	adjust := func(config *Config) {
		config.Endpoint = Endpoint{ListenPulsar: pulsarAddress, ListenHTTP: httpAddress}
		config.SessionTimeout = longSession
	}
	c.start(1, adjust)
	const topic = "persistent://public/default/again"
	client := c.client("pulsar://" + pulsarAddress)
	consumer, err := client.Subscribe(pulsar.ConsumerOptions{Topic: topic, SubscriptionName: "audit", SubscriptionInitialPosition: pulsar.SubscriptionPositionEarliest})
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	l := c.produce(client, topic)
	l.waitFor(t, 300)
	c.kill(1)
	began := time.Now()
	c.start(1, adjust)
	l.waitFor(t, 300)
	if took := time.Since(began); took > longSession/2 {
		t.Errorf("it took %v until messages were stored again: the old session was waited for", took)
	}
	close(l.stop)
	<-l.done
	for _, err := range l.failed {
		t.Errorf("a message failed: %v", err)
	}
	c.expectAll(consumer, l)
}
