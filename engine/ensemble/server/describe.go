package server

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
	"twinlog/engine/sentence"
)

// IsEntry tells whether a whole frame, found good by [EntryFraming], is an entry of the Raft log. Other logs' frames have the same shape.
func IsEntry(frame []byte) bool {
	entry, _, err := DecodeEntry(frame)
	switch {
	case err != nil:
		return false
	case entry.GetType() == raftpb.EntryConfChangeV2:
		return proto.Unmarshal(entry.GetData(), &raftpb.ConfChangeV2{}) == nil
	case entry.GetType() != raftpb.EntryNormal:
		return false
	case len(entry.GetData()) == 0:
		return true
	}
	_, _, err = protocol.DecodeCommand(entry.GetData())
	return err == nil
}

// DescribeEntry says in words what a whole frame of the Raft log holds.
func DescribeEntry(frame []byte) sentence.Sentence {
	entry, _, err := DecodeEntry(frame)
	if err != nil {
		return sentence.Of("notReadable", "{why}", err)
	}
	term := strconv.FormatUint(entry.GetTerm(), 10)
	ofTerm := func(what any) sentence.Sentence {
		return sentence.Of("raftEntry", "term {term}: {what}", term, what)
	}
	switch {
	case entry.GetType() != raftpb.EntryNormal:
		return ofTerm(describeMembers(entry))
	case len(entry.GetData()) == 0:
		return ofTerm(sentence.Of("raftEmpty", "empty: a leader begins its term"))
	}
	command, _, err := protocol.DecodeCommand(entry.GetData())
	if err != nil {
		return ofTerm(err)
	}
	at := time.UnixMilli(command.TimeMS).UTC().Format("15:04:05.000")
	by := sentence.Of("raftByLeader", "by the leader itself")
	if command.Origin.Server != 0 {
		by = sentence.Of("raftThrough", "through server {server}", strconv.Itoa(int(command.Origin.Server)))
	}
	if command.Session != 0 {
		by = sentence.Of("raftOfSession", "{by}, session {session}", by, fmt.Sprintf("0x%x", uint64(command.Session)))
	}
	what := describeOperation(command.Operation)
	if isLeadersBarrier(command) {
		what = sentence.Of("opMembersBarrier", "barrier: the members are settled, no server goes by those before them")
	}
	return sentence.Of("raftCommand", "term {term}: {at} {by}: {what}", term, at, by, what)
}

func describeMembers(entry *raftpb.Entry) sentence.Sentence {
	change := &raftpb.ConfChangeV2{}
	if err := proto.Unmarshal(entry.GetData(), change); err != nil {
		return sentence.Of("membersUnreadable", "change of the members: {why}", err)
	}
	var members []sentence.Sentence
	for _, each := range change.GetChanges() {
		server := sentence.Of("memberServer", "server {server}", strconv.Itoa(int(serverOf(each.GetNodeId()))))
		if generation := each.GetNodeId() >> 8; generation > 0 {
			server = sentence.Of("memberServerAgain", "{server} (its life number {number}, after lost disks)", server, strconv.FormatUint(generation+1, 10))
		}
		switch each.GetType() {
		case raftpb.ConfChangeAddNode:
			server = sentence.Of("memberVotes", "{server} votes", server)
		case raftpb.ConfChangeAddLearnerNode:
			server = sentence.Of("memberListens", "{server} listens without a vote", server)
		case raftpb.ConfChangeRemoveNode:
			server = sentence.Of("memberGone", "{server} is gone", server)
		}
		members = append(members, server)
	}
	if len(members) == 0 {
		return sentence.Of("membersSettled", "change of the members ends: from here on the new ones alone decide")
	}
	return sentence.Of("membersChange", "change of the members: {what}", inOrder(members))
}

// describedParts bounds the operations and members that are told of one entry.
const describedParts = 12

// inOrder is one sentence of several.
func inOrder(parts []sentence.Sentence) sentence.Sentence {
	var said sentence.Sentence
	if len(parts) > describedParts {
		said = sentence.Of("andMore", "… and {count} more", len(parts)-describedParts)
		parts = parts[:describedParts]
	} else {
		said, parts = parts[len(parts)-1], parts[:len(parts)-1]
	}
	for i := len(parts) - 1; i >= 0; i-- {
		said = sentence.Of("thenThat", "{first}; {rest}", parts[i], said)
	}
	return said
}

func describeOperation(operation tree.Operation) sentence.Sentence {
	switch o := operation.(type) {
	case *tree.CreateNode:
		mode := o.Mode.String()
		if o.Sequential {
			mode += " sequential"
		}
		if acl := unusualACL(o.ACL); acl != "" {
			return sentence.Of("opCreateWithACL", "create {mode} {path} with {data}, ACL {acl}", mode, o.Path, describeData(o.Data), acl)
		}
		return sentence.Of("opCreate", "create {mode} {path} with {data}", mode, o.Path, describeData(o.Data))
	case *tree.DeleteNode:
		return ifVersion(sentence.Of("opDelete", "delete {path}", o.Path), o.Version)
	case *tree.SetData:
		return ifVersion(sentence.Of("opSet", "set {path} to {data}", o.Path, describeData(o.Data)), o.Version)
	case *tree.SetACL:
		return ifVersion(sentence.Of("opSetACL", "set the ACL of {path}, ACL {acl}", o.Path, aclText(o.ACL)), o.Version)
	case *tree.Check:
		return ifVersion(sentence.Of("opCheck", "check {path}", o.Path), o.Version)
	case *tree.Multi:
		var parts []sentence.Sentence
		for _, part := range o.Operations {
			parts = append(parts, describeOperation(part))
		}
		if len(parts) == 0 {
			return sentence.Of("opNothing", "all or nothing: no operation")
		}
		return sentence.Of("opMulti", "all or nothing: {what}", inOrder(parts))
	case *tree.CreateSession:
		return sentence.Of("opCreateSession", "create the session, timeout {timeout} ms", int64(o.TimeoutMS))
	case *tree.AttachSession:
		return sentence.Of("opAttachSession", "attach the session to another connection")
	case *tree.CloseSession:
		if o.Expired {
			return sentence.Of("opExpireSession", "expire the session and delete its ephemerals")
		}
		return sentence.Of("opCloseSession", "close the session and delete its ephemerals")
	case *tree.RemoveIdle:
		return sentence.Of("opRemoveIdle", "remove {path}, which nobody needs any more", o.Path)
	case *tree.Barrier:
		return sentence.Of("opBarrier", "barrier: whoever asked learns that it has applied all before")
	}
	return sentence.Of("notReadable", "{why}", fmt.Sprintf("%T", operation))
}

