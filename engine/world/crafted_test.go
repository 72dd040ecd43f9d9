package world_test

import (
	"time"

	"twinlog/engine/trace"
)

// run collects records as a hub would hand them over.
type run struct {
	records []trace.Record
	seq     map[string]uint64
}

func (r *run) at(node string, events ...trace.Event) {
	if r.seq == nil {
		r.seq = map[string]uint64{}
	}
	for _, event := range events {
		r.seq[node]++
		at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC).Add(time.Duration(len(r.records)) * 20 * time.Millisecond)
		r.records = append(r.records, trace.Record{Run: "crafted", Node: node, Seq: r.seq[node], At: at, Kind: event.Kind(), Data: event})
	}
}

// everywhere: each server of the ensemble applies the same change and says so.
func (r *run) everywhere(events ...trace.Event) {
	for _, node := range []string{"ensemble-1", "ensemble-3", "ensemble-2"} {
		r.at(node, events...)
	}
}

// crafted is a run that was written by hand so that every event occurs at least once, with the orders that reducers get wrong: late
// reports, old epochs, deletions, deaths.
func crafted() []trace.Record {
	var r run
	start := func(name, role string, id int, addresses map[string]string) {
		r.at(name, trace.NodeStarted{Role: role, ID: id, Addresses: addresses})
	}
	for i, name := range []string{"ensemble-1", "ensemble-2", "ensemble-3"} {
		start(name, "ensemble", i+1, map[string]string{"zookeeper": "127.0.0.1:" + []string{"2181", "2182", "2183"}[i]})
		r.at(name, trace.EnsembleRoleChanged{Term: 0, Role: "follower"})
	}
	r.at("ensemble-1", trace.EnsembleRoleChanged{Term: 1, Role: "candidate"}, trace.EnsembleVoteCast{Term: 1, For: "ensemble-1"})
	r.at("ensemble-2", trace.EnsembleVoteCast{Term: 1, For: "ensemble-1"}, trace.EnsembleRoleChanged{Term: 1, Role: "follower"})
	r.at("ensemble-1", trace.EnsembleRoleChanged{Term: 1, Role: "leader", Leader: "ensemble-1"}, trace.NodeReady{})
	r.at("ensemble-2", trace.EnsembleRoleChanged{Term: 1, Role: "follower", Leader: "ensemble-1"}, trace.NodeReady{})
	r.at("ensemble-3", trace.EnsembleRoleChanged{Term: 1, Role: "follower", Leader: "ensemble-1"}, trace.NodeReady{})
	r.at("ensemble-2", trace.EnsembleLogAppended{Term: 1, FirstIndex: 1, LastIndex: 3}, trace.EnsembleLogAppended{Term: 2, FirstIndex: 4, LastIndex: 6, Folded: 2})
	r.at("ensemble-1", trace.EnsembleLogAppended{Term: 1, FirstIndex: 1, LastIndex: 1}, trace.EnsembleCommitAdvanced{Term: 1, Index: 1})
	// Entries 3 to 6 were never committed: a later leader has others there.
	r.at("ensemble-2", trace.EnsembleLogAppended{Term: 3, FirstIndex: 3, LastIndex: 3}, trace.EnsembleLogAppended{Term: 3, FirstIndex: 4, LastIndex: 5})
	r.kafka(start)
	r.pulsar(start)
	r.deaths()
	r.at("kafka-1", trace.LatencyMeasured{Operation: "produce", Buckets: []trace.LatencyBucket{{UpToMicros: 841, Count: 12}, {UpToMicros: 6728, Count: 1}}})
	r.at("kafka-2", trace.UnsyncedLost{Bytes: 4096, Files: 1})
	start("bookie-9", "bookie", 9, map[string]string{"bookie": "127.0.0.1:3189"})
	r.at("bookie-9", trace.DiskChanged{DelayMS: 20, FailSync: true}, trace.DiskCorrupted{File: "entries/0.log", Offset: 77, Bit: 3},
		trace.DamageFound{File: "entries/0.log", Position: 40, Reason: "its checksum is wrong"}, trace.DiskChanged{},
		trace.DiskChanged{Full: true}, trace.NodeStopped{Reason: "stopped"}, trace.NodeRemoved{}, trace.DiskChanged{})
	start("kafka-8", "kafka", 8, nil)
	r.at("kafka-8", trace.DiskChanged{Full: true})
	r.fullBookies()
	r.autorecovery()
	r.offload()
	return r.records
}

