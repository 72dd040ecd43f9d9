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
	"twinlog/engine/sentence"
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
	deferred    []deferred      // commands that wait, on a leader, until the members are settled
	campaigned  bool
	campaignIn  int                     // ticks; 0 for not at all
	silence     map[int32]time.Duration // since a server's last message
	heard       map[int32]hello         // what the other servers last said about themselves
	lastHeard   map[uint64]time.Time    // when Raft last had a message of a Raft id
	introduced  map[int32]string        // where servers are that this one's tree does not know yet
	blank       map[int32]blankServer   // servers that said not long ago that they have nothing on their disks
}

const (
	maxUncommitted   = 64 << 20 // bytes that a leader takes before they are committed
	maxMessage       = 1 << 20  // bytes of entries in one message
	maxInflight      = 256      // messages on their way to a follower
	maxInflightBytes = 32 << 20
	maxApply         = 8 << 20 // bytes that are applied in one go
)

// newConsensus is of a server that has heard from nobody.
func newConsensus() consensus {
	return consensus{
		members: &raftpb.ConfState{}, silence: map[int32]time.Duration{}, heard: map[int32]hello{}, lastHeard: map[uint64]time.Time{},
		introduced: map[int32]string{}, blank: map[int32]blankServer{},
	}
}

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
	for o.propose(); o.raft.HasReady(); o.propose() {
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

// propose hands Raft what is to be ordered.
func (o *owner) propose() {
	if len(o.proposals) == 0 {
		return
	}
	err := o.raft.Step(&raftpb.Message{Type: raftpb.MsgProp.Enum(), From: new(o.storage.raftID), Entries: o.proposals})
	if err != nil {
		o.log.Debug("commands were not taken; their servers will send them again", "commands", len(o.proposals), "error", err)
	}
	o.proposals = nil
}

// deliver brings a message of Raft's to where it belongs: the disk, the tree, or another server.
func (o *owner) deliver(message *raftpb.Message) error {
	switch message.GetTo() {
	case raft.LocalAppendThread:
		o.store(storageJob{append: message})
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
		if !isMember(message.GetSnapshot().GetMetadata().GetConfState(), to) {
			// It joined after that snapshot and would refuse it. One that it is in is being written, and Raft asks again with the next
			// heartbeat's answer.
			o.raft.ReportSnapshot(to, raft.SnapshotFailure)
			return
		}
		o.transport.sendSnapshot(message)
		return
	}
	if !o.transport.send(serverOf(to), outgoing{message: message}) && message.GetType() == raftpb.MsgApp {
		o.raft.ReportUnreachable(to)
	}
}

func isMember(members *raftpb.ConfState, id uint64) bool {
	for _, ids := range [][]uint64{members.GetVoters(), members.GetLearners(), members.GetVotersOutgoing(), members.GetLearnersNext()} {
		if slices.Contains(ids, id) {
			return true
		}
	}
	return false
}

func (o *owner) step(message *raftpb.Message) {
	if err := o.raft.Step(message); err != nil {
		o.log.Debug("Raft refused a message", "type", message.GetType(), "from", o.config.name(serverOf(message.GetFrom())), "error", err)
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
	o.settle()
	o.orderDeferred()
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
	switch command.Operation.(type) {
	case *tree.CloseSession:
		ended = command.Session
	case *tree.Reconfigure: // of addresses only, or refused
		o.transport.connect(o.peerAddresses())
	}
	o.fire(outcome, ended, o.causeOf(command))
	if pending, isOwn := o.takePending(command); isOwn {
		o.answerApplied(pending, outcome)
	}
	if isLeadersBarrier(command) {
		o.noteSettled(entry)
	}
	return nil
}

// restore replaces the tree by one that the leader sent.
func (o *owner) restore(snapshot *raftpb.Snapshot) {
	restored, err := tree.Restore(snapshot.GetData())
	if err != nil { // to go on with the old tree would be to diverge in silence
		o.fail(fmt.Errorf("the leader's snapshot at index %d: %w", snapshot.GetMetadata().GetIndex(), err))
		return
	}
	o.log.Info("a snapshot of the leader replaces this server's tree", "index", snapshot.GetMetadata().GetIndex())
	o.stopServing(sentence.Of("snapshotReplaced", "a snapshot of the leader replaced this server's tree"))
	o.adopt(restored, snapshot.GetMetadata())
	// What was on its way may be in the snapshot, and will then never be seen applied.
	o.newIncarnation()
	o.transport.connect(o.peerAddresses())
	o.traceTree()
	o.traceLog()
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

// begin is called once, when Raft has started.
func (o *owner) begin() {
	o.traceTree()
	o.traceLog()
	o.serving.incarnation = max(o.tree.Incarnation(int32(o.config.ID))+1, time.Now().UnixNano())
	o.campaignEarly()
}
