package server

import (
	"fmt"
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
	"twinlog/engine/trace"
)

// consensus is the owner's part that deals with Raft.
type consensus struct {
	raft    *raft.RawNode
	members *raftpb.ConfState
	// applied is the last entry that the tree has.
	applied     uint64
	appliedTerm uint64
	leader      uint64 // Raft id; 0 when unknown
	role        raft.StateType
	term        uint64
	vote        uint64
	proposals   []*raftpb.Entry // commands to be ordered, as leader
	deferred    []byte          // a reconfig request that waits until the leader has caught up
	campaigned  bool
	campaignIn  int                     // ticks; 0 for not at all
	silence     map[int32]time.Duration // since a server's last message
	heard       map[int32]hello         // what the other servers last said about themselves
}

const (
	maxUncommitted   = 64 << 20 // bytes that a leader takes before they are committed
	maxMessage       = 1 << 20  // bytes of entries in one message
	maxInflight      = 256      // messages on their way to a follower
	maxInflightBytes = 32 << 20
	maxApply         = 8 << 20 // bytes that are applied in one go
)

func (o *owner) raftConfig(applied uint64) *raft.Config {
	return &raft.Config{
		ID: o.storage.raftID, ElectionTick: o.config.electionTicks(), HeartbeatTick: heartbeatTicks,
		Storage: o.storage.memory, Applied: applied, AsyncStorageWrites: true,
		MaxSizePerMsg: maxMessage, MaxInflightMsgs: maxInflight, MaxInflightBytes: maxInflightBytes,
		MaxUncommittedEntriesSize: maxUncommitted, MaxCommittedSizePerReady: maxApply,
		// CheckQuorum: a leader that does not hear from a majority steps down, so that a minority stops serving. PreVote: a server
		// that was cut off does not disturb the others when it comes back.
		CheckQuorum: true, PreVote: true,
		DisableProposalForwarding: true, // the leader stamps the time
		StepDownOnRemoval:         true,
		Logger:                    raftLogger{o.log},
	}
}

// adopt makes a tree this server's state.
func (o *owner) adopt(adopted *tree.Tree, metadata *raftpb.SnapshotMetadata) {
	o.tree = adopted
	o.members = proto.Clone(metadata.GetConfState()).(*raftpb.ConfState)
	o.applied, o.appliedTerm = metadata.GetIndex(), metadata.GetTerm()
	o.snapshots.last = metadata.GetIndex()
}

// advance hands Raft what waits and does what Raft wants done.
func (o *owner) advance() error {
	if o.failure != nil || o.raft == nil {
		return o.failure
	}
	if len(o.proposals) > 0 {
		err := o.raft.Step(&raftpb.Message{Type: raftpb.MsgProp.Enum(), From: new(o.storage.raftID), Entries: o.proposals})
		if err != nil {
			o.log.Debug("commands were not taken; their servers will send them again", "commands", len(o.proposals), "error", err)
		}
		o.proposals = nil
	}
	for o.raft.HasReady() {
		ready := o.raft.Ready()
		if ready.HardState != nil {
			o.noteHardState(ready.HardState)
		}
		if ready.SoftState != nil {
			o.noteRole(ready.SoftState)
		}
		for _, message := range ready.Messages {
			if err := o.deliver(message); err != nil {
				return err
			}
		}
	}
	return nil
}

// deliver brings a message of Raft's to where it belongs: the disk, the tree, or another server.
func (o *owner) deliver(message *raftpb.Message) error {
	switch message.GetTo() {
	case raft.LocalAppendThread:
		o.storage.enqueue(storageJob{append: message})
	case raft.LocalApplyThread:
		if err := o.apply(message.GetEntries()); err != nil {
			return err
		}
		for _, response := range message.GetResponses() {
			o.step(response)
		}
	case o.storage.raftID:
		o.step(message)
	default:
		o.send(message)
	}
	return nil
}

func (o *owner) send(message *raftpb.Message) {
	to := message.GetTo()
	if message.GetType() == raftpb.MsgSnap {
		o.transport.sendSnapshot(message)
		return
	}
	if !o.transport.send(serverOf(to), outgoing{message: message}) && message.GetType() == raftpb.MsgApp {
		o.raft.ReportUnreachable(to)
	}
}

func (o *owner) step(message *raftpb.Message) {
	if err := o.raft.Step(message); err != nil {
		o.log.Debug("Raft refused a message", "type", message.GetType(), "from", o.config.name(serverOf(message.GetFrom())), "error", err)
	}
}

// stored is called by the storage's goroutine when a batch is durable. What other servers wait for goes out at once.
func (o *owner) stored(jobs []storageJob) {
	var local []*raftpb.Message
	for _, job := range jobs {
		for _, response := range job.append.GetResponses() {
			if response.GetTo() == o.storage.raftID {
				local = append(local, response)
			} else {
				o.transport.send(serverOf(response.GetTo()), outgoing{message: response})
			}
		}
	}
	o.server.post(storedEvent{jobs: jobs, responses: local})
}

// storedEvent: a batch of storage jobs is durable.
type storedEvent struct {
	jobs      []storageJob
	responses []*raftpb.Message
}

func (e storedEvent) happen(o *owner) {
	for _, job := range e.jobs {
		if job.snapshot != nil {
			o.snapshots.running = false
		}
		if snapshot := job.append.GetSnapshot(); !raft.IsEmptySnap(snapshot) {
			o.restore(snapshot)
		}
	}
	for _, response := range e.responses {
		o.step(response)
	}
}

