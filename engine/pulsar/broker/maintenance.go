package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/pulsar/subscription"
	"twinlog/engine/trace"
)

// Backlog quota policies.
const (
	policyProducerHold      = "producer_request_hold"
	policyProducerException = "producer_exception"
	policyEvictBacklog      = "consumer_backlog_eviction"

	quotaByStorage = "destination_storage"
	quotaByAge     = "message_age"
)

// runMaintenance looks after every loaded topic, one after the other: message TTL, backlog quotas, deduplication snapshots, ledgers
// to be offloaded, topics and readers that nobody uses any more.
func (b *Broker) runMaintenance(ctx context.Context) {
	ticker := time.NewTicker(b.config.MaintenanceEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		loaded := b.topics.all()
		namespaces := map[string]bool{}
		for _, t := range loaded {
			namespaces[t.name.NamespaceName()] = true
		}
		for namespace := range namespaces {
			b.policiesChanged(namespace) // another broker may have changed them
		}
		for _, t := range loaded {
			if err := b.maintain(ctx, t); err != nil && ctx.Err() == nil {
				b.logger.Debug("maintenance of a topic", "topic", t.name.String(), "error", err)
			}
		}
	}
}

func (b *Broker) maintain(ctx context.Context, t *topic) error {
	unused := false
	var policies Policies
	if err := t.ask(ctx, func() {
		policies = t.policies
		t.dropIdleReaders()
		unused = t.unused()
	}); err != nil {
		return ignoreClosing(err)
	}
	if unused && b.config.InactiveTopicsFor > 0 {
		b.logger.Info("topic deleted: nobody uses it", "topic", t.name.String())
		return b.DeleteTopic(ctx, t.name, false)
	}
	if t.log == nil {
		return nil
	}
	t.log.CheckOffload()
	return cmpError(t.expireByTTL(ctx, policies), t.checkQuota(ctx, policies), t.snapshotDeduplication(ctx))
}

// unused tells whether the topic has no clients, keeps nothing for anybody, and has been so long enough (delete_when_no_subscriptions).
// Partitions belong to their partitioned topic and stay.
func (t *topic) unused() bool {
	return len(t.producers) == 0 && len(t.waiting) == 0 && len(t.subscriptions) == 0 && t.name.Partition() < 0 &&
		t.policies.known.Retention == nil &&
		time.Since(t.lastActive) >= t.broker.config.InactiveTopicsFor
}

// dropIdleReaders ends subscriptions that are not stored and whose consumer did not come back after a seek.
func (t *topic) dropIdleReaders() {
	for _, s := range t.subscriptions {
		if !s.durable && s.open && !s.busy && len(s.consumers) == 0 && time.Since(s.lastMove) > time.Minute {
			s.discard()
		}
	}
}

// expireByTTL acknowledges, for every subscription, what is older than the namespace's message TTL.
func (t *topic) expireByTTL(ctx context.Context, policies Policies) error {
	ttl := policies.known.MessageTTL
	if ttl == nil || *ttl <= 0 {
		return nil
	}
	return t.expire(ctx, "", time.Duration(*ttl)*time.Second)
}

// expire acknowledges what was published longer ago than age, for one subscription or, without a name, for all.
func (t *topic) expire(ctx context.Context, only string, age time.Duration) error {
	oldest := uint64(time.Now().Add(-age).UnixMilli())
	last, found, err := t.log.FindLast(ctx, func(entry managedledger.Entry) (bool, error) {
		metadata, err := readMetadata(entry.Data)
		if err != nil {
			return false, err
		}
		return metadata.GetPublishTime() < oldest, nil
	})
	if err != nil || !found {
		return err
	}
	return ignoreClosing(t.ask(ctx, func() {
		for name, s := range t.subscriptions {
			if (only == "" || only == name) && s.cursor != nil && s.durable {
				s.markThrough(last)
			}
		}
	}))
}

// markThrough acknowledges everything up to a position on behalf of the subscription.
func (s *sub) markThrough(position managedledger.Position) {
	before := s.cursor.MarkDeleted()
	if position.Compare(before) <= 0 {
		return
	}
	s.expired += s.topic.log.CountEntries(before, position)
	s.cursor.MarkDelete(position, nil, nil)
	s.state.AckedThrough(subscription.Position(position))
	s.moved()
	s.dispatch()
}

