package groupcoordinator

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
)

// handleHeartbeat serves Heartbeat v0 to v4.
func (c *Coordinator) handleHeartbeat(r *reactor.Request) {
	request := r.Body.(*kmsg.HeartbeatRequest)
	respond := func(err *kerr.Error) {
		if err == kerr.CoordinatorLoadInProgress {
			err = nil // nobody is out before the groups are loaded
		}
		response := kmsg.NewPtrHeartbeatResponse()
		response.ErrorCode = code(err)
		r.Respond(response)
	}
	if request.Group == "" {
		respond(kerr.InvalidGroupID)
		return
	}
	c.ask(r, func(now time.Time) {
		g, err := c.find(request.Group)
		switch {
		case err != nil:
			respond(err)
		case g == nil:
			respond(kerr.UnknownMemberID)
		default:
			respond(g.Heartbeat(request.MemberID, stringOf(request.InstanceID), request.Generation, now))
			c.after(g, now)
		}
	}, respond)
}
