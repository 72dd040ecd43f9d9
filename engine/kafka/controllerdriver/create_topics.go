package controllerdriver

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/controller"
	"twinlog/engine/kafka/metadata"
	"twinlog/engine/kafka/placement"
)

// newTopic is a topic that somebody wants, and what became of the wish.
type newTopic struct {
	name       string
	partitions int32             // -1: the broker's default
	factor     int16             // -1: the broker's default
	assignment map[int32][]int32 // nil: the controller chooses
	config     map[string]string
	nullConfig []string // keys that were sent without a value

	id      metadata.TopicID
	refused *refusal
}

// handleCreateTopics serves CreateTopics v0 to v7.
func (d *Driver) handleCreateTopics(r *reactor.Request) {
	request := r.Body.(*kmsg.CreateTopicsRequest)
	topics := readNewTopics(request)
	respond := func() { r.Respond(d.createTopicsResponse(request, topics)) }
	d.ask("CreateTopics", func(t *term) error {
		wait := false
		for _, topic := range topics {
			if topic.refused != nil {
				continue
			}
			if err := t.createTopic(topic, request.ValidateOnly); err != nil {
				failRest(topics)
				respond()
				return err
			}
			wait = wait || topic.refused == nil
		}
		if !wait || request.ValidateOnly {
			respond()
			return nil
		}
		d.awaitTopics(r, request.TimeoutMillis, topics, respond)
		return nil
	}, func() {
		for _, topic := range topics {
			topic.refused = plainRefusal(kerr.NotController)
		}
		respond()
	})
}

// failRest is for a term that ended half-way: what was not refused may or may not have been done.
func failRest(topics []*newTopic) {
	for _, topic := range topics {
		if topic.refused == nil {
			topic.refused = plainRefusal(kerr.NotController)
		}
	}
}

func (d *Driver) awaitTopics(r *reactor.Request, timeoutMillis int32, topics []*newTopic, respond func()) {
	ledNow := func(snapshot *metadata.Snapshot, topic *newTopic) bool {
		return topic.refused != nil || allLed(snapshot, topic.name, len(topic.assignment))
	}
	d.await(r, timeoutMillis, func(snapshot *metadata.Snapshot) bool {
		return !slices.ContainsFunc(topics, func(topic *newTopic) bool { return !ledNow(snapshot, topic) })
	}, func(expired bool) {
		for _, topic := range topics {
			if expired && !ledNow(d.config.Metadata(), topic) {
				topic.refused = plainRefusal(kerr.RequestTimedOut)
			}
		}
		respond()
	})
}

func readNewTopics(request *kmsg.CreateTopicsRequest) []*newTopic {
	var topics []*newTopic
	listed := map[string]*newTopic{}
	for i := range request.Topics {
		asked := &request.Topics[i]
		if twice := listed[asked.Topic]; twice != nil {
			twice.refused = refuse(kerr.InvalidRequest, "Found multiple entries for this topic.")
			continue
		}
		topic := &newTopic{name: asked.Topic, partitions: asked.NumPartitions, factor: asked.ReplicationFactor, config: map[string]string{}}
		listed[topic.name] = topic
		for _, config := range asked.Configs {
			if config.Value == nil {
				topic.nullConfig = append(topic.nullConfig, config.Name)
			} else {
				topic.config[config.Name] = *config.Value
			}
		}
		if len(asked.ReplicaAssignment) > 0 {
			topic.assignment = map[int32][]int32{}
			for _, partition := range asked.ReplicaAssignment {
				topic.assignment[partition.Partition] = partition.Replicas
			}
			if asked.NumPartitions != -1 || asked.ReplicationFactor != -1 {
				topic.refused = refuse(kerr.InvalidRequest, "Both numPartitions or replicationFactor and replicasAssignments were set. Both cannot be used at the same time.")
			}
		}
		topics = append(topics, topic)
	}
	return topics
}

func (d *Driver) createTopicsResponse(request *kmsg.CreateTopicsRequest, topics []*newTopic) kmsg.Response {
	response := kmsg.NewPtrCreateTopicsResponse()
	for _, topic := range topics {
		result := kmsg.NewCreateTopicsResponseTopic()
		result.Topic, result.ErrorCode, result.ErrorMessage = topic.name, topic.refused.code(), topic.refused.message()
		result.NumPartitions, result.ReplicationFactor = -1, -1
		if topic.refused == nil {
			result.TopicID = topic.id
			result.NumPartitions, result.ReplicationFactor = int32(len(topic.assignment)), int16(len(topic.assignment[0]))
			result.Configs = d.config.Rules.DescribeTopic(topic.config)
		}
		response.Topics = append(response.Topics, result)
	}
	return response
}