// offload: a ledger goes to the medium and leaves the bookies, another is trimmed with both copies, one breaks off when its broker dies,
// one fails, and a broker finds ledgers that nobody has seen come about.
func (r *run) offload() {
	const topic, managed = "persistent://public/default/archive", "public/default/persistent/archive"
	bookies := []string{"127.0.0.1:3181", "127.0.0.1:3182"}
	object := func(ledger string) string { return managed + "/7d444840-9dc0-41d1-b245-5ffdce74fad2-ledger-" + ledger }
	for id := int64(101); id <= 106; id++ {
		r.at("pulsar-1", trace.LedgerOpened{Ledger: id, Ensemble: bookies, WriteQuorum: 2, AckQuorum: 2, ManagedLedger: managed})
		r.at("bookie-1", trace.EntryStored{Ledger: id, Entry: 9, Bytes: 900, Folded: 10})
		r.at("pulsar-1", trace.LedgerClosed{Ledger: id, LastEntry: 9, Length: 900})
	}
	loaded := trace.PulsarTopicLoaded{Topic: topic, Namespace: "public/default", Bundle: "0x00000000_0x80000000", Hash: 78, Ledgers: []int64{101, 102, 103, 104, 105, 106}}
	r.at("pulsar-1", loaded)
	started := func(id int64) trace.PulsarLedgerOffloadStarted {
		return trace.PulsarLedgerOffloadStarted{ManagedLedger: managed, Ledger: id, Medium: "filesystem"}
	}
	whole := func(id int64, name string) trace.PulsarLedgerOffloaded {
		return trace.PulsarLedgerOffloaded{ManagedLedger: managed, Ledger: id, Entries: 10, Bytes: 1150, Medium: "filesystem", Object: object(name)}
	}
	left := func(id int64) trace.PulsarLedgerDeletedFromBookies {
		return trace.PulsarLedgerDeletedFromBookies{ManagedLedger: managed, Ledger: id, Medium: "filesystem"}
	}
	r.at("bookie-2", trace.LedgerFenced{Ledger: 101}, trace.LedgerUnderReplicated{Ledger: 101, Missing: []string{bookies[1]}})
	r.at("pulsar-1", started(101), whole(101, "101"), started(102), whole(102, "102"), started(103),
		trace.PulsarLedgerOffloadFailed{ManagedLedger: managed, Ledger: 103, Detail: "the medium is full"},
		trace.LedgerDeleted{Ledger: 101}, left(101), left(104), left(999), // 104 is not offloaded: says nothing
		trace.LedgerDeleted{Ledger: 102}, trace.PulsarOffloadedLedgerDeleted{ManagedLedger: managed, Ledger: 102}, // trimmed
		started(104), started(105), whole(105, "105"), started(999), whole(999, "999"),
		trace.PulsarOffloadedLedgerDeleted{ManagedLedger: managed, Ledger: 999}, trace.NodeStopped{Reason: "killed"})
	loaded.Ledgers = []int64{90, 91, 101, 103, 104, 105, 106}
	loaded.Offloaded = []trace.PulsarOffloadedLedger{
		{ManagedLedger: managed, Ledger: 90, Entries: 10, Bytes: 900, Medium: "S3", Object: object("90")},
		{ManagedLedger: managed, Ledger: 91, Entries: 10, Bytes: 900, Medium: "S3", Object: object("91"), DeletedFromBookies: true},
		{ManagedLedger: managed, Ledger: 101, Entries: 10, Bytes: 900, Medium: "filesystem", Object: object("101"), DeletedFromBookies: true},
		{ManagedLedger: managed, Ledger: 105, Entries: 10, Bytes: 900, Medium: "filesystem", Object: object("105"), DeletedFromBookies: true},
	}
	r.at("pulsar-2", loaded, trace.LedgerMetadataRead{Ledger: 90, State: "closed", Ensembles: []trace.LedgerEnsemble{{Bookies: bookies}}, LastEntry: 9, ManagedLedger: managed},
		started(106), whole(106, "106"))
	r.at("pulsar-1", trace.PulsarLedgerOffloadFailed{ManagedLedger: managed, Ledger: 106, Detail: "owned by somebody else now"}) // a zombie's
	r.at("pulsar-2", trace.PulsarLedgerOffloadFailed{ManagedLedger: managed, Ledger: 90, Detail: "the object is damaged"})
}

