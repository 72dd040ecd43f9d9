package groupcoordinator

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
)

// classicType is the type of groups of this protocol, from v5 on.
const classicType = "classic"

// handleListGroups serves ListGroups v0 to v5: the groups that this broker coordinates.
func (c *Coordinator) handleListGroups(r *reactor.Request) {
	request := r.Body.(*kmsg.ListGroupsRequest)
	c.ask(r, func(time.Time) {
		response := kmsg.NewPtrListGroupsResponse()
		for _, p := range c.partitions {
			if p.loading {
				response.ErrorCode = kerr.CoordinatorLoadInProgress.Code
			}
			for _, g := range p.groups {
				listed := kmsg.NewListGroupsResponseGroup()
				listed.Group, listed.ProtocolType, listed.GroupState, listed.GroupType = g.ID(), g.Describe().ProtocolType, string(g.State()), classicType
				if passes(request.StatesFilter, listed.GroupState) && passes(request.TypesFilter, listed.GroupType) {
					response.Groups = append(response.Groups, listed)
				}
			}
		}
		slices.SortFunc(response.Groups, func(a, b kmsg.ListGroupsResponseGroup) int { return cmp.Compare(a.Group, b.Group) })
		r.Respond(response)
	}, func(err *kerr.Error) {
		response := kmsg.NewPtrListGroupsResponse()
		response.ErrorCode = err.Code
		r.Respond(response)
	})
}

// passes applies a filter; an empty one lets everything through.
func passes(filter []string, value string) bool {
	return len(filter) == 0 || slices.ContainsFunc(filter, func(wanted string) bool { return strings.EqualFold(wanted, value) })
}
