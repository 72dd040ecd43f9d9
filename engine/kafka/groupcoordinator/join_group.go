package groupcoordinator

import (
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/group"
)

// handleJoinGroup serves JoinGroup v0 to v9. The answer comes when the rebalance has got that far.
func (c *Coordinator) handleJoinGroup(r *reactor.Request) {
	request := r.Body.(*kmsg.JoinGroupRequest)
	respond := func(answer group.JoinAnswer) { r.Respond(joinGroupResponse(r.Version, answer)) }
	refuse := func(err *kerr.Error) {
		respond(group.JoinAnswer{Err: err, MemberID: request.MemberID, Generation: -1})
	}
	if request.Group == "" {
		refuse(kerr.InvalidGroupID)
		return
	}
	c.ask(r, func(now time.Time) {
		var g *member
		var err *kerr.Error
		if request.MemberID == "" {
			g, err = c.findOrCreate(request.Group, now)
		} else if g, err = c.find(request.Group); g == nil && err == nil {
			err = kerr.UnknownMemberID
		}
		if err != nil {
			refuse(err)
			return
		}
		join := c.readJoin(r, request, respond)
		g.Join(join, now)
		c.after(g, now)
		c.showWaiting(r, join.Ticket)
	}, refuse)
}

func (c *Coordinator) readJoin(r *reactor.Request, request *kmsg.JoinGroupRequest, respond func(group.JoinAnswer)) group.JoinRequest {
	join := group.JoinRequest{
		Ticket: c.ticket(waiting{join: respond}), MemberID: request.MemberID, InstanceID: stringOf(request.InstanceID),
		ClientID: r.ClientID, ClientHost: r.ClientHost, ProtocolType: request.ProtocolType,
		SessionTimeout:     time.Duration(request.SessionTimeoutMillis) * time.Millisecond,
		RebalanceTimeout:   time.Duration(request.RebalanceTimeoutMillis) * time.Millisecond,
		RequireKnownMember: r.Version >= 4, CanSkipAssignment: r.Version >= 9,
	}
	if r.Version == 0 || join.RebalanceTimeout < 0 {
		join.RebalanceTimeout = join.SessionTimeout
	}
	for _, protocol := range request.Protocols {
		join.Protocols = append(join.Protocols, group.Protocol{Name: protocol.Name, Metadata: slices.Clone(protocol.Metadata)})
	}
	prefix := r.ClientID
	if join.InstanceID != "" {
		prefix = join.InstanceID
	}
	join.NewMemberID = prefix + "-" + uuid.NewString()
	return join
}

func joinGroupResponse(version int16, answer group.JoinAnswer) kmsg.Response {
	response := kmsg.NewPtrJoinGroupResponse()
	response.ErrorCode, response.Generation, response.MemberID = code(answer.Err), answer.Generation, answer.MemberID
	response.LeaderID, response.SkipAssignment = answer.Leader, answer.SkipAssignment
	response.ProtocolType, response.Protocol = nullable(answer.ProtocolType), nullable(answer.Protocol)
	if version < 7 { // before, the protocol could not be null
		response.Protocol = &answer.Protocol
	}
	for _, from := range answer.Members {
		member := kmsg.NewJoinGroupResponseMember()
		member.MemberID, member.InstanceID, member.ProtocolMetadata = from.ID, nullable(from.InstanceID), from.Metadata
		response.Members = append(response.Members, member)
	}
	return response
}
