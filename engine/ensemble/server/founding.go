package server

import (
	"fmt"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"twinlog/engine/ensemble/tree"
)

// A server with nothing on its disk either founds the ensemble together with the others, or it has lost its disk, or it is new. It
// must know which: a server that has forgotten its votes and its log must not take part under its old Raft id, or what a majority
// holds could be lost.
//
//   - All others have nothing either, or a majority has and the rest does not show up for a while: found.
//   - Another one has founded, and knows that this very disk had nothing when it did: found.
//   - Another one is already a member: join. The leader replaces the server's Raft id by a fresh one, which is a change of the members
//     like any other, and sends it a snapshot.
type founding struct {
	self   int32
	nonce  int64
	peers  []int32 // the other servers of the configuration
	blank  map[int32]int64
	waited time.Duration
}

// foundingPatience is how long a majority waits for the other founders.
const foundingPatience = time.Second

type foundingStep uint8

const (
	keepWaiting foundingStep = iota
	foundNow
	joinOthers
)

// decide is called with each hello (nil for none) and tells what is to be done.
func (f *founding) decide(heard *hello) foundingStep {
	if heard != nil {
		if heard.raftID == 0 {
			f.blank[heard.server] = heard.nonce
		} else if heard.founders[f.self] == f.nonce {
			return foundNow
		} else {
			return joinOthers
		}
	}
	known := 0
	for _, id := range f.peers {
		if _, isBlank := f.blank[id]; isBlank {
			known++
		}
	}
	majority := 1+known > (1+len(f.peers))/2
	if known == len(f.peers) || (majority && f.waited >= foundingPatience) {
		return foundNow
	}
	return keepWaiting
}

// becomes starts Raft: as a founder or after a restart with a snapshot, or as one who joins, with nothing.
func (o *owner) becomes(snapshot *snapshotFile) error {
	o.founding = nil
	if snapshot != nil {
		restored, err := tree.Restore(snapshot.tree)
		if err != nil {
			return fmt.Errorf("the snapshot at index %d: %w", snapshot.index(), err)
		}
		o.adopt(restored, snapshot.metadata)
	}
	var err error
	if o.raft, err = raft.NewRawNode(o.raftConfig(o.applied)); err != nil {
		return fmt.Errorf("starting Raft: %w", err)
	}
	return nil
}

// introduceSelf tells the others who this server is now.
func (o *owner) introduceSelf(founders map[int32]int64) {
	self := hello{server: int32(o.config.ID), raftID: o.storage.raftID, nonce: o.nonce, founders: founders, address: o.ownAddress()}
	if o.raft != nil {
		self.lastIndex, _ = o.storage.memory.LastIndex()
		self.lastTerm, _ = o.storage.memory.Term(self.lastIndex)
	}
	o.transport.introduce(self)
}

// tickFounding lets time pass for a server that takes no part yet.
func (o *owner) tickFounding(elapsed time.Duration) error {
	// Also while it may still found: a new server that is no member yet hears from nobody, but the leader has to know of it.
	if o.sinceJoin += elapsed; o.sinceJoin >= joinInterval {
		o.askToJoin()
	}
	if o.joining {
		return nil
	}
	o.founding.waited += elapsed
	return o.proceed(o.founding.decide(nil))
}

// joinInterval is how often a server with nothing on its disk says so.
const joinInterval = 200 * time.Millisecond

func (o *owner) proceed(step foundingStep) error {
	switch step {
	case foundNow:
		founders := o.founding.blank
		first := firstSnapshot(o.config)
		if err := o.storage.found(raftID(int32(o.config.ID), 0), first); err != nil {
			return err
		}
		if err := o.becomes(first); err != nil {
			return err
		}
		o.log.Info("founding the ensemble", "with", len(founders))
		o.introduceSelf(founders)
		o.begin()
	case joinOthers:
		if !o.joining {
			o.joining = true
			o.log.Info("joining the ensemble: this server has nothing on its disk, and others have")
			o.askToJoin()
		}
	}
	return nil
}

