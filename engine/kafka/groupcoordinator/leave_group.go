package groupcoordinator

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/group"
)

// handleLeaveGroup serves LeaveGroup v0 to v5; from v3 on a request may name many members (KIP-345).
func (c *Coordinator) handleLeaveGroup(r *reactor.Request) {
	request := r.Body.(*kmsg.LeaveGroupRequest)
	leavers := []group.Leaver{{MemberID: request.MemberID}}
	if r.Version >= 3 {
		leavers = nil
		for _, m := range request.Members {
			leavers = append(leavers, group.Leaver{MemberID: m.MemberID, InstanceID: stringOf(m.InstanceID), Reason: stringOf(m.Reason)})
		}
	}
	respond := func(whole *kerr.Error, each []*kerr.Error) {
		r.Respond(leaveGroupResponse(r.Version, leavers, whole, each))
	}
	refuse := func(err *kerr.Error) { respond(err, nil) }
	if request.Group == "" {
		refuse(kerr.InvalidGroupID)
		return
	}
	c.ask(r, func(now time.Time) {
		g, err := c.find(request.Group)
		switch {
		case err != nil:
			refuse(err)
		case g == nil:
			each := make([]*kerr.Error, len(leavers))
			for i := range each {
				each[i] = kerr.UnknownMemberID
			}
			respond(nil, each)
		default:
			whole, each := g.Leave(leavers, now)
			respond(whole, each)
			c.after(g, now)
		}
	}, refuse)
}

func leaveGroupResponse(version int16, leavers []group.Leaver, whole *kerr.Error, each []*kerr.Error) kmsg.Response {
	response := kmsg.NewPtrLeaveGroupResponse()
	response.ErrorCode = code(whole)
	for i, err := range each {
		if version < 3 {
			response.ErrorCode = code(err)
			continue
		}
		member := kmsg.NewLeaveGroupResponseMember()
		member.MemberID, member.InstanceID, member.ErrorCode = leavers[i].MemberID, nullable(leavers[i].InstanceID), code(err)
		response.Members = append(response.Members, member)
	}
	return response
}
