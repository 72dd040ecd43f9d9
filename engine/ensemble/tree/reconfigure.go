package tree

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"twinlog/engine/ensemble/jute"
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
	// Nonce of the blank disk whose server was given the Raft id; 0 for a founder.
	Nonce int64
	// Former: it was removed, and goes on following without a vote.
	Former bool
}

// ReconfigRequest is what a client asks for. The leader makes a Reconfigure of it, which says what it comes to; it never gets into the
// log itself.
type ReconfigRequest struct {
	Joining, Leaving, NewMembers string
	Version                      int64 // of the membership that it is meant for; -1 is any
}

// Reconfigure replaces the membership, or only says why not.
type Reconfigure struct {
	Servers map[int32]Member
	Refused Error
}

func (*ReconfigRequest) operation() {}
func (*Reconfigure) operation()     {}

// Copy is a copy of the servers.
func (m Membership) Copy() map[int32]Member { return maps.Clone(m.Servers) }

// EncodeMembers writes servers: count int, (server int, peer, client ustring, raft id long, spec ustring, nonce long, former bool)…
func EncodeMembers(e *jute.Encoder, servers map[int32]Member) {
	e.Int(int32(len(servers)))
	for _, id := range slices.Sorted(maps.Keys(servers)) {
		member := servers[id]
		e.Int(id)
		e.String(member.PeerAddress)
		e.String(member.ClientAddress)
		e.Long(int64(member.RaftID))
		e.String(member.Spec)
		e.Long(member.Nonce)
		e.Bool(member.Former)
	}
}

// DecodeMembers reads what EncodeMembers wrote.
func DecodeMembers(d *jute.Decoder) map[int32]Member {
	servers := map[int32]Member{}
	for range d.Count(33) {
		id := d.Int()
		servers[id] = Member{
			PeerAddress: d.String(), ClientAddress: d.String(), RaftID: uint64(d.Long()), Spec: d.String(), Nonce: d.Long(), Former: d.Bool(),
		}
	}
	return servers
}

// MayReconfigure tells whether the session of a command lives and its caller may write the configuration.
func (t *Tree) MayReconfigure(command *Command) Error {
	if code := t.checkSession(command); code != OK {
		return code
	}
	if !Permitted(t.nodes[ConfigPath].acl, command.Caller, Write) {
		return ErrNoAuth
	}
	return OK
}

// Membership is the current one.
func (t *Tree) Membership() Membership { return t.members }

// Found sets the members that found an ensemble, before its first transaction.
func (t *Tree) Found(servers map[int32]Member) {
	t.members = Membership{Servers: servers}
	if len(servers) == 1 {
		return // a server alone shows no members
	}
	node := t.nodes[ConfigPath]
	node.data = []byte(t.members.Text())
	t.bytes += int64(len(node.data))
}

func (t *Tree) reconfigure(command *Command, operation *Reconfigure) Outcome {
	if operation.Refused != OK {
		return Outcome{Result: Result{Code: operation.Refused}}
	}
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
		Changes: []Change{{Type: NodeDataChanged, Path: ConfigPath, Data: node.data, Version: node.version, ACL: node.acl}},
	}
}

// Text is the membership as ZooKeeper writes it: one server a line, then the version in hexadecimal.
func (m Membership) Text() string {
	var text strings.Builder
	for _, id := range slices.Sorted(maps.Keys(m.Servers)) {
		member := m.Servers[id]
		if member.Former {
			continue
		}
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
