package world

// State is what a trace tells about the classroom at one instant. Every map and slice is present, empty when there is nothing; map
// keys are strings, so that encoding/json writes them in sorted order and equal states have equal bytes.
type State struct {
	// Nodes by name ("kafka-1").
	Nodes map[string]*Node `json:"nodes"`
	// Links that are not healthy, by "from>to".
	Links    map[string]*Link `json:"links"`
	Ensemble Ensemble         `json:"ensemble"`
	Kafka    Kafka            `json:"kafka"`
	Pulsar   Pulsar           `json:"pulsar"`
	// Dropped counts, by node, the records that did not fit its trace buffer: where it is not zero, the picture has a hole.
	Dropped map[string]int64 `json:"dropped"`
}

// Node is one node of the classroom.
type Node struct {
	Role string `json:"role"` // ensemble, kafka, pulsar, bookie, visualizer
	ID   int    `json:"id"`   // the number in its name; a Kafka-mode broker's id
	// State is starting, running, paused, stopped (in order), killed (a crash), failed (its own error) or lost (not reachable).
	State string `json:"state"`
	// Detail is the error of a failed node.
	Detail string `json:"detail"`
	// Addresses by purpose: "zookeeper", "peer", "kafka", "pulsar", "http", "bookie".
	Addresses map[string]string `json:"addresses"`
	// Disk is what is wrong with the node's disk; missing while it is healthy.
	Disk *Disk `json:"disk,omitempty"`
}

// Disk is what is wrong with a node's disk.
type Disk struct {
	DelayMS  int64 `json:"delayMS"`  // more time for each read, write and sync
	Full     bool  `json:"full"`     // writes fail: no space left on device
	FailSync bool  `json:"failSync"` // syncs fail with an input/output error
}

// Link is the rule of one direction between two nodes.
type Link struct {
	From           string `json:"from"`
	To             string `json:"to"`
	Cut            bool   `json:"cut"`
	DelayMS        int64  `json:"delayMS"`
	JitterMS       int64  `json:"jitterMS"`
	BytesPerSecond int64  `json:"bytesPerSecond"` // 0: no limit
}

// Ensemble is the coordination service: who leads it and what it holds.
type Ensemble struct {
	// Leader is the node that leads Term, empty while there is none.
	Leader  string                     `json:"leader"`
	Term    uint64                     `json:"term"`
	Servers map[string]*EnsembleServer `json:"servers"` // by node name
	// Applied is the newest replicated change that the state has taken: the first server to report a change is believed, the
	// others are not taken again.
	Applied Change            `json:"applied"`
	Znodes  map[string]*Znode `json:"znodes"` // by path
	// Sessions by id, hexadecimal ("0x1000...").
	Sessions map[string]*Session `json:"sessions"`
	// Fired is the last watches that servers told sessions about, oldest first, 12 at most.
	Fired []FiredWatch `json:"fired"`
	// Ended is the last sessions that ended, oldest first, 6 at most.
	Ended []EndedSession `json:"ended"`
}

// FiredWatch is a watch that a server told a session about.
type FiredWatch struct {
	Server  string `json:"server"` // node name
	Session string `json:"session"`
	Client  string `json:"client"` // of the session, as it was then
	Path    string `json:"path"`
	Event   string `json:"event"` // created, deleted, dataChanged, childrenChanged
	Zxid    int64  `json:"zxid"`
}

// EndedSession is a session that is over.
type EndedSession struct {
	Session string `json:"session"`
	Client  string `json:"client"`
	Expired bool   `json:"expired"` // false: the client closed it
	Zxid    int64  `json:"zxid"`
	// Ephemerals that were deleted with it, sorted, the first 16 of them.
	Ephemerals []string `json:"ephemerals"`
}

// TermStart is where a term begins in a server's log.
type TermStart struct {
	Term  uint64 `json:"term"`
	Index uint64 `json:"index"` // of its first entry
}

// EnsembleServer is one server of the ensemble as it sees itself.
type EnsembleServer struct {
	Role        string `json:"role"` // follower, candidate, leader; empty when it does not run
	Term        uint64 `json:"term"`
	Leader      string `json:"leader"` // node name, as this server believes; empty when it knows none
	CommitIndex uint64 `json:"commitIndex"`
	Zxid        int64  `json:"zxid"`
	// LastIndex is the last entry of its log, committed or not; Terms tells which term its entries are of, oldest first, 8 at most.
	LastIndex uint64      `json:"lastIndex"`
	Terms     []TermStart `json:"terms"`
	// VotedFor is the node that got this server's vote of VoteTerm.
	VotedFor string `json:"votedFor"`
	VoteTerm uint64 `json:"voteTerm"`
	// Reported is the newest replicated change that this server has reported since it started.
	Reported Change `json:"reported"`
}

