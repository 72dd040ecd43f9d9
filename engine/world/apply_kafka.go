package world

import (
	"maps"
	"strconv"

	"twinlog/engine/trace"
)

func id32(id int32) string { return strconv.Itoa(int(id)) }

// brokerID is the broker id of a node, which is the number in its name.
func (s *State) brokerID(node string) int32 {
	if known := s.Nodes[node]; known != nil {
		return int32(known.ID)
	}
	digits := len(node)
	for digits > 0 && node[digits-1] >= '0' && node[digits-1] <= '9' {
		digits--
	}
	id, err := strconv.ParseInt(node[digits:], 10, 32)
	if err != nil {
		return -1
	}
	return int32(id)
}

// applyKafkaCluster takes what the controller decides and what brokers write into the ensemble.
func (s *State) applyKafkaCluster(node string, event trace.Event) {
	switch event := event.(type) {
	case trace.KafkaBrokerRegistered:
		s.Kafka.Brokers[id32(event.Broker)] = &KafkaBroker{Node: node, Registered: true, Epoch: event.Epoch, Host: event.Host, Port: event.Port}
	case trace.KafkaControllerElected:
		if event.Epoch >= s.Kafka.Controller.Epoch {
			s.Kafka.Controller = Controller{Broker: event.Broker, Epoch: event.Epoch}
		}
	case trace.KafkaControllerResigned:
		if s.Kafka.Controller == (Controller{Broker: event.Broker, Epoch: event.Epoch}) {
			s.Kafka.Controller.Broker = -1
		}
	case trace.KafkaControllerRefused:
		if broker := s.Kafka.Brokers[id32(s.brokerID(node))]; broker != nil {
			broker.RefusedControllers++
		}
	case trace.KafkaTopicCreated:
		s.kafkaTopicCreated(event)
	case trace.KafkaTopicDeleted:
		s.kafkaTopicDeleted(event.Topic)
	case trace.KafkaPartitionStateChanged:
		partition := s.kafkaPartitionOrNew(event.KafkaPartition)
		if event.PartitionEpoch < partition.PartitionEpoch {
			return
		}
		partition.Leader, partition.LeaderEpoch, partition.PartitionEpoch = event.Leader, event.LeaderEpoch, event.PartitionEpoch
		partition.ISR, partition.Replicas = present(event.ISR), present(event.Replicas)
	case trace.KafkaISRChanged:
		partition := s.kafkaPartition(event.KafkaPartition)
		if partition == nil || event.PartitionEpoch < partition.PartitionEpoch {
			return
		}
		partition.ISR, partition.PartitionEpoch = present(event.ISR), event.PartitionEpoch
	}
}

// kafkaTopicCreated: a controller may report a topic again (a new controller takes over what is there); a new id is a new topic under an
// old name.
func (s *State) kafkaTopicCreated(event trace.KafkaTopicCreated) {
	topic := s.Kafka.Topics[event.Topic]
	if topic == nil || topic.ID != "" && event.TopicID != "" && topic.ID != event.TopicID {
		topic = &KafkaTopic{Partitions: map[string]*KafkaPartition{}}
		s.Kafka.Topics[event.Topic] = topic
	}
	topic.ID = event.TopicID
	topic.Config = maps.Clone(event.Config)
	if topic.Config == nil {
		topic.Config = map[string]string{}
	}
	for number, replicas := range event.Replicas {
		partition := s.kafkaPartitionOrNew(trace.KafkaPartition{Topic: event.Topic, Partition: int32(number)})
		partition.Replicas = present(replicas)
	}
}

func (s *State) kafkaTopicDeleted(name string) {
	topic := s.Kafka.Topics[name]
	if topic == nil {
		return
	}
	delete(s.Kafka.Topics, name)
	for _, group := range s.Kafka.Groups {
		for number := range topic.Partitions {
			delete(group.Offsets, name+"-"+number)
		}
	}
}

func (s *State) kafkaPartition(name trace.KafkaPartition) *KafkaPartition {
	topic := s.Kafka.Topics[name.Topic]
	if topic == nil {
		return nil
	}
	return topic.Partitions[id32(name.Partition)]
}

func (s *State) kafkaPartitionOrNew(name trace.KafkaPartition) *KafkaPartition {
	topic := s.Kafka.Topics[name.Topic]
	if topic == nil {
		topic = &KafkaTopic{Config: map[string]string{}, Partitions: map[string]*KafkaPartition{}}
		s.Kafka.Topics[name.Topic] = topic
	}
	partition := topic.Partitions[id32(name.Partition)]
	if partition == nil {
		// Epochs start below every real one, so that the first report counts.
		partition = &KafkaPartition{Leader: -1, LeaderEpoch: -1, PartitionEpoch: -1, ISR: []int32{}, Replicas: []int32{},
			Logs: map[string]*KafkaLog{}, Acknowledged: map[string]int64{}, Refused: map[string]int64{}}
		topic.Partitions[id32(name.Partition)] = partition
	}
	return partition
}

func (s *State) kafkaBrokerUnregistered(id string) { s.Kafka.Brokers[id].Registered = false }

// forgetKafkaBroker: the logs of a broker that is gone are on its disk, but nobody serves them; the groups that it coordinated have no
// coordinator until another broker loads them.
func (s *State) forgetKafkaBroker(node string) {
	if known := s.Nodes[node]; known == nil || known.Role != "kafka" {
		return
	}
	delete(s.Kafka.Reactors, node)
	id := s.brokerID(node)
	for _, topic := range s.Kafka.Topics {
		for _, partition := range topic.Partitions {
			if log := partition.Logs[id32(id)]; log != nil {
				log.Role, log.Damaged = "offline", false
			}
		}
	}
	for _, group := range s.Kafka.Groups {
		if group.Coordinator == id {
			group.Coordinator = -1
		}
	}
}

// present returns a copy that is never nil, so that it is written as [] and not as null.
func present[T any](values []T) []T {
	return append([]T{}, values...)
}
