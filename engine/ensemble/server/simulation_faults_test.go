package server_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"twinlog/engine/disk"
	"twinlog/engine/fabric"
)

var errBroken = errors.New("the disk is broken")

// disturb does faults, and changes the members, until ctx ends. A change that is on its way then may go on until the simulation ends.
func (s *simulation) disturb(ctx, simulation context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(200+s.random.IntN(2000)) * time.Millisecond):
		}
		s.finishChange()
		s.restoreMajority()
		id := 1 + s.random.IntN(simulatedServers)
		other := 1 + (id+s.random.IntN(simulatedServers-1))%simulatedServers
		switch kind := s.random.IntN(14); {
		case kind < 2 && s.lives[id] != nil:
			s.count("kill", 1)
			s.kill(id)
		case kind < 4 && s.lives[id] == nil && s.disks[id] != nil:
			s.count("start", 1)
			s.start(id)
		case kind == 4:
			s.count("cut", 1)
			s.setLink(id, other, fabric.Link{Cut: true})
			if s.random.IntN(2) == 0 {
				s.setLink(other, id, fabric.Link{Cut: true})
			}
		case kind == 5:
			s.count("slow", 1)
			s.setLink(id, other, fabric.Link{Delay: time.Duration(s.random.IntN(200)) * time.Millisecond, Jitter: 50 * time.Millisecond})
		case kind == 6:
			s.count("heal", 1)
			s.healLinks()
		case (kind == 7 || kind == 13) && s.change == nil && slices.Contains(s.members, id) && s.allReady():
			s.wipe(id)
		case kind == 8 && s.lives[id] != nil:
			s.count("freeze", 1)
			s.freeze(id)
		case kind == 9 && s.lives[id] != nil:
			s.count("sync error", 1)
			s.breakDisk(id)
		case kind > 9 && s.change == nil:
			s.changeMembers(simulation)
		}
	}
}

// dead lists the servers without which there may be no majority.
func (s *simulation) dead() (dead []int) {
	needed := s.members
	if s.change != nil {
		needed = slices.Compact(slices.Sorted(slices.Values(slices.Concat(needed, s.change.want))))
	}
	for _, id := range needed {
		if s.lives[id] == nil {
			dead = append(dead, id)
		}
	}
	return dead
}

// allReady tells whether every member runs and has what the others have. One that was made a member a moment ago may still be as empty
// as one that has lost its disk.
func (s *simulation) allReady() bool {
	for _, id := range s.members {
		if s.lives[id] == nil {
			return false
		}
		select {
		case <-s.lives[id].server.Ready():
		default:
			return false
		}
	}
	return true
}

// restoreMajority starts servers when too many are dead: without a majority there is nothing to see for long.
func (s *simulation) restoreMajority() {
	may := (len(s.members) - 1) / 2
	if s.change != nil {
		may = 1 // of the old members and of the new ones
	}
	for dead := s.dead(); len(dead) > may; dead = s.dead() {
		s.count("start", 1)
		s.start(dead[s.random.IntN(len(dead))])
	}
}

// breakDisk makes the next sync fail: the server must end, and must not have acknowledged what it could not sync.
func (s *simulation) breakDisk(id int) {
	l := s.lives[id]
	l.faults.Set(disk.Fault{FailSync: errBroken})
	select {
	case err := <-l.done:
		if !errors.Is(err, errBroken) {
			s.t.Errorf("server %d, whose disk does not sync: %v", id, err)
		}
		l.done <- err
	case <-time.After(5 * time.Second): // it had nothing to sync
	}
	s.kill(id)
}

// freeze stops a server as SIGSTOP would.
func (s *simulation) freeze(id int) {
	s.note("server %d freezes", id)
	l := s.lives[id]
	l.view.Freeze()
	l.faults.Freeze()
	time.Sleep(time.Duration(100+s.random.IntN(5000)) * time.Millisecond)
	l.faults.Thaw()
	l.view.Thaw()
}

func (s *simulation) setLink(from, to int, link fabric.Link) {
	if link != (fabric.Link{}) {
		s.note("link %d to %d: %+v", from, to, link)
	}
	if err := s.fabric.SetLink(nodeName(from), nodeName(to), link); err != nil {
		s.t.Error(err)
	}
}

func (s *simulation) healLinks() {
	for from := 1; from <= simulatedServers; from++ {
		for to := 1; to <= simulatedServers; to++ {
			s.setLink(from, to, fabric.Link{})
		}
	}
}

// wipe loses one server's disk while the others are whole and connected, and waits until the server is a member again: to lose two of
// three disks is to lose what they held, in any system.
func (s *simulation) wipe(id int) {
	s.count("wipe", 1)
	s.healLinks()
	s.kill(id)
	s.disks[id] = nil
	s.start(id)
	s.awaitReady(id, "after its disk was wiped")
}

func (s *simulation) awaitReady(id int, when string) {
	select {
	case <-s.lives[id].server.Ready():
	case err := <-s.lives[id].done:
		s.lives[id].done <- err // kill takes it too
		s.t.Fatalf("server %d ended %s: %v", id, when, err)
	case <-time.After(time.Minute):
		s.t.Fatalf("server %d is not ready a minute %s", id, when)
	}
}

// healAll takes every fault back, and lets the change of the members that is on its way come to its end.
func (s *simulation) healAll() {
	s.healLinks()
	for _, id := range s.dead() {
		s.start(id)
	}
	if s.change != nil {
		select {
		case <-s.change.done:
		case <-time.After(time.Minute):
			s.t.Fatalf("the members are not %v a minute after everything was healed", s.change.want)
		}
		s.finishChange()
	}
	for _, id := range s.running() {
		s.awaitReady(id, "after everything was healed")
	}
}
