package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/pulsar/bundle"
	"twinlog/engine/trace"
)

// Leader is the value of /loadbalance/leader: the broker that places bundles that nobody owns. The first to create the ephemeral
// znode leads; the others watch it.
type Leader struct {
	BrokerID   string `json:"brokerId"`
	ServiceURL string `json:"serviceUrl"`
}

// leadership is what this broker knows of the leader. Zero: nobody leads, as far as is known.
type leadership struct {
	mu      sync.Mutex
	leader  Leader
	changed chan struct{} // closed at the next change
	// placed is what this broker, as the leader, promised to others and their reports do not show yet.
	placed map[Bundle]placement
	// wanted is where an administrator wants bundles to go that are being unloaded. It is used once, and is a promise then.
	wanted map[Bundle]placement
}

type placement struct {
	broker string
	at     time.Time
}

func newLeadership() *leadership {
	return &leadership{changed: make(chan struct{}), placed: map[Bundle]placement{}, wanted: map[Bundle]placement{}}
}

func (l *leadership) set(leader Leader) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leader == leader {
		return
	}
	l.leader = leader
	close(l.changed)
	l.changed = make(chan struct{})
}

// wait returns the leader as soon as there is one.
func (l *leadership) wait(ctx context.Context) (Leader, error) {
	for {
		l.mu.Lock()
		leader, changed := l.leader, l.changed
		l.mu.Unlock()
		if leader.BrokerID != "" {
			return leader, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Leader{}, fmt.Errorf("waiting for a broker to lead the load management: %w", ctx.Err())
		}
	}
}

// Leader reads who leads; ErrNotFound when nobody does.
func (b *Broker) Leader() (Leader, error) {
	var leader Leader
	_, err := b.readJSON(leaderPath, &leader)
	return leader, err
}

// runElection races for the leader's znode whenever there is none.
func (b *Broker) runElection(ctx context.Context) {
	for ctx.Err() == nil {
		gone, err := b.electOnce()
		if err != nil {
			b.leadership.set(Leader{})
			b.logger.Debug("leader election", "broker", b.id, "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(500 * time.Millisecond):
			}
			continue
		}
		select {
		case <-ctx.Done():
		case event := <-gone:
			if event.Type == zk.EventNodeDeleted || event.Err != nil {
				b.leadership.set(Leader{})
			}
		}
	}
	b.resign()
}

// electOnce tries to become the leader, notes who it is, and returns the watch that fires when that may change.
func (b *Broker) electOnce() (<-chan zk.Event, error) {
	self := Leader{BrokerID: b.id, ServiceURL: b.urls.http}
	data, err := marshal(self)
	if err != nil {
		return nil, err
	}
	err = b.create(leaderPath, data, zk.FlagEphemeral)
	won := err == nil
	if err != nil && !errors.Is(err, ErrExists) {
		return nil, err
	}
	raw, stat, gone, err := b.zookeeper.GetW(leaderPath)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", leaderPath, err)
	}
	var leader Leader
	if err := json.Unmarshal(raw, &leader); err != nil {
		return nil, fmt.Errorf("reading %s: %w", leaderPath, err)
	}
	if leader.BrokerID == b.id && stat.EphemeralOwner != b.zookeeper.SessionID() {
		// Left from an earlier life at this address.
		if err := b.remove(leaderPath); err != nil {
			return nil, err
		}
		return gone, nil
	}
	b.leadership.set(leader)
	if won {
		b.tracer.Emit(trace.PulsarLeaderElected{Broker: b.id})
	}
	return gone, nil
}

func (b *Broker) resign() {
	leader, err := b.Leader()
	if err == nil && leader.BrokerID == b.id {
		if err := b.remove(leaderPath); err != nil {
			b.logger.Debug("resigning as the leader", "error", err)
		}
	}
}

// Prefer makes a broker the one that gets a bundle when it is placed next, within half a minute. Only the leader places bundles: it returns
// the leader's HTTP address under an advertised listener, empty when this broker is the leader and has taken note.
func (b *Broker) Prefer(ctx context.Context, wanted Bundle, destination, listener string) (leader string, err error) {
	if _, err := b.BrokerData(destination); err != nil {
		return "", Refuse(ErrPreconditionFailed, "Broker %s is not available", destination)
	}
	ctx, cancel := context.WithTimeout(ctx, b.config.OperationTimeout)
	defer cancel()
	leads, err := b.leadership.wait(ctx)
	if err != nil {
		return "", err
	}
	if leads.BrokerID != b.id {
		return b.leaderURL(leads, listener)
	}
	b.leadership.mu.Lock()
	defer b.leadership.mu.Unlock()
	b.leadership.wanted[wanted] = placement{broker: destination, at: time.Now()}
	return "", nil
}

