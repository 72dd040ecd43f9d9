package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/controllerdriver"
	"twinlog/engine/kafka/metadata"
)

const (
	offsetsTopic      = "__consumer_offsets"
	transactionsTopic = "__transaction_state"
)

// The operations that everybody may do where there is no authorizer, as bits by operation number (KIP-430).
const (
	allTopicOperations   = 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8 | 1<<10 | 1<<11
	allClusterOperations = 1<<5 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12
)

// heardKey is what requests watch that come before this broker has heard from a controller.
type heardKey struct{}

// untilHeard is such a request. A broker that has just started knows nothing, and "nothing" must not be taken for "there are no topics".
type untilHeard struct {
	broker *Broker
	answer func()
}

// Ready implements reactor.Operation.
func (u untilHeard) Ready() bool { return u.broker.metadata.Load().ControllerID >= 0 }

// Complete implements reactor.Operation.
func (u untilHeard) Complete(bool) { u.answer() }

// onceHeard answers when this broker has heard from a controller, or after the time that clients wait.
func (b *Broker) onceHeard(answer func()) {
	b.purgatory.Watch(untilHeard{b, answer}, b.settings.requestTimeout/2, heardKey{})
}

// handleMetadata tells where the brokers and the partitions' leaders are, and creates topics that are asked for and not there.
func (b *Broker) handleMetadata(r *reactor.Request) { b.onceHeard(func() { b.answerMetadata(r) }) }

func (b *Broker) answerMetadata(r *reactor.Request) {
	body := r.Body.(*kmsg.MetadataRequest)
	snapshot := b.metadata.Load()
	response := kmsg.NewPtrMetadataResponse()
	for _, broker := range snapshot.Brokers() {
		if endpoint, listens := broker.Endpoint(r.Listener); listens {
			entry := kmsg.NewMetadataResponseBroker()
			entry.NodeID, entry.Host, entry.Port = broker.ID, endpoint.Host, endpoint.Port
			entry.Rack = rackOf(broker)
			response.Brokers = append(response.Brokers, entry)
		}
	}
	response.ClusterID = &b.clusterID
	response.ControllerID = snapshot.ControllerID
	if body.IncludeClusterAuthorizedOperations {
		response.AuthorizedOperations = allClusterOperations
	}
	everything := body.Topics == nil || body.Version == 0 && len(body.Topics) == 0
	if everything {
		for _, name := range snapshot.TopicNames() {
			topic, _ := snapshot.Topic(name)
			response.Topics = append(response.Topics, b.describeTopic(snapshot, topic, r.Listener))
		}
	}
	var missing []controllerdriver.WantedTopic
	for _, wanted := range body.Topics {
		topic, create := b.findTopic(snapshot, wanted, r.Listener, body.Version < 4 || body.AllowAutoTopicCreation)
		if create {
			missing = append(missing, b.wantedTopic(*wanted.Topic))
		}
		response.Topics = append(response.Topics, topic)
	}
	if len(missing) > 0 {
		b.driver.CreateMissingTopics(missing...)
	}
	if body.IncludeTopicAuthorizedOperations {
		for i := range response.Topics {
			if response.Topics[i].ErrorCode == 0 {
				response.Topics[i].AuthorizedOperations = allTopicOperations
			}
		}
	}
	r.Respond(response)
}

func rackOf(broker metadata.Broker) *string {
	if broker.Rack == "" {
		return nil
	}
	return &broker.Rack
}

// findTopic describes a topic that was asked for by name or id, or says why it cannot; create means that it should be made.
func (b *Broker) findTopic(snapshot *metadata.Snapshot, wanted kmsg.MetadataRequestTopic, listener string, mayCreate bool) (answer kmsg.MetadataResponseTopic, create bool) {
	answer = kmsg.NewMetadataResponseTopic()
	answer.Topic, answer.TopicID = wanted.Topic, wanted.TopicID
	if wanted.Topic == nil {
		topic, known := snapshot.TopicByID(wanted.TopicID)
		if !known {
			answer.ErrorCode = kerr.UnknownTopicID.Code
			return answer, false
		}
		return b.describeTopic(snapshot, topic, listener), false
	}
	topic, known := snapshot.Topic(*wanted.Topic)
	switch {
	case known:
		return b.describeTopic(snapshot, topic, listener), false
	case !metadata.ValidTopicName(*wanted.Topic):
		answer.ErrorCode = kerr.InvalidTopicException.Code
	case mayCreate && b.settings.autoCreate:
		answer.ErrorCode, create = kerr.LeaderNotAvailable.Code, true
	default:
		answer.ErrorCode = kerr.UnknownTopicOrPartition.Code
	}
	answer.IsInternal = internalTopic(*wanted.Topic)
	return answer, create
}

