package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/trace"
)

// topicTable is the topics that this broker serves, loads or closes. A topic is in it at most once, so that one that is being
// closed is not opened again before it is closed.
type topicTable struct {
	mu       sync.Mutex
	entries  map[string]*topicEntry
	measured time.Time
	current  brokerLoad
}

type topicEntry struct {
	bundle  Bundle
	loaded  chan struct{} // closed when topic or err is set
	topic   *topic
	err     error
	closing bool
	closed  chan struct{} // closed when the topic is gone from the table
}

// brokerLoad sums up what the topics do.
type brokerLoad struct {
	topics, producers, consumers       int
	rateIn, rateOut, bytesIn, bytesOut float64
}

func newTopicTable() *topicTable {
	return &topicTable{entries: map[string]*topicEntry{}, measured: time.Now()}
}

// topicForClient returns a topic that this broker serves, loading it and, where that is allowed, creating it.
func (b *Broker) topicForClient(ctx context.Context, name TopicName, create bool) (*topic, error) {
	for {
		entry, mine, err := b.topicEntry(ctx, name)
		if err != nil {
			return nil, err
		}
		if mine {
			b.tasks.Go(func() { b.load(name, entry, create) })
		}
		select {
		case <-entry.loaded:
		case <-ctx.Done():
			return nil, fmt.Errorf("loading topic %s: %w", name, ctx.Err())
		}
		if entry.err != nil {
			if !mine && create && errors.Is(entry.err, errTopicNotFound) {
				continue // somebody who would not create it asked first
			}
			return nil, entry.err
		}
		return entry.topic, nil
	}
}

// topicEntry finds or makes the topic's place in the table. Mine: the caller is to load it.
func (b *Broker) topicEntry(ctx context.Context, name TopicName) (entry *topicEntry, mine bool, err error) {
	in, err := b.servedBundle(name)
	if err != nil {
		return nil, false, err
	}
	table := b.topics
	for {
		table.mu.Lock()
		entry := table.entries[name.String()]
		if entry == nil {
			entry = &topicEntry{bundle: in, loaded: make(chan struct{}), closed: make(chan struct{})}
			table.entries[name.String()] = entry
			table.mu.Unlock()
			return entry, true, nil
		}
		closing := entry.closing
		table.mu.Unlock()
		if !closing {
			return entry, false, nil
		}
		select {
		case <-entry.closed:
		case <-ctx.Done():
			return nil, false, fmt.Errorf("%w: %s", errTopicClosing, name)
		}
		if in, err = b.servedBundle(name); err != nil {
			return nil, false, err
		}
	}
}

// servedBundle is the topic's bundle, if it is owned here. Clients rely on the refusal: a broker that accepted a topic that it does
// not own would split its log.
func (b *Broker) servedBundle(name TopicName) (Bundle, error) {
	in, err := b.BundleOf(name)
	if err != nil {
		return Bundle{}, err
	}
	if !b.Owns(in) {
		return Bundle{}, b.notServed(name)
	}
	return in, nil
}

func (b *Broker) notServed(name TopicName) error {
	return fmt.Errorf("Namespace bundle for topic (%s) %w:%s. Please redo the lookup. Request is denied: namespace=%s",
		name, errNotServed, b.id, name.NamespaceName())
}

func (b *Broker) load(name TopicName, entry *topicEntry, create bool) {
	ctx, cancel := context.WithTimeout(b.context, b.config.OperationTimeout)
	defer cancel()
	t, err := b.openTopic(ctx, name, entry.bundle, create)
	if err == nil && !b.Owns(entry.bundle) {
		// The bundle went away while the topic was opened.
		t.close(ctx, trace.ReasonUnload)
		err = b.notServed(name)
	}
	table := b.topics
	table.mu.Lock()
	entry.topic, entry.err = t, err
	if err != nil {
		entry.topic = nil
		if table.entries[name.String()] == entry && !entry.closing {
			delete(table.entries, name.String())
			close(entry.closed)
		}
	}
	close(entry.loaded)
	table.mu.Unlock()
}

func (b *Broker) openTopic(ctx context.Context, name TopicName, in Bundle, create bool) (*topic, error) {
	policies, err := b.NamespacePolicies(name.NamespaceName())
	if err != nil {
		return nil, err
	}
	if err := b.checkPartition(ctx, name, create); err != nil {
		return nil, err
	}
	if !name.IsPersistent() {
		t := newTopic(b, name, in, nil)
		t.policies = policies
		t.loaded()
		b.tasks.Go(t.run)
		return t, nil
	}
	if override := policies.known.AutoTopicCreation; override != nil && !override.Allow {
		create = false
	}
	offload := b.offloadPolicy(policies)
	options := managedledger.Options{MustExist: !create, Retention: retention(policies), Offload: &offload}
	if quorums := policies.known.Persistence; quorums != nil {
		options.Ensemble, options.WriteQuorum, options.AckQuorum = quorums.Ensemble, quorums.WriteQuorum, quorums.AckQuorum
	}
	log, err := b.storage.Open(ctx, name.storageName(), options)
	if errors.Is(err, managedledger.ErrNotFound) {
		if err := b.catchUp(); err != nil {
			return nil, err
		}
		log, err = b.storage.Open(ctx, name.storageName(), options)
	}
	if errors.Is(err, managedledger.ErrNotFound) {
		return nil, fmt.Errorf("%w: %s", errTopicNotFound, name)
	}
	if err != nil {
		return nil, fmt.Errorf("opening topic %s: %w", name, err)
	}
	t := newTopic(b, name, in, log)
	if err := t.restore(ctx, policies); err != nil {
		closeErr := log.Close(ctx)
		t.cancel()
		return nil, cmpError(err, closeErr)
	}
	t.loaded()
	b.tasks.Go(t.run)
	b.reportSoon()
	return t, nil
}