// PreferAny takes back what Prefer asked for and what was promised before: the bundle is unloaded to wherever it fits best. Only the leader
// has such promises: it returns the leader's HTTP address like Prefer, empty when this broker is the leader and has taken note. When nobody
// leads there is nothing to take back, and nothing to wait for.
func (b *Broker) PreferAny(unloaded Bundle, listener string) (leader string, err error) {
	leads := b.leadership.takeBack(unloaded)
	if leads.BrokerID == b.id || leads.BrokerID == "" {
		return "", nil
	}
	leader, err = b.leaderURL(leads, listener)
	if errors.Is(err, ErrNotFound) { // it has just gone
		return "", nil
	}
	return leader, err
}

// takeBack forgets what was promised of a bundle, and tells who leads.
func (l *leadership) takeBack(unloaded Bundle) Leader {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.wanted, unloaded)
	delete(l.placed, unloaded)
	return l.leader
}

func (b *Broker) leaderURL(leads Leader, listener string) (string, error) {
	data, err := b.BrokerData(leads.BrokerID)
	if err != nil {
		return "", fmt.Errorf("finding broker %s, which leads the load management: %w", leads.BrokerID, err)
	}
	return data.urls(listener).http, nil
}

const (
	// placementMemory is how long a promise counts that the broker's own report does not confirm.
	placementMemory = 30 * time.Second
	// placementFollowed is how long clients may take to get to the broker that they were sent to: a report that is later than that and does
	// not have the bundle tells that the broker never got it, or has given it up again.
	placementFollowed = 5 * time.Second
)

// over tells whether a promise counts no longer, given what the brokers reported last: somebody got the bundle since then, or it has had
// its time. A report that is older than the promise says nothing about it.
func (p placement) over(promised string, reports map[string]BrokerData, now time.Time) bool {
	report, alive := reports[p.broker]
	if !alive || now.Sub(p.at) >= placementMemory || p.age(report) > placementFollowed {
		return true
	}
	for _, other := range reports {
		if p.age(other) > 0 && slices.Contains(other.Bundles, promised) {
			return true
		}
	}
	return false
}

// age is how old the promise was when a report was made, by the reporter's clock.
func (p placement) age(report BrokerData) time.Duration {
	return time.Duration(report.LastUpdate-p.at.UnixMilli()) * time.Millisecond
}

// place decides, as the leader, which broker is to own a bundle. It returns that broker's registration too.
func (b *Broker) place(wanted Bundle) (string, BrokerData, error) {
	loads, reports, err := b.loads()
	if err != nil {
		return "", BrokerData{}, err
	}
	chosen, found := b.leadership.choose(wanted, loads, reports, time.Now(), rand.Uint64())
	if !found {
		return "", BrokerData{}, fmt.Errorf("%w: bundle %v", errNoBroker, wanted)
	}
	return chosen, reports[chosen], nil
}

// choose decides which broker gets a bundle that nobody owns, and remembers it: whoever asks until that broker has the bundle is sent there.
func (l *leadership) choose(wanted Bundle, loads []bundle.Load, reports map[string]BrokerData, now time.Time, random uint64) (chosen string, found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.placed, func(promised Bundle, p placement) bool { return p.over(promised.String(), reports, now) })
	maps.DeleteFunc(l.wanted, func(_ Bundle, p placement) bool {
		_, alive := reports[p.broker]
		return !alive || now.Sub(p.at) >= placementMemory
	})
	if asked, isWanted := l.wanted[wanted]; isWanted {
		delete(l.wanted, wanted)
		l.placed[wanted] = placement{broker: asked.broker, at: now}
		return asked.broker, true
	}
	if before, promised := l.placed[wanted]; promised {
		return before.broker, true
	}
	for i := range loads {
		for _, before := range l.placed {
			if before.broker == loads[i].Broker {
				loads[i].Preallocated++
			}
		}
	}
	if chosen, found = bundle.Place(loads, random); found {
		l.placed[wanted] = placement{broker: chosen, at: now}
	}
	return chosen, found
}

var errNoBroker = errors.New("No broker was available to own")
