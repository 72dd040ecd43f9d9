package server

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
)

// A change of the members is one entry of the Raft log. It changes Raft's configuration (by joint consensus when it is more than one
// server) and, in its context, carries the command that changes the tree's. The leader works out what a client's reconfig request
// comes to; Raft lets it have one change at a time on its way. The client is answered when the change is settled: see settling.
//
// A server that is removed becomes a learner: it goes on following and keeps its clients, as ZooKeeper's does, but has no vote.

// orderReconfig is what the leader makes of a client's request; false when it has not heard yet from enough of the new members.
func (o *owner) orderReconfig(d deferred, request *tree.ReconfigRequest) bool {
	command := d.command
	servers, code := o.planReconfig(command, request, d.came)
	if code == tree.ErrNewConfigNoQuorum && time.Since(d.came) < o.resendAfter() {
		return false
	}
	if code != tree.OK {
		o.order(protocol.EncodeCommand(headOf(command), &tree.Reconfigure{Refused: code}))
		return true
	}
	if self := servers[int32(o.config.ID)]; self.Former || self.RaftID == 0 {
		// It is this server that goes. It hands over first; the command comes again, to the new leader.
		if successor := o.successor(servers); successor != 0 {
			o.raft.TransferLeader(successor)
			return true
		}
	}
	o.orderMembership(command, servers)
	return true
}

func headOf(command *tree.Command) protocol.CommandHead {
	return protocol.CommandHead{Origin: command.Origin, Session: command.Session, Attachment: command.Attachment, Caller: command.Caller}
}

// successor is the voter that has most of the log and stays.
func (o *owner) successor(servers map[int32]tree.Member) (best uint64) {
	most := uint64(0)
	for id, progress := range o.raft.Status().Progress {
		member := servers[serverOf(id)]
		if id != o.storage.raftID && member.RaftID == id && !member.Former && !progress.IsLearner && progress.RecentActive && progress.Match >= most {
			best, most = id, progress.Match
		}
	}
	return best
}

// planReconfig works out what a request comes to, and whether a majority of the new members was heard from since it came. That one was
// heard from a moment before is not enough: it may have been taken away for this very change.
func (o *owner) planReconfig(command *tree.Command, request *tree.ReconfigRequest, came time.Time) (map[int32]tree.Member, tree.Error) {
	now := o.tree.Membership()
	if code := o.tree.MayReconfigure(command); code != tree.OK {
		return nil, code
	}
	if request.Version != -1 && request.Version != now.Version {
		return nil, tree.ErrBadVersion
	}
	servers, code := planMembers(now, request, o.blankServers())
	if code != tree.OK {
		return nil, code
	}
	voters, active := 0, 0
	for id, member := range servers {
		if member.Former {
			continue
		}
		voters++
		if o.takesPart(id, member, came) {
			active++
		}
	}
	switch {
	case voters == 0:
		return nil, tree.ErrBadArguments
	case active <= voters/2:
		return nil, tree.ErrNewConfigNoQuorum
	}
	return servers, tree.OK
}

// planMembers applies a request to the members. It takes ZooKeeper's form: "server.4=host:port:port;port" to join, "3" to leave, or
// the whole new list. Blank are the nonces of the servers that have nothing on their disks.
func planMembers(now tree.Membership, request *tree.ReconfigRequest, blank map[int32]int64) (map[int32]tree.Member, tree.Error) {
	servers := now.Copy()
	joining := request.Joining
	if request.NewMembers != "" {
		joining = request.NewMembers
		for id, member := range servers {
			member.Former = true
			servers[id] = member
		}
	}
	for _, text := range splitList(request.Leaving) {
		id, err := strconv.Atoi(text)
		if err != nil {
			return nil, tree.ErrBadArguments
		}
		if member, isMember := servers[int32(id)]; isMember {
			member.Former = true
			servers[int32(id)] = member
		}
	}
	for _, text := range splitList(joining) {
		key, value, _ := strings.Cut(text, "=")
		number, isServer := strings.CutPrefix(key, "server.")
		id, err := strconv.Atoi(number)
		parsed, parseErr := parseZooServer(value)
		if !isServer || err != nil || id < 1 || id > 255 || parseErr != nil {
			return nil, tree.ErrBadArguments
		}
		member, known := servers[int32(id)]
		if !known {
			member = tree.Member{RaftID: raftID(int32(id), 0)}
		}
		if nonce, isBlank := blank[int32(id)]; isBlank && nonce != member.Nonce {
			// It gets its Raft id with this very change: the new members may need its vote to go on to any later one.
			if known {
				member = reborn(member, int32(id), nonce)
			}
			member.Nonce = nonce
		}
		member.Former = false
		member.PeerAddress, member.ClientAddress, member.Spec = parsed.peer, parsed.client, parsed.spec
		servers[int32(id)] = member
	}
	return servers, tree.OK
}

func splitList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' || r == '\r' || r == ' ' })
}

