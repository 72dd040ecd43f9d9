package server

import (
	"math"
	"strconv"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"twinlog/engine/ensemble/tree"
	"twinlog/engine/trace"
)

var raftNames = map[raftpb.MessageType]string{
	raftpb.MsgApp:         "AppendEntries",
	raftpb.MsgAppResp:     "AppendEntries",
	raftpb.MsgVote:        "RequestVote",
	raftpb.MsgVoteResp:    "RequestVote",
	raftpb.MsgPreVote:     "PreVote",
	raftpb.MsgPreVoteResp: "PreVote",
	raftpb.MsgSnap:        "InstallSnapshot",
	raftpb.MsgTimeoutNow:  "TimeoutNow",
}

// describe tells what is worth showing of a Raft message: votes, snapshots, entries and that they were taken. Heartbeats are not.
func describe(config *Config, m *raftpb.Message, bytes int64) (trace.Message, bool) {
	if m == nil || config.Tracer == nil {
		return trace.Message{}, false
	}
	name, worth := raftNames[m.GetType()]
	if !worth || (m.GetType() == raftpb.MsgApp && len(m.GetEntries()) == 0) {
		return trace.Message{}, false
	}
	message := trace.Message{
		From: config.name(serverOf(m.GetFrom())), To: config.name(serverOf(m.GetTo())), Protocol: "raft", Name: name, Bytes: bytes,
		Subject: "term " + strconv.FormatUint(m.GetTerm(), 10), Offset: -1,
	}
	switch m.GetType() {
	case raftpb.MsgApp:
		message.Offset, message.Count = int64(m.GetIndex())+1, len(m.GetEntries())
	case raftpb.MsgAppResp:
		message.Offset = int64(m.GetIndex())
		message.Name += "Response"
	case raftpb.MsgVoteResp, raftpb.MsgPreVoteResp:
		message.Name += "Response"
		if m.GetReject() {
			message.Subject += ": refused"
		} else {
			message.Subject += ": granted"
		}
	case raftpb.MsgSnap:
		message.Offset = int64(m.GetSnapshot().GetMetadata().GetIndex())
	}
	return message, true
}

// traceAppended records which entries are in the log now, a run of one term at a time.
func (o *owner) traceAppended(entries []*raftpb.Entry) {
	for len(entries) > 0 && o.tracer != nil {
		term, run := entries[0].GetTerm(), 1
		for run < len(entries) && entries[run].GetTerm() == term {
			run++
		}
		o.tracer.Emit(trace.EnsembleLogAppended{Term: term, FirstIndex: entries[0].GetIndex(), LastIndex: entries[run-1].GetIndex()})
		entries = entries[run:]
	}
}

// traceLog records the log that a server finds at its start, or after a snapshot of the leader took its place.
func (o *owner) traceLog() {
	first, _ := o.storage.memory.FirstIndex()
	last, err := o.storage.memory.LastIndex()
	if err != nil || o.tracer == nil {
		return
	}
	if last < first { // nothing but a snapshot, which stands for the entries up to its own
		term, _ := o.storage.memory.Term(last)
		o.tracer.Emit(trace.EnsembleLogAppended{Term: term, FirstIndex: last, LastIndex: last})
		return
	}
	if entries, err := o.storage.memory.Entries(first, last+1, math.MaxUint64); err == nil {
		o.traceAppended(entries)
	}
}

var roleNames = map[raft.StateType]string{
	raft.StateFollower: "follower", raft.StateCandidate: "candidate", raft.StatePreCandidate: "candidate", raft.StateLeader: "leader",
}

// maxTracedData is how much of a znode's data a record carries, in bytes.
const maxTracedData = 512

func tracedData(data []byte) string { return string(data[:min(len(data), maxTracedData)]) }

// sessionName is a session as ZooKeeper prints it.
func sessionName(id int64) string {
	if id == 0 {
		return ""
	}
	return "0x" + strconv.FormatUint(uint64(id), 16)
}

// traceChange records what a transaction did to a znode, and what led to it.
func traceChange(tracer *trace.Tracer, cause trace.Ref, zxid int64, change tree.Change, ended int64) trace.Ref {
	if tracer == nil {
		return trace.Ref{}
	}
	switch change.Type {
	case tree.NodeCreated:
		return tracer.EmitCaused(cause, trace.ZnodeCreated{
			Path: change.Path, Mode: change.Mode.String(), Session: sessionName(change.Session),
			Data: tracedData(change.Data), Bytes: len(change.Data), Zxid: zxid,
		})
	case tree.NodeDataChanged:
		return tracer.EmitCaused(cause, trace.ZnodeChanged{
			Path: change.Path, Data: tracedData(change.Data), Bytes: len(change.Data), Version: change.Version, Zxid: zxid,
		})
	}
	return tracer.EmitCaused(cause, trace.ZnodeDeleted{Path: change.Path, Session: sessionName(ended), Zxid: zxid})
}
