package server

import (
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
)

func (o *owner) peerEvents() peerEvents {
	post := func(e event) { o.server.post(e) }
	return peerEvents{
		connected:    func(to int32) { post(connectedEvent{to}) },
		disconnected: func(to int32, refused bool) { post(disconnectedEvent{to, refused}) },
		hello:        func(h hello) { post(helloEvent{h}) },
		join:         func(from int32, j join) { post(joinEvent{from, j}) },
		welcome:      func(w welcome) { post(welcomeEvent{w}) },
		raft:         func(m *raftpb.Message) { post(raftEvent{m}) },
		command:      func(command []byte) { post(commandEvent{command}) },
		touched:      func(sessions []int64) { post(touchedEvent{sessions}) },
		snapshotSent: func(to uint64, failed bool) { post(snapshotSentEvent{to, failed}) },
	}
}

type (
	connectedEvent    struct{ to int32 }
	disconnectedEvent struct {
		to      int32
		refused bool
	}
	raftEvent         struct{ message *raftpb.Message }
	commandEvent      struct{ command []byte }
	touchedEvent      struct{ sessions []int64 }
	snapshotSentEvent struct {
		to     uint64
		failed bool
	}
)

// happen: with a new connection to the leader, what was lost with the old one is sent again. And the first connections of a server
// that has just started may be enough for an election.
func (e connectedEvent) happen(o *owner) {
	if e.to == serverOf(o.leader) {
		o.resend()
	}
	o.campaignEarly()
}

// happen: when nobody listens any more where the leader was, it is dead, and nobody needs to wait for its silence to last. The servers
// that find out take their turns, so that they do not split the votes.
func (e disconnectedEvent) happen(o *owner) {
	if o.raft == nil || !e.refused || o.leader == raft.None || e.to != serverOf(o.leader) || o.isLeader() {
		return
	}
	turn := 0
	for _, id := range o.members.GetVoters() {
		if id < o.storage.raftID && id != o.leader {
			turn++
		}
	}
	o.log.Info("the leader is dead", "leader", o.config.name(e.to))
	if err := o.raft.ForgetLeader(); err != nil {
		o.log.Debug("forgetting the leader", "error", err)
		return
	}
	o.campaignIn = 1 + 2*turn
}

// silenceLimit is how long a server that must answer may be silent before its connection is opened anew.
func (o *owner) silenceLimit() time.Duration { return 5 * o.config.ElectionTimeout }

// tickSilence opens connections anew that seem to lead nowhere. A leader hears from everybody, and without a leader everybody asks for
// votes; otherwise silence means nothing.
func (o *owner) tickSilence(elapsed time.Duration) {
	for _, server := range o.transport.connectedTo() {
		if !o.isLeader() && o.leader != raft.None {
			o.silence[server] = 0
			continue
		}
		if o.silence[server] += elapsed; o.silence[server] > o.silenceLimit() {
			o.silence[server] = 0
			o.transport.redial(server)
		}
	}
}

// tickCampaign campaigns when this server's turn has come and there is still no leader.
func (o *owner) tickCampaign() {
	if o.campaignIn == 0 {
		return
	}
	if o.leader != raft.None {
		o.campaignIn = 0
		return
	}
	if o.campaignIn--; o.campaignIn > 0 || !slices.Contains(o.members.GetVoters(), o.storage.raftID) {
		return
	}
	if err := o.raft.Campaign(); err != nil {
		o.log.Debug("campaigning", "error", err)
	}
}

// happen: a message to a Raft id that this server had before it lost its disk, or before it has one, is not for it.
func (e raftEvent) happen(o *owner) {
	if o.raft != nil && e.message.GetTo() == o.storage.raftID {
		o.silence[serverOf(e.message.GetFrom())] = 0
		if isMember(o.members, e.message.GetFrom()) {
			o.lastHeard[e.message.GetFrom()] = time.Now()
		}
		o.step(e.message)
	}
}

func (e commandEvent) happen(o *owner) { o.orderRequest(e.command) }

// orderRequest orders a command that came from a client or a server, here or at another server. Who sent one that is not ordered sends it
// again.
func (o *owner) orderRequest(encoded []byte) {
	command, _, err := protocol.DecodeCommand(encoded)
	if err != nil {
		o.log.Warn("a peer sent a command that cannot be read", "error", err)
		return
	}
	_, isReconfig := command.Operation.(*tree.ReconfigRequest)
	switch {
	case !o.isLeader():
	case isReconfig:
		// The client may have seen more than this server has applied: entries that the others hold are committed before a leader's own
		// disk has them.
		o.orderOrDefer(deferred{encoded: encoded, command: command, index: o.raft.BasicStatus().GetCommit(), came: time.Now()})
	case isServersBarrier(command):
		o.orderOrDefer(deferred{encoded: encoded, command: command})
	default:
		o.order(encoded)
	}
}

func (e touchedEvent) happen(o *owner) {
	for _, id := range e.sessions {
		o.touch(id)
	}
}

func (e snapshotSentEvent) happen(o *owner) {
	if o.raft == nil {
		return
	}
	status := raft.SnapshotFinish
	if e.failed {
		status = raft.SnapshotFailure
	}
	o.raft.ReportSnapshot(e.to, status)
}
