package world

// Pulsar is the Pulsar-mode cluster: brokers that hold no data, bookies that do.
type Pulsar struct {
	// Leader is the broker (node name) that leads the load management, empty while there is none.
	Leader  string                   `json:"leader"`
	Brokers map[string]*PulsarBroker `json:"brokers"` // by node name
	// Bundles by "tenant/namespace/0x00000000_0x40000000".
	Bundles map[string]*Bundle `json:"bundles"`
	// Topics by full name ("persistent://public/default/orders").
	Topics map[string]*PulsarTopic `json:"topics"`
	// Ledgers by id ("12").
	Ledgers map[string]*Ledger `json:"ledgers"`
	// Bookies by BookKeeper's name for them, host:port.
	Bookies map[string]*Bookie `json:"bookies"`
	// Auditor is the bookie (node name) whose autorecovery marks ledgers that lack copies, empty while there is none.
	Auditor string `json:"auditor"`
	// Lookups is the last answers to the question who serves a topic, oldest first, 16 at most.
	Lookups []Lookup `json:"lookups"`
}

// Lookup is a broker's answer to the question who serves a topic.
type Lookup struct {
	Node      string `json:"node"` // the broker that was asked
	Topic     string `json:"topic"`
	Namespace string `json:"namespace"`
	Bundle    string `json:"bundle"` // the hash range
	Hash      uint32 `json:"hash"`
	Asked     bool   `json:"asked"`  // with authoritative, as a redirect told the client to
	Result    string `json:"result"` // connect, redirect, failed
	// Target is the broker (node name) that the client is sent to, empty when it is not known.
	Target        string `json:"target"`
	Authoritative bool   `json:"authoritative"`
}

// PulsarBroker is one broker.
type PulsarBroker struct {
	// Registered tells whether its znode under /loadbalance/brokers is there.
	Registered bool   `json:"registered"`
	Broker     string `json:"broker"` // host:port of its HTTP service, as Pulsar names it
	URL        string `json:"url"`    // pulsar://host:port
	// Load is what it measured last.
	Load BrokerLoad `json:"load"`
}

// BrokerLoad is what a Pulsar-mode broker measured over a second.
type BrokerLoad struct {
	RateIn      int64 `json:"rateIn"` // messages a second
	RateOut     int64 `json:"rateOut"`
	BytesIn     int64 `json:"bytesIn"` // a second
	BytesOut    int64 `json:"bytesOut"`
	Connections int   `json:"connections"`
	CacheBytes  int64 `json:"cacheBytes"` // held outside the heap
	CacheLimit  int64 `json:"cacheLimit"`
	CacheHits   int64 `json:"cacheHits"`   // entries read from the cache since the broker started
	CacheMisses int64 `json:"cacheMisses"` // entries read from bookies
}

// Bundle is a range of a namespace's hash space and who owns it.
type Bundle struct {
	Namespace string `json:"namespace"`
	Range     string `json:"range"` // 0x00000000_0x40000000
	Owner     string `json:"owner"` // node name; empty: nobody, the next lookup will find one
}

// PulsarTopic is a topic.
type PulsarTopic struct {
	Owner     string `json:"owner"` // node that serves it; empty: nobody
	Namespace string `json:"namespace"`
	Bundle    string `json:"bundle"` // the hash range
	Hash      uint32 `json:"hash"`
	// Ledgers that hold its messages, oldest first.
	Ledgers []int64 `json:"ledgers"`
	// Producers attached: name to remote address.
	Producers map[string]string `json:"producers"`
	// LastPublished is the newest message that a producer has its receipt for; ledger -1: none yet.
	LastPublished Position `json:"lastPublished"`
	// Messages published while this state was watching.
	Messages      int64                    `json:"messages"`
	Subscriptions map[string]*Subscription `json:"subscriptions"`
}

// Position is a place in a managed ledger.
type Position struct {
	Ledger int64 `json:"ledger"`
	Entry  int64 `json:"entry"`
}

// Subscription is a durable cursor on a topic with the consumers that share it.
type Subscription struct {
	Type string `json:"type"` // Exclusive, Shared, Failover, Key_Shared
	// Active is the consumer that gets the messages of an Exclusive or Failover subscription.
	Active string `json:"active"`
	// Consumers by id, unique within the broker.
	Consumers map[string]*Consumer `json:"consumers"`
	// MarkDelete: everything up to and including it is acknowledged; ledger -1: nothing yet.
	MarkDelete Position `json:"markDelete"`
	Backlog    int64    `json:"backlog"` // entries not yet acknowledged
	// What follows is measured up to twice a second, and may be a little older than MarkDelete.
	Read Position `json:"read"` // reading goes on here; ledger -1: not known
	// Acknowledged lists entries behind the mark-delete position that are acknowledged singly, the first 16 ranges of them;
	// AcknowledgedEntries counts all.
	Acknowledged        []EntryRange `json:"acknowledged"`
	AcknowledgedEntries int64        `json:"acknowledgedEntries"`
	Pending             int64        `json:"pending"`     // entries that consumers have and have not acknowledged
	Replay              int64        `json:"replay"`      // entries that wait to be sent again
	Delayed             int64        `json:"delayed"`     // entries whose time has not come
	Redelivered         int64        `json:"redelivered"` // messages sent again, since the topic was loaded
}

