package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/ensemble/jute"
	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/server"
	"twinlog/engine/ensemble/tree"
	"twinlog/engine/fabric"
)

// reconfigurable is an ensemble of servers that know only those that knows gives.
func reconfigurable(t *testing.T, servers int, knows func(id int) []int) *ensemble {
	e := newEnsemble(t, servers, func(c *serverConfig) {
		c.ReconfigEnabled = true
		c.SuperDigest = "super:" + server.Digest("super:test")
		all := c.Peers
		c.Peers = map[int]string{}
		for _, peer := range knows(c.ID) {
			c.Peers[peer] = all[peer]
		}
	})
	return e
}

func (e *ensemble) administrator(ids ...int) *zk.Conn {
	e.t.Helper()
	conn, _ := e.connect(20*time.Second, ids...)
	if err := conn.AddAuth("digest", []byte("super:test")); err != nil {
		e.t.Fatal(err)
	}
	return conn
}

func (e *ensemble) line(id int) string {
	host, port, _ := strings.Cut(e.configs[id].PeerAddress, ":")
	return fmt.Sprintf("server.%d=%s:%s:%s:participant;%s", id, host, port, port, e.configs[id].ClientAddress)
}

// awaitReconfig asks until the change is done. It may be refused while the leader has not heard of enough of the new members, but it
// must be answered.
func (e *ensemble) awaitReconfig(conn *zk.Conn, joining, leaving []string) {
	e.t.Helper()
	deadline := time.After(patience)
	for {
		answered := make(chan error, 1)
		go func() { _, err := conn.IncrementalReconfig(joining, leaving, -1); answered <- err }()
		var err error
		select {
		case err = <-answered:
		case <-deadline:
			e.t.Fatalf("the change of the members to join %v and to leave %v is not answered", joining, leaving)
		}
		if err == nil {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-deadline:
			e.t.Fatalf("the members are not changed: %v", err)
		}
	}
}

// TestOneServerBecomesThree: the new members, with nothing on their disks, are the majority of the new ones. They must have Raft ids
// that they answer to, or nothing is decided ever again.
func TestOneServerBecomesThree(t *testing.T) {
	e := reconfigurable(t, 3, func(id int) []int {
		if id == 1 {
			return []int{1}
		}
		return []int{1, id}
	})
	e.start(1)
	e.awaitReady(1)
	conn := e.administrator(1)
	must[string](t)(conn.Create("/one", nil, 0, everybody))
	e.start(2, 3)
	e.awaitReconfig(conn, []string{e.line(2), e.line(3)}, nil)
	e.awaitReady(2, 3)
	must[string](t)(conn.Create("/two", nil, 0, everybody))
	e.kill(1)
	late, _ := e.connect(20*time.Second, 2, 3)
	e.awaitWrite(late, "/three")
}

// TestAChangeToAbsentMembersIsRefused: servers that nobody has heard of do not count for a majority of the new members, and who is alone
// goes on.
func TestAChangeToAbsentMembersIsRefused(t *testing.T) {
	e := reconfigurable(t, 3, func(id int) []int {
		if id == 1 {
			return []int{1}
		}
		return []int{1, id}
	})
	e.start(1)
	e.awaitReady(1)
	conn := e.administrator(1)
	if _, err := conn.IncrementalReconfig([]string{e.line(2), e.line(3)}, nil, -1); err == nil {
		t.Error("two of three new members are not there, but the change is done")
	}
	must[string](t)(conn.Create("/still-alone", nil, 0, everybody))
}

// TestNewServersNeedNotKnowTheLeader: one of three is dead, so that the two new servers are needed at once for a majority of the five.
// They know only the follower, which passes on that they are there.
func TestNewServersNeedNotKnowTheLeader(t *testing.T) {
	e, follower := newServersWhoKnowOneFollower(t)
	conn := e.administrator(follower)
	e.awaitReconfig(conn, []string{e.line(4), e.line(5)}, nil)
	e.awaitReady(4, 5)
}

