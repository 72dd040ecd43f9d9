package groupcoordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/group"
)

// GroupLook is a group as its coordinator has it now.
type GroupLook struct {
	State        string       `json:"state"`
	ProtocolType string       `json:"protocolType"`
	Protocol     string       `json:"protocol"`
	Members      []MemberLook `json:"members"`
	Offsets      []OffsetLook `json:"offsets"`
}

// MemberLook is a member, with what its protocol's bytes say.
type MemberLook struct {
	ID         string             `json:"id"`
	InstanceID string             `json:"instanceId"`
	ClientID   string             `json:"clientId"`
	ClientHost string             `json:"clientHost"`
	Subscribed []string           `json:"subscribed"`
	Assigned   map[string][]int32 `json:"assigned"`
}

// OffsetLook is a committed offset.
type OffsetLook struct {
	Partition   string    `json:"partition"`
	Offset      int64     `json:"offset"`
	LeaderEpoch int32     `json:"leaderEpoch"`
	Metadata    string    `json:"metadata"`
	CommittedAt time.Time `json:"committedAt"`
}

// Look tells of a group that this broker coordinates. It is no request, and leaves no trace.
func (c *Coordinator) Look(ctx context.Context, id string) (GroupLook, error) {
	type answer struct {
		look GroupLook
		err  *kerr.Error
	}
	told := make(chan answer, 1)
	if !c.inbox.offer(func(time.Time) {
		g, err := c.find(id)
		if err == nil && g == nil {
			err = kerr.GroupIDNotFound
		}
		if err != nil {
			told <- answer{err: err}
			return
		}
		look := lookOf(g.Describe())
		for _, partition := range g.Partitions() {
			if o, exists := g.Offset(partition); exists {
				look.Offsets = append(look.Offsets, OffsetLook{partition.String(), o.Offset, o.LeaderEpoch, o.Metadata, o.CommittedAt})
			}
		}
		told <- answer{look: look}
	}) {
		return GroupLook{}, errors.New("the coordinator has too much to do")
	}
	select {
	case a := <-told:
		if a.err != nil {
			return GroupLook{}, fmt.Errorf("group %s: %s: %s", id, a.err.Message, a.err.Description)
		}
		return a.look, nil
	case <-ctx.Done():
		return GroupLook{}, context.Cause(ctx)
	}
}

func lookOf(described group.Description) GroupLook {
	look := GroupLook{State: string(described.State), ProtocolType: described.ProtocolType, Protocol: described.Protocol, Members: []MemberLook{}, Offsets: []OffsetLook{}}
	for _, m := range described.Members {
		member := MemberLook{ID: m.ID, InstanceID: m.InstanceID, ClientID: m.ClientID, ClientHost: m.ClientHost, Subscribed: []string{}, Assigned: map[string][]int32{}}
		if described.ProtocolType == "consumer" {
			member.readProtocol(m)
		}
		look.Members = append(look.Members, member)
	}
	return look
}

// readProtocol reads what consumers tell each other through the group; a coordinator has no need to.
func (l *MemberLook) readProtocol(m group.MemberDescription) {
	var metadata kmsg.ConsumerMemberMetadata
	if len(m.Metadata) > 0 && metadata.ReadFrom(append([]byte{}, m.Metadata...)) == nil {
		l.Subscribed = append(l.Subscribed, metadata.Topics...)
	}
	var assignment kmsg.ConsumerMemberAssignment
	if len(m.Assignment) > 0 && assignment.ReadFrom(append([]byte{}, m.Assignment...)) == nil {
		for _, topic := range assignment.Topics {
			l.Assigned[topic.Topic] = topic.Partitions
		}
	}
}
