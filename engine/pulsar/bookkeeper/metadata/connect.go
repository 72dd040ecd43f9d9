package metadata

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/fabric"
)

// Session is a ZooKeeper session: its store, its news (above all: that the session is there, or another one after it expired), its
// number, and its end.
type Session struct {
	Store  Store
	Events <-chan zk.Event
	ID     func() int64
	Close  func()
}

// OpenSession is Connect for who needs the Session alone.
func OpenSession(network fabric.Network, servers []string, sessionTimeout time.Duration, logger *slog.Logger) (Session, error) {
	conn, events, err := Connect(network, servers, sessionTimeout, logger)
	if err != nil {
		return Session{}, err
	}
	return Session{Store: conn, Events: events, ID: conn.SessionID, Close: conn.Close}, nil
}

// Connect opens a ZooKeeper session over a node's network. It returns at once; the events tell when the session is there and when it
// expired (the connection then opens another one). The caller closes the connection.
func Connect(network fabric.Network, servers []string, sessionTimeout time.Duration, logger *slog.Logger) (*zk.Conn, <-chan zk.Event, error) {
	dial := func(_, address string, timeout time.Duration) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		return network.Dial(ctx, address)
	}
	conn, events, err := zk.Connect(servers, sessionTimeout, zk.WithDialer(dial), zk.WithLogger(quiet{logger}), zk.WithLogInfo(false))
	if err != nil {
		return nil, nil, fmt.Errorf("open a ZooKeeper session with %v: %w", servers, err)
	}
	return conn, events, nil
}

// quiet writes the ZooKeeper client's remarks where only somebody who looks for them sees them.
type quiet struct{ logger *slog.Logger }

func (q quiet) Printf(format string, arguments ...any) {
	q.logger.Debug("ZooKeeper client", "remark", fmt.Sprintf(format, arguments...))
}
