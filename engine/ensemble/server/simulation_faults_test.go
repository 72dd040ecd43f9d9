package server_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"twinlog/engine/disk"
	"twinlog/engine/fabric"
)

var errBroken = errors.New("the disk is broken")

// fault is something that is done to the ensemble, or a change of its members.
type fault int

const (
	crash fault = iota
	restart
	cutLink
	slowLink
	healEveryLink
	loseDisk
	freezeServer
	failSync
	changeServers
)

// faultMix is what happens how often, and after which pauses.
type faultMix struct {
	faults []fault
	pause  func(*rand.Rand) time.Duration
	// ofMembers: nothing happens to servers that are no members, and whenever they have changed, one of them loses its disk at once.
	ofMembers bool
}

// usualFaults are of all kinds. Restless ones bring members and go, and lose their disks, as fast as the ensemble allows, over slow links:
// between a step of a change and the next one there is hardly an instant at which no server was lost.
var (
	usualFaults = faultMix{
		faults: []fault{
			crash, crash, restart, restart, cutLink, slowLink, healEveryLink, loseDisk, loseDisk, freezeServer, failSync,
			changeServers, changeServers, changeServers,
		},
		pause: func(random *rand.Rand) time.Duration { return time.Duration(200+random.IntN(2000)) * time.Millisecond },
	}
	restlessFaults = faultMix{
		faults:    []fault{restart, slowLink, slowLink, slowLink, loseDisk, changeServers, changeServers, changeServers, changeServers},
		pause:     func(random *rand.Rand) time.Duration { return time.Duration(1+random.IntN(200)) * time.Millisecond },
		ofMembers: true,
	}
)

// faultsOf are restless in every fifth seed.
func faultsOf(seed uint64) faultMix {
	if seed%5 == 0 {
		return restlessFaults
	}
	return usualFaults
}

// disturb does faults, and changes the members, until ctx ends. A change that is on its way then may go on until the simulation ends.
func (s *simulation) disturb(ctx, simulation context.Context, mix faultMix) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(mix.pause(s.random)):
		}
		if changed := s.finishChange(); changed && mix.ofMembers && s.allReady() {
			s.wipe(s.members[s.random.IntN(len(s.members))])
		}
		s.restoreMajority()
		id := 1 + s.random.IntN(simulatedServers)
		if mix.ofMembers {
			id = s.members[s.random.IntN(len(s.members))]
		}
		if what := mix.faults[s.random.IntN(len(mix.faults))]; what == changeServers {
			if s.change == nil {
				s.changeMembers(simulation)
			}
		} else {
			s.do(what, id)
		}
	}
}

// do does something to a server, if it can be done now.
func (s *simulation) do(what fault, id int) {
	other := 1 + (id+s.random.IntN(simulatedServers-1))%simulatedServers
	switch running := s.lives[id] != nil; {
	case what == crash && running:
		s.count("kill", 1)
		s.kill(id)
	case what == restart && !running && s.disks[id] != nil:
		s.count("start", 1)
		s.start(id)
	case what == cutLink:
		s.count("cut", 1)
		s.setLink(id, other, fabric.Link{Cut: true})
		if s.random.IntN(2) == 0 {
			s.setLink(other, id, fabric.Link{Cut: true})
		}
	case what == slowLink:
		s.count("slow", 1)
		s.setLink(id, other, fabric.Link{Delay: time.Duration(s.random.IntN(200)) * time.Millisecond, Jitter: 50 * time.Millisecond})
	case what == healEveryLink:
		s.count("heal", 1)
		s.healLinks()
	case what == loseDisk && s.change == nil && slices.Contains(s.members, id) && s.allReady():
		s.wipe(id)
	case what == freezeServer && running:
		s.count("freeze", 1)
		s.freeze(id)
	case what == failSync && running:
		s.count("sync error", 1)
		s.breakDisk(id)
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