// orderMembership orders the entry that makes servers the members.
func (o *owner) orderMembership(command *tree.Command, servers map[int32]tree.Member) {
	change := &raftpb.ConfChangeV2{Changes: raftChanges(o.members, servers)}
	change.Context = protocol.EncodeCommand(headOf(command), &tree.Reconfigure{Servers: servers})
	if len(change.Changes) == 0 {
		// The same servers vote: at most their addresses change. To Raft a change without changes would be the end of a joint
		// configuration, or nothing at all, and the client would wait for ever.
		o.order(change.Context)
		return
	}
	if !o.isLeader() || !protocol.StampTime(change.Context, nowMS()) {
		return
	}
	if err := o.raft.ProposeConfChange(change); err != nil {
		o.log.Debug("a change of the members was not taken", "error", err)
	}
}

// raftChanges is what Raft has to change so that its configuration is what servers says.
func raftChanges(now *raftpb.ConfState, servers map[int32]tree.Member) []*raftpb.ConfChangeSingle {
	var changes []*raftpb.ConfChangeSingle
	add := func(kind raftpb.ConfChangeType, id uint64) {
		changes = append(changes, &raftpb.ConfChangeSingle{Type: kind.Enum(), NodeId: new(id)})
	}
	wanted := map[uint64]bool{}
	for _, id := range slices.Sorted(maps.Keys(servers)) {
		member := servers[id]
		wanted[member.RaftID] = true
		switch {
		case member.Former && !slices.Contains(now.GetLearners(), member.RaftID):
			add(raftpb.ConfChangeAddLearnerNode, member.RaftID)
		case !member.Former && !slices.Contains(now.GetVoters(), member.RaftID):
			add(raftpb.ConfChangeAddNode, member.RaftID)
		}
	}
	for _, id := range slices.Concat(now.GetVoters(), now.GetLearners()) {
		if !wanted[id] {
			add(raftpb.ConfChangeRemoveNode, id)
		}
	}
	return changes
}

// applyMembers changes the Raft group and the tree's members.
func (o *owner) applyMembers(entry *raftpb.Entry) error {
	change := &raftpb.ConfChangeV2{}
	if err := proto.Unmarshal(entry.GetData(), change); err != nil {
		return entryError(entry, err)
	}
	o.leading.settling = settling{}
	if len(change.GetContext()) == 0 { // Raft leaves the joint configuration
		o.members = o.raft.ApplyConfChange(change)
		o.log.Info("the new members alone decide", "index", entry.GetIndex(), "voters", o.members.GetVoters())
		return nil
	}
	command, _, err := protocol.DecodeCommand(change.GetContext())
	if err != nil {
		return entryError(entry, err)
	}
	outcome := o.tree.Apply(entry.GetTerm(), command)
	if !outcome.Taken {
		return nil // it came twice; Raft's configuration is not touched either
	}
	o.members = o.raft.ApplyConfChange(change)
	o.snapshots.forced = true // one that joins must find itself in the snapshot
	o.transport.connect(o.peerAddresses())
	o.log.Info("members", "index", entry.GetIndex(), "joint", len(o.members.GetVotersOutgoing()) > 0,
		"voters", o.members.GetVoters(), "learners", o.members.GetLearners())
	o.fire(outcome, 0, o.causeOf(command))
	if pending, isOwn := o.takePending(command); isOwn {
		o.stream.held = append(o.stream.held, heldAnswer{pending, outcome})
	}
	if o.isLeader() {
		for id, member := range o.tree.Membership().Servers {
			if member.Nonce != 0 {
				o.welcome(id, member)
			}
		}
	}
	return nil
}

// campaignEarly starts the first election as soon as a majority is connected, instead of after a timeout. Of those that have been heard
// of, the one with the newest log does it, so that they do not split the votes.
func (o *owner) campaignEarly() {
	if o.campaigned || o.raft == nil || o.leader != raft.None {
		return
	}
	self := o.transport.self.Load()
	connected := o.transport.connectedTo()
	voters, best := 0, true
	for _, id := range o.members.GetVoters() {
		if id == o.storage.raftID {
			voters++
			continue
		}
		if other, known := o.heard[serverOf(id)]; known && slices.Contains(connected, serverOf(id)) {
			voters++
			best = best && !other.ahead(self)
		}
	}
	if voters <= len(o.members.GetVoters())/2 {
		return
	}
	o.campaigned = true
	if !best || !slices.Contains(o.members.GetVoters(), o.storage.raftID) {
		return
	}
	if err := o.raft.Campaign(); err != nil {
		o.log.Debug("campaigning", "error", err)
	}
}

// ahead tells whether a server's log was newer than another's; of equal ones the smaller number counts as newer.
func (h *hello) ahead(other *hello) bool {
	switch {
	case h.lastTerm != other.lastTerm:
		return h.lastTerm > other.lastTerm
	case h.lastIndex != other.lastIndex:
		return h.lastIndex > other.lastIndex
	}
	return h.server < other.server
}
