package server

import (
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
