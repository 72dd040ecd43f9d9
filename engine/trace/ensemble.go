package trace

import (
	"strconv"

	"twinlog/engine/sentence"
)

// EnsembleRoleChanged: a server of the ensemble became follower, candidate or leader of a term.
type EnsembleRoleChanged struct {
	Term   uint64 `json:"term"`
	Role   string `json:"role"`   // follower, candidate, leader
	Leader string `json:"leader"` // node name, empty when unknown
}

// EnsembleVoteCast: a server gave its vote of a term.
type EnsembleVoteCast struct {
	Term uint64 `json:"term"`
	For  string `json:"for"`
}

// EnsembleCommitAdvanced: a server knows entries up to Index to be committed and has applied them. Hot.
type EnsembleCommitAdvanced struct {
	Term   uint64 `json:"term"`
	Index  uint64 `json:"index"`
	Zxid   int64  `json:"zxid"`
	Folded Folded `json:"folded,omitempty"`
}

// EnsembleLogAppended: entries FirstIndex to LastIndex, all of Term, are in this server's log and on its disk. What was there from
// FirstIndex on is gone. A log that was replaced by a snapshot tells the snapshot's last entry. Hot.
type EnsembleLogAppended struct {
	Term       uint64 `json:"term"`
	FirstIndex uint64 `json:"firstIndex"`
	LastIndex  uint64 `json:"lastIndex"`
	Folded     Folded `json:"folded,omitempty"`
}

// SessionCreated and the other session and znode events are recorded by every server as it applies them; the Zxid tells that two of
// them are the same change.
type SessionCreated struct {
	Session   string `json:"session"` // hexadecimal, as ZooKeeper prints it: 0x1000...
	TimeoutMS int64  `json:"timeoutMS"`
	Zxid      int64  `json:"zxid"`
}

// SessionConnected: a client of the session is connected to this server (its first connection, or it moved here).
type SessionConnected struct {
	Session string `json:"session"`
	Client  string `json:"client"` // node name where known, else "client"
	Address string `json:"address"`
}

// SessionDisconnected: the session's connection to this server ended; the session itself lives on until it expires.
type SessionDisconnected struct {
	Session string `json:"session"`
	Reason  string `json:"reason"`
	// Why is what Reason says.
	Why *sentence.Sentence `json:"why,omitempty"`
}

// SessionEnded: the session is gone and its ephemerals with it.
type SessionEnded struct {
	Session string `json:"session"`
	Expired bool   `json:"expired"` // false: the client closed it
	Zxid    int64  `json:"zxid"`
}

// ZnodeCreated: a znode came to be.
type ZnodeCreated struct {
	Path    string `json:"path"`
	Mode    string `json:"mode"`    // persistent, ephemeral, container, ttl
	Session string `json:"session"` // owner of an ephemeral, else empty
	Data    string `json:"data"`    // first 512 bytes, as text
	Bytes   int    `json:"bytes"`
	Zxid    int64  `json:"zxid"`
}

// ZnodeChanged: a znode's data was set.
type ZnodeChanged struct {
	Path    string `json:"path"`
	Data    string `json:"data"`
	Bytes   int    `json:"bytes"`
	Version int32  `json:"version"`
	Zxid    int64  `json:"zxid"`
}

// ZnodeDeleted: a znode is gone. Session is set when its owner's end deleted it.
type ZnodeDeleted struct {
	Path    string `json:"path"`
	Session string `json:"session,omitempty"`
	Zxid    int64  `json:"zxid"`
}

// WatchSet: a session asked this server to be told about a znode.
type WatchSet struct {
	Session string `json:"session"`
	Path    string `json:"path"`
	Type    string `json:"type"` // data, exists, children, persistent, recursive
}

// WatchFired: this server told a session.
type WatchFired struct {
	Session string `json:"session"`
	Path    string `json:"path"`
	Event   string `json:"event"` // created, deleted, dataChanged, childrenChanged
	Zxid    int64  `json:"zxid"`
}

func (EnsembleRoleChanged) Kind() string    { return "ensemble.roleChanged" }
func (EnsembleVoteCast) Kind() string       { return "ensemble.voteCast" }
func (EnsembleCommitAdvanced) Kind() string { return "ensemble.commitAdvanced" }
func (EnsembleLogAppended) Kind() string    { return "ensemble.logAppended" }
func (SessionCreated) Kind() string         { return "ensemble.sessionCreated" }
func (SessionConnected) Kind() string       { return "ensemble.sessionConnected" }
func (SessionDisconnected) Kind() string    { return "ensemble.sessionDisconnected" }
func (SessionEnded) Kind() string           { return "ensemble.sessionEnded" }
func (ZnodeCreated) Kind() string           { return "ensemble.znodeCreated" }
func (ZnodeChanged) Kind() string           { return "ensemble.znodeChanged" }
func (ZnodeDeleted) Kind() string           { return "ensemble.znodeDeleted" }
func (WatchSet) Kind() string               { return "ensemble.watchSet" }
func (WatchFired) Kind() string             { return "ensemble.watchFired" }

func (EnsembleCommitAdvanced) FlowKey() string { return "" }

// FlowKey: entries of several terms are not merged.
func (e EnsembleLogAppended) FlowKey() string { return strconv.FormatUint(e.Term, 10) }

// Merge: raft overwrites what was not committed with entries of a later term only, so that within a term an append goes on where the
// one before ended; where one does not, it tells of the larger part.
func (e EnsembleLogAppended) Merge(later Event) Event {
	merged := later.(EnsembleLogAppended)
	merged.FirstIndex = min(e.FirstIndex, merged.FirstIndex)
	merged.Folded = e.Folded.plus(merged.Folded)
	return merged
}

func (e EnsembleCommitAdvanced) Merge(later Event) Event {
	merged := later.(EnsembleCommitAdvanced)
	merged.Folded = e.Folded.plus(merged.Folded)
	return merged
}
