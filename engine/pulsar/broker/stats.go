package broker

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/pulsar/pulsarpb"
)

// TopicStats is what the admin interface answers about a topic; field names are Pulsar's. Rates are per second, sizes bytes.
type TopicStats struct {
	MsgRateIn           float64                      `json:"msgRateIn"`
	MsgRateOut          float64                      `json:"msgRateOut"`
	MsgThroughputIn     float64                      `json:"msgThroughputIn"`
	MsgThroughputOut    float64                      `json:"msgThroughputOut"`
	BytesInCounter      int64                        `json:"bytesInCounter"`
	MsgInCounter        int64                        `json:"msgInCounter"`
	BytesOutCounter     int64                        `json:"bytesOutCounter"`
	MsgOutCounter       int64                        `json:"msgOutCounter"`
	AverageMsgSize      float64                      `json:"averageMsgSize"`
	MsgChunkPublished   bool                         `json:"msgChunkPublished"`
	StorageSize         int64                        `json:"storageSize"`
	BacklogSize         int64                        `json:"backlogSize"`
	OffloadedSize       int64                        `json:"offloadedStorageSize"`
	Publishers          []PublisherStats             `json:"publishers"`
	WaitingPublishers   int                          `json:"waitingPublishers"`
	Subscriptions       map[string]SubscriptionStats `json:"subscriptions"`
	Replication         map[string]any               `json:"replication"`
	DeduplicationStatus string                       `json:"deduplicationStatus"`
	TopicEpoch          *uint64                      `json:"topicEpoch,omitempty"`
	OwnerBroker         string                       `json:"ownerBroker"`
}

// PublisherStats is one producer.
type PublisherStats struct {
	AccessMode              string            `json:"accessMode"`
	MsgRateIn               float64           `json:"msgRateIn"`
	MsgThroughputIn         float64           `json:"msgThroughputIn"`
	AverageMsgSize          float64           `json:"averageMsgSize"`
	ChunkedMessageRate      float64           `json:"chunkedMessageRate"`
	ProducerID              uint64            `json:"producerId"`
	SupportsPartialProducer bool              `json:"supportsPartialProducer"`
	ProducerName            string            `json:"producerName"`
	Address                 string            `json:"address"`
	ConnectedSince          string            `json:"connectedSince"`
	ClientVersion           string            `json:"clientVersion"`
	Metadata                map[string]string `json:"metadata"`
}

// SubscriptionStats is one subscription. Timestamps are Unix milliseconds, 0 for never.
type SubscriptionStats struct {
	MsgRateOut              float64           `json:"msgRateOut"`
	MsgThroughputOut        float64           `json:"msgThroughputOut"`
	BytesOutCounter         int64             `json:"bytesOutCounter"`
	MsgOutCounter           int64             `json:"msgOutCounter"`
	MsgRateRedeliver        float64           `json:"msgRateRedeliver"`
	MsgBacklog              int64             `json:"msgBacklog"`
	BacklogSize             int64             `json:"backlogSize"`
	MsgBacklogNoDelayed     int64             `json:"msgBacklogNoDelayed"`
	BlockedOnUnackedMsgs    bool              `json:"blockedSubscriptionOnUnackedMsgs"`
	MsgDelayed              int64             `json:"msgDelayed"`
	UnackedMessages         int64             `json:"unackedMessages"`
	Type                    string            `json:"type"`
	ActiveConsumerName      string            `json:"activeConsumerName"`
	TotalMsgExpired         int64             `json:"totalMsgExpired"`
	LastConsumedTimestamp   int64             `json:"lastConsumedTimestamp"`
	LastAckedTimestamp      int64             `json:"lastAckedTimestamp"`
	LastMarkDeleteTimestamp int64             `json:"lastMarkDeleteAdvancedTimestamp"`
	Consumers               []ConsumerStats   `json:"consumers"`
	Durable                 bool              `json:"isDurable"`
	Replicated              bool              `json:"isReplicated"`
	OutOfOrder              bool              `json:"allowOutOfOrderDelivery"`
	DeletedRanges           int               `json:"nonContiguousDeletedMessagesRanges"`
	Properties              map[string]string `json:"subscriptionProperties"`
}

