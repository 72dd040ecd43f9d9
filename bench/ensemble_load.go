package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

const (
	// loadTime is how long one case is loaded.
	loadTime   = time.Second
	znodeBytes = 100
)

// ensembleLoad is what came of one case.
type ensembleLoad struct {
	took      time.Duration
	latencies []time.Duration // sorted
}

func (l ensembleLoad) perSecond() float64 { return float64(len(l.latencies)) / l.took.Seconds() }

func (l ensembleLoad) p99Milliseconds() float64 {
	if len(l.latencies) == 0 {
		return 0
	}
	return float64(l.latencies[len(l.latencies)*99/100].Microseconds()) / 1000
}

// load runs one case in a subtree of its own. Connections are spread over the servers, and with each round they begin at another one:
// a leader and a follower need not be equally fast.
func (z *zooServers) load(ctx context.Context, c ensembleCase, round int) (ensembleLoad, error) {
	conns, closeAll, err := z.connect(c.connections, round)
	if err != nil {
		return ensembleLoad{}, err
	}
	defer closeAll()
	parent := fmt.Sprintf("/bench-%d-%s-%dx%d", round, c.operation, c.connections, c.inFlight)
	if _, err := conns[0].Create(parent, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		return ensembleLoad{}, fmt.Errorf("creating %s: %w", parent, err)
	}
	for _, conn := range conns { // all servers have it
		if _, err := conn.Sync(parent); err != nil {
			return ensembleLoad{}, fmt.Errorf("sync: %w", err)
		}
	}
	var workers []func() error
	for i := range c.connections * c.inFlight {
		worker, err := newWorker(conns[i%len(conns)], c.operation, fmt.Sprintf("%s/%d", parent, i))
		if err != nil {
			return ensembleLoad{}, err
		}
		workers = append(workers, worker)
	}
	return runWorkers(ctx, workers)
}

func (z *zooServers) connect(count, first int) (conns []*zk.Conn, closeAll func(), err error) {
	closeAll = func() {
		for _, conn := range conns {
			conn.Close()
		}
	}
	for i := range count {
		conn, events, err := zk.Connect([]string{z.addresses[(first+i)%len(z.addresses)]}, 20*time.Second, zk.WithLogInfo(false))
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		conns = append(conns, conn)
		if err := awaitSession(events); err != nil {
			closeAll()
			return nil, nil, err
		}
	}
	return conns, closeAll, nil
}

func awaitSession(events <-chan zk.Event) error {
	limit := time.After(20 * time.Second)
	for {
		select {
		case event := <-events:
			if event.State == zk.StateHasSession {
				return nil
			}
		case <-limit:
			return errors.New("there was no session within 20 s")
		}
	}
}

// newWorker returns what one of the requests in flight does over and over, on znodes of its own.
func newWorker(conn *zk.Conn, operation, path string) (func() error, error) {
	data := make([]byte, znodeBytes)
	if operation == "create" {
		number := 0
		return func() error {
			number++
			_, err := conn.Create(fmt.Sprintf("%s-%d", path, number), data, 0, zk.WorldACL(zk.PermAll))
			return err
		}, nil
	}
	if _, err := conn.Create(path, data, 0, zk.WorldACL(zk.PermAll)); err != nil {
		return nil, fmt.Errorf("creating %s: %w", path, err)
	}
	if operation == "set" {
		return func() error { _, err := conn.Set(path, data, -1); return err }, nil
	}
	return func() error { _, _, err := conn.Get(path); return err }, nil
}

// runWorkers lets every worker go on for loadTime, and finish what it has begun.
func runWorkers(ctx context.Context, workers []func() error) (ensembleLoad, error) {
	latencies, failures := make([][]time.Duration, len(workers)), make([]error, len(workers))
	var all sync.WaitGroup
	began := time.Now()
	end := began.Add(loadTime)
	for i, work := range workers {
		all.Go(func() {
			for at := time.Now(); at.Before(end) && ctx.Err() == nil; {
				if failures[i] = work(); failures[i] != nil {
					return
				}
				now := time.Now()
				latencies[i] = append(latencies[i], now.Sub(at))
				at = now
			}
		})
	}
	all.Wait()
	load := ensembleLoad{took: time.Since(began), latencies: slices.Concat(latencies...)}
	slices.Sort(load.latencies)
	return load, errors.Join(append(failures, ctx.Err())...)
}
