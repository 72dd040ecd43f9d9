package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/metadata"
)

// Older versions of the controller's requests list partitions without grouping them by topic, and have no topic ids. They are brought into
// the present form before anything looks at them; brokers of one release never send them.

func normalizeLeaderAndISR(request *kmsg.LeaderAndISRRequest) {
	if request.Version < 2 {
		request.BrokerEpoch = -1
	}
	topics := map[string]int{}
	for _, state := range request.PartitionStates {
		at, found := topics[state.Topic]
		if !found {
			at = len(request.TopicStates)
			topics[state.Topic] = at
			topic := kmsg.NewLeaderAndISRRequestTopicState()
			topic.Topic = state.Topic
			request.TopicStates = append(request.TopicStates, topic)
		}
		request.TopicStates[at].PartitionStates = append(request.TopicStates[at].PartitionStates, state)
	}
	request.PartitionStates = nil
}

func normalizeUpdateMetadata(request *kmsg.UpdateMetadataRequest) {
	if request.Version < 5 {
		request.BrokerEpoch = -1
	}
	topics := map[string]int{}
	for _, state := range request.PartitionStates {
		at, found := topics[state.Topic]
		if !found {
			at = len(request.TopicStates)
			topics[state.Topic] = at
			topic := kmsg.NewUpdateMetadataRequestTopicState()
			topic.Topic = state.Topic
			request.TopicStates = append(request.TopicStates, topic)
		}
		request.TopicStates[at].PartitionStates = append(request.TopicStates[at].PartitionStates, state)
	}
	request.PartitionStates = nil
	for i := range request.LiveBrokers {
		broker := &request.LiveBrokers[i]
		if request.Version == 0 { // one address a broker
			endpoint := kmsg.NewUpdateMetadataRequestLiveBrokerEndpoint()
			endpoint.Host, endpoint.Port = broker.Host, broker.Port
			broker.Endpoints = append(broker.Endpoints, endpoint)
		}
		for j := range broker.Endpoints {
			if request.Version < 3 { // listeners were named after their security protocol
				broker.Endpoints[j].ListenerName = metadata.DefaultListener
			}
		}
	}
}

func normalizeStopReplica(request *kmsg.StopReplicaRequest) {
	if request.Version < 1 {
		request.BrokerEpoch = -1
	}
	if request.Version >= 3 {
		return
	}
	for i := range request.Topics {
		topic := &request.Topics[i]
		numbers := topic.Partitions
		if request.Version == 0 {
			numbers = []int32{topic.Partition}
		}
		for _, number := range numbers {
			state := kmsg.NewStopReplicaRequestTopicPartitionState()
			state.Partition, state.LeaderEpoch, state.Delete = number, -1, request.DeletePartitions
			topic.PartitionStates = append(topic.PartitionStates, state)
		}
	}
}