// autorecovery: copies are made, and cannot be made; a worker and the auditor die; marks of ledgers that nobody knows.
func (r *run) autorecovery() {
	const first, second, third = "127.0.0.1:3181", "127.0.0.1:3182", "127.0.0.1:3183"
	r.at("bookie-1", trace.AuditorElected{Bookie: first}, trace.LedgerUnderReplicated{Ledger: 9, Missing: []string{third}},
		trace.LedgerUnderReplicated{Ledger: 9, Missing: []string{third, second}}, trace.LedgerUnderReplicated{Ledger: 3, Missing: []string{second}},
		trace.LedgerUnderReplicated{Ledger: 77, Missing: []string{second}},
		trace.ReplicationPostponed{Ledger: 3, Reason: "open", Detail: "its writer has time"})
	started := trace.ReplicationStarted{Ledger: 9, FirstEntry: 3, LastEntry: 5, Lost: []string{third}, Replacements: []string{first}}
	r.at("bookie-2", started, trace.ReplicationStarted{Ledger: 77, FirstEntry: 0, LastEntry: 1, Lost: []string{second}, Replacements: []string{first}},
		trace.NodeStopped{Reason: "killed"})
	r.at("bookie-4", started)
	r.at("bookie-1", trace.EntryStored{Ledger: 9, Entry: 5, Bytes: 100, Recovery: true})
	r.at("bookie-4", trace.FragmentReplicated{Ledger: 9, FirstEntry: 3, LastEntry: 5, Ensemble: []string{second, first}, Lost: []string{third},
		Replacements: []string{first}, Entries: 2, Bytes: 200},
		trace.ReplicationPostponed{Ledger: 9, Reason: "noCopy", Detail: "entry 0"},
		trace.FragmentReplicated{Ledger: 77, FirstEntry: 0, LastEntry: 1, Ensemble: []string{first}, Lost: []string{second}, Replacements: []string{first}},
		trace.ReplicationPostponed{Ledger: 77, Reason: "noBookie"}, trace.LedgerReplicated{Ledger: 77},
		trace.FragmentReplicated{Ledger: 1, FirstEntry: 2, LastEntry: 2, Ensemble: []string{first, third}, Lost: []string{second}, Replacements: []string{third}},
		trace.LedgerReplicated{Ledger: 3})
	r.at("bookie-1", trace.NodeStopped{Reason: "killed"})
	r.at("bookie-4", trace.AuditorElected{Bookie: "127.0.0.1:3184"})
}

// fullBookies: one goes read-only and takes adds again, one comes back read-only and its session expires, of one nothing is known yet.
func (r *run) fullBookies() {
	const first, second = "127.0.0.1:3181", "127.0.0.1:3182"
	r.at("bookie-1", trace.DiskChanged{Full: true}, trace.BookieModeChanged{ReadOnly: true, Reason: "diskFull"})
	r.everywhere(trace.ZnodeCreated{Path: "/ledgers/available/readonly/" + first, Mode: "ephemeral", Session: "0x1003", Zxid: 120},
		trace.ZnodeDeleted{Path: "/ledgers/available/" + first, Session: "0x1003", Zxid: 121})
	r.at("bookie-1", trace.BookieRegistered{Bookie: first, ReadOnly: true}, trace.DiskChanged{}, trace.BookieModeChanged{Reason: "diskHasRoom"})
	r.everywhere(trace.ZnodeCreated{Path: "/ledgers/available/" + first, Mode: "ephemeral", Session: "0x1003", Zxid: 122},
		trace.ZnodeDeleted{Path: "/ledgers/available/readonly/" + first, Session: "0x1003", Zxid: 123})
	r.at("bookie-1", trace.BookieRegistered{Bookie: first})
	r.everywhere(trace.ZnodeCreated{Path: "/ledgers/available/readonly/" + second, Mode: "ephemeral", Session: "0x1004", Zxid: 124})
	r.at("bookie-2", trace.BookieRegistered{Bookie: second, ReadOnly: true})
	r.everywhere(trace.SessionEnded{Session: "0x1004", Expired: true, Zxid: 125},
		trace.ZnodeDeleted{Path: "/ledgers/available/readonly/" + second, Session: "0x1004", Zxid: 125})
	r.at("bookie-8", trace.BookieModeChanged{ReadOnly: true, Reason: "diskFull"})
}

