package server

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
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
func DescribeEntry(frame []byte) string {
	entry, _, err := DecodeEntry(frame)
	if err != nil {
		return err.Error()
	}
	place := fmt.Sprintf("term %d: ", entry.GetTerm())
	switch {
	case entry.GetType() != raftpb.EntryNormal:
		return place + describeMembers(entry)
	case len(entry.GetData()) == 0:
		return place + "empty: a leader begins its term"
	}
	command, _, err := protocol.DecodeCommand(entry.GetData())
	if err != nil {
		return place + err.Error()
	}
	description := place + time.UnixMilli(command.TimeMS).UTC().Format("15:04:05.000 ")
	if command.Origin.Server != 0 {
		description += fmt.Sprintf("through server %d, ", command.Origin.Server)
	} else {
		description += "by the leader itself, "
	}
	if command.Session != 0 {
		description += fmt.Sprintf("session 0x%x: ", uint64(command.Session))
	}
	if isLeadersBarrier(command) {
		return description + "barrier: the members are settled, no server goes by those before them"
	}
	return description + describeOperation(command.Operation)
}

func describeMembers(entry *raftpb.Entry) string {
	change := &raftpb.ConfChangeV2{}
	if err := proto.Unmarshal(entry.GetData(), change); err != nil {
		return "change of the members: " + err.Error()
	}
	if len(change.GetChanges()) == 0 {
		return "change of the members ends: from here on the new ones alone decide"
	}
	verbs := map[raftpb.ConfChangeType]string{
		raftpb.ConfChangeAddNode: "votes", raftpb.ConfChangeAddLearnerNode: "listens without a vote", raftpb.ConfChangeRemoveNode: "is gone",
	}
	var parts []string
	for _, each := range change.GetChanges() {
		part := fmt.Sprintf("server %d", serverOf(each.GetNodeId()))
		if generation := each.GetNodeId() >> 8; generation > 0 {
			part += fmt.Sprintf(" (its life number %d, after lost disks)", generation+1)
		}
		parts = append(parts, part+" "+verbs[each.GetType()])
	}
	return "change of the members: " + strings.Join(parts, ", ")
}

func describeOperation(operation tree.Operation) string {
	switch o := operation.(type) {
	case *tree.CreateNode:
		name := o.Mode.String()
		if o.Sequential {
			name += " sequential"
		}
		return fmt.Sprintf("create %s %s with %s%s", name, o.Path, describeData(o.Data), describeACL(o.ACL))
	case *tree.DeleteNode:
		return fmt.Sprintf("delete %s%s", o.Path, ifVersion(o.Version))
	case *tree.SetData:
		return fmt.Sprintf("set %s to %s%s", o.Path, describeData(o.Data), ifVersion(o.Version))
	case *tree.SetACL:
		return fmt.Sprintf("set the ACL of %s%s%s", o.Path, describeACL(o.ACL), ifVersion(o.Version))
	case *tree.Check:
		return fmt.Sprintf("check %s%s", o.Path, ifVersion(o.Version))
	case *tree.Multi:
		var parts []string
		for _, part := range o.Operations {
			parts = append(parts, describeOperation(part))
		}
		return "all or nothing: " + strings.Join(parts, "; ")
	case *tree.CreateSession:
		return fmt.Sprintf("create the session, timeout %d ms", o.TimeoutMS)
	case *tree.AttachSession:
		return "attach the session to another connection"
	case *tree.CloseSession:
		if o.Expired {
			return "expire the session and delete its ephemerals"
		}
		return "close the session and delete its ephemerals"
	case *tree.RemoveIdle:
		return "remove " + o.Path + ", which nobody needs any more"
	case *tree.Barrier:
		return "barrier: whoever asked learns that it has applied all before"
	}
	return fmt.Sprintf("%T", operation)
}

func ifVersion(version int32) string {
	if version < 0 {
		return ""
	}
	return fmt.Sprintf(", if its version is %d", version)
}

// describeData shows the beginning of text; of anything else, its size.
func describeData(data []byte) string {
	const limit = 60
	size := fmt.Sprintf("%d bytes", len(data))
	switch {
	case data == nil:
		return "no data"
	case len(data) == 0 || !utf8.Valid(data):
		return size
	case len(data) > limit:
		return fmt.Sprintf("%s %#q…", size, strings.ToValidUTF8(string(data[:limit]), ""))
	}
	return fmt.Sprintf("%s %#q", size, data)
}

// describeACL writes an ACL as zkCli takes it; nothing for the one that lets everybody do everything.
func describeACL(acl []tree.ACL) string {
	if text := aclText(acl); text != "world:anyone:rwcda" {
		return ", ACL " + text
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
