package tree

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Membership is who the ensemble's servers are, as /zookeeper/config tells clients.
type Membership struct {
	Version int64 // the zxid of the change that made it
	Servers map[int32]Member
}

// Member is where a server can be reached.
type Member struct {
	PeerAddress   string // host:port of the Raft traffic
	ClientAddress string // host:port, or a port, for clients; may be empty
	// RaftID is the server's name in the Raft group. A server that lost its disk comes back under a new one.
	RaftID uint64
	// Spec is the server as the configuration file wrote it, for /zookeeper/config. It may be empty.
	Spec string
}

// Reconfigure replaces the membership. The driver proposes it once the Raft group has changed.
type Reconfigure struct{ Servers map[int32]Member }

func (*Reconfigure) operation() {}

// Membership is the current one.
func (t *Tree) Membership() Membership { return t.members }

// Found sets the members that found an ensemble, before its first transaction.
func (t *Tree) Found(servers map[int32]Member) {
	t.members = Membership{Servers: servers}
	node := t.nodes[ConfigPath]
	node.data = []byte(t.members.Text())
	t.bytes += int64(len(node.data))
}

func (t *Tree) reconfigure(command *Command, operation *Reconfigure) Outcome {
	t.members = Membership{Version: t.zxid, Servers: operation.Servers}
	return t.writeConfig(command.TimeMS)
}

// writeConfig shows the membership in ZooKeeper's own form.
func (t *Tree) writeConfig(timeMS int64) Outcome {
	node := t.nodes[ConfigPath]
	data := t.members.Text()
	t.bytes += int64(len(data) - len(node.data))
	node.data = []byte(data)
	node.version++
	node.mzxid = t.zxid
	node.mtime = timeMS
	return Outcome{
		Result:  Result{Path: ConfigPath, Stat: node.stat()},
		Changes: []Change{{Type: NodeDataChanged, Path: ConfigPath, Data: node.data, Version: node.version}},
	}
}

// Text is the membership as ZooKeeper writes it: one server a line, then the version in hexadecimal.
func (m Membership) Text() string {
	var text strings.Builder
	for _, id := range slices.Sorted(maps.Keys(m.Servers)) {
		member := m.Servers[id]
		spec := member.Spec
		if spec == "" {
			spec = member.PeerAddress + ":participant"
			if member.ClientAddress != "" {
				spec += ";" + member.ClientAddress
			}
		}
		text.WriteString("server." + strconv.Itoa(int(id)) + "=" + spec + "\n")
	}
	text.WriteString("version=" + strconv.FormatInt(m.Version, 16))
	return text.String()
}
