package interop

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsar/log"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ledgerOf acknowledged values: what a producer was told is stored must be read back.
type acknowledged struct {
	mu     sync.Mutex
	values map[string]bool
	errors []string
	count  atomic.Int64
}

func newAcknowledged() *acknowledged { return &acknowledged{values: map[string]bool{}} }

func (a *acknowledged) add(value string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.errors = append(a.errors, err.Error())
		return
	}
	a.values[value] = true
	a.count.Add(1)
}

// awaitMore waits until so many more values are acknowledged.
func (a *acknowledged) awaitMore(t *testing.T, more int64) {
	t.Helper()
	target := a.count.Load() + more
	eventually(t, func() error {
		if count := a.count.Load(); count < target {
			a.mu.Lock()
			defer a.mu.Unlock()
			return fmt.Errorf("%d acknowledged, waiting for %d; errors: %v", count, target, lastOf(a.errors))
		}
		return nil
	})
}

func lastOf(errors []string) []string { return errors[max(0, len(errors)-3):] }

// verify reads with next until every acknowledged value was there.
func (a *acknowledged) verify(t *testing.T, next func(ctx context.Context) ([]string, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	missing := map[string]bool{}
	a.mu.Lock()
	for value := range a.values {
		missing[value] = true
	}
	a.mu.Unlock()
	total := len(missing)
	for len(missing) > 0 {
		values, err := next(ctx)
		if err != nil {
			sample := []string{}
			for value := range missing {
				if len(sample) < 5 {
					sample = append(sample, value)
				}
			}
			t.Fatalf("%d of %d acknowledged values are missing, such as %v: %v", len(missing), total, sample, err)
		}
		for _, value := range values {
			delete(missing, value)
		}
	}
	t.Logf("all %d acknowledged values were read back; %d sends failed", total, len(a.errors))
}

// kafkaLoad produces until stop is called, which returns once every send was answered.
func kafkaLoad(t *testing.T, c *classroom, topic string, acked *acknowledged) (stop func()) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(c.kafka(), ",")...), kgo.DefaultProduceTopic(topic), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.MaxBufferedRecords(500))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var producing sync.WaitGroup
	producing.Go(func() {
		pace := time.NewTicker(time.Millisecond)
		defer pace.Stop()
		for n := 0; ctx.Err() == nil; n++ {
			value := fmt.Sprintf("%s-%d", topic, n)
			client.Produce(context.Background(), kgo.StringRecord(value), func(_ *kgo.Record, err error) { acked.add(value, err) })
			<-pace.C
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		producing.Wait()
		flush, done := context.WithTimeout(context.Background(), patience)
		defer done()
		if err := client.Flush(flush); err != nil {
			t.Errorf("the producer's last sends got no answer: %v", err)
		}
		client.Close()
	})
}

func kafkaReader(t *testing.T, c *classroom, topic string) func(ctx context.Context) ([]string, error) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(c.kafka(), ",")...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return func(ctx context.Context) (values []string, err error) {
		fetches := client.PollFetches(ctx)
		fetches.EachRecord(func(record *kgo.Record) { values = append(values, string(record.Value)) })
		return values, ctx.Err()
	}
}

