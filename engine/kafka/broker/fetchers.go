package broker

import (
	"context"
	"sync"
	"time"

	"twinlog/engine/kafka/replica"
)

// fetchers makes this broker's followers follow: one fetcher for each leader, over one connection, for all partitions that it leads.
type fetchers struct {
	broker *Broker
	ctx    context.Context

	mu       sync.Mutex
	byLeader map[int32]*fetcher
	of       map[*partition]*fetcher
	running  sync.WaitGroup
}

func newFetchers(ctx context.Context, b *Broker) *fetchers {
	return &fetchers{broker: b, ctx: ctx, byLeader: map[int32]*fetcher{}, of: map[*partition]*fetcher{}}
}

// assign makes a partition follow a leader in an epoch; a leader that is this broker, or none, ends the following.
func (f *fetchers) assign(p *partition, leader, epoch int32) {
	f.forget(p)
	if leader < 0 || leader == f.broker.config.BrokerID {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx.Err() != nil {
		return
	}
	target := f.byLeader[leader]
	if target == nil {
		target = newFetcher(f.broker, leader)
		f.byLeader[leader] = target
		f.running.Go(func() { target.run(f.ctx) })
	}
	f.of[p] = target
	target.add(p, epoch)
}

// forget ends a partition's following. A fetch that is under way may still come back; the partition's epoch tells that it is stale.
func (f *fetchers) forget(p *partition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if old := f.of[p]; old != nil {
		old.remove(p)
		delete(f.of, p)
	}
}

// close waits for the fetchers, whose context has ended.
func (f *fetchers) close() { f.running.Wait() }

// following is one partition in a fetcher.
type following struct {
	partition *partition
	epoch     int32     // the leader's
	notBefore time.Time // after an error
}

// fetcher follows one leader.
type fetcher struct {
	broker *Broker
	leader int32

	mu        sync.Mutex
	followed  map[*partition]following
	wake      chan struct{}
	session   fetchSessionClient // owned by run
	lastError string
}

func newFetcher(b *Broker, leader int32) *fetcher {
	return &fetcher{broker: b, leader: leader, followed: map[*partition]following{}, wake: make(chan struct{}, 1)}
}

func (f *fetcher) add(p *partition, epoch int32) {
	f.mu.Lock()
	f.followed[p] = following{partition: p, epoch: epoch}
	f.mu.Unlock()
	f.signal()
}

func (f *fetcher) remove(p *partition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.followed, p)
}

func (f *fetcher) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// delay leaves a partition out for a while. A partition that has been assigned anew since is not meant.
func (f *fetcher) delay(p *partition, epoch int32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if current, is := f.followed[p]; is && current.epoch == epoch {
		current.notBefore = time.Now().Add(f.broker.settings.fetchBackoff)
		f.followed[p] = current
	}
}

// due lists the partitions to fetch now, and when the next delayed one is due; zero when there is none.
func (f *fetcher) due(now time.Time) (list []following, next time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p, item := range f.followed {
		view := p.view.Load()
		switch {
		case view.Role != replica.RoleFollower || view.LeaderEpoch != item.epoch:
			continue
		case item.notBefore.After(now):
			if next.IsZero() || item.notBefore.Before(next) {
				next = item.notBefore
			}
		default:
			list = append(list, item)
		}
	}
	return list, next
}

// run fetches until the context ends: fetch, append, fetch again from the new end. The next fetch tells the leader what this broker has.
func (f *fetcher) run(ctx context.Context) {
	connection := f.broker.connectionTo(f.leader, "fetcher")
	defer connection.close()
	for ctx.Err() == nil {
		list, next := f.due(time.Now())
		if len(list) == 0 {
			if !f.wait(ctx, next) {
				return
			}
			continue
		}
		if err := f.fetch(ctx, connection, list); err != nil && ctx.Err() == nil {
			f.report(err)
			f.session.reset()
			if !pause(ctx, f.broker.settings.fetchBackoff) {
				return
			}
			continue
		}
		f.lastError = ""
	}
}

// wait returns when there may be something to do.
func (f *fetcher) wait(ctx context.Context, next time.Time) bool {
	var due <-chan time.Time
	if !next.IsZero() {
		timer := time.NewTimer(time.Until(next))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-f.wake:
		return true
	case <-due:
		return true
	case <-ctx.Done():
		return false
	}
}

// report logs an error once, not at every try.
func (f *fetcher) report(err error) {
	if text := err.Error(); text != f.lastError {
		f.lastError = text
		f.broker.logger.Warn("the leader cannot be followed", "leader", f.leader, "error", err)
	}
}
