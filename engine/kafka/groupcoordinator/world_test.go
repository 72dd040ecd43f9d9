package groupcoordinator

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/fabric"
	"twinlog/engine/kafka/broker/interbroker"
	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/kafka/metadata"
	"twinlog/engine/trace"
)

const offsetsPartitions = 4

// offsetsLog stands for the replicas of __consumer_offsets on all brokers: what one leader wrote the next one reads.
type offsetsLog struct {
	mu      sync.Mutex
	batches map[int32][][]byte
	next    map[int32]int64
	epoch   map[int32]int32
	// failure is the answer to appends; nil: they succeed.
	failure error
	// held keeps answers back.
	holding bool
	held    []func()
}

func (l *offsetsLog) Append(partition, leaderEpoch int32, batch []byte, _ time.Duration, committed func(error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if leaderEpoch != l.epoch[partition] {
		go committed(kerr.NotLeaderForPartition)
		return
	}
	if l.failure != nil {
		go committed(l.failure)
		return
	}
	records.Assign(batch, l.next[partition], leaderEpoch)
	header, err := records.ParseHeader(batch)
	if err != nil {
		panic(err)
	}
	l.next[partition] = header.LastOffset() + 1
	l.batches[partition] = append(l.batches[partition], batch)
	if l.holding {
		l.held = append(l.held, func() { committed(nil) })
		return
	}
	go committed(nil)
}

func (l *offsetsLog) Read(partition int32, offset int64, maxBytes int) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var read []byte
	for _, batch := range l.batches[partition] {
		header, err := records.ParseHeader(batch)
		if err != nil {
			return nil, err
		}
		if header.LastOffset() >= offset && (len(read) == 0 || len(read)+len(batch) <= maxBytes) {
			read = append(read, batch...)
		}
	}
	return read, nil
}

func (l *offsetsLog) Bounds(partition int32) (start, end int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return 0, l.next[partition], nil
}

func (l *offsetsLog) set(change func(*offsetsLog)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

// world is two brokers with a coordinator each, in a synctest bubble. Broker 1 leads all partitions at first.
type world struct {
	t            *testing.T
	fabric       *fabric.Fabric
	log          *offsetsLog
	coordinators map[int32]*Coordinator
	tracers      map[int32]*trace.Tracer
	leader       int32
	asked        chan struct{} // CreateOffsetsTopic

	mu       sync.Mutex
	snapshot *metadata.Snapshot
}

func address(id int32) string { return fmt.Sprintf("127.0.0.1:%d", 9091+id) }

func newWorld(t *testing.T, adjust func(*Config)) *world {
	t.Helper()
	w := &world{
		t: t, fabric: fabric.NewMemory(), coordinators: map[int32]*Coordinator{}, tracers: map[int32]*trace.Tracer{}, leader: 1,
		asked: make(chan struct{}, 100),
		log:   &offsetsLog{batches: map[int32][][]byte{}, next: map[int32]int64{}, epoch: map[int32]int32{}},
	}
	w.setMetadata(1, true)
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	for _, id := range []int32{1, 2} {
		w.tracers[id] = trace.NewTracer("test", interbroker.NodeName(id), 10_000)
		config := Config{
			BrokerID: id, Log: w.log, Metadata: w.metadata, CreateOffsetsTopic: func() { w.asked <- struct{}{} }, Tracer: w.tracers[id],
			OffsetsPartitions: offsetsPartitions, InitialRebalanceDelay: -1,
		}
		if adjust != nil {
			adjust(&config)
		}
		c, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		w.coordinators[id] = c
		table := &reactor.Table{}
		table.Add(c.APIs()...)
		server, err := reactor.NewServer(reactor.Config{Table: table, Tracer: w.tracers[id]})
		if err != nil {
			t.Fatal(err)
		}
		listener, err := w.fabric.Of(interbroker.NodeName(id)).Listen(address(id))
		if err != nil {
			t.Fatal(err)
		}
		ended.Go(func() { server.Serve(ctx, reactor.Listener{Name: metadata.DefaultListener, Listener: listener}) })
		ended.Go(func() { c.Run(ctx) })
	}
	t.Cleanup(func() {
		cancel()
		ended.Wait()
	})
	for partition := range int32(offsetsPartitions) {
		w.coordinators[1].BecameLeader(partition, 0)
	}
	synctest.Wait() // loaded
	return w
}

// failOver moves all partitions to the other broker.
func (w *world) failOver() {
	old := w.leader
	w.leader = 3 - old
	for partition := range int32(offsetsPartitions) {
		w.log.set(func(l *offsetsLog) { l.epoch[partition]++ })
		w.coordinators[old].BecameFollower(partition, w.log.epoch[partition])
		w.coordinators[w.leader].BecameLeader(partition, w.log.epoch[partition])
	}
	w.setMetadata(w.leader, true)
}

func (w *world) metadata() *metadata.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.snapshot
}