// createTopic checks a wish and writes the topic's znodes; the watch on /brokers/topics does the rest, as for a topic that another program
// made. An error ends the term; a refusal is for the client.
func (t *term) createTopic(topic *newTopic, validateOnly bool) error {
	if topic.refused = t.judgeTopic(topic); topic.refused != nil {
		return nil
	}
	topic.id = newTopicID()
	if validateOnly {
		topic.id = metadata.TopicID{}
		return nil
	}
	check := &zk.CheckVersionRequest{Path: metadata.ControllerEpochPath, Version: t.epochVersion}
	switch err := t.driver.writeTopic(t.ctx, topic, check); {
	case errors.Is(err, zk.ErrNodeExists):
		topic.refused = topicExists(topic.name)
	case err != nil:
		return err
	}
	return nil
}

func topicExists(name string) *refusal {
	return refuse(kerr.TopicAlreadyExists, "Topic '%s' already exists.", name)
}

// newTopicID draws an id. Ids that begin with '-' would look like options in commands.
func newTopicID() metadata.TopicID {
	for {
		if id := metadata.TopicID(uuid.New()); !strings.HasPrefix(id.String(), "-") {
			return id
		}
	}
}

// judgeTopic checks everything about a new topic in Kafka's order and fills in the assignment.
func (t *term) judgeTopic(topic *newTopic) *refusal {
	if t.state.HasTopic(topic.name) {
		return topicExists(topic.name)
	}
	if len(topic.nullConfig) > 0 {
		return refuse(kerr.InvalidConfig, "Null value not supported for topic configs: %s", strings.Join(topic.nullConfig, ","))
	}
	if topic.assignment == nil {
		if refused := t.driver.place(topic, t.state.Brokers()); refused != nil {
			return refused
		}
	}
	if refused := judgeName(topic.name, t.state.Topics()); refused != nil {
		return refused
	}
	if refused := judgeAssignment(topic.assignment); refused != nil {
		return refused
	}
	if err := t.driver.config.Rules.ValidateTopic(topic.config); err != nil {
		return refuse(kerr.InvalidConfig, "%v", err)
	}
	return nil
}

// place chooses brokers for a new topic, from a random start so that first partitions do not all fall to the same broker.
func (d *Driver) place(topic *newTopic, brokers []controller.Broker) *refusal {
	partitions, factor := topic.partitions, topic.factor
	if partitions == -1 {
		partitions = d.config.NumPartitions
	}
	if factor == -1 {
		factor = d.config.DefaultReplicationFactor
	}
	candidates := make([]placement.Broker, 0, len(brokers))
	for _, broker := range brokers {
		candidates = append(candidates, placement.Broker{ID: broker.ID, Rack: broker.Rack})
	}
	if partitions > maxPartitions {
		return refuse(kerr.InvalidPartitions, "%d partitions are more than the %d that one request may create", partitions, maxPartitions)
	}
	count := max(1, len(candidates))
	assignment, err := placement.Assign(candidates, placement.Request{
		Partitions: int(partitions), ReplicationFactor: int(factor), StartIndex: d.random(count), Shift: d.random(count),
	})
	if err != nil {
		return placementRefusal(err)
	}
	topic.assignment = map[int32][]int32{}
	for partition, replicas := range assignment {
		topic.assignment[int32(partition)] = replicas
	}
	return nil
}

// maxPartitions bounds what one request can make this process allocate.
const maxPartitions = 10_000

// judgeName accepts a valid name that is not confusable with another one: metrics turn '.' into '_'.
func judgeName(name string, existing []string) *refusal {
	if !metadata.ValidTopicName(name) {
		return refuse(kerr.InvalidTopicException,
			"Topic name is invalid: '%s' is not 1 to 249 characters out of ASCII alphanumerics, '.', '_' and '-', or is '.' or '..'", name)
	}
	if !strings.ContainsAny(name, "._") {
		return nil
	}
	flat := strings.ReplaceAll(name, ".", "_")
	for _, other := range existing {
		if other != name && strings.ReplaceAll(other, ".", "_") == flat {
			return refuse(kerr.InvalidTopicException, "Topic '%s' collides with existing topics: %s", name, other)
		}
	}
	return nil
}

// judgeAssignment checks the form of an assignment. As in Kafka's ZooKeeper mode the brokers need not be there: their partitions wait.
func judgeAssignment(assignment map[int32][]int32) *refusal {
	indexes := slices.Sorted(maps.Keys(assignment))
	for i, index := range indexes {
		replicas := assignment[index]
		switch {
		case int(index) != i:
			return refuse(kerr.InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence, and there are %v", indexes)
		case len(replicas) == 0:
			return refuse(kerr.InvalidReplicaAssignment, "partition %d has no replicas", index)
		case len(replicas) != len(assignment[indexes[0]]):
			return refuse(kerr.InvalidReplicaAssignment, "All partitions should have the same number of replicas")
		}
		if refused := judgeReplicas(index, replicas); refused != nil {
			return refused
		}
	}
	return nil
}

func judgeReplicas(index int32, replicas []int32) *refusal {
	for i, replica := range replicas {
		if replica < 0 || slices.Contains(replicas[:i], replica) {
			return refuse(kerr.InvalidReplicaAssignment, "Duplicate or negative brokers in replica assignment of partition %d: %v", index, replicas)
		}
	}
	return nil
}