// ConsumerStats is one consumer.
type ConsumerStats struct {
	MsgRateOut            float64           `json:"msgRateOut"`
	MsgThroughputOut      float64           `json:"msgThroughputOut"`
	BytesOutCounter       int64             `json:"bytesOutCounter"`
	MsgOutCounter         int64             `json:"msgOutCounter"`
	MsgRateRedeliver      float64           `json:"msgRateRedeliver"`
	ConsumerName          string            `json:"consumerName"`
	AvailablePermits      int               `json:"availablePermits"`
	UnackedMessages       int               `json:"unackedMessages"`
	BlockedOnUnackedMsgs  bool              `json:"blockedConsumerOnUnackedMsgs"`
	LastAckedTimestamp    int64             `json:"lastAckedTimestamp"`
	LastConsumedTimestamp int64             `json:"lastConsumedTimestamp"`
	LastFlowTimestamp     int64             `json:"lastConsumedFlowTimestamp"`
	Address               string            `json:"address"`
	ConnectedSince        string            `json:"connectedSince"`
	ClientVersion         string            `json:"clientVersion"`
	Metadata              map[string]string `json:"metadata"`
}

var accessModes = map[pulsarpb.ProducerAccessMode]string{
	pulsarpb.ProducerAccessMode_ShareAccess:          "Shared",
	pulsarpb.ProducerAccessMode_ExclusiveAccess:      "Exclusive",
	pulsarpb.ProducerAccessMode_WaitForExclusive:     "WaitForExclusive",
	pulsarpb.ProducerAccessMode_ExclusiveWithFencing: "ExclusiveWithFencing",
}

// TopicStats loads a topic where that is needed, and counts. ErrNotFound (as a topic that does not exist) when there is none.
func (b *Broker) TopicStats(ctx context.Context, name TopicName) (TopicStats, error) {
	t, err := b.existingTopic(ctx, name)
	if err != nil {
		return TopicStats{}, err
	}
	var stats TopicStats
	err = t.ask(ctx, func() { stats = t.stats() })
	return stats, err
}

func (t *topic) stats() TopicStats {
	stats := TopicStats{
		MsgRateIn: t.in.messageRate, MsgThroughputIn: t.in.byteRate, BytesInCounter: t.in.bytes, MsgInCounter: t.in.messages,
		AverageMsgSize: t.in.averageSize(), Publishers: []PublisherStats{}, WaitingPublishers: len(t.waiting),
		Subscriptions: map[string]SubscriptionStats{}, Replication: map[string]any{}, DeduplicationStatus: "Disabled",
		OwnerBroker: t.broker.id,
	}
	if t.dedup != nil {
		stats.DeduplicationStatus = "Enabled"
	}
	if t.hasEpoch {
		epoch := t.epoch
		stats.TopicEpoch = &epoch
	}
	if t.log != nil {
		counted := t.log.Stats()
		stats.StorageSize, stats.OffloadedSize = counted.Bytes, counted.OffloadedBytes
	}
	for _, p := range t.producers {
		stats.Publishers = append(stats.Publishers, PublisherStats{
			AccessMode: accessModes[p.access], MsgRateIn: p.sent.messageRate, MsgThroughputIn: p.sent.byteRate, AverageMsgSize: p.sent.averageSize(),
			ProducerID: p.id, ProducerName: p.name, Address: "/" + p.conn.remote, ConnectedSince: p.connected.Format(time.RFC3339Nano),
			ClientVersion: p.conn.clientVersion, Metadata: p.metadata,
		})
	}
	slices.SortFunc(stats.Publishers, func(a, b PublisherStats) int { return compareText(a.ProducerName, b.ProducerName) })
	for name, s := range t.subscriptions {
		one := s.stats()
		stats.Subscriptions[name] = one
		stats.MsgRateOut += one.MsgRateOut
		stats.MsgThroughputOut += one.MsgThroughputOut
		stats.BytesOutCounter += one.BytesOutCounter
		stats.MsgOutCounter += one.MsgOutCounter
		stats.BacklogSize = max(stats.BacklogSize, one.BacklogSize)
	}
	return stats
}