func (r *run) kafka(start func(name, role string, id int, addresses map[string]string)) {
	partition := trace.KafkaPartition{Topic: "orders", Partition: 0}
	second := trace.KafkaPartition{Topic: "orders", Partition: 1}
	for i, name := range []string{"kafka-1", "kafka-2"} {
		id, zxid := int32(i+1), int64(10*(i+1))
		session := []string{"0x1001", "0x1002"}[i]
		start(name, "kafka", i+1, map[string]string{"kafka": "127.0.0.1:909" + []string{"2", "3"}[i]})
		r.everywhere(trace.SessionCreated{Session: session, TimeoutMS: 6000, Zxid: zxid})
		r.at("ensemble-2", trace.SessionConnected{Session: session, Client: name, Address: "127.0.0.1:5000" + []string{"1", "2"}[i]})
		r.everywhere(trace.ZnodeCreated{Path: "/brokers/ids/" + []string{"1", "2"}[i], Mode: "ephemeral", Session: session,
			Data: `{"host":"127.0.0.1"}`, Bytes: 20, Zxid: zxid + 1})
		r.at(name, trace.KafkaBrokerRegistered{Broker: id, Epoch: zxid + 1, Host: "127.0.0.1", Port: 9092 + int32(i)}, trace.NodeReady{})
	}
	r.everywhere(trace.ZnodeCreated{Path: "/controller", Mode: "ephemeral", Session: "0x1001", Data: `{"brokerid":1}`, Bytes: 14, Zxid: 30},
		trace.ZnodeCreated{Path: "/controller_epoch", Mode: "persistent", Data: "1", Bytes: 1, Zxid: 30})
	r.at("kafka-1", trace.KafkaControllerElected{Broker: 1, Epoch: 1})
	r.at("ensemble-2", trace.WatchSet{Session: "0x1002", Path: "/controller", Type: "exists"},
		trace.WatchSet{Session: "0x1002", Path: "/controller", Type: "data"},
		trace.WatchSet{Session: "0x1001", Path: "/brokers/ids", Type: "children"})
	r.at("kafka-1", trace.KafkaTopicCreated{Topic: "orders", TopicID: "AAAA", Replicas: [][]int32{{1, 2}, {2, 1}},
		Config: map[string]string{"min.insync.replicas": "1"}},
		trace.KafkaPartitionStateChanged{KafkaPartition: partition, Leader: 1, ISR: []int32{1, 2}, Replicas: []int32{1, 2}, ControllerEpoch: 1, Reason: "created"},
		trace.KafkaPartitionStateChanged{KafkaPartition: second, Leader: 2, ISR: []int32{2, 1}, Replicas: []int32{2, 1}, ControllerEpoch: 1, Reason: "created"},
		trace.KafkaReplicaRoleChanged{KafkaPartition: partition, Role: "leader", Leader: 1},
		trace.KafkaReplicaRoleChanged{KafkaPartition: second, Role: "follower", Leader: 2})
	r.at("kafka-2", trace.KafkaReplicaRoleChanged{KafkaPartition: partition, Role: "follower", Leader: 1},
		trace.KafkaReplicaRoleChanged{KafkaPartition: second, Role: "leader", Leader: 2})
	message := trace.Message{Exchange: trace.Exchange{Connection: "127.0.0.1:60000>127.0.0.1:9092", Correlation: 7}, From: "client", To: "kafka-1",
		Protocol: "kafka", Name: "Produce", Bytes: 900, Subject: "orders-0", Offset: -1, Count: 5}
	r.at("kafka-1", trace.MessageReceived{Message: message},
		trace.KafkaAppended{KafkaPartition: partition, Role: "leader", LEO: 5, Bytes: 700, Records: 5},
		trace.KafkaRequestDelayed{API: "Produce", Subject: "orders-0", Exchange: message.Exchange, Waiting: 1})
	r.at("kafka-2", trace.KafkaAppended{KafkaPartition: partition, Role: "follower", LEO: 5, Bytes: 700, Records: 5})
	r.at("kafka-1", trace.KafkaFollowerFetched{KafkaPartition: partition, Replica: 2, LEO: 5},
		trace.KafkaHighWatermarkAdvanced{KafkaPartition: partition, Role: "leader", HighWatermark: 5},
		trace.KafkaAcknowledged{KafkaPartition: partition, Acks: -1, BaseOffset: 0, LastOffset: 4},
		trace.KafkaAcknowledged{KafkaPartition: partition, Acks: 1, BaseOffset: 0, LastOffset: 3})
	r.at("kafka-2", trace.KafkaHighWatermarkAdvanced{KafkaPartition: partition, Role: "follower", HighWatermark: 5})
	member := trace.KafkaGroupMember{ID: "m-1", ClientID: "student", Assigned: []trace.KafkaPartition{second, partition}}
	r.at("kafka-2", trace.KafkaGroupChanged{Group: "g", State: "PreparingRebalance", Generation: 0, Reason: "a member joined"},
		trace.KafkaGroupChanged{Group: "g", State: "Stable", Generation: 1, Strategy: "range", Leader: "m-1", Members: []trace.KafkaGroupMember{member}},
		trace.KafkaOffsetCommitted{KafkaPartition: partition, Group: "g", Offset: 4})
	r.at("kafka-2", trace.KafkaGroupChanged{Group: "g", State: "PreparingRebalance", Generation: 1, Leader: "m-1", Pending: 1,
		Members: []trace.KafkaGroupMember{{ID: "m-1", ClientID: "student", Joined: true}, {ID: "m-2", InstanceID: "seat-7", ClientID: "other"}}},
		trace.KafkaGroupChanged{Group: "g", State: "Stable", Generation: 2, Strategy: "range", Leader: "m-1", Members: []trace.KafkaGroupMember{member}})
	r.at("kafka-1", trace.KafkaReactorMeasured{Connections: 4, Queued: 2, QueueLimit: 500, Busy: 8, Handlers: 8, Produces: 1, Fetches: 1, ReplicaFetch: 1, Others: 1,
		Waits: []trace.KafkaWait{
			{API: "Produce", Client: "student", Partition: "orders-0", Partitions: 2, Offset: 5, Since: time.Date(2026, 1, 1, 0, 0, 0, 120_500_000, time.UTC), TimeoutMS: 30_000},
			{API: "Fetch", Client: "kafka-2", Partition: "orders-0", Partitions: 1, Offset: 5, MinBytes: 1, TimeoutMS: 500}}},
		trace.KafkaLogShapeChanged{KafkaPartition: partition, Segments: []trace.KafkaSegment{{Base: 0, Bytes: 512}, {Base: 3, Bytes: 188}}, SegmentCount: 2,
			Epochs: []trace.KafkaEpochStart{{Epoch: 0}, {Epoch: 1, Start: 4}}},
		trace.KafkaLogShapeChanged{KafkaPartition: trace.KafkaPartition{Topic: "unknown"}},
		trace.KafkaProduceRefused{KafkaPartition: partition, Error: "NOT_ENOUGH_REPLICAS", Acks: -1, ISR: 1, MinISR: 2, Folded: 3},
		trace.KafkaProduceRefused{KafkaPartition: partition, Error: "NOT_ENOUGH_REPLICAS", Acks: -1, ISR: 1, MinISR: 2},
		trace.KafkaProduceRefused{KafkaPartition: trace.KafkaPartition{Topic: "unknown"}, Error: "UNKNOWN_TOPIC_OR_PARTITION", Acks: 1})
	r.at("kafka-2", trace.KafkaReactorMeasured{Handlers: 8, QueueLimit: 500})
	r.at("kafka-1", trace.KafkaISRChanged{KafkaPartition: partition, ISR: []int32{1}, Removed: []int32{2}, PartitionEpoch: 1},
		// The controller's older report arrives late and changes nothing.
		trace.KafkaPartitionStateChanged{KafkaPartition: partition, Leader: 1, ISR: []int32{1, 2}, Replicas: []int32{1, 2}, ControllerEpoch: 1, Reason: "created"},
		trace.KafkaLogStartAdvanced{KafkaPartition: partition, LogStart: 2},
		trace.KafkaTopicCreated{Topic: "gone", TopicID: "BBBB", Replicas: [][]int32{{1}}},
		trace.KafkaReplicaRoleChanged{KafkaPartition: trace.KafkaPartition{Topic: "gone"}, Role: "leader", Leader: 1})
	r.at("kafka-2", trace.KafkaOffsetCommitted{KafkaPartition: trace.KafkaPartition{Topic: "gone"}, Group: "g", Offset: 1})
	r.at("kafka-1", trace.KafkaReplicaRoleChanged{KafkaPartition: trace.KafkaPartition{Topic: "gone"}, Role: "deleted"},
		trace.KafkaTopicDeleted{Topic: "gone"},
		trace.KafkaAppended{KafkaPartition: trace.KafkaPartition{Topic: "gone"}, LEO: 1})
}

