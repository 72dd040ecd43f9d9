package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsar/log"
	"github.com/sirupsen/logrus"

	"twinlog/engine/disk"
	"twinlog/engine/ensemble/server"
	"twinlog/engine/fabric"
	"twinlog/engine/fabric/freeport"
	"twinlog/engine/pulsar/admin"
	"twinlog/engine/pulsar/bookie"
	"twinlog/engine/pulsar/broker"
)

// cluster is two brokers over three bookies and one ZooKeeper server.
type cluster struct {
	t      *testing.T
	http   [2]string
	pulsar [2]string
}

func newCluster(t *testing.T) *cluster { t.Helper(); return newClusterOf(t, func(*broker.Config) {}) }

func newClusterOf(t *testing.T, adjust func(*broker.Config)) *cluster {
	t.Helper()
	c := &cluster{t: t}
	f := fabric.NewTCP()
	zookeeper := freeport.Address(t)
	s, err := server.New(server.Config{ID: 1, ClientAddress: zookeeper, Network: f.Of("ensemble-1"), Disk: disk.NewMemory(), TickTime: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	run(t, s.Run, s.Ready())
	for i := range 3 {
		address := freeport.Address(t)
		b, err := bookie.New(bookie.Config{Address: address, Listen: address, ZooKeeper: []string{zookeeper}, Network: f.Of(fmt.Sprintf("bookie-%d", i+1)), Disk: disk.NewMemory()})
		if err != nil {
			t.Fatal(err)
		}
		run(t, b.Run, b.Ready())
	}
	for i := range 2 {
		endpoint := broker.Endpoint{ListenPulsar: freeport.Address(t), ListenHTTP: freeport.Address(t)}
		c.http[i], c.pulsar[i] = "http://"+endpoint.ListenHTTP, "pulsar://"+endpoint.ListenPulsar
		config := broker.Config{
			BrokerID: i + 1, Endpoint: endpoint, ZooKeeper: []string{zookeeper}, Network: f.Of(fmt.Sprintf("pulsar-%d", i+1)), Admin: admin.Handler,
		}
		adjust(&config)
		b, err := broker.New(config)
		if err != nil {
			t.Fatal(err)
		}
		run(t, b.Run, b.Ready())
	}
	return c
}

func run(t *testing.T, run func(context.Context) error, ready <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	select {
	case <-ready:
	case err := <-ended:
		ended <- err
		t.Fatalf("ended before it was ready: %v", err)
	case <-time.After(2 * time.Minute):
		t.Fatal("not ready in time")
	}
}

// do sends one request to one broker and follows redirects, as clients do.
func (c *cluster) do(method, path, body string) (int, string) {
	c.t.Helper()
	return c.doAt(0, method, path, body)
}

func (c *cluster) doAt(at int, method, path, body string) (int, string) {
	c.t.Helper()
	request, err := http.NewRequest(method, c.http[at]+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

// expect checks status and, when want is not empty, that the answer holds it.
func (c *cluster) expect(method, path, body string, status int, want string) string {
	c.t.Helper()
	got, answer := c.do(method, path, body)
	if got != status || !strings.Contains(answer, want) {
		c.t.Errorf("%s %s %s: %d %s; want %d with %q", method, path, body, got, answer, status, want)
	}
	if got == http.StatusNoContent && answer != "" {
		c.t.Errorf("%s %s: 204 with a body %q", method, path, answer)
	}
	if got >= 400 {
		var refusal map[string]string
		if err := json.Unmarshal([]byte(answer), &refusal); err != nil || refusal["reason"] == "" {
			c.t.Errorf("%s %s: the refusal %q gives no reason", method, path, answer)
		}
	}
	return answer
}

func (c *cluster) client() pulsar.Client {
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	client, err := pulsar.NewClient(pulsar.ClientOptions{URL: c.pulsar[0], OperationTimeout: 20 * time.Second, Logger: log.NewLoggerWithLogrus(quiet)})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(client.Close)
	return client
}

const topics = "/admin/v2/persistent/public/default"

// until waits for a condition.
func (c *cluster) until(what string, holds func() bool) {
	c.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("in vain: %s", what)
		}
	}
}