func (w *world) setMetadata(leader int32, withOffsets bool) {
	request := kmsg.NewPtrUpdateMetadataRequest()
	for _, id := range []int32{1, 2} {
		broker := kmsg.NewUpdateMetadataRequestLiveBroker()
		broker.ID = id
		broker.Endpoints = []kmsg.UpdateMetadataRequestLiveBrokerEndpoint{{ListenerName: metadata.DefaultListener, Host: "127.0.0.1", Port: 9091 + id}}
		request.LiveBrokers = append(request.LiveBrokers, broker)
	}
	add := func(name string, partitions int32) {
		topic := kmsg.NewUpdateMetadataRequestTopicState()
		topic.Topic = name
		for index := range partitions {
			p := kmsg.NewUpdateMetadataRequestTopicPartition()
			p.Partition, p.Leader, p.Replicas, p.ISR = index, leader, []int32{1, 2}, []int32{1, 2}
			topic.PartitionStates = append(topic.PartitionStates, p)
		}
		request.TopicStates = append(request.TopicStates, topic)
	}
	add("orders", 3)
	if withOffsets {
		add(OffsetsTopic, offsetsPartitions)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.snapshot = metadata.EmptySnapshot().Apply(request)
}

// ask sends a request to a broker and waits.
func (w *world) ask(id int32, request kmsg.Request) kmsg.Response {
	w.t.Helper()
	return <-w.send(id, request)
}

// send sends a request to a broker over a connection of its own.
func (w *world) send(id int32, request kmsg.Request) <-chan kmsg.Response {
	w.t.Helper()
	answer := make(chan kmsg.Response, 1)
	connection := interbroker.NewConnection(interbroker.Config{
		Network: w.fabric.Of(fabric.Client), Broker: id, Address: address(id), ClientID: "app",
	})
	go func() {
		defer connection.Close()
		response, err := connection.Do(context.Background(), request)
		if err != nil {
			w.t.Error(err)
		}
		answer <- response
	}()
	return answer
}

type membership struct {
	id, instance string
	generation   int32
}

func (w *world) joinRequest(m membership) *kmsg.JoinGroupRequest {
	request := kmsg.NewPtrJoinGroupRequest()
	request.Version, request.Group, request.MemberID, request.InstanceID = 9, "g", m.id, nullable(m.instance)
	request.SessionTimeoutMillis, request.RebalanceTimeoutMillis, request.ProtocolType = 10_000, 60_000, "consumer"
	subscription := kmsg.NewConsumerMemberMetadata()
	subscription.Topics = []string{"orders"}
	request.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: subscription.AppendTo(nil)}}
	return request
}

func (w *world) syncRequest(m membership, assignments map[string][]byte) *kmsg.SyncGroupRequest {
	request := kmsg.NewPtrSyncGroupRequest()
	request.Version, request.Group, request.MemberID, request.InstanceID, request.Generation = 5, "g", m.id, nullable(m.instance), m.generation
	protocolType, protocol := "consumer", "range"
	request.ProtocolType, request.Protocol = &protocolType, &protocol
	for id, assignment := range assignments {
		request.GroupAssignment = append(request.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: id, MemberAssignment: assignment})
	}
	return request
}

// join makes a stable group "g" of one member.
func (w *world) join(m membership) membership {
	w.t.Helper()
	response := w.ask(w.leader, w.joinRequest(m)).(*kmsg.JoinGroupResponse)
	if response.ErrorCode == kerr.MemberIDRequired.Code {
		m.id = response.MemberID
		response = w.ask(w.leader, w.joinRequest(m)).(*kmsg.JoinGroupResponse)
	}
	if response.ErrorCode != 0 {
		w.t.Fatalf("join: error %d", response.ErrorCode)
	}
	m.id, m.generation = response.MemberID, response.Generation
	assignment := kmsg.NewConsumerMemberAssignment()
	assignment.Topics = []kmsg.ConsumerMemberAssignmentTopic{{Topic: "orders", Partitions: []int32{0, 1, 2}}}
	sync := w.ask(w.leader, w.syncRequest(m, map[string][]byte{m.id: assignment.AppendTo(nil)})).(*kmsg.SyncGroupResponse)
	if sync.ErrorCode != 0 {
		w.t.Fatalf("sync: error %d", sync.ErrorCode)
	}
	return m
}

func (w *world) heartbeat(m membership) int16 {
	w.t.Helper()
	request := kmsg.NewPtrHeartbeatRequest()
	request.Version, request.Group, request.MemberID, request.InstanceID, request.Generation = 4, "g", m.id, nullable(m.instance), m.generation
	return w.ask(w.leader, request).(*kmsg.HeartbeatResponse).ErrorCode
}

func (w *world) commitRequest(m membership, topic string, partition int32, offset int64) *kmsg.OffsetCommitRequest {
	request := kmsg.NewPtrOffsetCommitRequest()
	request.Version, request.Group, request.MemberID, request.InstanceID, request.Generation = 9, "g", m.id, nullable(m.instance), m.generation
	note := "note"
	request.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{
		{Partition: partition, Offset: offset, LeaderEpoch: 7, Metadata: &note},
	}}}
	return request
}

func (w *world) commit(m membership, topic string, partition int32, offset int64) int16 {
	w.t.Helper()
	response := w.ask(w.leader, w.commitRequest(m, topic, partition, offset)).(*kmsg.OffsetCommitResponse)
	return response.Topics[0].Partitions[0].ErrorCode
}

func (w *world) fetch(group string, version int16, partitions ...int32) *kmsg.OffsetFetchResponse {
	w.t.Helper()
	request := kmsg.NewPtrOffsetFetchRequest()
	request.Version, request.Group = version, group
	if len(partitions) > 0 {
		request.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "orders", Partitions: partitions}}
	}
	if version >= 8 {
		asked := kmsg.NewOffsetFetchRequestGroup()
		asked.Group = group
		for _, topic := range request.Topics {
			asked.Topics = append(asked.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: topic.Topic, Partitions: topic.Partitions})
		}
		request.Groups = []kmsg.OffsetFetchRequestGroup{asked}
	}
	return w.ask(w.leader, request).(*kmsg.OffsetFetchResponse)
}

func (w *world) describe() kmsg.DescribeGroupsResponseGroup {
	w.t.Helper()
	request := kmsg.NewPtrDescribeGroupsRequest()
	request.Version, request.Groups = 5, []string{"g"}
	return w.ask(w.leader, request).(*kmsg.DescribeGroupsResponse).Groups[0]
}
