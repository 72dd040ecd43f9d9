package trace

// PulsarBrokerRegistered: the broker's ephemeral znode under /loadbalance/brokers is there.
type PulsarBrokerRegistered struct {
	Broker string `json:"broker"` // host:port of its HTTP service, as Pulsar names it
	URL    string `json:"url"`    // pulsar://host:port
}

// PulsarLeaderElected: the broker leads the load management.
type PulsarLeaderElected struct {
	Broker string `json:"broker"`
}

// PulsarBundleOwned: the broker created the bundle's ownership znode. Bundle is a hash range: 0x40000000_0x80000000.
type PulsarBundleOwned struct {
	Namespace string `json:"namespace"`
	Bundle    string `json:"bundle"`
}

// PulsarBundleReleased: the broker gave the bundle up, or lost it.
type PulsarBundleReleased struct {
	Namespace string `json:"namespace"`
	Bundle    string `json:"bundle"`
	Reason    Reason `json:"reason"`
}

// PulsarLookupAnswered: a broker told a client where a topic is served.
type PulsarLookupAnswered struct {
	Topic         string `json:"topic"`
	Namespace     string `json:"namespace"`
	Bundle        string `json:"bundle"` // the hash range that Hash falls in; empty when it could not be found out
	Hash          uint32 `json:"hash"`
	Result        string `json:"result"` // connect, redirect, failed
	URL           string `json:"url"`
	Authoritative bool   `json:"authoritative"` // of a redirect: the broker at URL was chosen by the leader, and is to take the bundle
	Asked         bool   `json:"asked"`         // the client asked with authoritative, as a redirect told it to
	Transport     string `json:"transport"`     // tcp, http
}

// PulsarBrokerMeasured is what a broker measured over the last second. It says so when something changed, once a second at most. A gauge.
type PulsarBrokerMeasured struct {
	RateIn      int64 `json:"rateIn"` // messages a second
	RateOut     int64 `json:"rateOut"`
	BytesIn     int64 `json:"bytesIn"` // a second
	BytesOut    int64 `json:"bytesOut"`
	Connections int   `json:"connections"` // of clients and of other brokers
	// The cache of the newest entries, outside the Go heap: bytes that it holds and may hold at most, and entries that were read from
	// it and past it, from bookies, since the broker started.
	CacheBytes  int64 `json:"cacheBytes"`
	CacheLimit  int64 `json:"cacheLimit"`
	CacheHits   int64 `json:"cacheHits"`
	CacheMisses int64 `json:"cacheMisses"`
}

// PulsarTopicLoaded: the topic's managed ledger is open here: its last ledger was fenced and recovered, a new one takes adds.
type PulsarTopicLoaded struct {
	Topic     string  `json:"topic"`
	Namespace string  `json:"namespace"`
	Bundle    string  `json:"bundle"`
	Hash      uint32  `json:"hash"`
	Ledgers   []int64 `json:"ledgers"`
	// Offloaded are those of them that are on the medium.
	Offloaded []PulsarOffloadedLedger `json:"offloaded,omitempty"`
}

// PulsarTopicUnloaded: the broker no longer serves the topic.
type PulsarTopicUnloaded struct {
	Topic  string `json:"topic"`
	Reason Reason `json:"reason"`
}

// PulsarTopicDeleted: the topic and its ledgers are gone.
type PulsarTopicDeleted struct {
	Topic string `json:"topic"`
}

// PulsarProducerAttached and the next three tell who is connected to a topic.
type PulsarProducerAttached struct {
	Topic    string `json:"topic"`
	Producer string `json:"producer"`
	Client   string `json:"client"` // remote address
}

// PulsarProducerDetached ends PulsarProducerAttached.
type PulsarProducerDetached struct {
	Topic    string `json:"topic"`
	Producer string `json:"producer"`
}

// PulsarConsumerAttached: a consumer joined a subscription. Consumer is unique within the broker.
type PulsarConsumerAttached struct {
	Topic        string `json:"topic"`
	Subscription string `json:"subscription"`
	Type         string `json:"type"` // Exclusive, Shared, Failover, Key_Shared
	Consumer     string `json:"consumer"`
	Name         string `json:"name"`
	Client       string `json:"client"`
}

// PulsarConsumerDetached ends PulsarConsumerAttached.
type PulsarConsumerDetached struct {
	Topic        string `json:"topic"`
	Subscription string `json:"subscription"`
	Consumer     string `json:"consumer"`
}

// PulsarActiveConsumerChanged: a Failover or Exclusive subscription has another active consumer.
type PulsarActiveConsumerChanged struct {
	Topic        string `json:"topic"`
	Subscription string `json:"subscription"`
	Consumer     string `json:"consumer"`
}

// PulsarPublished: a message is stored and its producer has its receipt. Hot.
type PulsarPublished struct {
	Topic    string `json:"topic"`
	Ledger   int64  `json:"ledger"`
	Entry    int64  `json:"entry"`
	Messages int    `json:"messages"`
	Bytes    int64  `json:"bytes"`
	Folded   Folded `json:"folded,omitempty"`
}

// PulsarDispatched: the broker sent an entry to a consumer. Hot.
type PulsarDispatched struct {
	Topic        string `json:"topic"`
	Subscription string `json:"subscription"`
	Consumer     string `json:"consumer"`
	Ledger       int64  `json:"ledger"`
	Entry        int64  `json:"entry"`
	Messages     int    `json:"messages"`
	FromCache    bool   `json:"fromCache"`
	Folded       Folded `json:"folded,omitempty"`
}

