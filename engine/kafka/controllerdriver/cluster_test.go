package controllerdriver_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/disk"
	"twinlog/engine/ensemble/server"
	"twinlog/engine/fabric"
	"twinlog/engine/kafka/broker/configs"
	"twinlog/engine/kafka/broker/interbroker"
	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/controllerdriver"
	"twinlog/engine/kafka/metadata"
	"twinlog/engine/trace"
)

const ensembleAddress = "127.0.0.1:2181"

// cluster is an ensemble of one server and brokers that have a real controller but keep no records: they remember what they are told.
type cluster struct {
	t       *testing.T
	fabric  *fabric.Fabric
	brokers map[int32]*testBroker
	admin   *zk.Conn
}

// newCluster must be called in a synctest bubble.
func newCluster(t *testing.T, brokers ...int32) *cluster {
	t.Helper()
	c := &cluster{t: t, fabric: fabric.NewMemory(), brokers: map[int32]*testBroker{}}
	ensemble, err := server.New(server.Config{
		ID: 1, Peers: map[int]string{1: "127.0.0.1:2888"}, ClientAddress: ensembleAddress, PeerAddress: "127.0.0.1:2888",
		Network: c.fabric.Of("ensemble-1"), Disk: disk.NewMemory(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ensemble.Run(ctx) }()
	<-ensemble.Ready()
	c.admin = c.connect(c.fabric.Of("admin"))
	for _, path := range metadata.PersistentPaths() {
		if _, err := c.admin.Create(path, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range brokers {
		c.start(id)
	}
	t.Cleanup(func() {
		for id := range c.brokers {
			c.stop(id)
		}
		c.admin.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *cluster) connect(view *fabric.View) *zk.Conn {
	c.t.Helper()
	conn, events, err := zk.Connect([]string{ensembleAddress}, 6*time.Second, zk.WithLogInfo(false), zk.WithLogger(silent{}),
		zk.WithDialer(func(_, address string, timeout time.Duration) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			defer cancel()
			return view.Dial(ctx, address)
		}))
	if err != nil {
		c.t.Fatal(err)
	}
	for e := range events {
		if e.State == zk.StateHasSession {
			break
		}
	}
	return conn
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// testBroker registers, runs the controller's driver and serves the controller's requests.
type testBroker struct {
	c      *cluster
	id     int32
	view   *fabric.View
	conn   *zk.Conn
	driver *controllerdriver.Driver
	tracer *trace.Tracer
	cancel context.CancelFunc
	ended  sync.WaitGroup

	mu       sync.Mutex
	snapshot *metadata.Snapshot
	told     []kmsg.Request
	// roles are what LeaderAndIsr said last.
	roles map[trace.KafkaPartition]kmsg.LeaderAndISRRequestTopicPartition
}

func address(id int32) string { return fmt.Sprintf("127.0.0.1:%d", 9091+id) }

func (c *cluster) start(id int32) *testBroker {
	c.t.Helper()
	node := interbroker.NodeName(id)
	b := &testBroker{
		c: c, id: id, view: c.fabric.Of(node), tracer: trace.NewTracer("test", node, 100_000), snapshot: metadata.EmptySnapshot(),
		roles: map[trace.KafkaPartition]kmsg.LeaderAndISRRequestTopicPartition{},
	}
	c.brokers[id] = b
	b.conn = c.connect(b.view)
	logger := slog.New(slog.DiscardHandler)
	if os.Getenv("KAFKA_LOG") != "" {
		logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})).With("broker", id)
	}
	rules, err := configs.NewRules(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	purgatory := reactor.NewPurgatory(2)
	b.driver, err = controllerdriver.New(controllerdriver.Config{
		BrokerID: id, ZooKeeper: b.conn, Network: b.view, Tracer: b.tracer, Logger: logger, Purgatory: purgatory,
		Metadata: b.metadata, Rules: rules,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	table := &reactor.Table{}
	table.Add(b.driver.APIs()...)
	table.Add(
		reactor.API{Key: kmsg.LeaderAndISR, Max: 7, Handle: b.leaderAndISR},
		reactor.API{Key: kmsg.UpdateMetadata, Max: 8, Handle: b.updateMetadata},
		reactor.API{Key: kmsg.StopReplica, Max: 4, Handle: b.stopReplica},
	)
	network, err := reactor.NewServer(reactor.Config{Table: table, Tracer: b.tracer})
	if err != nil {
		c.t.Fatal(err)
	}
	listener, err := b.view.Listen(address(id))
	if err != nil {
		c.t.Fatal(err)
	}
	b.register()
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	b.ended.Go(func() { network.Serve(ctx, reactor.Listener{Name: metadata.DefaultListener, Listener: listener}) })
	b.ended.Go(func() {
		b.driver.Run(ctx)
		purgatory.Close()
	})
	return b
}

func (b *testBroker) register() {
	b.c.t.Helper()
	payload := metadata.Registration{Endpoints: []metadata.Endpoint{{Listener: metadata.DefaultListener, Host: "127.0.0.1", Port: 9091 + b.id}}}
	_, err := b.conn.Create(metadata.BrokerIDPath(b.id), payload.Encode(), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	if err != nil {
		b.c.t.Fatal(err)
	}
}

// stop is the orderly end: the session is closed.
func (c *cluster) stop(id int32) {
	b := c.brokers[id]
	delete(c.brokers, id)
	b.cancel()
	b.ended.Wait()
	b.conn.Close()
}

// kill cuts the broker off first, so that its session has to expire.
func (c *cluster) kill(id int32) {
	c.brokers[id].view.Sever()
	c.stop(id)
}

func (b *testBroker) metadata() *metadata.Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.snapshot
}

func (b *testBroker) leaderAndISR(r *reactor.Request) {
	request := r.Body.(*kmsg.LeaderAndISRRequest)
	response := kmsg.NewPtrLeaderAndISRResponse()
	b.mu.Lock()
	b.told = append(b.told, request)
	for _, topic := range request.TopicStates {
		answer := kmsg.NewLeaderAndISRResponseTopic()
		answer.TopicID = topic.TopicID
		for _, p := range topic.PartitionStates {
			b.roles[trace.KafkaPartition{Topic: topic.Topic, Partition: p.Partition}] = p
			answer.Partitions = append(answer.Partitions, kmsg.LeaderAndISRResponseTopicPartition{Partition: p.Partition})
		}
		response.Topics = append(response.Topics, answer)
	}
	b.mu.Unlock()
	r.Respond(response)
}

func (b *testBroker) updateMetadata(r *reactor.Request) {
	request := r.Body.(*kmsg.UpdateMetadataRequest)
	b.mu.Lock()
	b.told = append(b.told, request)
	b.snapshot = b.snapshot.Apply(request)
	b.mu.Unlock()
	b.driver.MetadataUpdated()
	r.Respond(kmsg.NewPtrUpdateMetadataResponse())
}

func (b *testBroker) stopReplica(r *reactor.Request) {
	request := r.Body.(*kmsg.StopReplicaRequest)
	response := kmsg.NewPtrStopReplicaResponse()
	b.mu.Lock()
	b.told = append(b.told, request)
	for _, topic := range request.Topics {
		for _, p := range topic.PartitionStates {
			if p.Delete {
				delete(b.roles, trace.KafkaPartition{Topic: topic.Topic, Partition: p.Partition})
			}
			response.Partitions = append(response.Partitions, kmsg.StopReplicaResponsePartition{Topic: topic.Topic, Partition: p.Partition})
		}
	}
	b.mu.Unlock()
	r.Respond(response)
}

// ask sends a request to a broker as a client does.
func (c *cluster) ask(id int32, request kmsg.Request) kmsg.Response {
	c.t.Helper()
	connection := interbroker.NewConnection(interbroker.Config{
		Network: c.fabric.Of(fabric.Client), Broker: id, Address: address(id), ClientID: "test",
	})
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	response, err := connection.Do(ctx, request)
	if err != nil {
		c.t.Fatal(err)
	}
	return response
}

// controller waits until a broker is the controller and every broker has heard of all the others.
func (c *cluster) controller() int32 {
	c.t.Helper()
	var id int32 = -1
	c.eventually("a controller", func() bool {
		for _, b := range c.brokers {
			if b.driver.Active() {
				id = b.id
			}
		}
		for _, b := range c.brokers {
			if snapshot := b.metadata(); snapshot.ControllerID != id || len(snapshot.Brokers()) != len(c.brokers) {
				return false
			}
		}
		return id >= 0
	})
	return id
}

// eventually waits, in the bubble's time, until a condition holds.
func (c *cluster) eventually(what string, holds func() bool) {
	c.t.Helper()
	for range 3000 {
		if holds() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	c.t.Fatalf("%s: not after a minute", what)
}

func (c *cluster) state(topic string, partition int32) (metadata.PartitionState, int32) {
	c.t.Helper()
	path := metadata.PartitionStatePath(topic, partition)
	data, stat, err := c.admin.Get(path)
	if err != nil {
		c.t.Fatalf("%s: %v", path, err)
	}
	state, err := metadata.DecodePartitionState(path, data)
	if err != nil {
		c.t.Fatal(err)
	}
	return state, stat.Version
}

func (c *cluster) createTopic(topic string, replicas ...[]int32) {
	c.t.Helper()
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Version, request.TimeoutMillis = 7, 10_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, -1, -1
	for i, brokers := range replicas {
		t.ReplicaAssignment = append(t.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: int32(i), Replicas: brokers})
	}
	request.Topics = append(request.Topics, t)
	response := c.ask(c.controller(), request).(*kmsg.CreateTopicsResponse)
	if code := response.Topics[0].ErrorCode; code != 0 {
		c.t.Fatalf("creating %s: error %d", topic, code)
	}
}

// kinds lists the kinds of requests that a broker was sent.
func (b *testBroker) kinds() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var kinds []string
	for _, request := range b.told {
		kinds = append(kinds, kmsg.NameForKey(request.Key()))
	}
	return kinds
}

func (b *testBroker) role(topic string, partition int32) (kmsg.LeaderAndISRRequestTopicPartition, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	role, known := b.roles[trace.KafkaPartition{Topic: topic, Partition: partition}]
	return role, known
}

func (b *testBroker) events(kind string) []trace.Event {
	var found []trace.Event
	for _, record := range b.tracer.Drain(nil) {
		if record.Kind == kind {
			found = append(found, record.Data)
		}
	}
	return found
}

func sameMembers(a, b []int32) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