// TestAServerThatWasAwayHearsFromAnUnknownLeader: a server comes back after the members were changed without it. Whoever leads now is
// not among the members that it knows, but must get its answers.
func TestAServerThatWasAwayHearsFromAnUnknownLeader(t *testing.T) {
	e, follower := newServersWhoKnowOneFollower(t)
	conn := e.administrator(follower)
	e.awaitReconfig(conn, []string{e.line(4), e.line(5)}, nil)
	e.awaitReady(4, 5)
	later := e.administrator(4, 5)
	e.awaitReconfig(later, nil, []string{"2", "3"})
	e.awaitWrite(later, "/decided-by-the-new-members") // the entry that ends the joint configuration is before it
	e.kill(2)
	e.kill(3)
	e.awaitWrite(later, "/without-them")
	e.start(1)
	e.awaitReady(1)
}

// newServersWhoKnowOneFollower starts 1, 2 and 3, kills 1, and starts 4 and 5, which know one follower and themselves.
func newServersWhoKnowOneFollower(t *testing.T) (e *ensemble, follower int) {
	e = reconfigurable(t, 5, func(int) []int { return []int{1, 2, 3} })
	e.start(1, 2, 3)
	e.awaitReady(1, 2, 3)
	e.kill(1)
	conn, _ := e.connect(20*time.Second, 2, 3)
	e.awaitWrite(conn, "/two-of-three")
	follower = 5 - e.leader()
	for id := 4; id <= 5; id++ {
		config := e.configs[id]
		config.Peers = map[int]string{follower: e.configs[follower].PeerAddress, id: config.PeerAddress}
		e.configs[id] = config
	}
	e.start(4, 5)
	return e, follower
}

// TestNewMembersRestartBeforeTheyAreWelcomed: the leader hears from two new servers, and what it says reaches them late. They are members
// by then, a majority of the three, and crash before they know. When they are back there is no leader: it had to step down. Nobody can
// give them other Raft ids, so they must still be those that were made members, and be told so by one that does not lead.
func TestNewMembersRestartBeforeTheyAreWelcomed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulation(t, 1)
		defer s.killAll()
		s.members = []int{1}
		s.found()
		startNew := func() {
			for id := 2; id <= 3; id++ {
				s.startWith(id, map[int]string{1: simulatedPeer(1), id: simulatedPeer(id)})
			}
		}
		for id := 2; id <= 3; id++ {
			s.setLink(1, id, fabric.Link{Delay: time.Second})
		}
		startNew()
		answered := make(chan struct{})
		go func() { // until a majority of the three takes part, nobody can answer
			defer close(answered)
			s.mustChange(1, []int{2, 3}, nil)
		}()
		s.awaitMembers(1, []int{1, 2, 3})
		s.kill(2)
		s.kill(3)
		if !s.within(func() bool { return s.leading() == 0 }) {
			t.Fatal("a leader that hears from one of three goes on")
		}
		s.healLinks()
		startNew()
		s.awaitReady(2, "after it was made a member")
		s.awaitReady(3, "after it was made a member")
		<-answered
		s.mustWrite(s.leader(), "/decided-by-three")
	})
}

// awaitMembers waits until a server shows who the members are.
func (s *simulation) awaitMembers(at int, want []int) {
	s.t.Helper()
	c, err := s.administrator(at)
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.conn.Close()
	shows := func() bool {
		answer, _, err := c.call(protocol.OpGetData, record(func(e *jute.Encoder) { e.String(tree.ConfigPath); e.Bool(false) }))
		if err != nil {
			s.t.Fatalf("server %d does not show the members: %v", at, err)
		}
		return slices.Equal(shownMembers(answer.body), want)
	}
	if !s.within(shows) {
		s.t.Fatalf("server %d does not show the members %v for a minute", at, want)
	}
}
