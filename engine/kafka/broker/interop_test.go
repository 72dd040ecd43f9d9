package broker_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"twinlog/engine/disk"
	"twinlog/engine/ensemble/server"
	"twinlog/engine/fabric"
	"twinlog/engine/fabric/freeport"
	"twinlog/engine/kafka/broker"
	"twinlog/engine/kafka/broker/interbroker"
)

// realCluster is three brokers over TCP and real files: sendfile, sockets and schedules as they are.
type realCluster struct {
	t        *testing.T
	fabric   *fabric.Fabric
	ensemble string
	dir      string
	nodes    map[int32]*testNode
	ports    map[int32]string
}

func newRealCluster(t *testing.T) *realCluster {
	t.Helper()
	c := &realCluster{t: t, fabric: fabric.NewTCP(), dir: t.TempDir(), nodes: map[int32]*testNode{}, ports: map[int32]string{}}
	view := c.fabric.Of("ensemble-1")
	c.ensemble = freeport.Address(t)
	files, err := disk.NewOS(c.dir + "/ensemble-1")
	if err != nil {
		t.Fatal(err)
	}
	peer := freeport.Address(t)
	ensemble, err := server.New(server.Config{ID: 1, Peers: map[int]string{1: peer}, ClientAddress: c.ensemble, PeerAddress: peer, Network: view, Disk: files})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- ensemble.Run(ctx) }()
	<-ensemble.Ready()
	t.Cleanup(func() {
		for _, node := range c.nodes {
			node.cancel()
		}
		for id, node := range c.nodes {
			if err := <-node.ended; err != nil {
				t.Errorf("broker %d: %v", id, err)
			}
		}
		cancel()
		<-ended
	})
	for id := int32(1); id <= 3; id++ {
		c.ports[id] = "127.0.0.1:0"
		c.start(id)
	}
	return c
}

func (c *realCluster) start(id int32) {
	c.t.Helper()
	name := interbroker.NodeName(id)
	files, err := disk.NewOS(c.dir + "/" + name)
	if err != nil {
		c.t.Fatal(err)
	}
	node := &testNode{id: id, view: c.fabric.Of(name), faults: disk.NewFaults(files), ended: make(chan error, 1)}
	node.broker, err = broker.New(broker.Config{
		BrokerID: id, Listeners: []broker.ListenerConfig{{Address: c.ports[id]}}, ZooKeeper: []string{c.ensemble}, Network: node.view, Disk: node.faults,
		Properties: map[string]string{"group.initial.rebalance.delay.ms": "0", "zookeeper.session.timeout.ms": "4000", "replica.fetch.backoff.ms": "100"},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	node.cancel = cancel
	go func() { node.ended <- node.broker.Run(ctx) }()
	select {
	case <-node.broker.Ready():
	case err := <-node.ended:
		c.t.Fatalf("broker %d ended: %v", id, err)
	}
	c.ports[id] = node.broker.Endpoints()[0].Address()
	c.nodes[id] = node
}

func (c *realCluster) kill(id int32) {
	node := c.nodes[id]
	delete(c.nodes, id)
	node.view.Sever()
	node.faults.Sever()
	node.cancel()
	<-node.ended
}

func (c *realCluster) seeds() kgo.Opt {
	var seeds []string
	for _, address := range c.ports {
		seeds = append(seeds, address)
	}
	return kgo.SeedBrokers(seeds...)
}

// Six partitions, three replicas, acks=all, a group of three; and the leader of
// some of the partitions, which may be the controller too, crashes in the middle.
func TestGroupOfThreeWhileABrokerCrashes(t *testing.T) {
	c := newRealCluster(t)
	const count = 20_000
	producer, err := kgo.NewClient(c.seeds(), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.MaxBufferedRecords(2000), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if response, err := kadm.NewClient(producer).CreateTopic(ctx, 6, 3, nil, "orders"); err != nil || response.Err != nil {
		t.Fatal(err, response.Err)
	}

	seen := make([]atomic.Int32, count)
	var distinct atomic.Int64
	done, finish := context.WithCancel(ctx)
	defer finish()
	var members sync.WaitGroup
	for range 3 {
		member, err := kgo.NewClient(c.seeds(), kgo.ConsumerGroup("readers"), kgo.ConsumeTopics("orders"), kgo.MetadataMinAge(100*time.Millisecond),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.SessionTimeout(6*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		members.Go(func() {
			defer member.Close()
			for done.Err() == nil {
				member.PollFetches(done).EachRecord(func(r *kgo.Record) {
					if seen[binary.BigEndian.Uint32(r.Value)].Add(1) == 1 && distinct.Add(1) == count {
						finish()
					}
				})
			}
		})
	}

	var failed atomic.Int64
	for i := range count {
		value := binary.BigEndian.AppendUint32(nil, uint32(i))
		producer.Produce(ctx, &kgo.Record{Topic: "orders", Value: append(value, make([]byte, 100)...)}, func(_ *kgo.Record, err error) {
			if err != nil && failed.Add(1) == 1 {
				t.Errorf("record %d: %v", i, err)
			}
		})
		if i == count/2 {
			c.kill(1)
		}
	}
	if err := producer.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	c.start(1)
	members.Wait()
	if got := distinct.Load(); got != count {
		t.Errorf("%d of %d acknowledged records were read", got, count)
	}
}

// The whole cluster is killed and started again: what was acknowledged is in the page cache and in the logs.
func TestWholeClusterCrash(t *testing.T) {
	c := newRealCluster(t)
	client, err := kgo.NewClient(c.seeds(), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if response, err := kadm.NewClient(client).CreateTopic(ctx, 3, 3, nil, "orders"); err != nil || response.Err != nil {
		t.Fatal(err, response.Err)
	}
	const count = 3000
	var acknowledged atomic.Int64
	for i := range count {
		client.Produce(ctx, &kgo.Record{Topic: "orders", Value: []byte(fmt.Sprint(i))}, func(_ *kgo.Record, err error) {
			if err == nil {
				acknowledged.Add(1)
			}
		})
		if i == count*2/3 {
			client.Flush(ctx)
		}
	}
	for id := range int32(3) { // the last third is on its way
		c.kill(id + 1)
	}
	promised := acknowledged.Load()
	client.CloseAllowingRebalance()
	if promised < count/2 {
		t.Fatalf("only %d of %d records were acknowledged before the crash", promised, count)
	}
	for id := range int32(3) {
		c.start(id + 1)
	}
	reader, err := kgo.NewClient(c.seeds(), kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	got := map[string]bool{}
	for int64(len(got)) < promised && ctx.Err() == nil {
		reader.PollFetches(ctx).EachRecord(func(r *kgo.Record) { got[string(r.Value)] = true })
	}
	if int64(len(got)) < promised {
		t.Errorf("%d records were acknowledged, %d are there", promised, len(got))
	}
}
