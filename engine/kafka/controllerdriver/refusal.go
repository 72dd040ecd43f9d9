package controllerdriver

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/kafka/controller"
	"twinlog/engine/kafka/placement"
)

// refusal is an error of the protocol with a text for the user. A nil refusal means success.
type refusal struct {
	kind *kerr.Error
	text string
}

func refuse(kind *kerr.Error, format string, args ...any) *refusal {
	return &refusal{kind: kind, text: fmt.Sprintf(format, args...)}
}

func (r *refusal) code() int16 {
	if r == nil {
		return 0
	}
	return r.kind.Code
}

// message is what goes into a response's error message; nil for success.
func (r *refusal) message() *string {
	if r == nil {
		return nil
	}
	text := r.text
	if text == "" {
		text = r.kind.Description
	}
	return &text
}

func plainRefusal(kind *kerr.Error) *refusal { return &refusal{kind: kind} }

// ensembleFailed is the answer when the znodes could not be read or written.
func ensembleFailed(err error) *refusal {
	return refuse(kerr.UnknownServerError, "the broker could not reach the ensemble: %v", err)
}

func placementRefusal(err error) *refusal {
	switch {
	case errors.Is(err, placement.ErrInvalidPartitions):
		return refuse(kerr.InvalidPartitions, "%v", err)
	case errors.Is(err, placement.ErrInvalidReplicationFactor):
		return refuse(kerr.InvalidReplicationFactor, "%v", err)
	}
	return refuse(kerr.UnknownServerError, "%v", err)
}

// outcomeError is the protocol's error for what the pure package decided; nil for OK.
func outcomeError(outcome controller.Outcome) *kerr.Error {
	return map[controller.Outcome]*kerr.Error{
		controller.NotController:               kerr.NotController,
		controller.StaleBrokerEpoch:            kerr.StaleBrokerEpoch,
		controller.UnknownTopicOrPartition:     kerr.UnknownTopicOrPartition,
		controller.UnknownTopicID:              kerr.UnknownTopicID,
		controller.FencedLeaderEpoch:           kerr.FencedLeaderEpoch,
		controller.InvalidUpdateVersion:        kerr.InvalidUpdateVersion,
		controller.IneligibleReplica:           kerr.IneligibleReplica,
		controller.InvalidRequest:              kerr.InvalidRequest,
		controller.BrokerNotAvailable:          kerr.BrokerNotAvailable,
		controller.ElectionNotNeeded:           kerr.ElectionNotNeeded,
		controller.PreferredLeaderNotAvailable: kerr.PreferredLeaderNotAvailable,
		controller.EligibleLeadersNotAvailable: kerr.EligibleLeadersNotAvailable,
		controller.TopicBeingDeleted:           kerr.InvalidTopicException,
		controller.NoReassignmentInProgress:    kerr.NoReassignmentInProgress,
		controller.InvalidReplicaAssignment:    kerr.InvalidReplicaAssignment,
	}[outcome]
}

func outcomeCode(outcome controller.Outcome) int16 {
	if err := outcomeError(outcome); err != nil {
		return err.Code
	}
	return 0
}
