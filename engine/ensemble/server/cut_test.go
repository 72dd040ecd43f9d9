package server_test

import (
	"context"
	"net"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/ensemble/server"
)

type serverConfig = server.Config

// cutDialer dials as a node of its own, whose network cut takes away: to the ensemble it is a crash.
func (e *ensemble) cutDialer(node string) zk.Dialer {
	view := e.fabric.Of(node)
	e.views[node] = view
	return func(_, address string, timeout time.Duration) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		return view.Dial(ctx, address)
	}
}

func (e *ensemble) cut(node string) { e.views[node].Sever() }

// leader asks the servers.
func (e *ensemble) leader() int {
	e.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		for id := range e.running {
			if stats, ok := zk.FLWSrvr(e.addresses(id), time.Second); ok && stats[0].Mode == zk.ModeLeader {
				return id
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	e.t.Fatal("no leader")
	return 0
}
