package broker

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"twinlog/engine/pulsar/bundle"
	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/trace"
)

const (
	// maxCommands bounds the commands of clients that wait for a topic; their connections are not read meanwhile.
	maxCommands = 256
	// maxTopicPendingBytes bounds the messages of one topic that are not yet stored.
	maxTopicPendingBytes = 32 << 20
)

// topic is one topic that this broker serves. One goroutine owns it: its producers, its subscriptions, what is dispatched to whom.
// Others hand it functions to run: submit for what clients ask, their farewell included, which run in the order in which a connection
// hands them over (bounded, the caller waits), and post for what must not wait (a stored entry, a read; bounded by what the topic itself
// started).
type topic struct {
	broker *Broker
	name   TopicName
	bundle Bundle
	log    topicLog // nil for a non-persistent topic

	commands   chan func()
	submitting atomic.Int32 // goroutines inside submit
	refusing   atomic.Bool
	mu         sync.Mutex
	posted     []func()
	ended      bool          // nothing is accepted any more
	wake       chan struct{} // capacity 1
	done       chan struct{} // closed when the goroutine ended
	reads      sync.WaitGroup
	context    context.Context // ends with the topic
	cancel     context.CancelFunc

	pendingBytes *limiter

	// Everything below belongs to the topic's goroutine.
	closing       bool
	producers     map[string]*producer
	waiting       []waitingProducer // for exclusive access
	exclusive     *producer
	epoch         uint64 // of exclusive access
	hasEpoch      bool
	subscriptions map[string]*sub
	nextConsumer  uint64
	adds          int  // not yet stored
	dirty         bool // something was stored: dispatch before sleeping
	lastActive    time.Time
	in            traffic
	entryCounter  int64 // non-persistent: numbers the messages
	dedup         *deduplication
	policies      Policies
	quotaExceeded *BacklogQuota // nil while the backlog is within its quota
	created       time.Time
}

func newTopic(b *Broker, name TopicName, in Bundle, log topicLog) *topic {
	ctx, cancel := context.WithCancel(b.context)
	return &topic{
		broker: b, name: name, bundle: in, log: log,
		commands: make(chan func(), maxCommands), wake: make(chan struct{}, 1), done: make(chan struct{}),
		context: ctx, cancel: cancel, pendingBytes: newLimiter(maxTopicPendingBytes),
		producers: map[string]*producer{}, subscriptions: map[string]*sub{}, lastActive: time.Now(), created: time.Now(),
	}
}

// submit hands over a client's command, waiting for room. errTopicClosing when the topic is not served here any more.
func (t *topic) submit(ctx context.Context, command func()) error {
	t.submitting.Add(1)
	defer t.submitting.Add(-1)
	if t.refusing.Load() {
		return errTopicClosing
	}
	select {
	case t.commands <- command:
		return nil
	case <-t.done:
		return errTopicClosing
	case <-ctx.Done():
		return ctx.Err()
	}
}

// post hands over what must not wait. It reports false when the topic has ended.
func (t *topic) post(event func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return false
	}
	t.posted = append(t.posted, event)
	select {
	case t.wake <- struct{}{}:
	default:
	}
	return true
}

// ask runs a function in the topic's goroutine and waits for it.
func (t *topic) ask(ctx context.Context, question func()) error {
	answered := make(chan struct{})
	if err := t.submit(ctx, func() { question(); close(answered) }); err != nil {
		return err
	}
	select {
	case <-answered:
		return nil
	case <-t.done:
		// The command may have been the last one that ran.
		select {
		case <-answered:
			return nil
		default:
			return errTopicClosing
		}
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *topic) run() {
	defer close(t.done)
	var batch []func()
	for {
		select {
		case command := <-t.commands:
			command()
		case <-t.wake:
		}
		t.mu.Lock()
		batch, t.posted = t.posted, batch[:0]
		t.mu.Unlock()
		for _, event := range batch {
			event()
		}
		clear(batch)
		if t.dirty {
			t.dirty = false
			t.dispatchAll()
		}
		if t.closing && t.adds == 0 && t.end() {
			t.answerLeftovers()
			return
		}
	}
}

// answerLeftovers runs the commands that were handed over before the topic refused more; each answers that the topic is closing.
func (t *topic) answerLeftovers() {
	t.refusing.Store(true)
	for t.submitting.Load() > 0 || len(t.commands) > 0 {
		select {
		case command := <-t.commands:
			command()
		default:
			runtime.Gosched()
		}
	}
}

// end refuses everything new; it reports false while posted events are left to run.
func (t *topic) end() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.posted) > 0 {
		return false
	}
	t.ended = true
	return true
}

// close ends the topic here: clients are told to look for it elsewhere, messages on their way are waited for, the cursors and the
// ledger are closed. It returns when all is done or ctx ends.
func (t *topic) close(ctx context.Context, reason trace.Reason) error {
	t.post(func() { t.startClosing(reason) })
	select {
	case <-t.done:
	case <-ctx.Done():
		// The adds that are waited for do not come back; nothing is lost by not waiting: they have no receipt.
		t.post(t.abandonAdds)
		<-t.done
	}
	t.cancel()
	t.reads.Wait()
	if t.log == nil {
		return nil
	}
	return t.log.Close(ctx)
}

func (t *topic) abandonAdds() { t.adds = 0 }

func (t *topic) startClosing(reason trace.Reason) {
	if t.closing {
		return
	}
	t.closing = true
	t.disconnectProducers()
	for _, s := range t.subscriptions {
		s.disconnect()
		s.stop()
	}
	t.broker.tracer.Emit(trace.PulsarTopicUnloaded{Topic: t.name.String(), Reason: reason})
}

// disconnectProducers lets every producer start again: what they sent and have no receipt for, they send again.
func (t *topic) disconnectProducers() {
	for _, p := range t.producers {
		p.conn.closeProducer(p)
		t.detached(p)
	}
	for _, waiting := range t.waiting {
		waiting.answer(false, errTopicClosing)
	}
	t.producers, t.waiting, t.exclusive = map[string]*producer{}, nil, nil
}

// loaded announces the topic.
func (t *topic) loaded() {
	event := trace.PulsarTopicLoaded{
		Topic: t.name.String(), Namespace: t.name.NamespaceName(), Bundle: t.bundle.Range.String(), Hash: bundle.Hash(t.name.String()),
	}
	if t.log != nil {
		for _, info := range t.log.Ledgers() {
			event.Ledgers = append(event.Ledgers, info.Ledger)
		}
		event.Offloaded = offloadedLedgers(t.name.storageName(), t.log.Ledgers())
	}
	t.broker.tracer.Emit(event)
	for _, s := range t.subscriptions {
		s.traceMark()
	}
}

// createSubscription makes a durable subscription without consumer; ErrExists when it is there.
func (t *topic) createSubscription(ctx context.Context, name string, initial managedledger.Position, properties map[string]string) error {
	result := make(chan error, 1)
	err := t.submit(ctx, func() {
		if t.closing {
			result <- errTopicClosing
			return
		}
		if _, there := t.subscriptions[name]; there {
			result <- Refuse(ErrExists, "subscription %q exists already", name)
			return
		}
		t.openSubscription(name, initial, true, properties).whenOpen(func(err error) { result <- err })
	})
	if err != nil {
		return err
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
