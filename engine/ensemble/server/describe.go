package server

import (
	"fmt"
	"strings"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
)

// DescribeEntry says in words what a whole frame of the Raft log holds.
func DescribeEntry(frame []byte) string {
	entry, _, err := DecodeEntry(frame)
	if err != nil {
		return err.Error()
	}
	place := fmt.Sprintf("term %d: ", entry.GetTerm())
	switch {
	case entry.GetType() != raftpb.EntryNormal:
		return place + "change of the members"
	case len(entry.GetData()) == 0:
		return place + "empty: a leader begins its term"
	}
	command, _, err := protocol.DecodeCommand(entry.GetData())
	if err != nil {
		return place + err.Error()
	}
	description := place + time.UnixMilli(command.TimeMS).UTC().Format("15:04:05.000 ")
	if command.Session != 0 {
		description += fmt.Sprintf("session 0x%x: ", uint64(command.Session))
	}
	return description + describeOperation(command.Operation)
}

func describeOperation(operation tree.Operation) string {
	switch o := operation.(type) {
	case *tree.CreateNode:
		name := o.Mode.String()
		if o.Sequential {
			name += " sequential"
		}
		return fmt.Sprintf("create %s %s with %d bytes", name, o.Path, len(o.Data))
	case *tree.DeleteNode:
		return fmt.Sprintf("delete %s%s", o.Path, ifVersion(o.Version))
	case *tree.SetData:
		return fmt.Sprintf("set %s to %d bytes%s", o.Path, len(o.Data), ifVersion(o.Version))
	case *tree.SetACL:
		return fmt.Sprintf("set the ACL of %s%s", o.Path, ifVersion(o.Version))
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
		return "barrier: a server learns that it has applied all before"
	}
	return fmt.Sprintf("%T", operation)
}

func ifVersion(version int32) string {
	if version < 0 {
		return ""
	}
	return fmt.Sprintf(", if its version is %d", version)
}
