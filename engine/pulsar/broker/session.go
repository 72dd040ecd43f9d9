package broker

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/trace"
)

// connectZooKeeper opens the broker's session and waits until it is there. The ephemeral znodes of the session are what other
// brokers know of this one; they vanish when the session does.
func (b *Broker) connectZooKeeper(ctx context.Context) (<-chan zk.Event, error) {
	dial := func(_, address string, timeout time.Duration) (net.Conn, error) {
		dialing, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return b.config.Network.Dial(dialing, address)
	}
	// Events must not be lost, or a broker whose session expired would go on serving: the channel is drained at all times.
	events := make(chan zk.Event, 64)
	connection, raw, err := zk.Connect(b.config.ZooKeeper, b.config.SessionTimeout,
		zk.WithDialer(dial), zk.WithLogger(zookeeperLogger{b}), zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("broker %d connects to ZooKeeper %v: %w", b.config.BrokerID, b.config.ZooKeeper, err)
	}
	for {
		select {
		case event := <-raw:
			if event.State != zk.StateHasSession {
				continue
			}
			b.zookeeper = connection
			b.session.Go(func() { forwardSession(raw, events, b.disconnected) })
			return events, nil
		case <-ctx.Done():
			connection.Close()
			return nil, fmt.Errorf("broker %d waited for a session of ZooKeeper %v: %w", b.config.BrokerID, b.config.ZooKeeper, ctx.Err())
		}
	}
}

// forwardSession passes on the events that matter, and ends with the connection.
func forwardSession(raw <-chan zk.Event, events chan<- zk.Event, disconnected chan<- struct{}) {
	defer close(events)
	for event := range raw {
		if event.Type == zk.EventSession && event.State == zk.StateDisconnected {
			select {
			case disconnected <- struct{}{}:
			default:
			}
		}
		if event.Type != zk.EventSession || (event.State != zk.StateExpired && event.State != zk.StateHasSession) {
			continue
		}
		select {
		case events <- event:
		default: // so many changes wait to be acted upon that this one changes nothing
		}
	}
}

// endSessionWhenCut closes the ZooKeeper client as soon as it has no connection, until done. The client lets calls wait for a new
// connection; a broker that shuts down does not: what it cannot hand over, its successors take when the session expires.
func (b *Broker) endSessionWhenCut(done <-chan struct{}) {
	for b.zookeeper.State() == zk.StateHasSession {
		select {
		case <-done:
			return
		case <-b.disconnected:
		}
	}
	b.zookeeper.Close()
}

// watchSession acts when the session expired: the bundles are somebody else's by now, so this broker drops their topics, and begins
// again as a new broker with a new session.
func (b *Broker) watchSession(ctx context.Context, events <-chan zk.Event) {
	expired := false
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-events:
			if !open {
				return
			}
			switch {
			case event.State == zk.StateExpired:
				expired = true
				b.logger.Warn("the ZooKeeper session expired; bundles are given up", "broker", b.id)
				b.dropAllBundles(ctx, trace.ReasonSessionLost)
			case event.State == zk.StateHasSession && expired:
				expired = false
				if err := retryUntil(ctx, "registering the broker again", b.register); err != nil {
					return
				}
			}
		}
	}
}

type zookeeperLogger struct{ broker *Broker }

// Printf is the ZooKeeper client's way to log.
func (l zookeeperLogger) Printf(format string, arguments ...any) {
	l.broker.logger.Debug(fmt.Sprintf(format, arguments...), "client", "zookeeper")
}
