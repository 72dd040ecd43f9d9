package server

import (
	"testing"
	"time"

	"twinlog/engine/ensemble/tree"
)

// TestWhoTakesPart: to be connected is not enough to count as one of the new members.
func TestWhoTakesPart(t *testing.T) {
	const self, other, nonce = 1, 2, 77
	now := time.Now()
	for name, c := range map[string]struct {
		connected bool
		heard     time.Time    // the last message under its Raft id
		blank     *blankServer // what it says of its disk
		want      bool
	}{
		"connected and heard":                           {true, now, nil, true},
		"connected, but blank and not heard":            {true, time.Time{}, nil, false},
		"connected, and not heard for long":             {true, now.Add(-time.Minute), nil, false},
		"heard a moment ago, and gone":                  {false, now, nil, false},
		"blank, and waits to be welcomed":               {true, time.Time{}, &blankServer{nonce, now}, true},
		"blank again since it was made a member":        {true, now, &blankServer{nonce + 1, now}, false},
		"said long ago that it is blank, and not heard": {true, time.Time{}, &blankServer{nonce, now.Add(-time.Minute)}, false},
	} {
		connection := &peer{server: other}
		connection.connected.Store(c.connected)
		o := &owner{
			config: &Config{ID: self, ElectionTimeout: time.Second}, storage: &storage{raftID: raftID(self, 0)},
			transport: &transport{peers: map[int32]*peer{other: connection}},
		}
		member := tree.Member{RaftID: raftID(other, 3), Nonce: nonce}
		o.lastHeard = map[uint64]time.Time{member.RaftID: c.heard}
		o.blank = map[int32]blankServer{}
		if c.blank != nil {
			o.blank[other] = *c.blank
		}
		if got := o.takesPart(other, member); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if !o.takesPart(self, tree.Member{RaftID: raftID(self, 0)}) {
			t.Errorf("%s: this server does not take part itself", name)
		}
	}
}