func (r *run) pulsar(start func(name, role string, id int, addresses map[string]string)) {
	const topic, namespace = "persistent://public/default/orders", "public/default"
	bookies := []string{"127.0.0.1:3181", "127.0.0.1:3182", "127.0.0.1:3183"}
	for i, bookie := range bookies {
		name := "bookie-" + []string{"1", "2", "3"}[i]
		start(name, "bookie", i+1, map[string]string{"bookie": bookie})
		r.everywhere(trace.ZnodeCreated{Path: "/ledgers/available/" + bookie, Mode: "ephemeral", Session: "0x100" + []string{"3", "4", "5"}[i], Zxid: int64(40 + i)})
		r.at(name, trace.BookieRegistered{Bookie: bookie}, trace.NodeReady{})
	}
	for i, name := range []string{"pulsar-1", "pulsar-2"} {
		http := "127.0.0.1:808" + []string{"0", "1"}[i]
		start(name, "pulsar", i+1, map[string]string{"http": http})
		session := "0x100" + []string{"6", "7"}[i]
		r.everywhere(trace.SessionCreated{Session: session, TimeoutMS: 6000, Zxid: int64(50 + 10*i)},
			trace.ZnodeCreated{Path: "/loadbalance/brokers/" + http, Mode: "ephemeral", Session: session, Zxid: int64(51 + 10*i)})
		r.at(name, trace.PulsarBrokerRegistered{Broker: http, URL: "pulsar://127.0.0.1:665" + []string{"0", "1"}[i]}, trace.NodeReady{})
	}
	r.everywhere(trace.ZnodeCreated{Path: "/loadbalance/leader", Mode: "ephemeral", Session: "0x1006", Zxid: 70},
		trace.ZnodeCreated{Path: "/admin/policies/public/default", Mode: "persistent", Zxid: 71},
		trace.ZnodeChanged{Path: "/admin/policies/public/default", Data: "{}", Bytes: 2, Version: 1, Zxid: 72},
		trace.ZnodeCreated{Path: "/namespace/public/default/0x00000000_0x80000000", Mode: "ephemeral", Session: "0x1006", Zxid: 73},
		trace.ZnodeCreated{Path: "/namespace/public/default/0x80000000_0xffffffff", Mode: "ephemeral", Session: "0x1007", Zxid: 74})
	r.at("pulsar-1", trace.PulsarLeaderElected{Broker: "127.0.0.1:8080"},
		trace.PulsarBundleOwned{Namespace: namespace, Bundle: "0x00000000_0x80000000"})
	r.at("pulsar-2", trace.PulsarBundleOwned{Namespace: namespace, Bundle: "0x80000000_0xffffffff"})
	lookup := trace.PulsarLookupAnswered{Topic: topic, Namespace: namespace, Bundle: "0x00000000_0x80000000", Hash: 77, Transport: "tcp"}
	redirect, connect := lookup, lookup
	redirect.Result, redirect.URL, redirect.Authoritative = "redirect", "pulsar://127.0.0.1:6650", true
	connect.Result, connect.URL, connect.Authoritative, connect.Asked = "connect", "pulsar://127.0.0.1:6650", true, true
	for range 9 { // more than the state remembers
		r.at("pulsar-2", redirect)
		r.at("pulsar-1", connect)
	}
	lookup.Result, lookup.Bundle = "failed", ""
	r.at("pulsar-2", lookup)
	r.at("pulsar-1",
		trace.PulsarBrokerMeasured{RateIn: 40, RateOut: 38, BytesIn: 4000, BytesOut: 3800, Connections: 3, CacheBytes: 1200, CacheLimit: 1 << 20, CacheHits: 9, CacheMisses: 2},
		trace.LedgerOpened{Ledger: 1, Ensemble: bookies, WriteQuorum: 2, AckQuorum: 2, ManagedLedger: "public/default/persistent/orders"},
		trace.PulsarTopicLoaded{Topic: topic, Namespace: namespace, Bundle: "0x00000000_0x80000000", Hash: 77, Ledgers: []int64{1}},
		trace.LedgerOpened{Ledger: 2, Ensemble: bookies, WriteQuorum: 2, AckQuorum: 2, ManagedLedger: "public/default/persistent/orders", Cursor: "sub"},
		trace.PulsarProducerAttached{Topic: topic, Producer: "p-1", Client: "127.0.0.1:60010"},
		trace.PulsarConsumerAttached{Topic: topic, Subscription: "sub", Type: "Failover", Consumer: "1", Name: "c-1", Client: "127.0.0.1:60011"},
		trace.PulsarActiveConsumerChanged{Topic: topic, Subscription: "sub", Consumer: "1"})
	r.at("bookie-1", trace.EntryStored{Ledger: 1, Entry: 0, Bytes: 120})
	r.at("bookie-2", trace.EntryStored{Ledger: 1, Entry: 1, Bytes: 240, Folded: 2})
	r.at("pulsar-1", trace.LastAddConfirmedAdvanced{Ledger: 1, LastAddConfirmed: 1},
		trace.PulsarPublished{Topic: topic, Ledger: 1, Entry: 1, Messages: 4, Bytes: 240, Folded: 2},
		trace.PulsarDispatched{Topic: topic, Subscription: "sub", Consumer: "1", Ledger: 1, Entry: 1, Messages: 4, FromCache: true, Folded: 2},
		trace.PulsarCursorMoved{Topic: topic, Subscription: "sub", Ledger: 1, Entry: 0, Backlog: 1},
		trace.PulsarSubscriptionMeasured{Topic: topic, Subscription: "sub", Ledger: 1, Entry: 0, ReadLedger: 1, ReadEntry: 9, Backlog: 7,
			Acknowledged: []trace.PulsarEntryRange{{Ledger: 1, First: 3, Last: 4}, {Ledger: 1, First: 7, Last: 7}}, AcknowledgedEntries: 3,
			Pending: 4, Replay: 1, Delayed: 2, Redelivered: 5,
			Consumers: []trace.PulsarConsumerMeasured{{Consumer: "1", Permits: 990, Unacked: 4}, {Consumer: "gone", Permits: 1}}},
		trace.PulsarSubscriptionMeasured{Topic: "persistent://public/default/unknown", Subscription: "sub"},
		trace.PulsarSubscriptionMeasured{Topic: topic, Subscription: "idle", Ledger: -1, Entry: -1},
		trace.LedgerEnsembleChanged{Ledger: 1, FirstEntry: 2, Ensemble: []string{bookies[0], bookies[1]}, Replaced: []string{bookies[2]}},
		trace.PulsarConsumerAttached{Topic: topic, Subscription: "short", Type: "Shared", Consumer: "2", Name: "c-2", Client: "127.0.0.1:60012"},
		trace.PulsarConsumerDetached{Topic: topic, Subscription: "short", Consumer: "2"},
		trace.PulsarSubscriptionDeleted{Topic: topic, Subscription: "short"},
		trace.PulsarTopicLoaded{Topic: "persistent://public/default/old", Namespace: namespace, Bundle: "0x00000000_0x80000000"},
		trace.PulsarTopicUnloaded{Topic: "persistent://public/default/old", Reason: "idle"},
		trace.PulsarTopicDeleted{Topic: "persistent://public/default/old"},
		trace.LedgerDeleted{Ledger: 2},
		trace.PulsarProducerDetached{Topic: topic, Producer: "p-1"},
		trace.PulsarBundleReleased{Namespace: namespace, Bundle: "0x80000000_0xffffffff", Reason: "unload"}) // not its own: says nothing
	r.at("pulsar-2", trace.PulsarBundleReleased{Namespace: namespace, Bundle: "0x80000000_0xffffffff", Reason: "split"},
		trace.PulsarBundleOwned{Namespace: namespace, Bundle: "0x80000000_0xc0000000"},
		trace.PulsarBundleOwned{Namespace: namespace, Bundle: "0xc0000000_0xffffffff"})
}