func ifVersion(what sentence.Sentence, version int32) sentence.Sentence {
	if version < 0 {
		return what
	}
	return sentence.Of("opIfVersion", "{what}, if its version is {version}", what, strconv.Itoa(int(version)))
}

// describeData shows the beginning of text; of anything else, its size.
func describeData(data []byte) sentence.Sentence {
	const limit = 60
	switch {
	case data == nil:
		return sentence.Of("noData", "no data")
	case len(data) == 0 || !utf8.Valid(data):
		return sentence.Of("someBytes", "{count} {count|byte|bytes}", len(data))
	case len(data) > limit:
		return sentence.Of("dataBegins", "{count} {count|byte|bytes} {begin}…", len(data), fmt.Sprintf("%#q", strings.ToValidUTF8(string(data[:limit]), "")))
	}
	return sentence.Of("dataShown", "{count} {count|byte|bytes} {data}", len(data), fmt.Sprintf("%#q", data))
}

// unusualACL writes an ACL as zkCli takes it; nothing for the one that lets everybody do everything.
func unusualACL(acl []tree.ACL) string {
	if text := aclText(acl); text != "world:anyone:rwcda" {
		return text
	}
	return ""
}

// aclText is "scheme:id:permissions" of each entry.
func aclText(acl []tree.ACL) string {
	var parts []string
	for _, entry := range acl {
		letters := ""
		for i, letter := range "rwcda" {
			if entry.Permissions&(1<<i) != 0 {
				letters += string(letter)
			}
		}
		parts = append(parts, entry.ID.Scheme+":"+entry.ID.ID+":"+letters)
	}
	return strings.Join(parts, ",")
}

// DescribePromises says in words what a file of Raft votes holds.
func DescribePromises(file []byte) (string, error) {
	var found promiseFile
	valid := false
	for slot := range 2 {
		if at := slot * promiseDistance; len(file) >= at+promiseSize {
			valid = found.adopt(file[at:at+promiseSize]) || valid
		}
	}
	if !valid {
		return "", fmt.Errorf("%d bytes in which no vote is whole", len(file))
	}
	p := found.last
	text := fmt.Sprintf("takes part as server %d; in term %d ", serverOf(p.raftID), p.term)
	if p.vote == 0 {
		text += "it has voted for nobody"
	} else {
		text += fmt.Sprintf("it has voted for server %d", serverOf(p.vote))
	}
	return text + fmt.Sprintf("; when that was written, all up to index %d was committed; written %d times", p.commit, found.count), nil
}

// DescribeNonce says in words what the file of a blank server's nonce holds.
func DescribeNonce(file []byte) (string, error) {
	nonce, whole := decodeNonce(file)
	if !whole {
		return "", fmt.Errorf("%d bytes that are no whole nonce; the server writes another one when it starts", len(file))
	}
	return fmt.Sprintf("has promised nothing yet, and is told from the server of a disk that was lost by the number %016x", nonce), nil
}

// DescribeSnapshot says in words what a snapshot of the tree holds, line by line.
func DescribeSnapshot(file []byte) ([]string, error) {
	snapshot, err := parseSnapshot(file)
	if err != nil {
		return nil, err
	}
	restored, err := tree.Restore(snapshot.tree)
	if err != nil {
		return nil, err
	}
	var voters []string
	for _, id := range snapshot.metadata.GetConfState().GetVoters() {
		voters = append(voters, fmt.Sprint(serverOf(id)))
	}
	lines := []string{fmt.Sprintf("the tree after the entry at index %d of term %d, zxid 0x%x; servers %s vote; %d sessions, %d znodes",
		snapshot.index(), snapshot.metadata.GetTerm(), uint64(restored.Zxid()), strings.Join(voters, ", "), len(restored.Sessions()), restored.Len())}
	for _, session := range restored.Sessions() {
		lines = append(lines, fmt.Sprintf("session 0x%x, timeout %d ms", uint64(session.ID), session.TimeoutMS))
	}
	for last := range restored.All() {
		node := last.Changes[0]
		line := fmt.Sprintf("%s: %s, version %d, last set by zxid 0x%x, %s", node.Path, node.Mode, node.Version, uint64(last.Zxid), describeData(node.Data))
		if node.Session != 0 {
			line += fmt.Sprintf(", of session 0x%x", uint64(node.Session))
		}
		lines = append(lines, line)
	}
	return lines, nil
}