// PulsarCursorMoved: everything up to and including Ledger:Entry is acknowledged. Hot.
type PulsarCursorMoved struct {
	Topic        string `json:"topic"`
	Subscription string `json:"subscription"`
	Ledger       int64  `json:"ledger"`
	Entry        int64  `json:"entry"`
	Backlog      int64  `json:"backlog"` // entries not yet acknowledged
	Folded       Folded `json:"folded,omitempty"`
}

// PulsarSubscriptionDeleted: the subscription and its cursor are gone.
type PulsarSubscriptionDeleted struct {
	Topic        string `json:"topic"`
	Subscription string `json:"subscription"`
}

// PulsarSubscriptionMeasured is a cursor in full, with what is on its way to consumers. It comes some time after something changed,
// twice a second at most; PulsarCursorMoved and PulsarDispatched tell of single steps. A gauge.
type PulsarSubscriptionMeasured struct {
	Topic        string `json:"topic"`
	Subscription string `json:"subscription"`
	// Everything up to and including Ledger:Entry is acknowledged.
	Ledger int64 `json:"ledger"`
	Entry  int64 `json:"entry"`
	// Reading goes on at ReadLedger:ReadEntry.
	ReadLedger int64 `json:"readLedger"`
	ReadEntry  int64 `json:"readEntry"`
	Backlog    int64 `json:"backlog"` // entries not yet acknowledged
	// Acknowledged lists entries after the mark-delete position that are acknowledged singly, the first 16 ranges of them;
	// AcknowledgedEntries counts all.
	Acknowledged        []PulsarEntryRange `json:"acknowledged"`
	AcknowledgedEntries int64              `json:"acknowledgedEntries"`
	Pending             int64              `json:"pending"`     // entries that consumers have and have not acknowledged
	Replay              int64              `json:"replay"`      // entries that wait to be sent again
	Delayed             int64              `json:"delayed"`     // entries whose time has not come
	Redelivered         int64              `json:"redelivered"` // messages that were sent again, since the topic was loaded
	// Consumers lists the first 16.
	Consumers []PulsarConsumerMeasured `json:"consumers"`
}

// PulsarEntryRange is the entries of a ledger from First to Last, both included.
type PulsarEntryRange struct {
	Ledger int64 `json:"ledger"`
	First  int64 `json:"first"`
	Last   int64 `json:"last"`
}

// PulsarConsumerMeasured is what the broker knows of one consumer's flow.
type PulsarConsumerMeasured struct {
	Consumer string `json:"consumer"`
	Permits  int64  `json:"permits"` // messages that it asked for and that were not sent yet
	Unacked  int64  `json:"unacked"` // messages that it has and has not acknowledged; Exclusive and Failover do not count them
}

func (PulsarBrokerMeasured) Kind() string        { return "pulsar.brokerMeasured" }
func (PulsarSubscriptionMeasured) Kind() string  { return "pulsar.subscriptionMeasured" }
func (PulsarBrokerRegistered) Kind() string      { return "pulsar.brokerRegistered" }
func (PulsarLeaderElected) Kind() string         { return "pulsar.leaderElected" }
func (PulsarBundleOwned) Kind() string           { return "pulsar.bundleOwned" }
func (PulsarBundleReleased) Kind() string        { return "pulsar.bundleReleased" }
func (PulsarLookupAnswered) Kind() string        { return "pulsar.lookupAnswered" }
func (PulsarTopicLoaded) Kind() string           { return "pulsar.topicLoaded" }
func (PulsarTopicUnloaded) Kind() string         { return "pulsar.topicUnloaded" }
func (PulsarTopicDeleted) Kind() string          { return "pulsar.topicDeleted" }
func (PulsarProducerAttached) Kind() string      { return "pulsar.producerAttached" }
func (PulsarProducerDetached) Kind() string      { return "pulsar.producerDetached" }
func (PulsarConsumerAttached) Kind() string      { return "pulsar.consumerAttached" }
func (PulsarConsumerDetached) Kind() string      { return "pulsar.consumerDetached" }
func (PulsarActiveConsumerChanged) Kind() string { return "pulsar.activeConsumerChanged" }
func (PulsarPublished) Kind() string             { return "pulsar.published" }
func (PulsarDispatched) Kind() string            { return "pulsar.dispatched" }
func (PulsarCursorMoved) Kind() string           { return "pulsar.cursorMoved" }
func (PulsarSubscriptionDeleted) Kind() string   { return "pulsar.subscriptionDeleted" }

func (PulsarBrokerMeasured) follows() (kind, flow string) { return "", "" }

// follows: it repeats the mark-delete position and the backlog.
func (e PulsarSubscriptionMeasured) follows() (kind, flow string) {
	moved := PulsarCursorMoved{Topic: e.Topic, Subscription: e.Subscription}
	return moved.Kind(), moved.FlowKey()
}

func (e PulsarPublished) FlowKey() string { return e.Topic }
func (e PulsarDispatched) FlowKey() string {
	return e.Topic + "/" + e.Subscription + "/" + e.Consumer
}
func (e PulsarCursorMoved) FlowKey() string { return e.Topic + "/" + e.Subscription }

func (e PulsarPublished) Merge(later Event) Event {
	merged := later.(PulsarPublished)
	merged.Messages += e.Messages
	merged.Bytes += e.Bytes
	merged.Folded = e.Folded.plus(merged.Folded)
	return merged
}

func (e PulsarDispatched) Merge(later Event) Event {
	merged := later.(PulsarDispatched)
	merged.Messages += e.Messages
	merged.Folded = e.Folded.plus(merged.Folded)
	return merged
}

func (e PulsarCursorMoved) Merge(later Event) Event {
	merged := later.(PulsarCursorMoved)
	merged.Folded = e.Folded.plus(merged.Folded)
	return merged
}