// EntryRange is the entries of a ledger from First to Last, both included.
type EntryRange struct {
	Ledger int64 `json:"ledger"`
	First  int64 `json:"first"`
	Last   int64 `json:"last"`
}

// Consumer is one consumer of a subscription.
type Consumer struct {
	Name   string `json:"name"`
	Client string `json:"client"` // remote address
	// LastDispatched is the newest entry sent to it; ledger -1: none yet.
	LastDispatched Position `json:"lastDispatched"`
	Messages       int64    `json:"messages"` // sent to it
	Permits        int64    `json:"permits"`  // messages that it asked for and that were not sent yet
	Unacked        int64    `json:"unacked"`  // messages that it has and has not acknowledged
}

// Ledger is an append-only sequence of entries striped over bookies.
type Ledger struct {
	State       string `json:"state"` // open, recovering, closed
	WriteQuorum int    `json:"writeQuorum"`
	AckQuorum   int    `json:"ackQuorum"`
	// Ensembles in order of their first entry; the last one takes the adds.
	Ensembles []LedgerEnsemble `json:"ensembles"`
	Writer    string           `json:"writer"` // node that opened it
	// LastAddConfirmed as its writer knows it; -1: nothing.
	LastAddConfirmed int64 `json:"lastAddConfirmed"`
	// LastEntry of a closed ledger, -1 when it is empty or not closed.
	LastEntry int64 `json:"lastEntry"`
	Length    int64 `json:"length"`    // bytes, of a closed ledger
	Recovered bool  `json:"recovered"` // closed by recovery, not by its writer
	// ManagedLedger that it is part of ("public/default/persistent/orders"), or empty; Cursor is set when it holds a cursor.
	ManagedLedger string `json:"managedLedger"`
	Cursor        string `json:"cursor"`
	// FencedBy lists the bookies (host:port, sorted) that refuse adds to it.
	FencedBy []string `json:"fencedBy"`
	// Stored: by bookie (host:port), what it has in its journal.
	Stored map[string]*Stored `json:"stored"`
	// UnderReplication is there while autorecovery has the ledger marked as lacking copies.
	UnderReplication *UnderReplication `json:"underReplication,omitempty"`
	// Offload is there when the ledger is on the medium of tiered storage, or on its way there.
	Offload *Offload `json:"offload,omitempty"`
}

// Offload is where an offloaded ledger is besides bookies, or instead of them.
type Offload struct {
	By       string `json:"by"`       // node that copied it, or that owns it since
	Medium   string `json:"medium"`   // kind of the medium: filesystem, S3
	Complete bool   `json:"complete"` // it is whole there, and is read from there
	Object   string `json:"object"`   // name of its data on the medium; empty until it is complete
	Bytes    int64  `json:"bytes"`    // on the medium; 0: not known
	// DeletedFromBookies: the medium has the only copy; there are no ensembles any more.
	DeletedFromBookies bool `json:"deletedFromBookies"`
}

// UnderReplication is what autorecovery does about a ledger that lacks copies. Bookies are named by host:port.
type UnderReplication struct {
	// Missing are the lost bookies, as the auditor has marked it.
	Missing []string `json:"missing"`
	// Worker is the node that copies the entries FirstEntry to LastEntry now: what Lost[i] held goes to Replacements[i]. Empty: nobody does.
	Worker       string   `json:"worker"`
	FirstEntry   int64    `json:"firstEntry"`
	LastEntry    int64    `json:"lastEntry"`
	Lost         []string `json:"lost"`
	Replacements []string `json:"replacements"`
	// Postponed: why a worker could not do it: open, noCopy, noBookie, failed; empty: it has not been tried, or is done now.
	Postponed string `json:"postponed"`
}

// LedgerEnsemble is the bookies that take a ledger's entries from FirstEntry on.
type LedgerEnsemble struct {
	FirstEntry int64    `json:"firstEntry"`
	Bookies    []string `json:"bookies"` // host:port, in striping order
}

// Stored is what one bookie has of a ledger, counted while this state was watching.
type Stored struct {
	LastEntry int64 `json:"lastEntry"`
	Entries   int64 `json:"entries"`
	Bytes     int64 `json:"bytes"`
}

// Bookie is one bookie.
type Bookie struct {
	Node string `json:"node"`
	// Registered tells whether its znode under /ledgers/available is there, or under /ledgers/available/readonly.
	Registered bool `json:"registered"`
	// ReadOnly: its disk is full; it refuses adds and serves reads.
	ReadOnly bool `json:"readOnly"`
}
