package server_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"twinlog/engine/ensemble/jute"
	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
)

// memberChange is a reconfiguration on its way. Faults go on meanwhile.
type memberChange struct {
	joining, leaving []int
	want             []int
	done             chan struct{} // closed when the ensemble has agreed and shows the wanted members; until then the old ones are needed, too
}

// changeMembers begins to change three servers to five, or five to any three of them, the leader as well. The administrator who does it
// gives up when ctx ends.
func (s *simulation) changeMembers(ctx context.Context) {
	change := &memberChange{done: make(chan struct{})}
	if len(s.members) == 3 {
		for id := 1; id <= simulatedServers; id++ {
			if slices.Contains(s.members, id) {
				continue
			}
			change.joining = append(change.joining, id)
			if s.lives[id] == nil {
				s.start(id)
			}
		}
		change.want = slices.Sorted(slices.Values(slices.Concat(s.members, change.joining)))
	} else {
		mixed := slices.Clone(s.members)
		s.random.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		change.leaving, change.want = mixed[:2], slices.Sorted(slices.Values(mixed[2:]))
	}
	s.change = change
	s.note("the members %v become %v", s.members, change.want)
	random := rand.New(rand.NewPCG(s.random.Uint64(), 2))
	go func() {
		defer close(change.done)
		for deadline := time.Now().Add(2 * time.Minute); ctx.Err() == nil && !s.reconfigure(change, 1+random.IntN(simulatedServers)); {
			if time.Now().After(deadline) {
				s.t.Errorf("the members did not become %v in two minutes", change.want)
				return
			}
			time.Sleep(time.Duration(100+random.IntN(400)) * time.Millisecond)
		}
	}()
}

// finishChange notes that a change is done, and tells whether one was. Servers that have left stay and follow, or are retired with their
// disks.
func (s *simulation) finishChange() bool {
	if s.change == nil {
		return false
	}
	select {
	case <-s.change.done:
	default:
		return false
	}
	s.count(fmt.Sprintf("%d -> %d servers", len(s.members), len(s.change.want)), 1)
	s.members = s.change.want
	if len(s.change.leaving) > 0 && s.random.IntN(2) == 0 {
		for _, id := range s.change.leaving {
			s.count("retired", 1)
			if s.lives[id] != nil {
				s.kill(id)
			}
			s.disks[id] = nil
		}
	}
	s.change = nil
	return true
}

// reconfigure asks one server for the change and tells whether the wanted members are there. A request whose connection broke may have
// been done, and is then asked for once more.
func (s *simulation) reconfigure(change *memberChange, id int) bool {
	c, err := s.administrator(id)
	if err != nil {
		return false
	}
	defer c.conn.Close()
	answer, err := c.reconfigure(change.joining, change.leaving)
	if err != nil {
		s.note("server %d does not answer a reconfiguration: %v", id, err)
		return false
	}
	s.note("server %d answers a reconfiguration with %v", id, tree.Error(answer.code))
	agreed := tree.Error(answer.code) == tree.OK
	switch tree.Error(answer.code) {
	case tree.OK, tree.ErrNewConfigNoQuorum, tree.ErrSessionExpired, tree.ErrSessionMoved, tree.ErrReconfigInProgress:
	default:
		s.t.Errorf("server %d answers a reconfiguration with %v", id, tree.Error(answer.code))
	}
	if _, _, err := c.call(protocol.OpSync, pathRecord("/")); err != nil {
		return false
	}
	answer, _, err = c.call(protocol.OpGetData, record(func(e *jute.Encoder) { e.String(tree.ConfigPath); e.Bool(false) }))
	s.note("server %d shows the members %v", id, shownMembers(answer.body))
	return agreed && err == nil && answer.code == 0 && slices.Equal(shownMembers(answer.body), change.want)
}

// administrator is a client of a server who may change the members.
func (s *simulation) administrator(id int) (*rawClient, error) {
	c, err := s.dial("administrator", id, 0, nil, 0)
	if err != nil {
		return nil, err
	}
	_, _, err = c.call(protocol.OpAuth, record(func(e *jute.Encoder) {
		e.Int(0)
		e.String("digest")
		e.Buffer([]byte("super:test"))
	}))
	if err != nil {
		c.conn.Close()
		return nil, err
	}
	return c, nil
}

// reconfigure asks that servers join and leave.
func (c *rawClient) reconfigure(join, leave []int) (frame, error) {
	var joining, leaving []string
	for _, id := range join {
		joining = append(joining, fmt.Sprintf("server.%d=%s:3888:participant;%s", id, simulatedPeer(id), simulatedAddress(id)))
	}
	for _, id := range leave {
		leaving = append(leaving, strconv.Itoa(id))
	}
	answer, _, err := c.call(protocol.OpReconfig, record(func(e *jute.Encoder) {
		e.String(strings.Join(joining, ","))
		e.String(strings.Join(leaving, ","))
		e.String("")
		e.Long(-1)
	}))
	return answer, err
}

var memberLine = regexp.MustCompile(`(?m)^server\.(\d+)=`)

// shownMembers are the servers that /zookeeper/config shows, in order.
func shownMembers(body []byte) (members []int) {
	for _, match := range memberLine.FindAllStringSubmatch(string(jute.NewDecoder(body).Buffer()), -1) {
		id, _ := strconv.Atoi(match[1])
		members = append(members, id)
	}
	slices.Sort(members)
	return members
}