// apply gives committed entries to the tree.
func (o *owner) apply(entries []*raftpb.Entry) error {
	for _, entry := range entries {
		if entry.GetIndex() <= o.applied {
			continue
		}
		switch {
		case entry.GetType() != raftpb.EntryNormal:
			if err := o.applyMembers(entry); err != nil {
				return err
			}
		case len(entry.GetData()) > 0:
			if err := o.applyCommand(entry); err != nil {
				return err
			}
		}
		o.applied, o.appliedTerm = entry.GetIndex(), entry.GetTerm()
		o.snapshots.bytes += int64(len(entry.GetData()))
	}
	if o.deferred != nil && o.appliedTerm == o.term {
		encoded := o.deferred
		o.deferred = nil
		o.orderRequest(encoded)
	}
	if len(entries) > 0 {
		o.tracer.Emit(trace.EnsembleCommitAdvanced{Term: o.appliedTerm, Index: o.applied, Zxid: o.tree.Zxid()})
	}
	return nil
}

func entryError(entry *raftpb.Entry, err error) error {
	return fmt.Errorf("entry %d of term %d: %w", entry.GetIndex(), entry.GetTerm(), err)
}

// applyCommand does one command and tells everybody on this server who waits for it: first the watchers, then the client that asked.
func (o *owner) applyCommand(entry *raftpb.Entry) error {
	command, _, err := protocol.DecodeCommand(entry.GetData())
	if err != nil {
		// It was decoded before it was ordered, so this server and that one disagree about the format.
		return entryError(entry, err)
	}
	outcome := o.tree.Apply(entry.GetTerm(), command)
	if !outcome.Taken {
		return nil
	}
	o.noteSession(command, outcome)
	ended := int64(0)
	if _, closes := command.Operation.(*tree.CloseSession); closes {
		ended = command.Session
	}
	o.fire(outcome, ended, o.causeOf(command))
	o.streamApplied(command, outcome)
	return nil
}

// restore replaces the tree by one that the leader sent.
func (o *owner) restore(snapshot *raftpb.Snapshot) {
	restored, err := tree.Restore(snapshot.GetData())
	if err != nil { // to go on with the old tree would be to diverge in silence
		o.fail(fmt.Errorf("the leader's snapshot at index %d: %w", snapshot.GetMetadata().GetIndex(), err))
		return
	}
	o.stopServing("a snapshot of the leader replaced this server's tree")
	o.adopt(restored, snapshot.GetMetadata())
	// What was on its way may be in the snapshot, and will then never be seen applied.
	o.newIncarnation()
	o.transport.connect(o.peerAddresses())
	o.traceTree()
}

// noteRole records who leads, and begins or ends leading.
func (o *owner) noteRole(now *raft.SoftState) {
	was, wasLeader := o.role, o.leader
	o.role, o.leader = now.RaftState, now.Lead
	o.term = o.raft.BasicStatus().GetTerm()
	o.tracer.Emit(trace.EnsembleRoleChanged{Term: o.term, Role: roleNames[o.role], Leader: o.config.name(serverOf(o.leader))})
	if wasLeader != o.leader {
		o.log.Info("leader", "leader", o.config.name(serverOf(o.leader)), "term", o.term, "role", roleNames[o.role])
	}
	if o.role == raft.StateLeader && was != raft.StateLeader {
		o.beginLeading()
	}
	if o.role != raft.StateLeader && was == raft.StateLeader {
		o.endLeading()
	}
	if o.leader != raft.None && o.leader != wasLeader {
		o.leaderKnown()
	}
}

func (o *owner) noteHardState(hard *raftpb.HardState) {
	if hard.GetVote() != 0 && (hard.GetVote() != o.vote || hard.GetTerm() != o.term) {
		o.tracer.Emit(trace.EnsembleVoteCast{Term: hard.GetTerm(), For: o.config.name(serverOf(hard.GetVote()))})
	}
	o.vote, o.term = hard.GetVote(), hard.GetTerm()
}

// isLeader tells whether this server orders commands.
func (o *owner) isLeader() bool { return o.role == raft.StateLeader }

// order appends a command to the log, as leader; when it is not (any more), the command's server will send it again.
func (o *owner) order(command []byte) {
	if !o.isLeader() || !protocol.StampTime(command, nowMS()) {
		return
	}
	o.proposals = append(o.proposals, &raftpb.Entry{Data: command})
}

func (o *owner) peerEvents() peerEvents {
	post := func(e event) { o.server.post(e) }
	return peerEvents{
		connected:    func(to int32) { post(connectedEvent{to}) },
		disconnected: func(to int32, refused bool) { post(disconnectedEvent{to, refused}) },
		hello:        func(h hello) { post(helloEvent{h}) },
		join:         func(j join) { post(joinEvent{j}) },
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
		o.step(e.message)
	}
}

func (e commandEvent) happen(o *owner) { o.orderRequest(e.command) }

// orderRequest orders a command that came from a client, here or at another server.
func (o *owner) orderRequest(encoded []byte) {
	command, _, err := protocol.DecodeCommand(encoded)
	if err != nil {
		o.log.Warn("a peer sent a command that cannot be read", "error", err)
		return
	}
	if request, isReconfig := command.Operation.(*tree.ReconfigRequest); isReconfig {
		switch {
		case !o.isLeader():
		case o.appliedTerm != o.term: // it has not caught up with what earlier leaders ordered
			o.deferred = encoded
		default:
			o.orderReconfig(command, request)
		}
		return
	}
	o.order(encoded)
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

// begin is called once, when Raft has started.
func (o *owner) begin() {
	o.traceTree()
	o.serving.incarnation = max(o.tree.Incarnation(int32(o.config.ID))+1, time.Now().UnixNano())
	o.campaignEarly()
}
