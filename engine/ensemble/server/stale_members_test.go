package server_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"twinlog/engine/ensemble/tree"
	"twinlog/engine/fabric"
)

// TestARestartedServerKnowsTheNewMembers is what the simulation found with seed 5. One of three servers is down when they become five;
// another one learns that, and crashes. The three others, a majority of the five, go on and write. The two come back and see only each
// other: two of the three that they were, but two of the five that they are. They must not elect a leader, or what was acknowledged is lost.
func TestARestartedServerKnowsTheNewMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulation(t, 5)
		defer s.killAll()
		s.found()
		leader := s.leader()
		followers := slices.DeleteFunc(slices.Clone(s.members), func(id int) bool { return id == leader })
		away, knows := followers[0], followers[1]
		s.start(4)
		s.start(5)
		s.mustChange(leader, []int{4, 5}, nil)
		for _, id := range []int{4, 5} {
			s.awaitReady(id, "after it was made a member")
		}
		s.mustChange(leader, nil, []int{4, 5}) // they go on following
		time.Sleep(time.Second)                // of the bubble: each server has the snapshot that a change brings about
		s.kill(away)
		s.mustWrite(leader, "/two-of-three")
		s.mustChange(knows, []int{4, 5}, nil)
		synctest.Wait() // the new members decide alone; no time has passed, so that no snapshot tells of it yet
		s.kill(knows)
		s.mustWrite(s.leader(), "/three-of-five")

		for _, old := range []int{away, knows} {
			for _, id := range []int{leader, 4, 5} {
				s.setLink(old, id, fabric.Link{Cut: true})
				s.setLink(id, old, fabric.Link{Cut: true})
			}
		}
		s.start(away)
		s.start(knows)
		time.Sleep(time.Minute) // of the bubble
		for _, old := range []int{away, knows} {
			select {
			case <-s.lives[old].server.Ready():
				t.Fatalf("server %d serves, with one other of five", old)
			default:
			}
		}
		s.healLinks()
		for _, id := range s.running() {
			s.awaitReady(id, "after all can be reached")
		}
		s.mustWrite(s.leader(), "/five")
	})
}

// mustChange asks a server until the members are changed.
func (s *simulation) mustChange(at int, joining, leaving []int) {
	s.t.Helper()
	changed := func() bool {
		c, err := s.administrator(at)
		if err != nil {
			return false
		}
		defer c.conn.Close()
		answer, err := c.reconfigure(joining, leaving)
		return err == nil && tree.Error(answer.code) == tree.OK
	}
	if !s.within(changed) {
		s.t.Errorf("after a minute %v have not joined and %v have not left", joining, leaving)
	}
}
