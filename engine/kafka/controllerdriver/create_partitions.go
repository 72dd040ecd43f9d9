package controllerdriver

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/metadata"
	"twinlog/engine/kafka/placement"
)

// grownTopic is a topic that is to get more partitions.
type grownTopic struct {
	asked   *kmsg.CreatePartitionsRequestTopic
	refused *refusal
}

// handleCreatePartitions serves CreatePartitions v0 to v3.
func (d *Driver) handleCreatePartitions(r *reactor.Request) {
	request := r.Body.(*kmsg.CreatePartitionsRequest)
	var topics []*grownTopic
	for i := range request.Topics {
		topic := &grownTopic{asked: &request.Topics[i]}
		if slices.ContainsFunc(topics, func(other *grownTopic) bool { return other.asked.Topic == topic.asked.Topic }) {
			topic.refused = refuse(kerr.InvalidRequest, "Duplicate topic in request.")
		}
		topics = append(topics, topic)
	}
	respond := func() { r.Respond(createPartitionsResponse(topics)) }
	refuseAll := func() {
		for _, topic := range topics {
			topic.refused = plainRefusal(kerr.NotController)
		}
		respond()
	}
	d.ask("CreatePartitions", func(t *term) error {
		for _, topic := range topics {
			if topic.refused != nil {
				continue
			}
			if err := t.growTopic(topic, request.ValidateOnly); err != nil {
				refuseAll()
				return err
			}
		}
		if request.ValidateOnly {
			respond()
			return nil
		}
		d.awaitGrowth(r, request.TimeoutMillis, topics, respond)
		return nil
	}, refuseAll)
}

func (d *Driver) awaitGrowth(r *reactor.Request, timeoutMillis int32, topics []*grownTopic, respond func()) {
	grownNow := func(snapshot *metadata.Snapshot, topic *grownTopic) bool {
		return topic.refused != nil || allLed(snapshot, topic.asked.Topic, int(topic.asked.Count))
	}
	d.await(r, timeoutMillis, func(snapshot *metadata.Snapshot) bool {
		return !slices.ContainsFunc(topics, func(topic *grownTopic) bool { return !grownNow(snapshot, topic) })
	}, func(expired bool) {
		for _, topic := range topics {
			if expired && !grownNow(d.config.Metadata(), topic) {
				topic.refused = plainRefusal(kerr.RequestTimedOut)
			}
		}
		respond()
	})
}

func createPartitionsResponse(topics []*grownTopic) kmsg.Response {
	response := kmsg.NewPtrCreatePartitionsResponse()
	for _, topic := range topics {
		result := kmsg.NewCreatePartitionsResponseTopic()
		result.Topic, result.ErrorCode, result.ErrorMessage = topic.asked.Topic, topic.refused.code(), topic.refused.message()
		response.Topics = append(response.Topics, result)
	}
	return response
}

// growTopic writes the larger assignment; the watch on the topic's znode does the rest. An error ends the term.
func (t *term) growTopic(topic *grownTopic, validateOnly bool) error {
	name := topic.asked.Topic
	if !t.state.HasTopic(name) {
		topic.refused = refuse(kerr.UnknownTopicOrPartition, "The topic '%s' does not exist.", name)
		return nil
	}
	if t.state.BeingDeleted(name) {
		topic.refused = refuse(kerr.InvalidTopicException, "The topic is queued for deletion.")
		return nil
	}
	data, stat, found, err := t.get(metadata.TopicPath(name))
	if err != nil {
		return err
	}
	if !found {
		topic.refused = refuse(kerr.UnknownTopicOrPartition, "The topic '%s' does not exist.", name)
		return nil
	}
	payload, err := metadata.DecodeTopic(name, data)
	if err != nil {
		topic.refused = refuse(kerr.UnknownServerError, "%v", err)
		return nil
	}
	added, refused := t.placeMore(topic.asked, payload)
	if topic.refused = refused; refused != nil || validateOnly {
		return nil
	}
	maps.Copy(payload.Replicas, added)
	err = t.multi([]any{&zk.SetDataRequest{Path: metadata.TopicPath(name), Data: payload.Encode(), Version: stat.Version}})
	if err != nil {
		return fmt.Errorf("adding partitions to topic %s: %w", name, err)
	}
	return nil
}

func (t *term) placeMore(asked *kmsg.CreatePartitionsRequestTopic, payload metadata.Topic) (map[int32][]int32, *refusal) {
	now := len(payload.Replicas)
	more := int(asked.Count) - now
	switch {
	case len(payload.Adding) > 0 || len(payload.Removing) > 0:
		return nil, plainRefusal(kerr.ReassignmentInProgress)
	case more < 0:
		return nil, refuse(kerr.InvalidPartitions, "Topic currently has %d partitions, which is higher than the requested %d.", now, asked.Count)
	case more == 0:
		return nil, refuse(kerr.InvalidPartitions, "Topic already has %d partitions.", now)
	case more > maxPartitions:
		return nil, refuse(kerr.InvalidPartitions, "%d partitions are more than the %d that one request may create", more, maxPartitions)
	}
	factor := len(payload.Replicas[0])
	if asked.Assignment != nil {
		return t.takeAssignment(asked, now, more, factor)
	}
	// The new partitions go on where the old ones stopped, so that the brokers stay evenly loaded.
	var candidates []placement.Broker
	start := 0
	for i, broker := range t.state.Brokers() {
		candidates = append(candidates, placement.Broker{ID: broker.ID, Rack: broker.Rack})
		if factor > 0 && broker.ID == payload.Replicas[0][0] {
			start = i
		}
	}
	assignment, err := placement.Assign(candidates, placement.Request{
		Partitions: more, ReplicationFactor: factor, FirstPartition: now, StartIndex: start, Shift: start,
	})
	if err != nil {
		return nil, placementRefusal(err)
	}
	added := map[int32][]int32{}
	for i, replicas := range assignment {
		added[int32(now+i)] = replicas
	}
	return added, nil
}

// takeAssignment checks the brokers that the client chose.
func (t *term) takeAssignment(asked *kmsg.CreatePartitionsRequestTopic, now, more, factor int) (map[int32][]int32, *refusal) {
	if len(asked.Assignment) != more {
		return nil, refuse(kerr.InvalidReplicaAssignment, "Increasing the number of partitions by %d but %d assignments provided.", more, len(asked.Assignment))
	}
	added := map[int32][]int32{}
	for i, chosen := range asked.Assignment {
		index := int32(now + i)
		switch {
		case len(chosen.Replicas) == 0:
			return nil, refuse(kerr.InvalidReplicaAssignment, "Cannot have replication factor of 0 for partition id %d.", index)
		case len(chosen.Replicas) != factor:
			return nil, refuse(kerr.InvalidReplicaAssignment,
				"Inconsistent replication factor between partitions, partition 0 has %d while partition %d has %d replicas.", factor, index, len(chosen.Replicas))
		}
		if refused := judgeReplicas(index, chosen.Replicas); refused != nil {
			return nil, refused
		}
		for _, replica := range chosen.Replicas {
			if _, registered := t.state.Broker(replica); !registered {
				return nil, refuse(kerr.InvalidReplicaAssignment, "Unknown broker(s) in replica assignment: %d.", replica)
			}
		}
		added[index] = chosen.Replicas
	}
	return added, nil
}