func internalTopic(name string) bool { return name == offsetsTopic || name == transactionsTopic }

// wantedTopic is how a topic is made that nobody described.
func (b *Broker) wantedTopic(name string) controllerdriver.WantedTopic {
	if name != offsetsTopic {
		return controllerdriver.WantedTopic{Name: name, Partitions: -1, Factor: -1}
	}
	return b.wantedOffsetsTopic()
}

// wantedOffsetsTopic is where groups keep their offsets.
func (b *Broker) wantedOffsetsTopic() controllerdriver.WantedTopic {
	return controllerdriver.WantedTopic{
		Name: offsetsTopic, Partitions: int32(b.rules.BrokerNumber("offsets.topic.num.partitions")),
		Factor: int16(b.rules.BrokerNumber("offsets.topic.replication.factor")),
		Config: map[string]string{"cleanup.policy": "compact", "segment.bytes": "104857600", "compression.type": "producer"},
	}
}

func (b *Broker) describeTopic(snapshot *metadata.Snapshot, topic metadata.TopicInfo, listener string) kmsg.MetadataResponseTopic {
	answer := kmsg.NewMetadataResponseTopic()
	answer.Topic, answer.TopicID, answer.IsInternal = &topic.Name, topic.ID, internalTopic(topic.Name)
	for _, info := range topic.Partitions {
		entry := kmsg.NewMetadataResponseTopicPartition()
		entry.Partition, entry.Leader, entry.LeaderEpoch = info.Partition, info.Leader, info.LeaderEpoch
		entry.Replicas, entry.ISR = info.Replicas, info.ISR
		for _, id := range info.Replicas {
			if _, live := snapshot.Broker(id); !live {
				entry.OfflineReplicas = append(entry.OfflineReplicas, id)
			}
		}
		leader, live := snapshot.Broker(info.Leader)
		if _, listens := leader.Endpoint(listener); !live || !listens {
			entry.Leader, entry.ErrorCode = -1, kerr.LeaderNotAvailable.Code
			if live {
				entry.ErrorCode = kerr.ListenerNotFound.Code
			}
		}
		answer.Partitions = append(answer.Partitions, entry)
	}
	return answer
}

// leaderOf is who leads a partition, and where clients of a listener find it.
func (b *Broker) leaderOf(topic string, number int32, listener string) (id, epoch int32, endpoint metadata.Endpoint, rack *string, known bool) {
	snapshot := b.metadata.Load()
	info, found := snapshot.Partition(topic, number)
	if !found {
		return 0, 0, metadata.Endpoint{}, nil, false
	}
	leader, live := snapshot.Broker(info.Leader)
	endpoint, listens := leader.Endpoint(listener)
	return info.Leader, info.LeaderEpoch, endpoint, rackOf(leader), live && listens
}

// handleDescribeCluster is what Metadata says about brokers, for administrators.
func (b *Broker) handleDescribeCluster(r *reactor.Request) {
	b.onceHeard(func() { b.answerDescribeCluster(r) })
}

func (b *Broker) answerDescribeCluster(r *reactor.Request) {
	body := r.Body.(*kmsg.DescribeClusterRequest)
	response := kmsg.NewPtrDescribeClusterResponse()
	if body.Version >= 1 && body.EndpointType != 1 {
		response.ErrorCode = kerr.MismatchedEndpointType.Code
		response.ErrorMessage = kmsg.StringPtr("brokers are endpoint type 1; a ZooKeeper cluster has no controllers of their own")
		r.Respond(response)
		return
	}
	snapshot := b.metadata.Load()
	response.ClusterID, response.ControllerID = b.clusterID, snapshot.ControllerID
	if body.IncludeClusterAuthorizedOperations {
		response.ClusterAuthorizedOperations = allClusterOperations
	}
	for _, broker := range snapshot.Brokers() {
		if endpoint, listens := broker.Endpoint(r.Listener); listens {
			entry := kmsg.NewDescribeClusterResponseBroker()
			entry.NodeID, entry.Host, entry.Port, entry.Rack = broker.ID, endpoint.Host, endpoint.Port, rackOf(broker)
			response.Brokers = append(response.Brokers, entry)
		}
	}
	r.Respond(response)
}