func (r *run) deaths() {
	const topic, namespace = "persistent://public/default/orders", "public/default"
	partition := trace.KafkaPartition{Topic: "orders", Partition: 0}
	r.at("kafka-1", trace.LinkChanged{From: "kafka-1", To: "kafka-2", DelayMS: 50}, trace.LinkChanged{From: "kafka-2", To: "kafka-1", Cut: true},
		trace.LinkChanged{From: "kafka-1", To: "kafka-2"})
	r.at("bookie-3", trace.NodePaused{}, trace.NodeResumed{}, trace.NodePaused{})
	r.at("kafka-1", trace.NodeStopped{Reason: "killed"})
	r.at("pulsar-1", trace.NodeStopped{Reason: "killed"})
	r.at("ensemble-2", trace.SessionDisconnected{Session: "0x1001", Reason: "connection reset"})
	r.everywhere(trace.SessionEnded{Session: "0x1001", Expired: true, Zxid: 100}, trace.ZnodeDeleted{Path: "/brokers/ids/1", Session: "0x1001", Zxid: 100},
		trace.ZnodeDeleted{Path: "/controller", Session: "0x1001", Zxid: 100})
	r.at("ensemble-2", trace.WatchFired{Session: "0x1002", Path: "/controller", Event: "deleted", Zxid: 100})
	r.everywhere(trace.ZnodeCreated{Path: "/controller", Mode: "ephemeral", Session: "0x1002", Data: `{"brokerid":2}`, Bytes: 14, Zxid: 101})
	r.at("kafka-2", trace.KafkaControllerElected{Broker: 2, Epoch: 2},
		trace.KafkaPartitionStateChanged{KafkaPartition: partition, Leader: -1, LeaderEpoch: 1, ISR: []int32{1}, Replicas: []int32{1, 2}, PartitionEpoch: 2,
			ControllerEpoch: 2, Reason: "replica-offline"},
		trace.KafkaReplicaDamaged{KafkaPartition: partition, Course: "stepsAside", LEO: 5},
		trace.KafkaReplicaDamaged{KafkaPartition: trace.KafkaPartition{Topic: "nowhere"}, Course: "stepsAside", LEO: -1},
		trace.KafkaTruncated{KafkaPartition: partition, From: 5, To: 4, LeaderEpoch: 1},
		trace.KafkaReplicaDamaged{KafkaPartition: partition, Course: "beginsAnew", LEO: 4},
		trace.KafkaControllerResigned{Broker: 2, Epoch: 2, Reason: "session expired"},
		trace.KafkaControllerElected{Broker: 2, Epoch: 3},
		trace.KafkaControllerRefused{Controller: 1, Epoch: 1, Newest: 3, API: "LeaderAndISR"})
	r.at("kafka-7", trace.KafkaControllerRefused{Controller: 1, Epoch: 1, Newest: 3, API: "UpdateMetadata"}) // it has not registered yet
	r.everywhere(trace.SessionEnded{Session: "0x1006", Expired: true, Zxid: 110}, trace.ZnodeDeleted{Path: "/loadbalance/brokers/127.0.0.1:8080", Zxid: 110},
		trace.ZnodeDeleted{Path: "/loadbalance/leader", Zxid: 110}, trace.ZnodeDeleted{Path: "/namespace/public/default/0x00000000_0x80000000", Zxid: 110})
	r.at("pulsar-2", trace.PulsarBundleOwned{Namespace: namespace, Bundle: "0x00000000_0x80000000"}, trace.LedgerRecoveryStarted{Ledger: 1})
	r.at("bookie-1", trace.LedgerFenced{Ledger: 1})
	r.at("bookie-2", trace.LedgerFenced{Ledger: 1})
	r.at("pulsar-2", trace.LedgerClosed{Ledger: 1, LastEntry: 1, Length: 240, Recovered: true},
		trace.LedgerOpened{Ledger: 3, Ensemble: []string{"127.0.0.1:3182", "127.0.0.1:3181"}, WriteQuorum: 2, AckQuorum: 2, ManagedLedger: "public/default/persistent/orders"},
		trace.PulsarTopicLoaded{Topic: topic, Namespace: namespace, Bundle: "0x00000000_0x80000000", Hash: 77, Ledgers: []int64{1, 3}},
		trace.PulsarCursorMoved{Topic: topic, Subscription: "sub", Ledger: 1, Entry: 0, Backlog: 1})
	r.at("pulsar-2", trace.LedgerMetadataRead{Ledger: 9, State: "closed", WriteQuorum: 2, AckQuorum: 2, LastEntry: 5, Length: 600,
		Ensembles:     []trace.LedgerEnsemble{{FirstEntry: 0, Bookies: []string{"127.0.0.1:3181", "127.0.0.1:3182"}}, {FirstEntry: 3, Bookies: []string{"127.0.0.1:3182", "127.0.0.1:3183"}}},
		ManagedLedger: "public/default/persistent/older"},
		trace.LedgerMetadataRead{Ledger: 1, State: "open", WriteQuorum: 1, AckQuorum: 1, LastEntry: -1}) // known: says nothing new
	r.at("kafka-2", trace.KafkaGroupChanged{Group: "g", State: "Dead", Generation: 2})
	r.at("ensemble-1", trace.RecordsDropped{Count: 12}, trace.NodeStopped{Reason: "failed", Detail: "disk full"})
	r.at("ensemble-3", trace.EnsembleRoleChanged{Term: 2, Role: "leader", Leader: "ensemble-3"}, trace.EnsembleCommitAdvanced{Term: 2, Index: 90, Zxid: 1 << 33, Folded: 3})
	r.at("kafka-1", trace.NodeStarted{Role: "kafka", ID: 1, Addresses: map[string]string{"kafka": "127.0.0.1:9092"}})
}
