package groupcoordinator

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
)

// The coordinator types of FindCoordinator.
const (
	coordinatorOfGroup       int8 = 0
	coordinatorOfTransaction int8 = 1
)

// handleFindCoordinator serves FindCoordinator v0 to v6; from v4 on a request names many keys (KIP-699). The first one ever makes the topic.
func (c *Coordinator) handleFindCoordinator(r *reactor.Request) {
	request := r.Body.(*kmsg.FindCoordinatorRequest)
	response := kmsg.NewPtrFindCoordinatorResponse()
	if r.Version < 4 {
		found := c.findCoordinator(request.CoordinatorKey, request.CoordinatorType, r.Listener)
		response.ErrorCode, response.ErrorMessage = found.ErrorCode, found.ErrorMessage
		response.NodeID, response.Host, response.Port = found.NodeID, found.Host, found.Port
	} else {
		for _, key := range request.CoordinatorKeys {
			response.Coordinators = append(response.Coordinators, c.findCoordinator(key, request.CoordinatorType, r.Listener))
		}
	}
	r.Respond(response)
}

// findCoordinator needs only what the broker knows about the cluster, so it does not wait for the owner's goroutine.
func (c *Coordinator) findCoordinator(key string, kind int8, listener string) kmsg.FindCoordinatorResponseCoordinator {
	found := kmsg.NewFindCoordinatorResponseCoordinator()
	found.Key, found.NodeID, found.Port = key, -1, -1
	refuse := func(err *kerr.Error, text string) kmsg.FindCoordinatorResponseCoordinator {
		found.ErrorCode, found.ErrorMessage = err.Code, &text
		return found
	}
	switch kind {
	case coordinatorOfGroup:
	case coordinatorOfTransaction:
		// Every client takes this error as final; librdkafka would ask again and again after an InvalidRequest.
		return refuse(kerr.TransactionalIDAuthorizationFailed, "This broker has no transaction coordinator yet; produce without transactional.id.")
	default:
		return refuse(kerr.InvalidRequest, "There are no coordinators of this type.")
	}
	snapshot := c.config.Metadata()
	if _, known := snapshot.Topic(OffsetsTopic); !known {
		c.config.CreateOffsetsTopic()
		return refuse(kerr.CoordinatorNotAvailable, kerr.CoordinatorNotAvailable.Description)
	}
	partition, _ := snapshot.Partition(OffsetsTopic, c.partitionOf(key))
	broker, live := snapshot.Broker(partition.Leader)
	endpoint, reachable := broker.Endpoint(listener)
	if !live || !reachable {
		return refuse(kerr.CoordinatorNotAvailable, kerr.CoordinatorNotAvailable.Description)
	}
	found.NodeID, found.Host, found.Port = broker.ID, endpoint.Host, endpoint.Port
	return found
}
