package broker

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"testing"
	"time"

	"twinlog/engine/disk"
	"twinlog/engine/ensemble/server"
	"twinlog/engine/fabric"
	"twinlog/engine/fabric/freeport"
	"twinlog/engine/pulsar/bookie"
	"twinlog/engine/trace"
)

// classroom is brokers on one ZooKeeper server (the project's own) over TCP, with a memory for bookies.
type classroom struct {
	t         *testing.T
	fabric    *fabric.Fabric
	zookeeper string
	storage   *memoryStorage
	brokers   map[int]*runningBroker
}

type runningBroker struct {
	*Broker
	tracer *trace.Tracer
	view   *fabric.View
	cancel context.CancelFunc
	ended  chan error
}

func newClassroom(t *testing.T, brokers int) *classroom {
	t.Helper()
	c := &classroom{t: t, fabric: fabric.NewTCP(), storage: newMemoryStorage(), brokers: map[int]*runningBroker{}}
	c.startZooKeeper()
	for id := 1; id <= brokers; id++ {
		c.start(id, nil)
	}
	return c
}

// newRealClassroom has bookies, so that brokers fence and recover each other's ledgers.
func newRealClassroom(t *testing.T, brokers, bookies int) *classroom {
	t.Helper()
	c := &classroom{t: t, fabric: fabric.NewTCP(), brokers: map[int]*runningBroker{}}
	c.startZooKeeper()
	for id := 1; id <= bookies; id++ {
		address := freeport.Address(t)
		b, err := bookie.New(bookie.Config{
			Address: address, Listen: address, ZooKeeper: []string{c.zookeeper}, SessionTimeout: 2 * time.Second,
			Network: c.fabric.Of(fmt.Sprintf("bookie-%d", id)), Disk: disk.NewMemory(),
		})
		if err != nil {
			t.Fatal(err)
		}
		c.run(b.Run, b.Ready())
	}
	for id := 1; id <= brokers; id++ {
		c.start(id, nil)
	}
	return c
}

func (c *classroom) startZooKeeper() {
	c.t.Helper()
	c.zookeeper = freeport.Address(c.t)
	s, err := server.New(server.Config{
		ID: 1, ClientAddress: c.zookeeper, Network: c.fabric.Of("ensemble-1"), Disk: disk.NewMemory(), TickTime: 500 * time.Millisecond,
		MaxSessionTimeout: longSession,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.run(s.Run, s.Ready())
}

func (c *classroom) run(run func(context.Context) error, ready <-chan struct{}) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	c.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			c.t.Errorf("run: %v", err)
		}
	})
	waitReady(c.t, ready, ended)
}

// patience is how long anything is waited for before a test gives up. It bounds a failure only.
const patience = 2 * time.Minute

func waitReady(t *testing.T, ready <-chan struct{}, ended <-chan error) {
	t.Helper()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatalf("ended before it was ready: %v", err)
	case <-time.After(patience):
		t.Fatal("not ready in time")
	}
}

func (c *classroom) start(id int, adjust func(*Config)) *runningBroker {
	c.t.Helper()
	name := fmt.Sprintf("pulsar-%d", id)
	r := &runningBroker{tracer: trace.NewTracer("test", name, 100_000), view: c.fabric.Of(name), ended: make(chan error, 1)}
	config := Config{
		BrokerID: id, ZooKeeper: []string{c.zookeeper}, Network: r.view, Tracer: r.tracer,
		Endpoint:       Endpoint{ListenPulsar: "127.0.0.1:0", ListenHTTP: "127.0.0.1:0"},
		Admin:          func(*Broker) http.Handler { return http.NotFoundHandler() },
		SessionTimeout: 2 * time.Second, FailoverDelay: 100 * time.Millisecond,
	}
	if c.storage != nil {
		config.storage = c.storage.opener()
	}
	if testing.Verbose() && os.Getenv("BROKER_LOG") != "" {
		config.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})).With("broker", id)
	}
	if adjust != nil {
		adjust(&config)
	}
	b, err := New(config)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Broker = b
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() { r.ended <- b.Run(ctx) }()
	c.t.Cleanup(func() { c.stop(id) })
	waitReady(c.t, b.Ready(), r.ended)
	c.brokers[id] = r
	return r
}

// kill crashes a broker: its network is gone before it hears of it.
func (c *classroom) kill(id int) {
	r := c.brokers[id]
	delete(c.brokers, id)
	r.view.Sever()
	r.cancel()
	select {
	case <-r.ended:
	case <-time.After(patience):
		stacks := make([]byte, 1<<20)
		c.t.Fatalf("broker %d does not end after its crash:\n%s", id, stacks[:runtime.Stack(stacks, true)])
	}
}

// owner finds the broker that serves a topic.
func (c *classroom) owner(topic string) int {
	c.t.Helper()
	name, err := ParseTopicName(topic)
	if err != nil {
		c.t.Fatal(err)
	}
	// After an unload there is none for a moment: the next lookup gives the bundle to somebody.
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for id, r := range c.brokers {
			if r.topics.loadedTopic(name) != nil {
				return id
			}
		}
	}
	c.t.Fatalf("no broker serves %s", topic)
	return 0
}

// stop ends a broker in order.
func (c *classroom) stop(id int) {
	r := c.brokers[id]
	if r == nil {
		return
	}
	delete(c.brokers, id)
	r.cancel()
	if err := <-r.ended; err != nil {
		c.t.Errorf("broker %d: %v", id, err)
	}
}
