//go:build compose

package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestCompose is a client outside of the containers that scripts/test-compose.sh started.
func TestCompose(t *testing.T) {
	c := composed{host: os.Getenv("TWINLOG_HOST"), token: os.Getenv("TWINLOG_TOKEN"), project: os.Getenv("COMPOSE_PROJECT")}
	if c.host == "" {
		t.Fatal("run scripts/test-compose.sh, which starts the containers")
	}
	c.await(t, "every node to serve", func() bool {
		status, body := c.get(t, "ready")
		t.Logf("ready: %d %s", status, body)
		return status == http.StatusOK
	})
	if states := c.states(t); len(states) != 12 {
		t.Fatalf("the page shows %v", states)
	}
	c.kafka(t, "before")
	c.pulsar(t, "before")
	for _, victim := range []string{"kafka-2", "bookie-1"} {
		c.docker(t, "kill", victim)
		c.await(t, victim+" to be lost", func() bool { return c.states(t)[victim] == "lost" })
		c.kafka(t, "without-"+victim)
		c.pulsar(t, "without-"+victim)
		c.docker(t, "start", victim)
		c.await(t, victim+" to be back", func() bool { return c.states(t)[victim] == "running" })
	}
	c.workload(t)
	c.cutClient(t)
	// The page's own orders reach the containers too.
	if status, body := c.call(t, http.MethodPost, "nodes/pulsar-1/kill"); status != http.StatusOK {
		t.Fatalf("killing pulsar-1 by the page: %d %s", status, body)
	}
	c.pulsar(t, "without-pulsar-1")
	if status, body := c.call(t, http.MethodPost, "nodes/pulsar-1/start"); status != http.StatusOK {
		t.Fatalf("starting pulsar-1 by the page: %d %s", status, body)
	}
	c.pulsar(t, "after")
}

// composed is the classroom in containers as seen from outside.
type composed struct{ host, token, project string }

func (c composed) await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(4 * time.Minute); !condition(); time.Sleep(250 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s; nodes are %v", what, c.states(t))
		}
	}
}

func (c composed) get(t *testing.T, path string) (int, string) {
	return c.call(t, http.MethodGet, path)
}

func (c composed) call(t *testing.T, method, path string) (int, string) {
	return c.send(t, method, path, "")
}

// send asks the page; status 0 means that it does not answer.
func (c composed) send(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(method, "http://"+hostPort(c.host, 7700)+"/api/v1/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(answer)
}

func (c composed) states(t *testing.T) map[string]string {
	t.Helper()
	_, body := c.get(t, "nodes")
	var answer struct {
		Nodes []struct{ Name, State string }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("nodes: %v in %q", err, body)
	}
	states := map[string]string{}
	for _, n := range answer.Nodes {
		states[n.Name] = n.State
	}
	return states
}

func (c composed) docker(t *testing.T, action, service string) {
	t.Helper()
	id, err := exec.Command("docker", "ps", "-aq", "--filter", "label=com.docker.compose.project="+c.project,
		"--filter", "label=com.docker.compose.service="+service).Output()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("docker", action, strings.TrimSpace(string(id))).CombinedOutput(); err != nil {
		t.Fatalf("docker %s %s: %v: %s", action, service, err, out)
	}
}

// workload lets the page's own clients, which are inside, produce and consume.
func (c composed) workload(t *testing.T) {
	t.Helper()
	status, body := c.send(t, http.MethodPost, "workloads", `{"engine":"both"}`)
	if status/100 != 2 {
		t.Fatalf("starting a workload: %d %s", status, body)
	}
	var started struct{ ID string }
	if err := json.Unmarshal([]byte(body), &started); err != nil {
		t.Fatal(err)
	}
	c.await(t, "the page's workload to consume from both", func() bool {
		_, body = c.get(t, "workloads")
		var answer struct {
			Workloads []struct {
				Sides []struct{ Consumed int }
			}
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Workloads) != 1 {
			t.Fatalf("workloads: %v in %s", err, body)
		}
		sides := answer.Workloads[0].Sides
		return len(sides) == 2 && sides[0].Consumed > 10 && sides[1].Consumed > 10
	})
	if status, body := c.send(t, http.MethodDelete, "workloads/"+started.ID, ""); status/100 != 2 {
		t.Fatalf("stopping the workload: %d %s", status, body)
	}
}

// cutClient cuts the link from the world outside to a broker: a request waits until the link heals.
func (c composed) cutClient(t *testing.T) {
	t.Helper()
	conn, err := net.Dial("tcp", hostPort(c.host, 9092))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// ApiVersions v0: size, key 18, version 0, correlation 7, no client id.
	request := []byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff}
	ask := func() {
		if _, err := conn.Write(request); err != nil {
			t.Fatal(err)
		}
	}
	answered := func(within time.Duration) bool {
		if err := conn.SetReadDeadline(time.Now().Add(within)); err != nil {
			t.Fatal(err)
		}
		header := make([]byte, 8)
		if _, err := io.ReadFull(conn, header); err != nil {
			return false
		}
		_, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(header))-4)
		return err == nil && header[7] == 7
	}
	ask()
	if !answered(2 * time.Minute) {
		t.Fatal("a healthy broker does not answer")
	}
	link := func(cut bool) {
		body := fmt.Sprintf(`{"from":"client","to":"kafka-1","cut":%v}`, cut)
		if status, answer := c.send(t, http.MethodPut, "links", body); status/100 != 2 {
			t.Fatalf("setting a link: %d %s", status, answer)
		}
	}
	link(true)
	ask()
	if answered(time.Second) {
		t.Fatal("the broker heard a client over a cut link")
	}
	link(false)
	if !answered(2 * time.Minute) {
		t.Fatal("the request did not go on when the link had healed")
	}
}

