package groupcoordinator

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/group"
)

// handleSyncGroup serves SyncGroup v0 to v5. The answer comes when the leader's assignment is in the log.
func (c *Coordinator) handleSyncGroup(r *reactor.Request) {
	request := r.Body.(*kmsg.SyncGroupRequest)
	respond := func(answer group.SyncAnswer) {
		response := kmsg.NewPtrSyncGroupResponse()
		response.ErrorCode, response.MemberAssignment = code(answer.Err), notNil(answer.Assignment)
		response.ProtocolType, response.Protocol = nullable(answer.ProtocolType), nullable(answer.Protocol)
		r.Respond(response)
	}
	refuse := func(err *kerr.Error) {
		if err == kerr.CoordinatorLoadInProgress {
			err = kerr.RebalanceInProgress // older clients do not expect the other one here, and they have to join again anyway
		}
		respond(group.SyncAnswer{Err: err})
	}
	if request.Group == "" {
		refuse(kerr.InvalidGroupID)
		return
	}
	c.ask(r, func(now time.Time) {
		g, err := c.find(request.Group)
		if g == nil && err == nil {
			err = kerr.UnknownMemberID
		}
		if err != nil {
			refuse(err)
			return
		}
		sync := group.SyncRequest{
			Ticket: c.ticket(waiting{sync: respond}), MemberID: request.MemberID, InstanceID: stringOf(request.InstanceID),
			Generation: request.Generation, ProtocolType: stringOf(request.ProtocolType), Protocol: stringOf(request.Protocol),
			Assignments: map[string][]byte{},
		}
		for _, assignment := range request.GroupAssignment {
			sync.Assignments[assignment.MemberID] = slices.Clone(assignment.MemberAssignment)
		}
		g.Sync(sync, now)
		c.after(g, now)
		c.showWaiting(r, sync.Ticket)
	}, refuse)
}