func (o *owner) askToJoin() {
	o.sinceJoin = 0
	payload := join{server: int32(o.config.ID), nonce: o.nonce, asks: o.joining}.encode()
	for _, id := range o.transport.connectedTo() {
		o.transport.send(id, outgoing{kind: frameJoin, payload: payload})
	}
}

type (
	helloEvent struct{ hello hello }
	joinEvent  struct {
		from int32 // who told: the server itself, or one that passes it on
		join join
	}
	welcomeEvent struct{ welcome welcome }
)

func (e helloEvent) happen(o *owner) {
	o.noteAddress(&e.hello)
	if o.founding != nil && !o.joining {
		o.fail(o.proceed(o.founding.decide(&e.hello)))
		return
	}
	if e.hello.raftID != 0 {
		o.heard[e.hello.server] = e.hello
		o.campaignEarly()
	}
}

// happen, on the leader, gives a server that has lost its disk a fresh Raft id. One that is no member has to wait until it is made one.
// The other servers pass it on: the new server's configuration is as old as it is, and the leader may not be in it. What has been
// decided already each server tells: without the newcomer's vote there may be no leader to tell it.
func (e joinEvent) happen(o *owner) {
	if !o.isLeader() {
		if member := o.tree.Membership().Servers[e.join.server]; member.Nonce != 0 && member.Nonce == e.join.nonce {
			o.welcome(e.join.server, member)
		}
		if e.from == e.join.server && o.leader != raft.None && serverOf(o.leader) != e.join.server {
			o.transport.send(serverOf(o.leader), outgoing{kind: frameJoin, payload: e.join.encode()})
		}
		return
	}
	if e.join.server < 1 || e.join.server > 255 {
		return
	}
	member, isMember := o.tree.Membership().Servers[e.join.server]
	if isMember && !e.join.asks {
		return // it may be a founder that is late
	}
	if !isMember && o.blank[e.join.server].nonce != e.join.nonce {
		o.log.Info("a server with nothing on its disk waits to be made a member", "server", o.config.name(e.join.server))
	}
	o.blank[e.join.server] = blankServer{nonce: e.join.nonce, heard: time.Now()}
	if !isMember {
		return
	}
	if member.Nonce == e.join.nonce {
		o.welcome(e.join.server, member)
		return
	}
	if !o.settled(0) {
		return // one change at a time; it asks again
	}
	servers := o.tree.Membership().Copy()
	member = reborn(member, e.join.server, e.join.nonce)
	servers[e.join.server] = member
	o.log.Info("a server has lost its disk, or is new", "server", o.config.name(e.join.server), "raftID", member.RaftID)
	o.orderMembership(&tree.Command{}, servers)
}

func (o *owner) welcome(id int32, member tree.Member) {
	o.transport.send(id, outgoing{kind: frameWelcome, payload: welcome{member.RaftID, member.Nonce}.encode()})
}

// happen: the members have given this server its Raft id.
func (e welcomeEvent) happen(o *owner) {
	if o.founding == nil || e.welcome.nonce != o.nonce {
		return
	}
	if err := o.storage.join(e.welcome.raftID); err != nil {
		o.fail(err)
		return
	}
	if o.fail(o.becomes(nil)) {
		return
	}
	o.introduceSelf(nil)
	o.begin()
}

// firstSnapshot is what every founder begins with: the empty tree as of index 1, term 1, and the founders as voters. It must come out
// the same on every server, so nothing but the configuration goes into it.
func firstSnapshot(config *Config) *snapshotFile {
	first := tree.New()
	members := map[int32]tree.Member{}
	voters := make([]uint64, 0, len(config.Peers))
	for id, address := range config.Peers {
		members[int32(id)] = tree.Member{PeerAddress: address, RaftID: raftID(int32(id), 0), Spec: config.Specs[id]}
		voters = append(voters, raftID(int32(id), 0))
	}
	first.Found(members)
	return &snapshotFile{
		metadata: &raftpb.SnapshotMetadata{Index: new(uint64(1)), Term: new(uint64(1)), ConfState: &raftpb.ConfState{Voters: sorted(voters)}},
		tree:     first.Snapshot().Encode(),
	}
}