func (s *sub) stats() SubscriptionStats {
	stats := SubscriptionStats{
		MsgRateOut: s.out.messageRate, MsgThroughputOut: s.out.byteRate, BytesOutCounter: s.out.bytes, MsgOutCounter: s.out.messages,
		MsgDelayed: int64(s.state.Delayed()), TotalMsgExpired: s.expired, LastMarkDeleteTimestamp: millis(s.lastMove),
		Consumers: []ConsumerStats{}, Durable: s.durable, Properties: map[string]string{},
	}
	if s.cursor != nil {
		stats.MsgBacklog, stats.BacklogSize = s.cursor.Backlog(), s.cursor.BacklogBytes()
		stats.MsgBacklogNoDelayed = stats.MsgBacklog - stats.MsgDelayed
		stats.DeletedRanges = len(s.cursor.DeletedRanges())
		if properties := s.cursor.CursorProperties(); properties != nil {
			stats.Properties = properties
		}
	}
	for _, status := range s.state.Consumers() {
		stats.Type = s.state.Type().String()
		c := s.consumers[status.ID]
		if c == nil {
			continue
		}
		if status.Active {
			stats.ActiveConsumerName = c.name
		}
		stats.OutOfOrder = stats.OutOfOrder || c.outOfOrder
		stats.UnackedMessages += int64(status.Unacked)
		stats.MsgRateRedeliver += c.redelivered.messageRate
		stats.LastAckedTimestamp = max(stats.LastAckedTimestamp, millis(c.lastAcked))
		stats.LastConsumedTimestamp = max(stats.LastConsumedTimestamp, millis(c.lastConsumed))
		stats.Consumers = append(stats.Consumers, ConsumerStats{
			MsgRateOut: c.sent.messageRate, MsgThroughputOut: c.sent.byteRate, BytesOutCounter: c.sent.bytes, MsgOutCounter: c.sent.messages,
			MsgRateRedeliver: c.redelivered.messageRate, ConsumerName: c.name, AvailablePermits: status.Permits, UnackedMessages: status.Unacked,
			LastAckedTimestamp: millis(c.lastAcked), LastConsumedTimestamp: millis(c.lastConsumed), LastFlowTimestamp: millis(c.lastFlow),
			Address: "/" + c.conn.remote, ConnectedSince: c.connected.Format(time.RFC3339Nano), ClientVersion: c.conn.clientVersion, Metadata: c.metadata,
		})
	}
	return stats
}

func millis(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMilli()
}

// fillConsumerStats answers CONSUMER_STATS.
func (t *topic) fillConsumerStats(c *consumer, response *pulsarpb.CommandConsumerStatsResponse) {
	s := c.subscription
	for _, status := range s.state.Consumers() {
		if status.ID != c.key {
			continue
		}
		response.MsgRateOut, response.MsgThroughputOut = proto.Float64(c.sent.messageRate), proto.Float64(c.sent.byteRate)
		response.MsgRateRedeliver = proto.Float64(c.redelivered.messageRate)
		response.ConsumerName = proto.String(c.name)
		response.AvailablePermits = proto.Uint64(uint64(max(0, status.Permits)))
		response.UnackedMessages = proto.Uint64(uint64(max(0, status.Unacked)))
		response.BlockedConsumerOnUnackedMsgs = proto.Bool(false)
		response.Address, response.ConnectedSince = proto.String(c.conn.remote), proto.String(c.connected.Format(time.RFC3339Nano))
		response.Type = proto.String(s.state.Type().String())
	}
	if s.cursor != nil {
		response.MsgBacklog = proto.Uint64(uint64(max(0, s.cursor.Backlog())))
	}
}

// InternalStats is what the admin interface answers about a topic's managed ledger.
type InternalStats struct {
	EntriesAdded    int64                  `json:"entriesAddedCounter"`
	Entries         int64                  `json:"numberOfEntries"`
	TotalSize       int64                  `json:"totalSize"`
	CurrentEntries  int64                  `json:"currentLedgerEntries"`
	CurrentSize     int64                  `json:"currentLedgerSize"`
	CurrentCreated  string                 `json:"lastLedgerCreatedTimestamp"`
	WaitingCursors  int                    `json:"waitingCursorsCount"`
	PendingAdds     int                    `json:"pendingAddEntriesCount"`
	LastConfirmed   string                 `json:"lastConfirmedEntry"`
	State           string                 `json:"state"`
	Ledgers         []LedgerStats          `json:"ledgers"`
	Cursors         map[string]CursorStats `json:"cursors"`
	SchemaLedgers   []LedgerStats          `json:"schemaLedgers"`
	CompactedLedger LedgerStats            `json:"compactedLedger"`
}

// LedgerStats is one ledger.
type LedgerStats struct {
	Ledger    int64 `json:"ledgerId"`
	Entries   int64 `json:"entries"`
	Size      int64 `json:"size"`
	Offloaded bool  `json:"offloaded"`
}

// CursorStats is one cursor.
type CursorStats struct {
	MarkDelete   string            `json:"markDeletePosition"`
	Read         string            `json:"readPosition"`
	WaitingRead  bool              `json:"waitingReadOp"`
	PendingReads int               `json:"pendingReadOps"`
	Consumed     int64             `json:"messagesConsumedCounter"`
	CursorLedger int64             `json:"cursorLedger"`
	Individually string            `json:"individuallyDeletedMessages"`
	State        string            `json:"state"`
	Active       bool              `json:"active"`
	BacklogSince int64             `json:"numberOfEntriesSinceFirstNotAckedMessage"`
	Gaps         int               `json:"totalNonContiguousDeletedMessagesRange"`
	Properties   map[string]string `json:"properties"`
}

