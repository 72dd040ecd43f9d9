package cluster_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"twinlog/engine/cluster"
	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/node"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/ledger"
)

// idle is a node that does nothing.
type idle struct{ ready chan struct{} }

func (i idle) Ready() <-chan struct{} { return i.ready }

func (i idle) Run(ctx context.Context) error {
	close(i.ready)
	<-ctx.Done()
	return nil
}

// runCluster runs a cluster with disks in memory, whose members may change, until the test ends.
func runCluster(t *testing.T, network *fabric.Fabric, layout cluster.Layout, maker cluster.Maker, discard func(node string) error) *cluster.Cluster {
	t.Helper()
	nodes, err := layout.Nodes()
	check(t, err)
	c, err := cluster.New(cluster.Config{
		Nodes: nodes, Fabric: network, Run: "run", Make: maker,
		Disk:    func(string) (disk.Disk, error) { return disk.NewMemory(), nil },
		Members: &cluster.Members{Layout: layout, Remember: func(cluster.Layout) error { return nil }, Discard: discard},
	})
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		check(t, <-ended)
	})
	<-c.Ready()
	return c
}

// withIdleBookies is a cluster whose bookies do nothing.
func withIdleBookies(t *testing.T, network *fabric.Fabric, layout cluster.Layout) *cluster.Cluster {
	t.Helper()
	return runCluster(t, network, layout, func(config node.Config, surroundings node.Surroundings) (cluster.Runnable, error) {
		if config.Role == node.RoleBookie {
			return idle{make(chan struct{})}, nil
		}
		return cluster.MakeNode(config, surroundings)
	}, func(string) error { return nil })
}

// TestTheEnsembleTellsWhatABookieIsNeededFor: also of ledgers that no trace of this run has told of.
func TestTheEnsembleTellsWhatABookieIsNeededFor(t *testing.T) {
	network := fabric.NewMemory()
	c := withIdleBookies(t, network, cluster.Layout{Host: "127.0.0.1", Ensemble: 1, Bookies: 2, Pace: node.Classroom})
	conn, _, err := metadata.Connect(network.Of(fabric.Client), []string{"127.0.0.1:2181"}, 10*time.Second, nil)
	check(t, err)
	defer conn.Close()
	check(t, metadata.Format(conn))
	for id, bookie := range map[int64]string{5: "127.0.0.1:3181", 7: "127.0.0.1:3182", 8: "127.0.0.1:3181"} {
		_, err := metadata.CreateLedger(conn, id, ledger.Metadata{
			Ensemble: 1, WriteQuorum: 1, AckQuorum: 1, State: ledger.Open, LastEntry: ledger.NoEntry, Digest: ledger.CRC32C,
			Created: time.UnixMilli(5), Segments: []ledger.Segment{{Bookies: []string{bookie}}},
		})
		check(t, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if ledgers, err := c.LedgersOn(ctx, "bookie-1"); err != nil || !slices.Equal(ledgers, []int64{5, 8}) {
		t.Errorf("%v %v", ledgers, err)
	}
	if _, err := c.LedgersOn(ctx, "ensemble-1"); err == nil || !strings.Contains(err.Error(), "no bookie") {
		t.Errorf("an ensemble server: %v", err)
	}
}

// TestAnEnsembleThatDoesNotAnswerIsNotWaitedForLonger: it gave a session, and has lost its majority since.
func TestAnEnsembleThatDoesNotAnswerIsNotWaitedForLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := fabric.NewMemory()
		listener, err := network.Of("mute").Listen("127.0.0.1:2181")
		check(t, err)
		defer listener.Close()
		go giveSessions(listener)
		c := withIdleBookies(t, network, cluster.Layout{Host: "127.0.0.1", Bookies: 2, ZooKeeper: []string{"127.0.0.1:2181"}, Pace: node.Classroom})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		_, err = c.LedgersOn(ctx, "bookie-1")
		if err == nil || !strings.Contains(err.Error(), "did not answer in time") {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it was waited for for %v", took)
		}
	})
}

// giveSessions is a ZooKeeper that answers the first request of each connection, which asks for a session, and pings, and nothing else,
// not even goodbyes.
func giveSessions(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			if _, err := readFrame(conn); err != nil {
				return
			}
			answer := make([]byte, 4+4+4+8+4+16)
			binary.BigEndian.PutUint32(answer, uint32(len(answer)-4))
			binary.BigEndian.PutUint32(answer[8:], 10_000) // the session's timeout in ms
			binary.BigEndian.PutUint64(answer[12:], 77)    // its id
			binary.BigEndian.PutUint32(answer[20:], 16)    // its password's length
			if _, err := conn.Write(answer); err != nil {
				return
			}
			for {
				request, err := readFrame(conn)
				if err != nil {
					return
				}
				const ping = -2
				if int32(binary.BigEndian.Uint32(request)) != ping {
					continue
				}
				answer := make([]byte, 4+16)
				binary.BigEndian.PutUint32(answer, 16)
				copy(answer[4:], request[:4])
				if _, err := conn.Write(answer); err != nil {
					return
				}
			}
		}()
	}
}

func readFrame(conn net.Conn) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(conn, frame)
	return frame, err
}
