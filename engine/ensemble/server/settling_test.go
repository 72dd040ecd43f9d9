package server_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"twinlog/engine/ensemble/tree"
	"twinlog/engine/fabric"
)

// TestServersThatLeftMayGoOnceTheChangeIsAnswered is what the simulation found with seed 180. Two of five servers leave, and are taken
// away as soon as the administrator is told that they have left. At the same instant the leader loses its disk. Two of the three members
// are left, which must be enough; but they had not been told yet that the change is committed, and asked three of the five for votes.
func TestServersThatLeftMayGoOnceTheChangeIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulation(t, 180)
		defer s.killAll()
		s.members = []int{1, 2, 3, 4, 5}
		s.found()
		leader := s.leader()
		others := slices.DeleteFunc(slices.Clone(s.members), func(id int) bool { return id == leader })
		leaving, staying := others[:2], others[2:]
		for _, id := range staying { // what the leader tells them comes late
			s.setLink(leader, id, fabric.Link{Delay: 150 * time.Millisecond})
		}

		c, err := s.administrator(leader)
		if err != nil {
			t.Fatal(err)
		}
		defer c.conn.Close()
		if answer, err := c.reconfigure(nil, leaving); err != nil || tree.Error(answer.code) != tree.OK {
			t.Fatalf("that %v leave is answered with %v, %v", leaving, tree.Error(answer.code), err)
		}
		s.members = slices.Sorted(slices.Values(append(staying, leader)))
		for _, id := range leaving {
			s.kill(id)
		}
		s.wipe(leader)
		s.mustWrite(staying[0], "/the-two-decide")
	})
}

// TestAServerThatIsGoneDoesNotCountForNewMembers is what the simulation found with seed 330. A new server with nothing on its disk has told
// the leader so, and is taken away; another one, with another blank disk, comes in its place. A change that counts on the first one must
// be refused: the leader and that one alone could decide nothing any more, not even to take the second one in.
func TestAServerThatIsGoneDoesNotCountForNewMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulation(t, 330)
		defer s.killAll()
		s.members = []int{1}
		s.found()
		startNew := func() { s.startWith(2, map[int]string{1: simulatedPeer(1), 2: simulatedPeer(2)}) }
		startNew()
		if !s.within(func() bool { return s.counted()[waitsToJoin] > 0 }) {
			t.Fatal("the leader does not hear of the new server")
		}
		s.kill(2)
		s.disks[2] = nil

		c, err := s.administrator(1)
		if err != nil {
			t.Fatal(err)
		}
		defer c.conn.Close()
		if answer, err := c.reconfigure([]int{2}, nil); err != nil || tree.Error(answer.code) != tree.ErrNewConfigNoQuorum {
			t.Fatalf("that a server joins which is gone is answered with %v, %v", tree.Error(answer.code), err)
		}
		s.mustWrite(1, "/still-alone")

		startNew()
		s.mustChange(1, []int{2}, nil)
		s.awaitReady(2, "after it was made a member")
		s.mustWrite(1, "/two")
	})
}