const composeMessages = 100

func composeTexts() (texts []string) {
	for i := range composeMessages {
		texts = append(texts, fmt.Sprintf("message-%03d", i))
	}
	return texts
}

// kafka produces to a new topic, reads it back and compares.
func (c composed) kafka(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	topic := "compose-" + name
	client, err := kgo.NewClient(kgo.SeedBrokers(hostPort(c.host, 9092), hostPort(c.host, 9093), hostPort(c.host, 9094)), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.RequiredAcks(kgo.AllISRAcks()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	// While a broker is down a topic with three replicas cannot be made.
	if _, err := kadm.NewClient(client).CreateTopic(ctx, 3, 2, nil, topic); err != nil {
		t.Fatalf("creating %s: %v", topic, err)
	}
	for _, text := range composeTexts() {
		record := kgo.StringRecord(text)
		record.Topic = topic
		client.Produce(ctx, record, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Errorf("producing to %s: %v", topic, err)
			}
		})
	}
	if err := client.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	var got []string
	for len(got) < composeMessages {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("read %d of %d messages of %s", len(got), composeMessages, topic)
		}
		fetches.EachRecord(func(record *kgo.Record) { got = append(got, string(record.Value)) })
	}
	slices.Sort(got)
	if !slices.Equal(got, composeTexts()) {
		t.Fatalf("%s has %v", topic, got)
	}
	t.Logf("Kafka-mode, %s: %d messages out and in", name, len(got))
}

// pulsar does the same in the other mode.
func (c composed) pulsar(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	client, err := pulsar.NewClient(pulsar.ClientOptions{
		URL: "pulsar://" + hostPort(c.host, 6650) + "," + hostPort(c.host, 6651), OperationTimeout: 30 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	topic := "persistent://public/default/compose-" + name
	// Until a dead broker's session expires, lookups still lead to it.
	var consumer pulsar.Consumer
	c.await(t, "a subscription to "+topic, func() bool {
		consumer, err = client.Subscribe(pulsar.ConsumerOptions{Topic: topic, SubscriptionName: "test"})
		return err == nil
	})
	defer consumer.Close()
	producer, err := client.CreateProducer(pulsar.ProducerOptions{Topic: topic})
	if err != nil {
		t.Fatalf("a producer of %s: %v", topic, err)
	}
	defer producer.Close()
	for _, text := range composeTexts() {
		if _, err := producer.Send(ctx, &pulsar.ProducerMessage{Payload: []byte(text)}); err != nil {
			t.Fatalf("sending to %s: %v", topic, err)
		}
	}
	var got []string
	for len(got) < composeMessages {
		message, err := consumer.Receive(ctx)
		if err != nil {
			t.Fatalf("received %d of %d messages of %s: %v", len(got), composeMessages, topic, err)
		}
		got = append(got, string(message.Payload()))
		if err := consumer.Ack(message); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got, composeTexts()) {
		t.Fatalf("%s has %v", topic, got)
	}
	t.Logf("Pulsar-mode, %s: %d messages out and in", name, len(got))
}
