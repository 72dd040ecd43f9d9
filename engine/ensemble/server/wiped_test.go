package server_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
)

// TestAWipedServerDoesNotCountForNewMembers is what the simulation found with seed 124. One of three servers has lost its disk, and can
// be reached, but the leader does not know yet that it has nothing: it does not answer to the Raft id that it had. A change of the
// members to the leader and that server alone must be refused: they could decide nothing any more, not even to give it a new Raft id.
func TestAWipedServerDoesNotCountForNewMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulation(t, 124)
		defer s.killAll()
		s.found()
		leader := s.leader()
		followers := slices.DeleteFunc(slices.Clone(s.members), func(id int) bool { return id == leader })
		wiped, leaves := followers[0], followers[1]

		s.kill(wiped)
		s.disks[wiped] = nil
		// Its configuration has addresses of the others at which nobody is: they reach it, and it cannot tell them anything.
		s.startWith(wiped, map[int]string{leader: "nobody:1", leaves: "nobody:2", wiped: simulatedPeer(wiped)})
		time.Sleep(time.Minute) // of the bubble: the leader is connected with it, and has long heard nothing

		if code := s.leave(leader, leaves); code != tree.ErrNewConfigNoQuorum {
			t.Errorf("the change to a majority that needs the wiped server is answered with %v", code)
		}
		s.mustWrite(leader, "/still-decides")

		s.kill(wiped)
		s.start(wiped)
		s.awaitReady(wiped, "after it found the others")
		if code := s.leave(leader, leaves); code != tree.OK {
			t.Errorf("the same change is answered with %v when the wiped server is a member again", code)
		}
		s.mustWrite(leader, "/the-two-decide")
	})
}

// found starts the founders.
func (s *simulation) found() {
	for _, id := range s.members {
		s.start(id)
	}
	for _, id := range s.members {
		s.awaitReady(id, "after its first start")
	}
}

// within tells whether something comes to be so within a minute of the bubble's time.
func (s *simulation) within(holds func() bool) bool {
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// leader waits until one of the servers leads.
func (s *simulation) leader() (leader int) {
	s.t.Helper()
	if !s.within(func() bool { leader = s.leading(); return leader != 0 }) {
		s.t.Fatal("nobody leads for a minute")
	}
	return leader
}

// leading asks the servers which of them leads; 0: none.
func (s *simulation) leading() int {
	for _, id := range s.running() {
		conn, err := s.fabric.Of("client").Dial(context.Background(), simulatedAddress(id))
		if err != nil {
			continue
		}
		_, _ = io.WriteString(conn, "srvr")
		answer, _ := io.ReadAll(conn)
		conn.Close()
		if strings.Contains(string(answer), "Mode: leader") {
			return id
		}
	}
	return 0
}

// leave asks a server to let another one leave, and returns what it answers.
func (s *simulation) leave(at, leaving int) tree.Error {
	s.t.Helper()
	c, err := s.administrator(at)
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.conn.Close()
	answer, err := c.reconfigure(nil, []int{leaving})
	if err != nil {
		s.t.Fatalf("server %d does not answer that %d is to leave: %v", at, leaving, err)
	}
	return tree.Error(answer.code)
}

func (s *simulation) mustWrite(at int, path string) {
	s.t.Helper()
	c, err := s.dial("client", at, 0, nil, 0)
	if err != nil {
		s.t.Fatalf("server %d takes no client: %v", at, err)
	}
	defer c.conn.Close()
	answer, _, err := c.call(protocol.OpCreate, createBody(path, "", 0))
	if err != nil || tree.Error(answer.code) != tree.OK {
		s.t.Fatalf("server %d does not write %s: %v, %v", at, path, tree.Error(answer.code), err)
	}
}