// Change is a place in the sequence of replicated changes that every server reports in the same order. A multi and a session's end
// are several changes under one zxid: Parts counts them.
type Change struct {
	Zxid  int64 `json:"zxid"`
	Parts int   `json:"parts"`
}

// Znode is one node of the ensemble's tree.
type Znode struct {
	Mode    string `json:"mode"`    // persistent, ephemeral, container, ttl
	Session string `json:"session"` // owner of an ephemeral, else empty
	Data    string `json:"data"`    // first 512 bytes, as text
	Bytes   int    `json:"bytes"`   // of the whole data
	Version int32  `json:"version"`
	Czxid   int64  `json:"czxid"` // the change that created it
	Mzxid   int64  `json:"mzxid"` // the change that set its data last
}

// Session is one client of the ensemble.
type Session struct {
	TimeoutMS int64  `json:"timeoutMS"`
	Client    string `json:"client"`  // node name where known, else "client"; empty until it is connected
	Address   string `json:"address"` // of the client
	Server    string `json:"server"`  // node that it is connected to; empty while it is not
	// Watches: path to the sorted types of watch (data, exists, children, persistent, recursive) that this session has set there.
	Watches map[string][]string `json:"watches"`
}

// Kafka is the Kafka-mode cluster.
type Kafka struct {
	Controller Controller `json:"controller"`
	// Brokers by id ("1").
	Brokers map[string]*KafkaBroker `json:"brokers"`
	Topics  map[string]*KafkaTopic  `json:"topics"`
	Groups  map[string]*KafkaGroup  `json:"groups"`
	// Reactors by node name: how busy each broker's network layer is.
	Reactors map[string]*KafkaReactor `json:"reactors"`
}

// Controller is the broker that holds /controller.
type Controller struct {
	Broker int32 `json:"broker"` // -1: none
	Epoch  int32 `json:"epoch"`
}

// KafkaBroker is one broker.
type KafkaBroker struct {
	Node string `json:"node"`
	// Registered tells whether its znode under /brokers/ids is there: it outlives a crash until the session expires.
	Registered bool   `json:"registered"`
	Epoch      int64  `json:"epoch"` // the znode's czxid
	Host       string `json:"host"`
	Port       int32  `json:"port"`
	// RefusedControllers counts requests of controllers that a newer one had replaced, which it refused since it registered.
	RefusedControllers int64 `json:"refusedControllers"`
}

// KafkaTopic is a topic and its partitions.
type KafkaTopic struct {
	ID     string            `json:"id"`
	Config map[string]string `json:"config"`
	// Partitions by number ("0").
	Partitions map[string]*KafkaPartition `json:"partitions"`
}

// KafkaPartition is one partition: what the controller decided, and the log of each replica.
type KafkaPartition struct {
	Leader         int32   `json:"leader"` // -1: none
	LeaderEpoch    int32   `json:"leaderEpoch"`
	ISR            []int32 `json:"isr"`
	Replicas       []int32 `json:"replicas"` // preferred leader first
	PartitionEpoch int32   `json:"partitionEpoch"`
	// Logs by broker id.
	Logs map[string]*KafkaLog `json:"logs"`
	// Acknowledged: by the acks of the request ("-1", "1"), the last offset whose producer was told that it is stored; a missing key
	// means none.
	Acknowledged map[string]int64 `json:"acknowledged"`
	// Refused: by the protocol's name of the error, how many produce requests were refused while this state was watching.
	Refused map[string]int64 `json:"refused"`
}

