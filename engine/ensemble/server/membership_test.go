package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/disk"
	"twinlog/engine/ensemble/server"
)

func (e *ensemble) wipe(id int) {
	e.t.Helper()
	d, err := disk.NewOS(e.t.TempDir())
	if err != nil {
		e.t.Fatal(err)
	}
	config := e.configs[id]
	config.Disk = d
	e.configs[id] = config
}

// TestAWipedServerJoinsAgain loses a disk, and then needs that very server for a majority.
func TestAWipedServerJoinsAgain(t *testing.T) {
	e := newEnsemble(t, 3, func(c *serverConfig) { c.SnapshotEntries = 20 })
	e.start(1, 2, 3)
	e.awaitReady(1, 2, 3)
	conn, _ := e.connect(20*time.Second, 1, 2, 3)
	for i := range 50 {
		must[string](t)(conn.Create(fmt.Sprintf("/n%02d", i), nil, 0, everybody))
	}
	for _, id := range []int{3, 1, 2} {
		e.kill(id)
		e.wipe(id)
		e.start(id)
		e.awaitReady(id)
	}
	e.kill(1)
	e.awaitWrite(conn, "/after")
	alone, _ := e.connect(20*time.Second, 3)
	if _, err := alone.Sync("/"); err != nil {
		t.Fatal(err)
	}
	if names, _, err := alone.Children("/"); err != nil || len(names) != 52 {
		t.Errorf("server 3 has %d znodes, %v", len(names), err)
	}
}

func (e *ensemble) awaitWrite(conn *zk.Conn, path string) {
	e.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		_, err := conn.Create(path, nil, 0, everybody)
		if err == nil || err == zk.ErrNodeExists {
			return
		}
		if time.Now().After(deadline) {
			e.t.Fatalf("no write for %v: %v", patience, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestAFounderMayComeLate: two of three begin, the third one comes when they have begun.
func TestAFounderMayComeLate(t *testing.T) {
	e := newEnsemble(t, 3, nil)
	e.start(2, 3)
	e.awaitReady(2, 3)
	conn, _ := e.connect(20*time.Second, 2, 3)
	must[string](t)(conn.Create("/early", nil, 0, everybody))
	e.start(1)
	e.awaitReady(1)
	late, _ := e.connect(20*time.Second, 1)
	if there, _, err := late.Exists("/early"); err != nil || !there {
		t.Errorf("the late server does not have what was written before: %v %v", there, err)
	}
}

func TestMembersChangeWhileItRuns(t *testing.T) {
	e := newEnsemble(t, 5, func(c *serverConfig) {
		c.ReconfigEnabled = true
		c.SuperDigest = "super:" + server.Digest("super:test")
	})
	all := e.configs[1].Peers
	for id, config := range e.configs {
		if id <= 3 {
			config.Peers = map[int]string{1: all[1], 2: all[2], 3: all[3]}
		}
		e.configs[id] = config
	}
	e.start(1, 2, 3)
	e.awaitReady(1, 2, 3)
	e.start(4, 5)
	conn, _ := e.connect(20*time.Second, 1, 2, 3)
	if err := conn.AddAuth("digest", []byte("super:test")); err != nil {
		t.Fatal(err)
	}
	line := func(id int) string {
		host, port, _ := strings.Cut(all[id], ":")
		return fmt.Sprintf("server.%d=%s:%s:%s;%s", id, host, port, port, strings.Split(e.configs[id].ClientAddress, ":")[1])
	}
	if _, err := conn.IncrementalReconfig([]string{line(4), line(5)}, nil, -1); err != nil {
		t.Fatalf("adding two servers: %v", err)
	}
	e.awaitReady(4, 5)
	must[string](t)(conn.Create("/five", nil, 0, everybody))
	leader := e.leader()
	other := leader%3 + 1
	if _, err := conn.IncrementalReconfig(nil, []string{fmt.Sprint(leader), fmt.Sprint(other)}, -1); err != nil {
		t.Fatalf("removing the leader %d and %d: %v", leader, other, err)
	}
	must[string](t)(conn.Create("/three", nil, 0, everybody))
	data, _, err := conn.Get("/zookeeper/config")
	if err != nil || strings.Count(string(data), "server.") != 3 {
		t.Errorf("config: %q %v", data, err)
	}
	e.kill(leader)
	e.kill(other)
	e.awaitWrite(conn, "/without-them")
	for id := 4; id <= 5; id++ {
		at, _ := e.connect(20*time.Second, id)
		if _, err := at.Sync("/"); err != nil {
			t.Fatal(err)
		}
		if names, _, err := at.Children("/"); err != nil || len(names) != 4 {
			t.Errorf("server %d: %v %v", id, names, err)
		}
	}
}

// TestMembersMayBeGivenAgain: to add a server that is a member already changes nothing in Raft, but it is answered, as ZooKeeper does.
func TestMembersMayBeGivenAgain(t *testing.T) {
	e := newEnsemble(t, 3, func(c *serverConfig) {
		c.ReconfigEnabled = true
		c.SuperDigest = "super:" + server.Digest("super:test")
	})
	e.start(1, 2, 3)
	e.awaitReady(1, 2, 3)
	conn, _ := e.connect(20*time.Second, 1, 2, 3)
	if err := conn.AddAuth("digest", []byte("super:test")); err != nil {
		t.Fatal(err)
	}
	host, port, _ := strings.Cut(e.configs[3].PeerAddress, ":")
	spec := fmt.Sprintf("%s:%s:%s:participant;%s", host, port, port, e.configs[3].ClientAddress)
	answered := make(chan error, 1)
	go func() { _, err := conn.IncrementalReconfig([]string{"server.3=" + spec}, nil, -1); answered <- err }()
	select {
	case err := <-answered:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Fatalf("no answer for %v", patience)
	}
	data, _, err := conn.Get("/zookeeper/config")
	if err != nil || !strings.Contains(string(data), "server.3="+spec+"\n") || strings.Count(string(data), "server.") != 3 {
		t.Errorf("config: %q %v", data, err)
	}
}