// InternalStats tells how a topic lies in ledgers.
func (b *Broker) InternalStats(ctx context.Context, name TopicName) (InternalStats, error) {
	t, err := b.existingTopic(ctx, name)
	if err != nil {
		return InternalStats{}, err
	}
	stats := InternalStats{Ledgers: []LedgerStats{}, Cursors: map[string]CursorStats{}, SchemaLedgers: []LedgerStats{}, CompactedLedger: LedgerStats{Ledger: -1, Entries: -1, Size: -1}}
	if t.log == nil {
		return stats, nil
	}
	err = t.ask(ctx, func() { t.internalStats(&stats) })
	return stats, err
}

func (t *topic) internalStats(stats *InternalStats) {
	counted := t.log.Stats()
	last := t.log.LastConfirmed()
	stats.EntriesAdded, stats.Entries, stats.TotalSize = counted.EntriesAdded, counted.Entries, counted.Bytes
	stats.CurrentEntries, stats.CurrentSize, stats.CurrentCreated = counted.CurrentEntries, counted.CurrentBytes, counted.Created
	stats.PendingAdds, stats.LastConfirmed, stats.State = counted.PendingAdds, last.String(), counted.State
	for _, info := range t.log.Ledgers() {
		stats.Ledgers = append(stats.Ledgers, LedgerStats{
			Ledger: info.Ledger, Entries: info.Entries, Size: info.Bytes, Offloaded: info.Offloaded(),
		})
	}
	for name, s := range t.subscriptions {
		if s.cursor == nil {
			continue
		}
		marked := s.cursor.MarkDeleted()
		ranges := s.cursor.DeletedRanges()
		stats.Cursors[name] = CursorStats{
			MarkDelete: marked.String(), Read: s.read.String(), WaitingRead: !s.reading && s.read.Compare(last) > 0,
			Consumed: s.out.entries, CursorLedger: s.cursor.CursorLedger(), Individually: rangesText(ranges), State: "Open",
			Active: len(s.consumers) > 0, BacklogSince: t.log.CountEntries(marked, last), Gaps: len(ranges), Properties: map[string]string{},
		}
	}
}

// rangesText is Pulsar's notation: half-open at the lower end.
func rangesText(ranges []managedledger.Range) string {
	text := "["
	for i, r := range ranges {
		if i > 0 {
			text += ","
		}
		before := managedledger.Position{Ledger: r.First.Ledger, Entry: r.First.Entry - 1}
		text += "(" + before.String() + ".." + r.Last.String() + "]"
	}
	return text + "]"
}

// measure brings the rates of all topics up to date, and the broker's load with them.
func (tt *topicTable) measure() {
	tt.mu.Lock()
	seconds := time.Since(tt.measured).Seconds()
	tt.measured = time.Now()
	tt.mu.Unlock()
	if seconds <= 0 {
		return
	}
	var total brokerLoad
	for _, t := range tt.all() {
		ctx, cancel := context.WithTimeout(t.context, time.Second)
		one := new(brokerLoad) // its own, because a topic that answers late still writes to it
		err := t.ask(ctx, func() { t.measure(seconds, one) })
		cancel()
		if err != nil {
			continue // busy or closing
		}
		total.add(*one)
	}
	tt.mu.Lock()
	tt.current = total
	tt.mu.Unlock()
}

func (l *brokerLoad) add(one brokerLoad) {
	l.producers += one.producers
	l.consumers += one.consumers
	l.rateIn += one.rateIn
	l.rateOut += one.rateOut
	l.bytesIn += one.bytesIn
	l.bytesOut += one.bytesOut
}

func (t *topic) measure(seconds float64, total *brokerLoad) {
	t.in.measure(seconds)
	total.rateIn += t.in.messageRate
	total.bytesIn += t.in.byteRate
	total.producers += len(t.producers)
	for _, p := range t.producers {
		p.sent.measure(seconds)
	}
	for _, s := range t.subscriptions {
		s.out.measure(seconds)
		total.rateOut += s.out.messageRate
		total.bytesOut += s.out.byteRate
		total.consumers += len(s.consumers)
		for _, c := range s.consumers {
			c.sent.measure(seconds)
			c.redelivered.measure(seconds)
		}
	}
}