// KafkaLog is one replica's log.
type KafkaLog struct {
	Role string `json:"role"` // leader, follower, offline
	// Damaged: its broker found that it does not hold all that was in it, and waits for a role in which it may begin it anew.
	Damaged       bool  `json:"damaged"`
	LeaderEpoch   int32 `json:"leaderEpoch"`
	LogStart      int64 `json:"logStart"`
	LEO           int64 `json:"leo"`           // offset after the last record
	HighWatermark int64 `json:"highWatermark"` // as this replica knows it
	// FetchedLEO is this follower's log end as its leader knows it from the last fetch.
	FetchedLEO int64 `json:"fetchedLEO"`
	Bytes      int64 `json:"bytes"` // appended while this state was watching
	// Segments, oldest first, the newest 16 of SegmentCount; the last one is the active one.
	Segments     []KafkaSegment `json:"segments"`
	SegmentCount int            `json:"segmentCount"`
	// Epochs: where each leader epoch begins in this log, oldest first, the newest 16 of them.
	Epochs []KafkaEpochStart `json:"epochs"`
}

// KafkaSegment is one file of a log.
type KafkaSegment struct {
	Base  int64 `json:"base"`  // first offset
	Bytes int64 `json:"bytes"` // of the active one: when it was told last
}

// KafkaEpochStart is where a leader epoch begins in a log.
type KafkaEpochStart struct {
	Epoch int32 `json:"epoch"`
	Start int64 `json:"start"`
}

// KafkaReactor is how busy a broker's network layer is, as it measured last.
type KafkaReactor struct {
	Connections int `json:"connections"`
	Queued      int `json:"queued"` // requests in the request queue
	QueueLimit  int `json:"queueLimit"`
	Busy        int `json:"busy"` // handlers at work
	Handlers    int `json:"handlers"`
	// What waits in the purgatory: acks=all for replicas, fetches of consumers and of followers for records, others for the cluster.
	Produces     int `json:"produces"`
	Fetches      int `json:"fetches"`
	ReplicaFetch int `json:"replicaFetch"`
	Others       int `json:"others"`
	// Waits, one by one, 12 at most.
	Waits []KafkaWait `json:"waits"`
}

// KafkaWait is a request in the purgatory.
type KafkaWait struct {
	API        string `json:"api"`
	Client     string `json:"client"`     // the follower that fetches, or the client id
	Partition  string `json:"partition"`  // the first of Partitions; empty when it does not wait for one
	Partitions int    `json:"partitions"` // that it waits for
	Offset     int64  `json:"offset"`     // a produce waits until the high watermark is there, a fetch for a record at it
	MinBytes   int    `json:"minBytes"`   // of a fetch
	Since      string `json:"since"`      // RFC 3339; empty for a fetch, which asks again when its time is up
	TimeoutMS  int64  `json:"timeoutMS"`
}

// KafkaGroup is a consumer group at its coordinator.
type KafkaGroup struct {
	Coordinator int32  `json:"coordinator"` // broker id
	State       string `json:"state"`       // Empty, PreparingRebalance, CompletingRebalance, Stable
	Generation  int32  `json:"generation"`
	Strategy    string `json:"strategy"`
	Leader      string `json:"leader"` // member id
	// Members by member id.
	Members map[string]*KafkaGroupMember `json:"members"`
	// Pending counts the clients that were given a member id and have not joined with it yet.
	Pending int `json:"pending"`
	// Offsets committed, by "topic-partition".
	Offsets map[string]int64 `json:"offsets"`
}

// KafkaGroupMember is one consumer of a group.
type KafkaGroupMember struct {
	InstanceID string `json:"instanceID"`
	ClientID   string `json:"clientID"`
	// Joined: while the group rebalances, its JoinGroup request is there and waits for the other members.
	Joined bool `json:"joined"`
	// Assigned lists "topic-partition" names, sorted.
	Assigned []string `json:"assigned"`
}

// New returns the state before anything happened.
func New() *State {
	return &State{
		Nodes:   map[string]*Node{},
		Links:   map[string]*Link{},
		Dropped: map[string]int64{},
		Ensemble: Ensemble{Servers: map[string]*EnsembleServer{}, Znodes: map[string]*Znode{}, Sessions: map[string]*Session{},
			Fired: []FiredWatch{}, Ended: []EndedSession{}},
		Kafka: Kafka{
			Controller: Controller{Broker: -1},
			Brokers:    map[string]*KafkaBroker{}, Topics: map[string]*KafkaTopic{}, Groups: map[string]*KafkaGroup{},
			Reactors: map[string]*KafkaReactor{},
		},
		Pulsar: Pulsar{
			Brokers: map[string]*PulsarBroker{}, Bundles: map[string]*Bundle{}, Topics: map[string]*PulsarTopic{},
			Ledgers: map[string]*Ledger{}, Bookies: map[string]*Bookie{}, Lookups: []Lookup{},
		},
	}
}