// checkQuota compares the largest backlog with the namespace's quotas, and acts by their policy.
func (t *topic) checkQuota(ctx context.Context, policies Policies) error {
	var exceeded *BacklogQuota
	if quota, there := policies.known.BacklogQuotas[quotaByStorage]; there && quota.LimitSize > 0 {
		largest := int64(0)
		if err := t.ask(ctx, func() { largest = t.largestBacklog() }); err != nil {
			return ignoreClosing(err)
		}
		if largest > quota.LimitSize {
			exceeded = &quota
		}
	}
	if quota, there := policies.known.BacklogQuotas[quotaByAge]; there && quota.LimitTime > 0 && exceeded == nil {
		old, err := t.backlogOlderThan(ctx, time.Duration(quota.LimitTime)*time.Second)
		if err != nil {
			return err
		}
		if old {
			exceeded = &quota
		}
	}
	return ignoreClosing(t.ask(ctx, func() { t.applyQuota(exceeded) }))
}

func (t *topic) largestBacklog() int64 {
	largest := int64(0)
	for _, s := range t.subscriptions {
		if s.cursor != nil && s.durable {
			largest = max(largest, s.cursor.BacklogBytes())
		}
	}
	return largest
}

// backlogOlderThan looks at the oldest message of the slowest subscription.
func (t *topic) backlogOlderThan(ctx context.Context, age time.Duration) (bool, error) {
	var slowest managedledger.Position
	found := false
	if err := t.ask(ctx, func() {
		for _, s := range t.subscriptions {
			if s.cursor == nil || !s.durable || s.cursor.Backlog() == 0 {
				continue
			}
			if marked := s.cursor.MarkDeleted(); !found || marked.Compare(slowest) < 0 {
				slowest, found = marked, true
			}
		}
	}); err != nil || !found {
		return false, ignoreClosing(err)
	}
	entries, err := t.log.ReadEntries(ctx, t.log.Next(slowest), 1, maxReadBytes)
	if err != nil || len(entries) == 0 {
		return false, err
	}
	metadata, err := readMetadata(entries[0].Data)
	if err != nil {
		return false, fmt.Errorf("age of the backlog of %s: %w", t.name, err)
	}
	return time.Since(time.UnixMilli(int64(metadata.GetPublishTime()))) > age, nil
}

func (t *topic) applyQuota(exceeded *BacklogQuota) {
	before := t.quotaExceeded
	t.quotaExceeded = exceeded
	if exceeded == nil {
		return
	}
	if exceeded.Policy == policyEvictBacklog {
		t.quotaExceeded = nil
		t.evictBacklog(exceeded.LimitSize)
		return
	}
	if before == nil && len(t.producers) > 0 {
		// They meet the error when they come back.
		t.disconnectProducers()
	}
}

// evictBacklog acknowledges the oldest messages of subscriptions that are over the limit, down to nine tenths of it.
func (t *topic) evictBacklog(limit int64) {
	for _, s := range t.subscriptions {
		if s.cursor == nil || !s.durable {
			continue
		}
		bytes, backlog := s.cursor.BacklogBytes(), s.cursor.Backlog()
		target := limit / 10 * 9
		if bytes <= limit || backlog == 0 {
			continue
		}
		drop := int64(float64(backlog) * float64(bytes-target) / float64(bytes))
		s.markThrough(t.log.Advance(s.cursor.MarkDeleted(), max(1, drop)))
	}
}

// snapshotDeduplication stores each producer's last sequence id, so that the next owner has few messages to read.
func (t *topic) snapshotDeduplication(ctx context.Context) error {
	return ignoreClosing(t.ask(ctx, func() {
		d := t.dedup
		if d == nil || d.cursor == nil || d.storedAt.Compare(d.snapshot) <= 0 {
			return
		}
		d.snapshot = d.storedAt
		if len(d.persisted) > maxRemembered {
			d.forget(func(producer string) bool { return t.producers[producer] == nil })
		}
		sequences := make(map[string]int64, len(d.persisted))
		for producer, sequence := range d.persisted {
			sequences[producer] = sequence
		}
		d.cursor.MarkDelete(d.snapshot, sequences, nil)
	}))
}

// policiesChanged lets the loaded topics of a namespace go by its new policies.
func (b *Broker) policiesChanged(namespace string) {
	policies, err := b.NamespacePolicies(namespace)
	if err != nil {
		if !errors.Is(err, ErrNotFound) {
			b.logger.Warn("reading changed policies", "namespace", namespace, "error", err)
		}
		return
	}
	for _, t := range b.topics.all() {
		if t.name.NamespaceName() == namespace {
			t.post(func() { t.applyPolicies(policies) })
		}
	}
}

func (t *topic) applyPolicies(policies Policies) {
	t.policies = policies
	if t.log != nil {
		t.log.SetRetention(retention(policies))
		t.log.SetOffloadPolicy(t.broker.offloadPolicy(policies))
		t.log.CheckOffload()
		if policies.deduplicates() != (t.dedup != nil) && !t.closing {
			// The topic is loaded again, and learns then what its producers sent last.
			t.broker.topics.closeLater(t, trace.ReasonPolicies)
		}
	}
	if len(policies.known.BacklogQuotas) == 0 {
		t.quotaExceeded = nil
	}
}
