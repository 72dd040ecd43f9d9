package controllerdriver

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/controller"
	"twinlog/engine/kafka/metadata"
)

// handleAlterPartition serves AlterPartition v0 to v3, by which leaders change their ISR (KIP-497). Topics have ids from v2 on, and the
// members of the ISR broker epochs from v3 on.
func (d *Driver) handleAlterPartition(r *reactor.Request) {
	request := r.Body.(*kmsg.AlterPartitionRequest)
	fail := func(code int16) {
		response := kmsg.NewPtrAlterPartitionResponse()
		response.ErrorCode = code
		r.Respond(response)
	}
	d.ask("AlterPartition", func(t *term) error {
		proposals := t.readProposals(request)
		decisions, whole, plan := t.state.AlterPartition(request.BrokerID, request.BrokerEpoch, proposals)
		if whole != controller.OK {
			fail(outcomeCode(whole))
			return nil
		}
		if err := t.carryOut(plan); err != nil {
			fail(kerr.NotController.Code)
			return err
		}
		r.Respond(alterPartitionResponse(request, decisions))
		return nil
	}, func() { fail(kerr.NotController.Code) })
}

// readProposals lists what the leader wants in the order of the request. A topic with an unknown id gets no name, so that none of its
// partitions is found.
func (t *term) readProposals(request *kmsg.AlterPartitionRequest) []controller.ISRProposal {
	var proposals []controller.ISRProposal
	for i := range request.Topics {
		topic := &request.Topics[i]
		name := topic.Topic
		if request.Version >= 2 {
			name, _ = t.state.TopicByID(topic.TopicID)
		}
		for j := range topic.Partitions {
			p := &topic.Partitions[j]
			proposal := controller.ISRProposal{
				Partition: controller.Partition{Topic: name, Index: p.Partition}, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch,
				Recovering: p.LeaderRecoveryState == metadata.Recovering,
			}
			for _, member := range p.NewISR {
				proposal.ISR = append(proposal.ISR, controller.ISRMember{Broker: member, Epoch: -1})
			}
			for _, member := range p.NewEpochISR {
				proposal.ISR = append(proposal.ISR, controller.ISRMember{Broker: member.BrokerID, Epoch: member.BrokerEpoch})
			}
			proposals = append(proposals, proposal)
		}
	}
	return proposals
}

// alterPartitionResponse pairs decisions with the partitions of the request, whose order they have.
func alterPartitionResponse(request *kmsg.AlterPartitionRequest, decisions []controller.ISRDecision) kmsg.Response {
	response := kmsg.NewPtrAlterPartitionResponse()
	for i := range request.Topics {
		topic := kmsg.NewAlterPartitionResponseTopic()
		topic.Topic, topic.TopidID = request.Topics[i].Topic, request.Topics[i].TopicID
		for range request.Topics[i].Partitions {
			decision := decisions[0]
			decisions = decisions[1:]
			p := kmsg.NewAlterPartitionResponseTopicPartition()
			p.Partition, p.ErrorCode = decision.Partition.Index, alterPartitionCode(request.Version, decision)
			if decision.Outcome == controller.OK {
				p.LeaderID, p.LeaderEpoch = decision.Leadership.Leader, decision.Leadership.LeaderEpoch
				p.ISR, p.PartitionEpoch = decision.Leadership.ISR, decision.Leadership.PartitionEpoch
				if decision.Leadership.Recovering {
					p.LeaderRecoveryState = metadata.Recovering
				}
			}
			topic.Partitions = append(topic.Partitions, p)
		}
		response.Topics = append(response.Topics, topic)
	}
	return response
}

func alterPartitionCode(version int16, decision controller.ISRDecision) int16 {
	switch {
	case decision.Partition.Topic == "":
		return kerr.UnknownTopicID.Code
	case decision.Outcome == controller.IneligibleReplica && version < 2:
		return kerr.OperationNotAttempted.Code
	}
	return outcomeCode(decision.Outcome)
}
