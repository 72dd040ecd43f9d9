package broker_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/disk"
	"twinlog/engine/ensemble/server"
	"twinlog/engine/fabric"
	"twinlog/engine/kafka/broker"
	"twinlog/engine/kafka/broker/interbroker"
	"twinlog/engine/trace"
)

// cluster is an ensemble of one server and real brokers, on a network and disks in memory, in a synctest bubble.
type cluster struct {
	t          *testing.T
	fabric     *fabric.Fabric
	properties map[string]string
	disks      map[int32]*disk.Memory
	nodes      map[int32]*testNode
	zookeeper  map[int32]string // by broker; ensembleAddress where there is none
	mu         sync.Mutex
	records    []trace.Record
}

type testNode struct {
	id     int32
	view   *fabric.View
	faults *disk.Faults
	broker *broker.Broker
	tracer *trace.Tracer
	cancel context.CancelFunc
	ended  chan error
}

const ensembleAddress = "127.0.0.1:2181"

func address(id int32) string { return fmt.Sprintf("127.0.0.1:%d", 9091+id) }

// newCluster must be called in a synctest bubble. Properties are for all brokers.
func newCluster(t *testing.T, brokers int32, properties map[string]string) *cluster {
	t.Helper()
	c := &cluster{
		t: t, fabric: fabric.NewMemory(), disks: map[int32]*disk.Memory{}, nodes: map[int32]*testNode{},
		properties: map[string]string{"group.initial.rebalance.delay.ms": "0", "auto.leader.rebalance.enable": "false", "zookeeper.session.timeout.ms": "6000"},
	}
	maps.Copy(c.properties, properties)
	ensemble, err := server.New(server.Config{
		ID: 1, Peers: map[int]string{1: "127.0.0.1:2888"}, ClientAddress: ensembleAddress, PeerAddress: "127.0.0.1:2888",
		Network: c.fabric.Of("ensemble-1"), Disk: disk.NewMemory(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- ensemble.Run(ctx) }()
	<-ensemble.Ready()
	for id := int32(1); id <= brokers; id++ {
		c.disks[id] = disk.NewMemory()
		c.start(id)
	}
	t.Cleanup(func() {
		for _, id := range slices.Sorted(maps.Keys(c.nodes)) {
			c.stop(id)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for _, node := range c.nodes {
		c.await(node)
	}
	return c
}

// start starts a broker on the files that it left.
func (c *cluster) start(id int32) *testNode {
	c.t.Helper()
	name := interbroker.NodeName(id)
	node := &testNode{
		id: id, view: c.fabric.Of(name), faults: disk.NewFaults(c.disks[id]), tracer: trace.NewTracer("test", name, 1<<20), ended: make(chan error, 1),
	}
	logger := slog.New(slog.DiscardHandler)
	if os.Getenv("KAFKA_LOG") != "" {
		logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	var err error
	node.broker, err = broker.New(broker.Config{
		BrokerID: id, Listeners: []broker.ListenerConfig{{Address: address(id)}}, ZooKeeper: []string{cmp.Or(c.zookeeper[id], ensembleAddress)}, Properties: c.properties,
		Network: node.view, Disk: node.faults, Tracer: node.tracer, Logger: logger,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	node.cancel = cancel
	go func() { node.ended <- node.broker.Run(ctx) }()
	c.nodes[id] = node
	return node
}

// await waits until a broker serves.
func (c *cluster) await(node *testNode) {
	c.t.Helper()
	select {
	case <-node.broker.Ready():
	case err := <-node.ended:
		c.t.Fatalf("broker %d ended: %v", node.id, err)
	case <-time.After(time.Minute):
		c.t.Fatalf("broker %d is not ready after a minute", node.id)
	}
}

// stop is the orderly end.
func (c *cluster) stop(id int32) {
	c.t.Helper()
	node := c.nodes[id]
	delete(c.nodes, id)
	node.cancel()
	if err := <-node.ended; err != nil {
		c.t.Errorf("broker %d: %v", id, err)
	}
	c.collect(node)
}

// kill is a crash of the process: what it wrote stays, nobody is told.
func (c *cluster) kill(id int32) {
	c.t.Helper()
	node := c.nodes[id]
	delete(c.nodes, id)
	node.view.Sever()
	node.faults.Sever()
	node.cancel()
	<-node.ended
	c.collect(node)
}

func (c *cluster) collect(node *testNode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.records = node.tracer.Drain(c.records)
}

// events lists what was traced of a kind so far.
func events[E trace.Event](c *cluster) []E {
	for _, node := range c.nodes {
		c.collect(node)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []E
	for _, record := range c.records {
		if event, is := record.Data.(E); is {
			list = append(list, event)
		}
	}
	return list
}

// client is an ordinary client, outside the cluster.
func (c *cluster) client(options ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	outside := c.fabric.Of(fabric.Client)
	var seeds []string
	for id := range c.disks {
		seeds = append(seeds, address(id))
	}
	options = append([]kgo.Opt{
		kgo.SeedBrokers(seeds...), kgo.Dialer(func(ctx context.Context, _, host string) (net.Conn, error) { return outside.Dial(ctx, host) }),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MetadataMinAge(250 * time.Millisecond), kgo.RecordPartitioner(kgo.ManualPartitioner()),
	}, options...)
	client, err := kgo.NewClient(options...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(client.Close)
	return client
}

func (c *cluster) createTopic(name string, partitions int32, factor int16, config map[string]string) {
	c.t.Helper()
	client := c.client()
	defer client.Close()
	set := map[string]*string{}
	for key, value := range config {
		set[key] = kmsg.StringPtr(value)
	}
	response, err := kadm.NewClient(client).CreateTopic(context.Background(), partitions, factor, set, name)
	if err = errors.Join(err, response.Err); err != nil {
		c.t.Fatal(err)
	}
	for partition := range partitions {
		c.eventually("every broker has heard of the topic", func() bool { leader, _ := c.leader(name, partition); return leader > 0 })
	}
}

// leader is the leader of a partition and its ISR, as the live brokers tell clients; -1 while they do not agree.
func (c *cluster) leader(topic string, partition int32) (leader int32, isr []int32) {
	c.t.Helper()
	leader = -2
	for id := range c.nodes {
		request := kmsg.NewPtrMetadataRequest()
		wanted := kmsg.NewMetadataRequestTopic()
		wanted.Topic = &topic
		request.Topics = append(request.Topics, wanted)
		request.Version = 12
		told := int32(-1)
		for _, t := range c.ask(id, request).(*kmsg.MetadataResponse).Topics {
			for _, p := range t.Partitions {
				if p.Partition == partition {
					told, isr = p.Leader, p.ISR
				}
			}
		}
		if told < 0 || leader != -2 && leader != told {
			return -1, nil
		}
		leader = told
	}
	return leader, isr
}

// ask sends a request to a broker as a client does. The request has its version.
func (c *cluster) ask(id int32, request kmsg.Request) kmsg.Response {
	c.t.Helper()
	connection := interbroker.NewConnection(interbroker.Config{
		Network: c.fabric.Of(fabric.Client), Broker: id, Address: address(id), ClientID: "test",
	})
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	response, err := connection.Do(ctx, request)
	if err != nil {
		c.t.Fatal(err)
	}
	return response
}

// eventually waits for a condition, in the bubble's time.
func (c *cluster) eventually(what string, holds func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("after two minutes it is not true that %s", what)
		}
	}
}

// produce sends one record and waits for its acknowledgement.
func produce(client *kgo.Client, topic string, partition int32, value string) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	record, err := client.ProduceSync(ctx, &kgo.Record{Topic: topic, Partition: partition, Value: []byte(value)}).First()
	if err != nil {
		return -1, err
	}
	return record.Offset, nil
}

// consume reads a partition from the beginning until it has count records.
func (c *cluster) consume(topic string, partition int32, count int) []string {
	c.t.Helper()
	client := c.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().AtStart()}}))
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var values []string
	for len(values) < count {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			c.t.Fatalf("%d of %d records of %s-%d were read in a minute: %q", len(values), count, topic, partition, values)
		}
		fetches.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	return values
}
