package controllerdriver

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/controller"
	"twinlog/engine/kafka/metadata"
)

// handleElectLeaders serves ElectLeaders v0 to v2. Before v1 every election is a preferred one (KIP-183, KIP-460).
func (d *Driver) handleElectLeaders(r *reactor.Request) {
	request := r.Body.(*kmsg.ElectLeadersRequest)
	var partitions []controller.Partition // nil: all
	if request.Topics != nil {
		partitions = []controller.Partition{}
		for _, topic := range request.Topics {
			for _, index := range topic.Partitions {
				partitions = append(partitions, controller.Partition{Topic: topic.Topic, Index: index})
			}
		}
	}
	refuseAll := func(kind *kerr.Error) {
		var results []electionResult
		for _, name := range partitions {
			results = append(results, electionResult{name, kind})
		}
		r.Respond(electLeadersResponse(kind, results))
	}
	kind := controller.ElectionType(request.ElectionType)
	if kind != controller.PreferredElection && kind != controller.UncleanElection {
		refuseAll(kerr.InvalidRequest)
		return
	}
	d.ask("ElectLeaders", func(t *term) error {
		outcomes, plan := t.state.Elect(kind, partitions)
		if err := t.carryOut(plan); err != nil {
			refuseAll(kerr.NotController)
			return err
		}
		t.awaitElections(r, request.TimeoutMillis, outcomes)
		return nil
	}, func() { refuseAll(kerr.NotController) })
}

type electionResult struct {
	partition controller.Partition
	err       *kerr.Error // nil: elected
}

// awaitElections answers when this broker tells clients about the new leaders.
func (t *term) awaitElections(r *reactor.Request, timeoutMillis int32, outcomes []controller.ElectionOutcome) {
	results := make([]electionResult, 0, len(outcomes))
	epochs := map[controller.Partition]int32{}
	for _, outcome := range outcomes {
		results = append(results, electionResult{outcome.Partition, outcomeError(outcome.Outcome)})
		if leadership, led := t.state.Leadership(outcome.Partition); led && outcome.Outcome == controller.OK {
			epochs[outcome.Partition] = leadership.LeaderEpoch
		}
	}
	known := func(snapshot *metadata.Snapshot, name controller.Partition) bool {
		info, found := snapshot.Partition(name.Topic, name.Index)
		return found && info.LeaderEpoch >= epochs[name]
	}
	d := t.driver
	d.await(r, timeoutMillis, func(snapshot *metadata.Snapshot) bool {
		for name := range epochs {
			if !known(snapshot, name) {
				return false
			}
		}
		return true
	}, func(expired bool) {
		for i, result := range results {
			if expired && result.err == nil && !known(d.config.Metadata(), result.partition) {
				results[i].err = kerr.RequestTimedOut
			}
		}
		r.Respond(electLeadersResponse(nil, results))
	})
}

func electLeadersResponse(whole *kerr.Error, results []electionResult) kmsg.Response {
	response := kmsg.NewPtrElectLeadersResponse()
	if whole != nil {
		response.ErrorCode = whole.Code
	}
	at := map[string]int{}
	for _, result := range results {
		i, listed := at[result.partition.Topic]
		if !listed {
			i = len(response.Topics)
			at[result.partition.Topic] = i
			topic := kmsg.NewElectLeadersResponseTopic()
			topic.Topic = result.partition.Topic
			response.Topics = append(response.Topics, topic)
		}
		p := kmsg.NewElectLeadersResponseTopicPartition()
		p.Partition = result.partition.Index
		if result.err != nil {
			p.ErrorCode, p.ErrorMessage = result.err.Code, &result.err.Description
		}
		response.Topics[i].Partitions = append(response.Topics[i].Partitions, p)
	}
	return response
}
