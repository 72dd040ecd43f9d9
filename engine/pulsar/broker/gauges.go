package broker

import (
	"context"
	"reflect"
	"sync/atomic"
	"time"

	"twinlog/engine/pulsar/subscription"
	"twinlog/engine/trace"
)

const (
	// brokerGaugeEvery is how often the broker says in the trace how loaded it is, at most.
	brokerGaugeEvery = time.Second
	// subscriptionGaugeAfter is how long after a change a subscription's cursor is told in full. A broker with many topics waits
	// longer, subscriptionGaugeEach for each of them, so that all together say no more than a hundred things a second.
	subscriptionGaugeAfter = 500 * time.Millisecond
	subscriptionGaugeEach  = 10 * time.Millisecond
	// gaugedRanges and gaugedConsumers bound what one record lists of a subscription.
	gaugedRanges    = 16
	gaugedConsumers = 16
)

// throughput counts what all topics of a broker took and sent since it started.
type throughput struct {
	messagesIn, messagesOut, bytesIn, bytesOut atomic.Int64
}

func (t *throughput) in(messages, bytes int) {
	t.messagesIn.Add(int64(messages))
	t.bytesIn.Add(int64(bytes))
}

func (t *throughput) out(messages, bytes int) {
	t.messagesOut.Add(int64(messages))
	t.bytesOut.Add(int64(bytes))
}

// runGauges records the broker's load whenever it is another one than a second ago.
func (b *Broker) runGauges(ctx context.Context) {
	if b.tracer == nil {
		return
	}
	ticker := time.NewTicker(brokerGaugeEvery)
	defer ticker.Stop()
	var before [4]int64
	var told trace.PulsarBrokerMeasured
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		flowed := &b.flowed
		total := [4]int64{flowed.messagesIn.Load(), flowed.messagesOut.Load(), flowed.bytesIn.Load(), flowed.bytesOut.Load()}
		rate := func(i int) int64 { return perSecond(total[i]-before[i], now.Sub(last)) }
		cache := b.storage.Cache()
		measured := trace.PulsarBrokerMeasured{
			RateIn: rate(0), RateOut: rate(1), BytesIn: rate(2), BytesOut: rate(3), Connections: b.connections.count(),
			CacheBytes: cache.Bytes, CacheLimit: cache.Limit, CacheHits: cache.Hits, CacheMisses: cache.Misses,
		}
		if measured != told {
			b.tracer.Emit(measured)
			told = measured
		}
		before, last = total, now
	}
}

// perSecond rounds, so that a slow flow is not told as none.
func perSecond(count int64, interval time.Duration) int64 {
	if interval <= 0 {
		return 0
	}
	seconds := interval.Seconds()
	return int64(float64(count)/seconds + 0.5)
}

// measureSoon lets the subscription be told in full once what is going on has gone on for a moment.
func (s *sub) measureSoon() {
	if s.measuring != nil || s.stopped || s.topic.log == nil || s.topic.broker.tracer == nil {
		return
	}
	after := max(subscriptionGaugeAfter, time.Duration(s.topic.broker.topics.count())*subscriptionGaugeEach)
	s.measuring = time.AfterFunc(after, func() { s.topic.post(s.measured) })
}

// measured records the subscription, if it is another one than the last time.
func (s *sub) measured() {
	s.measuring = nil
	if s.stopped || s.cursor == nil {
		return
	}
	event := s.gauge()
	if reflect.DeepEqual(event, s.told) {
		return
	}
	s.told = event
	s.topic.broker.tracer.Emit(event)
}

func (s *sub) gauge() trace.PulsarSubscriptionMeasured {
	marked := s.cursor.MarkDeleted()
	ranges, entries := s.cursor.DeletedAhead(gaugedRanges)
	event := trace.PulsarSubscriptionMeasured{
		Topic: s.topic.name.String(), Subscription: s.name, Ledger: marked.Ledger, Entry: marked.Entry,
		ReadLedger: s.read.Ledger, ReadEntry: s.read.Entry, Backlog: s.cursor.Backlog(),
		Acknowledged: make([]trace.PulsarEntryRange, 0, len(ranges)), AcknowledgedEntries: entries,
		Pending: s.pending(entries), Replay: int64(s.state.Replay()), Delayed: int64(s.state.Delayed()), Redelivered: s.redelivered,
		Consumers: []trace.PulsarConsumerMeasured{},
	}
	for _, r := range ranges {
		event.Acknowledged = append(event.Acknowledged, trace.PulsarEntryRange{Ledger: r.First.Ledger, First: r.First.Entry, Last: r.Last.Entry})
	}
	for _, status := range s.state.Consumers() {
		if c := s.consumers[status.ID]; c != nil && len(event.Consumers) < gaugedConsumers {
			event.Consumers = append(event.Consumers, trace.PulsarConsumerMeasured{
				Consumer: c.traceName(), Permits: int64(status.Permits), Unacked: int64(status.Unacked),
			})
		}
	}
	return event
}

// pending is how many entries are with consumers. A subscription with one active consumer keeps no list of them: there they are what
// was read behind the mark-delete position and is not acknowledged.
func (s *sub) pending(acknowledgedSingly int64) int64 {
	if kind := s.state.Type(); kind != subscription.Exclusive && kind != subscription.Failover {
		return int64(s.state.Pending())
	}
	if len(s.consumers) == 0 {
		return 0
	}
	read := s.topic.log.CountEntries(s.cursor.MarkDeleted(), s.topic.log.Previous(s.read))
	return max(0, read-acknowledgedSingly)
}
