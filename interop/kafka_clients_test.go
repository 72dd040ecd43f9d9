package interop

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	records    = 100_000
	partitions = 6
	members    = 3
)

// TestKafkaClients: each client library creates a topic with 6 partitions and 3 replicas, produces 100,000 records with acks=all, and
// a group of three reads all of them.
func TestKafkaClients(t *testing.T) {
	c := up(t)
	for _, client := range []struct {
		name string
		run  func(t *testing.T, c *classroom, topic string)
	}{
		{"kcat", runKcat},
		{"franz-go", runFranz},
		{"kafkajs", runKafkaJS},
		{"librdkafka-python", runPython},
	} {
		t.Run(client.name, func(t *testing.T) {
			began := time.Now()
			client.run(t, c, "clients-"+client.name)
			if client.name == "franz-go" { // whose members have said goodbye: others stay until their sessions time out
				readAgain(t, c, "clients-"+client.name)
			}
			t.Logf("%s: %d records to %d partitions with acks=all and back through a group of %d in %v", client.name, records, partitions, members, time.Since(began).Round(time.Millisecond))
		})
	}
}

// readAgain sets the group, which has ended, back to the beginning, as the page does: the next member reads from there.
func readAgain(t *testing.T, c *classroom, topic string) {
	t.Helper()
	group := topic + "-group"
	eventually(t, func() error { // a member that did not say goodbye is one until its session has timed out
		return c.api(http.MethodPut, "kafka/groups/"+group+"/offsets", map[string]string{"topic": topic, "to": "earliest"}, nil)
	})
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(c.kafka(), ",")...), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	fetches := client.PollRecords(ctx, 1)
	if err := fetches.Err(); err != nil {
		t.Fatal(err)
	}
	fetches.EachRecord(func(record *kgo.Record) {
		if record.Offset != 0 {
			t.Errorf("after a reset to the beginning %s reads %s-%d from offset %d", group, topic, record.Partition, record.Offset)
		}
	})
}

func createTopic(t *testing.T, c *classroom, topic string, partitions int32) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(c.kafka(), ",")...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := kadm.NewClient(client).CreateTopic(ctx, partitions, 3, nil, topic); err != nil {
		t.Fatal(err)
	}
}

// seen collects values that consumers read, each of "value-0" to "value-99999".
type seen struct {
	mu     sync.Mutex
	values map[string]int
	byWhom map[string]int
	done   chan struct{}
}

func newSeen() *seen {
	return &seen{values: map[string]int{}, byWhom: map[string]int{}, done: make(chan struct{})}
}

func (s *seen) add(member, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[value]++
	s.byWhom[member]++
	if len(s.values) == records && s.values[value] == 1 {
		close(s.done)
	}
}

// wait fails the test unless every value is read.
func (s *seen) wait(t *testing.T) {
	t.Helper()
	select {
	case <-s.done:
	case <-time.After(patience):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	missing := 0
	for i := range records {
		if s.values[fmt.Sprintf("value-%d", i)] == 0 {
			missing++
		}
	}
	if missing > 0 || len(s.values) != records {
		t.Fatalf("%d values are missing, %d different ones were read; by member: %v", missing, len(s.values), s.byWhom)
	}
	t.Logf("read by member: %v", s.byWhom)
	if len(s.byWhom) != members {
		t.Errorf("only %d of %d members read anything", len(s.byWhom), members)
	}
}

// awaitGroup waits until the group has all its members and each has its partitions.
func awaitGroup(t *testing.T, c *classroom, group string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(c.kafka(), ",")...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	eventually(t, func() error {
		described, err := admin.DescribeGroups(t.Context(), group)
		if err != nil {
			return err
		}
		if found := described[group]; found.State != "Stable" || len(found.Members) != members {
			return fmt.Errorf("group %s is %s with %d members: %v", group, found.State, len(found.Members), found.Err)
		}
		return nil
	})
}

func runKcat(t *testing.T, c *classroom, topic string) {
	kcat := tool(t, "kcat")
	createTopic(t, c, topic, partitions)
	all := newSeen()
	var running sync.WaitGroup
	for i := range members {
		member := fmt.Sprintf("kcat-%d", i)
		consume := exec.CommandContext(t.Context(), kcat, "-b", c.kafka(), "-u", "-q", "-G", topic+"-group", "-X", "auto.offset.reset=earliest", "-f", "%s\n", topic)
		stdout, err := consume.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := consume.Start(); err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			lines := bufio.NewScanner(stdout)
			for lines.Scan() {
				all.add(member, lines.Text())
			}
			consume.Wait()
		})
		defer consume.Process.Signal(os.Interrupt)
	}
	awaitGroup(t, c, topic+"-group")
	var input strings.Builder
	for i := range records {
		fmt.Fprintf(&input, "key-%d:value-%d\n", i, i)
	}
	produce := exec.CommandContext(t.Context(), kcat, "-b", c.kafka(), "-P", "-t", topic, "-K:", "-X", "acks=all")
	produce.Stdin = strings.NewReader(input.String())
	if output, err := produce.CombinedOutput(); err != nil {
		t.Fatalf("kcat -P: %v\n%s", err, output)
	}
	all.wait(t)
}

