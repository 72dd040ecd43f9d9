package groupcoordinator

import (
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/group"
)

// allGroupOperations are READ (3), DELETE (6) and DESCRIBE (8) as bits: without an authorizer everybody may do everything.
const allGroupOperations = 1<<3 | 1<<6 | 1<<8

// handleDescribeGroups serves DescribeGroups v0 to v5. A group that is not there is dead; before v6 that is no error.
func (c *Coordinator) handleDescribeGroups(r *reactor.Request) {
	request := r.Body.(*kmsg.DescribeGroupsRequest)
	answer := func(describe func(id string) (group.Description, *kerr.Error)) {
		response := kmsg.NewPtrDescribeGroupsResponse()
		for _, id := range request.Groups {
			description, err := describe(id)
			described := describedGroup(id, description, err)
			described.AuthorizedOperations = math.MinInt32
			if request.IncludeAuthorizedOperations {
				described.AuthorizedOperations = allGroupOperations
			}
			response.Groups = append(response.Groups, described)
		}
		r.Respond(response)
	}
	c.ask(r, func(time.Time) { answer(c.describe) }, func(err *kerr.Error) {
		answer(func(string) (group.Description, *kerr.Error) { return group.Description{}, err })
	})
}

func (c *Coordinator) describe(id string) (group.Description, *kerr.Error) {
	g, err := c.find(id)
	switch {
	case err != nil:
		return group.Description{}, err
	case g == nil:
		return group.Description{State: group.Dead}, nil
	}
	return g.Describe(), nil
}

func describedGroup(id string, description group.Description, err *kerr.Error) kmsg.DescribeGroupsResponseGroup {
	described := kmsg.NewDescribeGroupsResponseGroup()
	described.Group, described.ErrorCode, described.State = id, code(err), string(description.State)
	described.ProtocolType, described.Protocol = description.ProtocolType, description.Protocol
	for _, from := range description.Members {
		member := kmsg.NewDescribeGroupsResponseGroupMember()
		member.MemberID, member.InstanceID, member.ClientID, member.ClientHost = from.ID, nullable(from.InstanceID), from.ClientID, from.ClientHost
		member.ProtocolMetadata, member.MemberAssignment = notNil(from.Metadata), notNil(from.Assignment)
		described.Members = append(described.Members, member)
	}
	return described
}
