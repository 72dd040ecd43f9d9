package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
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
	// wanted is where an administrator wants bundles to go that are being unloaded.
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
// the leader's HTTP address, empty when this broker is the leader and has taken note.
func (b *Broker) Prefer(ctx context.Context, wanted Bundle, destination string) (leader string, err error) {
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
		return leads.ServiceURL, nil
	}
	b.leadership.mu.Lock()
	defer b.leadership.mu.Unlock()
	b.leadership.wanted[wanted] = placement{broker: destination, at: time.Now()}
	return "", nil
}

// placementMemory is how long a promise counts that the broker's own report does not confirm.
const placementMemory = 30 * time.Second

// place decides, as the leader, which broker is to own a bundle. It returns that broker's registration too.
func (b *Broker) place(wanted Bundle) (string, BrokerData, error) {
	loads, reports, err := b.loads()
	if err != nil {
		return "", BrokerData{}, err
	}
	l := b.leadership
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if asked, isWanted := l.wanted[wanted]; isWanted {
		if data, alive := reports[asked.broker]; alive && now.Sub(asked.at) < placementMemory {
			return asked.broker, data, nil
		}
		delete(l.wanted, wanted)
	}
	if before, promised := l.placed[wanted]; promised && now.Sub(before.at) < placementMemory {
		if data, alive := reports[before.broker]; alive {
			return before.broker, data, nil
		}
	}
	reported := map[Bundle]bool{}
	for _, data := range reports {
		for _, name := range data.Bundles {
			if parsed, err := ParseBundle(name); err == nil {
				reported[parsed] = true
			}
		}
	}
	for promised, before := range l.placed {
		if reported[promised] || now.Sub(before.at) >= placementMemory {
			delete(l.placed, promised)
		}
	}
	for i := range loads {
		for _, before := range l.placed {
			if before.broker == loads[i].Broker {
				loads[i].Preallocated++
			}
		}
	}
	chosen, found := bundle.Place(loads, rand.Uint64())
	if !found {
		return "", BrokerData{}, fmt.Errorf("%w: bundle %v", errNoBroker, wanted)
	}
	l.placed[wanted] = placement{broker: chosen, at: now}
	return chosen, reports[chosen], nil
}

var errNoBroker = errors.New("No broker was available to own")