func retention(policies Policies) managedledger.Retention {
	keep := policies.known.Retention
	if keep == nil {
		return managedledger.Retention{}
	}
	kept := managedledger.Retention{Time: time.Duration(keep.Minutes) * time.Minute, Bytes: keep.Megabytes << 20}
	if keep.Megabytes < 0 {
		kept.Bytes = -1
	}
	return kept
}

// restore brings the subscriptions back that are stored.
func (t *topic) restore(ctx context.Context, policies Policies) error {
	t.policies = policies
	for _, stored := range t.log.Cursors() {
		if !stored.Durable() || stored.Name() == dedupCursor {
			continue
		}
		name, err := decodeZnode(stored.Name())
		if err != nil {
			return fmt.Errorf("topic %s: cursor %q: %w", t.name, stored.Name(), err)
		}
		s := t.newSub(name, true)
		s.cursor, s.open = stored, true
		s.rewind()
	}
	t.restoreEpoch()
	return t.restoreDeduplication(ctx)
}

// loadedTopic is a topic that is being served now; nil when it is not.
func (tt *topicTable) loadedTopic(name TopicName) *topic {
	tt.mu.Lock()
	entry := tt.entries[name.String()]
	tt.mu.Unlock()
	if entry == nil {
		return nil
	}
	select {
	case <-entry.loaded:
		return entry.topic
	default:
		return nil
	}
}

// count is how many topics are loaded or being loaded.
func (tt *topicTable) count() int {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	return len(tt.entries)
}

// all lists the topics that are loaded, by name.
func (tt *topicTable) all() []*topic {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	var loaded []*topic
	for _, entry := range tt.entries {
		select {
		case <-entry.loaded:
			if entry.topic != nil && !entry.closing {
				loaded = append(loaded, entry.topic)
			}
		default:
		}
	}
	slices.SortFunc(loaded, func(a, b *topic) int { return compareText(a.name.String(), b.name.String()) })
	return loaded
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// closeMatching closes the topics that match, at the same time, and returns when all are closed.
func (tt *topicTable) closeMatching(ctx context.Context, match func(name string, entry *topicEntry) bool, end func(context.Context, *topic) error) error {
	tt.mu.Lock()
	closing := map[string]*topicEntry{}
	var others []*topicEntry
	for name, entry := range tt.entries {
		if !match(name, entry) {
			continue
		}
		if entry.closing {
			others = append(others, entry)
			continue
		}
		entry.closing = true
		closing[name] = entry
	}
	tt.mu.Unlock()
	var wait sync.WaitGroup
	var mu sync.Mutex
	var first error
	for name, entry := range closing {
		wait.Go(func() {
			<-entry.loaded // its own timeout ends a load
			var err error
			if entry.topic != nil {
				err = end(ctx, entry.topic)
			}
			tt.mu.Lock()
			if tt.entries[name] == entry {
				delete(tt.entries, name)
			}
			tt.mu.Unlock()
			close(entry.closed)
			mu.Lock()
			first = cmpError(first, err)
			mu.Unlock()
		})
	}
	wait.Wait()
	for _, other := range others {
		select {
		case <-other.closed:
		case <-ctx.Done():
		}
	}
	return first
}

func closeFor(reason trace.Reason) func(context.Context, *topic) error {
	return func(ctx context.Context, t *topic) error {
		err := t.close(ctx, reason)
		if err != nil {
			t.broker.logger.Debug("closing a topic", "topic", t.name.String(), "reason", reason, "error", err)
		}
		return err
	}
}

func (tt *topicTable) closeBundle(ctx context.Context, in Bundle, reason trace.Reason) {
	tt.closeMatching(ctx, func(_ string, entry *topicEntry) bool { return entry.bundle == in }, closeFor(reason))
}

func (tt *topicTable) closeAll(ctx context.Context, reason trace.Reason) {
	tt.closeMatching(ctx, func(string, *topicEntry) bool { return true }, closeFor(reason))
}

func (tt *topicTable) closeTopic(ctx context.Context, t *topic, end func(context.Context, *topic) error) error {
	return tt.closeMatching(ctx, func(_ string, entry *topicEntry) bool {
		select {
		case <-entry.loaded:
			return entry.topic == t
		default:
			return false
		}
	}, end)
}

// closeLater closes a topic that cannot go on; it is called from the topic's own goroutine.
func (tt *topicTable) closeLater(t *topic, reason trace.Reason) {
	t.broker.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.context), t.broker.config.OperationTimeout)
		defer cancel()
		if err := tt.closeTopic(ctx, t, closeFor(reason)); err != nil {
			t.broker.logger.Debug("closing a topic that cannot go on", "topic", t.name.String(), "error", err)
		}
	})
}

// load sums up what was measured last.
func (tt *topicTable) load() brokerLoad {
	tt.mu.Lock()
	defer tt.mu.Unlock()
	load := tt.current
	load.topics = len(tt.entries)
	return load
}
