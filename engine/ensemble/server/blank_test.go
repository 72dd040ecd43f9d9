package server

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"twinlog/engine/disk"
	"twinlog/engine/ensemble/tree"
)

// TestWhoTakesPart: to be connected is not enough to count as one of the new members.
func TestWhoTakesPart(t *testing.T) {
	const self, other, nonce = 1, 2, 77
	now := time.Now()
	asked, before := now.Add(-time.Millisecond), now.Add(-2*time.Millisecond)
	for name, c := range map[string]struct {
		known     int64 // the nonce that this member had before the change
		connected bool
		heard     time.Time    // the last message under its Raft id
		blank     *blankServer // what it says of its disk
		want      bool
	}{
		"connected and heard":                           {nonce, true, now, nil, true},
		"connected, but blank and not heard":            {nonce, true, time.Time{}, nil, false},
		"connected, and not heard for long":             {nonce, true, now.Add(-time.Minute), nil, false},
		"heard before the change was asked for":         {nonce, true, before, nil, false},
		"heard a moment ago, and gone":                  {nonce, false, now, nil, false},
		"blank, and waits for this very change":         {0, false, time.Time{}, &blankServer{nonce, now}, true},
		"was blank before the change was asked for":     {0, false, time.Time{}, &blankServer{nonce, before}, false},
		"blank, though it was given its id before":      {nonce, true, time.Time{}, &blankServer{nonce, now}, false},
		"was blank a moment ago, and answers by now":    {nonce, true, now, &blankServer{nonce, now}, true},
		"blank again since it was made a member":        {nonce, true, now, &blankServer{nonce + 1, now}, false},
		"said long ago that it is blank, and not heard": {0, true, time.Time{}, &blankServer{nonce, now.Add(-time.Minute)}, false},
	} {
		connection := &peer{server: other}
		connection.connected.Store(c.connected)
		known := tree.New()
		known.Found(map[int32]tree.Member{other: {RaftID: raftID(other, 3), Nonce: c.known}})
		o := &owner{
			tree: known, config: &Config{ID: self, ElectionTimeout: time.Second}, storage: &storage{raftID: raftID(self, 0)},
			transport: &transport{peers: map[int32]*peer{other: connection}},
		}
		member := tree.Member{RaftID: raftID(other, 3), Nonce: nonce}
		o.lastHeard = map[uint64]time.Time{member.RaftID: c.heard}
		o.blank = map[int32]blankServer{}
		if c.blank != nil {
			o.blank[other] = *c.blank
		}
		if got := o.takesPart(other, member, asked); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if !o.takesPart(self, tree.Member{RaftID: raftID(self, 0)}, asked) {
			t.Errorf("%s: this server does not take part itself", name)
		}
	}
}

// TestABlankDiskKeepsItsNonce until something has been promised, and never after.
func TestABlankDiskKeepsItsNonce(t *testing.T) {
	d := disk.NewMemory()
	open := func() (*storage, recovered) {
		t.Helper()
		s, found, err := openStorage(d, 1<<20, 10)
		if err != nil {
			t.Fatal(err)
		}
		return s, found
	}
	s, first := open()
	s.abandon()
	file := readAll(t, d, nonceName)
	if text, err := DescribeNonce(file); err != nil || !strings.Contains(text, fmt.Sprintf("%016x", first.nonce)) {
		t.Errorf("the nonce %016x is described as %q, %v", first.nonce, text, err)
	}
	if _, err := DescribeNonce(file[1:]); err == nil {
		t.Error("a nonce that is cut short is described")
	}
	d.Crash(rand.New(rand.NewPCG(1, 1)))
	s, again := open()
	if !first.blank || !again.blank || first.nonce == 0 || again.nonce != first.nonce {
		t.Fatalf("blank disks: %+v, and after a crash %+v", first, again)
	}
	if err := s.join(raftID(2, 1)); err != nil {
		t.Fatal(err)
	}
	s.abandon()
	s, joined := open()
	s.abandon()
	if joined.blank || joined.nonce != 0 {
		t.Errorf("after it joined: %+v", joined)
	}
	if err := d.Remove(storageDirectory + "/" + promiseName); err != nil {
		t.Fatal(err)
	}
	s, lost := open()
	s.abandon()
	if !lost.blank || lost.nonce == first.nonce {
		t.Errorf("with its promises lost: %+v, under the nonce of the one that made them (%d)", lost, first.nonce)
	}
}

func readAll(t *testing.T, d disk.Disk, name string) []byte {
	t.Helper()
	f, err := d.OpenFile(name, os.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, size)
	if _, err := f.ReadAt(content, 0); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return content
}
