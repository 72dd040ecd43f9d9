package group

// Description is what DescribeGroups and ListGroups tell.
type Description struct {
	State        State
	ProtocolType string
	Protocol     string // only of a stable group
	Members      []MemberDescription
}

// MemberDescription is a member in a [Description]. Metadata and assignment are only told of a stable group.
type MemberDescription struct {
	ID         string
	InstanceID string
	ClientID   string
	ClientHost string
	Metadata   []byte
	Assignment []byte
}

// Describe tells about the group.
func (g *Group) Describe() Description {
	description := Description{State: g.state, ProtocolType: g.protocolType}
	if g.state == Stable {
		description.Protocol = g.protocol
	}
	for _, m := range g.inOrder() {
		member := MemberDescription{ID: m.id, InstanceID: m.instanceID, ClientID: m.clientID, ClientHost: m.clientHost}
		if g.state == Stable {
			member.Metadata, member.Assignment = m.metadata(g.protocol), m.assignment
		}
		description.Members = append(description.Members, member)
	}
	return description
}