func pulsarClient(t *testing.T, c *classroom) pulsar.Client {
	t.Helper()
	client, err := pulsar.NewClient(pulsar.ClientOptions{URL: c.pulsar(), Logger: log.DefaultNopLogger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func pulsarLoad(t *testing.T, c *classroom, topic string, acked *acknowledged) (stop func()) {
	t.Helper()
	producer, err := pulsarClient(t, c).CreateProducer(pulsar.ProducerOptions{Topic: topic, MaxPendingMessages: 500, SendTimeout: -1, BatchingMaxPublishDelay: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var producing sync.WaitGroup
	producing.Go(func() {
		pace := time.NewTicker(time.Millisecond)
		defer pace.Stop()
		for n := 0; ctx.Err() == nil; n++ {
			value := fmt.Sprintf("%s-%d", topic, n)
			producer.SendAsync(context.Background(), &pulsar.ProducerMessage{Payload: []byte(value)}, func(_ pulsar.MessageID, _ *pulsar.ProducerMessage, err error) { acked.add(value, err) })
			<-pace.C
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		producing.Wait()
		flushed := make(chan error, 1)
		go func() { flushed <- producer.Flush() }()
		select {
		case err := <-flushed:
			if err != nil {
				t.Errorf("the producer's last sends: %v", err)
			}
		case <-time.After(patience):
			t.Errorf("the producer's last sends got no answer within %v", patience)
		}
		producer.Close()
	})
}

func pulsarReader(t *testing.T, c *classroom, topic string) func(ctx context.Context) ([]string, error) {
	t.Helper()
	reader, err := pulsarClient(t, c).CreateReader(pulsar.ReaderOptions{Topic: topic, StartMessageID: pulsar.EarliestMessageID()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reader.Close)
	return func(ctx context.Context) ([]string, error) {
		message, err := reader.Next(ctx)
		if err != nil {
			return nil, err
		}
		return []string{string(message.Payload())}, nil
	}
}

// worldState is the part of /api/v1/cluster that these tests look at.
type worldState struct {
	State struct {
		Kafka struct {
			Controller struct{ Broker int }
			Topics     map[string]struct {
				Partitions map[string]struct {
					Leader int
					ISR    []int
				}
			}
		}
		Pulsar struct {
			Topics map[string]struct {
				Owner   string
				Ledgers []int64
			}
			Ledgers map[string]struct {
				State     string
				Ensembles []struct{ Bookies []string }
			}
			Bookies map[string]struct{ Node string }
		}
	}
}

func (c *classroom) world() (world worldState) {
	c.t.Helper()
	if err := c.api(http.MethodGet, "cluster", nil, &world); err != nil {
		c.t.Fatal(err)
	}
	return world
}

// TestKillPartitionLeader: production with acks=all goes on after the leader was killed, and nothing acknowledged is lost.
func TestKillPartitionLeader(t *testing.T) {
	c := up(t)
	createTopic(t, c, "failover", 1)
	acked := newAcknowledged()
	stop := kafkaLoad(t, c, "failover", acked)
	defer stop()
	acked.awaitMore(t, 500)
	leader := 0
	leads := func(other int) func() error {
		return func() error {
			if leader = c.world().State.Kafka.Topics["failover"].Partitions["0"].Leader; leader < 1 || leader == other {
				return fmt.Errorf("the leader is %d", leader)
			}
			return nil
		}
	}
	eventually(t, leads(0))
	killed := leader
	c.act(fmt.Sprintf("kafka-%d", leader), "kill")
	acked.awaitMore(t, 1000)
	eventually(t, leads(killed)) // the state runs a moment behind
	c.act(fmt.Sprintf("kafka-%d", killed), "start")
	acked.awaitMore(t, 500)
	stop()
	acked.verify(t, kafkaReader(t, c, "failover"))
	if len(acked.errors) > 0 {
		t.Errorf("%d sends failed: %v", len(acked.errors), lastOf(acked.errors))
	}
}

// TestKillController: another broker becomes the controller, and topics can be created.
func TestKillController(t *testing.T) {
	c := up(t)
	var controller int
	eventually(t, func() error {
		if controller = c.world().State.Kafka.Controller.Broker; controller < 1 {
			return fmt.Errorf("no controller is known")
		}
		return nil
	})
	c.act(fmt.Sprintf("kafka-%d", controller), "kill")
	eventually(t, func() error {
		if now := c.world().State.Kafka.Controller.Broker; now == controller || now < 1 {
			return fmt.Errorf("the controller is %d", now)
		}
		return nil
	})
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(c.kafka(), ",")...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	eventually(t, func() error {
		_, err := kadm.NewClient(client).CreateTopic(t.Context(), 2, 2, nil, "after-the-controller")
		return err
	})
}

// TestKillBundleOwner: pulsar-client-go goes on producing after the broker that owned the topic's bundle was killed.
func TestKillBundleOwner(t *testing.T) {
	c := up(t)
	const topic = "persistent://public/default/failover"
	acked := newAcknowledged()
	stop := pulsarLoad(t, c, topic, acked)
	defer stop()
	acked.awaitMore(t, 500)
	owner := ""
	owns := func(other string) func() error {
		return func() error {
			if owner = c.world().State.Pulsar.Topics[topic].Owner; owner == "" || owner == other {
				return fmt.Errorf("the owner is %q", owner)
			}
			return nil
		}
	}
	eventually(t, owns(""))
	killed := owner
	c.act(killed, "kill")
	acked.awaitMore(t, 1000)
	eventually(t, owns(killed)) // the state runs a moment behind
	stop()
	acked.verify(t, pulsarReader(t, c, topic))
}

// TestKillBookie: the death of a bookie that holds the topic's open ledger changes the ensemble; no send fails.
func TestKillBookie(t *testing.T) {
	c := up(t)
	const topic = "persistent://public/default/bookies"
	acked := newAcknowledged()
	stop := pulsarLoad(t, c, topic, acked)
	defer stop()
	acked.awaitMore(t, 500)
	world := c.world().State.Pulsar
	ledgers := world.Topics[topic].Ledgers
	ledger := fmt.Sprint(ledgers[len(ledgers)-1])
	ensembles := world.Ledgers[ledger].Ensembles
	bookie := world.Bookies[ensembles[len(ensembles)-1].Bookies[0]].Node
	c.act(bookie, "kill")
	acked.awaitMore(t, 1000)
	eventually(t, func() error {
		world := c.world().State.Pulsar
		after, newest := world.Ledgers[ledger], world.Topics[topic].Ledgers
		// A ledger that was full just then is followed by one without the bookie: it has not been changed, and need not be.
		if len(after.Ensembles) <= len(ensembles) && (after.State != "closed" || fmt.Sprint(newest[len(newest)-1]) == ledger) {
			return fmt.Errorf("ledger %s has had %d ensembles before and %d after %s was killed", ledger, len(ensembles), len(after.Ensembles), bookie)
		}
		return nil
	})
	stop()
	acked.verify(t, pulsarReader(t, c, topic))
	if len(acked.errors) > 0 {
		t.Errorf("%d sends failed: %v", len(acked.errors), lastOf(acked.errors))
	}
}

// TestKillMinus9: the whole program is killed under load in both modes; started again on the same files, it has every acknowledged record.
func TestKillMinus9(t *testing.T) {
	offset, data := freeOffset(t), t.TempDir()
	c := upAt(t, offset, data)
	createTopic(t, c, "survivor", 3)
	const topic = "persistent://public/default/survivor"
	kafkaAcked, pulsarAcked := newAcknowledged(), newAcknowledged()
	stopKafka := kafkaLoad(t, c, "survivor", kafkaAcked)
	defer stopKafka()
	stopPulsar := pulsarLoad(t, c, topic, pulsarAcked)
	defer stopPulsar()
	kafkaAcked.awaitMore(t, 2000)
	pulsarAcked.awaitMore(t, 2000)
	c.signal(syscall.SIGKILL)
	again := upAt(t, offset, data)
	t.Logf("ready %v after the second start", again.ready.Round(time.Millisecond))
	kafkaAcked.awaitMore(t, 500)
	pulsarAcked.awaitMore(t, 500)
	stopKafka()
	stopPulsar()
	kafkaAcked.verify(t, kafkaReader(t, again, "survivor"))
	pulsarAcked.verify(t, pulsarReader(t, again, topic))
	if entries, err := os.ReadDir(data); err != nil || len(entries) == 0 {
		t.Fatal("nothing is in the data directory", err)
	}
}
