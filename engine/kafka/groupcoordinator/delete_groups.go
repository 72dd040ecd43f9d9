package groupcoordinator

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/sentence"
)

// handleDeleteGroups serves DeleteGroups v0 to v2. Only groups without members can be deleted.
func (c *Coordinator) handleDeleteGroups(r *reactor.Request) {
	request := r.Body.(*kmsg.DeleteGroupsRequest)
	codes := make([]*kerr.Error, len(request.Groups))
	respond := func() {
		response := kmsg.NewPtrDeleteGroupsResponse()
		for i, id := range request.Groups {
			deleted := kmsg.NewDeleteGroupsResponseGroup()
			deleted.Group, deleted.ErrorCode = id, code(codes[i])
			response.Groups = append(response.Groups, deleted)
		}
		r.Respond(response)
	}
	c.ask(r, func(now time.Time) {
		pending := 1 // this loop itself
		finish := func() {
			if pending--; pending == 0 {
				respond()
			}
		}
		for i, id := range request.Groups {
			g, err := c.find(id)
			if err == nil && g == nil {
				err = kerr.GroupIDNotFound
			}
			if err == nil {
				err = g.CheckDelete()
			}
			if codes[i] = err; err != nil {
				continue
			}
			pending++
			c.remove(g, now, sentence.Of("groupDeleted", "deleted by an administrator"), func(err *kerr.Error) {
				codes[i] = logError(err)
				finish()
			})
		}
		finish()
	}, func(err *kerr.Error) {
		for i := range codes {
			codes[i] = err
		}
		respond()
	})
}