func runFranz(t *testing.T, c *classroom, topic string) {
	seeds := kgo.SeedBrokers(strings.Split(c.kafka(), ",")...)
	createTopic(t, c, topic, partitions)
	all := newSeen()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for i := range members {
		member := fmt.Sprintf("franz-%d", i)
		consumer, err := kgo.NewClient(seeds, kgo.ConsumerGroup(topic+"-group"), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			defer consumer.Close()
			for ctx.Err() == nil {
				consumer.PollFetches(ctx).EachRecord(func(record *kgo.Record) { all.add(member, string(record.Value)) })
			}
		})
	}
	awaitGroup(t, c, topic+"-group")
	producer, err := kgo.NewClient(seeds, kgo.DefaultProduceTopic(topic), kgo.RequiredAcks(kgo.AllISRAcks()))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	var failure error
	var once sync.Once
	for i := range records {
		producer.Produce(t.Context(), &kgo.Record{Key: fmt.Appendf(nil, "key-%d", i), Value: fmt.Appendf(nil, "value-%d", i)}, func(_ *kgo.Record, err error) {
			if err != nil {
				once.Do(func() { failure = err })
			}
		})
	}
	if err := producer.Flush(t.Context()); err != nil || failure != nil {
		t.Fatal(err, failure)
	}
	all.wait(t)
}

func runKafkaJS(t *testing.T, c *classroom, topic string) {
	node := tool(t, "node")
	if _, err := os.Stat(filepath.Join("kafkajs", "node_modules")); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("interop/kafkajs has no node_modules: run npm ci there")
		}
		t.Skip("interop/kafkajs has no node_modules: run npm ci there")
	}
	runScript(t, exec.CommandContext(t.Context(), node, "kafkajs/clients.mjs", c.kafka(), topic, fmt.Sprint(records), fmt.Sprint(partitions), fmt.Sprint(members)))
}

func runPython(t *testing.T, c *classroom, topic string) {
	python := "/usr/bin/python3" // Debian's python3-confluent-kafka is there, whatever else is on the path
	if err := exec.Command(python, "-c", "import confluent_kafka").Run(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("python3-confluent-kafka is not installed")
		}
		t.Skip("python3-confluent-kafka is not installed")
	}
	runScript(t, exec.CommandContext(t.Context(), python, "python/clients.py", c.kafka(), topic, fmt.Sprint(records), fmt.Sprint(partitions), fmt.Sprint(members)))
}

// runScript runs a script that prints what a consumer reads as "member value" lines.
func runScript(t *testing.T, script *exec.Cmd) {
	t.Helper()
	script.Stderr = os.Stderr
	stdout, err := script.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := script.Start(); err != nil {
		t.Fatal(err)
	}
	all := newSeen()
	finished := make(chan error, 1)
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if member, value, ok := strings.Cut(lines.Text(), " "); ok {
				all.add(member, value)
			}
		}
		finished <- script.Wait()
	}()
	all.wait(t)
	script.Process.Signal(os.Interrupt)
	<-finished
}
