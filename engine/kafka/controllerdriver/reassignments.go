package controllerdriver

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/controller"
)

// handleAlterPartitionReassignments serves AlterPartitionReassignments v0 (KIP-455). It answers when the reassignments have begun; when they
// are done, ListPartitionReassignments does not list them any more.
func (d *Driver) handleAlterPartitionReassignments(r *reactor.Request) {
	request := r.Body.(*kmsg.AlterPartitionAssignmentsRequest)
	fail := func(kind *kerr.Error) {
		response := kmsg.NewPtrAlterPartitionAssignmentsResponse()
		response.ErrorCode, response.ErrorMessage = kind.Code, &kind.Description
		r.Respond(response)
	}
	d.ask("AlterPartitionReassignments", func(t *term) error {
		var wanted []controller.Reassignment
		for _, topic := range request.Topics {
			for _, p := range topic.Partitions {
				wanted = append(wanted, controller.Reassignment{Partition: controller.Partition{Topic: topic.Topic, Index: p.Partition}, Replicas: p.Replicas})
			}
		}
		outcomes, plan := t.state.Reassign(wanted)
		if err := t.carryOut(plan); err != nil {
			fail(kerr.NotController)
			return err
		}
		r.Respond(reassignmentsResponse(request, outcomes))
		return nil
	}, func() { fail(kerr.NotController) })
}

// reassignmentsResponse pairs outcomes with the partitions of the request, whose order they have.
func reassignmentsResponse(request *kmsg.AlterPartitionAssignmentsRequest, outcomes []controller.ReassignmentOutcome) kmsg.Response {
	response := kmsg.NewPtrAlterPartitionAssignmentsResponse()
	for i := range request.Topics {
		topic := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		topic.Topic = request.Topics[i].Topic
		for range request.Topics[i].Partitions {
			p := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			p.Partition = outcomes[0].Partition.Index
			if err := outcomeError(outcomes[0].Outcome); err != nil {
				p.ErrorCode, p.ErrorMessage = err.Code, &err.Description
			}
			outcomes = outcomes[1:]
			topic.Partitions = append(topic.Partitions, p)
		}
		response.Topics = append(response.Topics, topic)
	}
	return response
}

// handleListPartitionReassignments serves ListPartitionReassignments v0: what is under way.
func (d *Driver) handleListPartitionReassignments(r *reactor.Request) {
	request := r.Body.(*kmsg.ListPartitionReassignmentsRequest)
	var partitions []controller.Partition // nil: all
	if request.Topics != nil {
		partitions = []controller.Partition{}
		for _, topic := range request.Topics {
			for _, index := range topic.Partitions {
				partitions = append(partitions, controller.Partition{Topic: topic.Topic, Index: index})
			}
		}
	}
	d.ask("ListPartitionReassignments", func(t *term) error {
		response := kmsg.NewPtrListPartitionReassignmentsResponse()
		at := map[string]int{}
		for name, assignment := range t.state.Reassignments(partitions) {
			i, listed := at[name.Topic]
			if !listed {
				i = len(response.Topics)
				at[name.Topic] = i
				topic := kmsg.NewListPartitionReassignmentsResponseTopic()
				topic.Topic = name.Topic
				response.Topics = append(response.Topics, topic)
			}
			p := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
			p.Partition, p.Replicas, p.AddingReplicas, p.RemovingReplicas = name.Index, assignment.Replicas, assignment.Adding, assignment.Removing
			response.Topics[i].Partitions = append(response.Topics[i].Partitions, p)
		}
		r.Respond(response)
		return nil
	}, func() {
		response := kmsg.NewPtrListPartitionReassignmentsResponse()
		response.ErrorCode, response.ErrorMessage = kerr.NotController.Code, &kerr.NotController.Description
		r.Respond(response)
	})
}
