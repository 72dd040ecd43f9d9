package world

import (
	"strconv"

	"twinlog/engine/trace"
)

// applyKafkaReplica takes what a broker says about the replicas that it holds.
func (s *State) applyKafkaReplica(node string, event trace.Event) {
	switch event := event.(type) {
	case trace.KafkaReplicaRoleChanged:
		s.kafkaReplicaRoleChanged(node, event)
	case trace.KafkaAppended:
		if log := s.kafkaLog(event.KafkaPartition, s.brokerID(node)); log != nil {
			log.LEO = event.LEO
			log.Bytes += event.Bytes
		}
	case trace.KafkaHighWatermarkAdvanced:
		if log := s.kafkaLog(event.KafkaPartition, s.brokerID(node)); log != nil {
			log.HighWatermark = event.HighWatermark
		}
	case trace.KafkaFollowerFetched:
		if log := s.kafkaLog(event.KafkaPartition, event.Replica); log != nil {
			log.FetchedLEO = event.LEO
		}
	case trace.KafkaLogStartAdvanced:
		if log := s.kafkaLog(event.KafkaPartition, s.brokerID(node)); log != nil {
			log.LogStart = event.LogStart
		}
	case trace.KafkaTruncated:
		if log := s.kafkaLog(event.KafkaPartition, s.brokerID(node)); log != nil {
			log.LEO = event.To
			log.HighWatermark = min(log.HighWatermark, event.To)
		}
	case trace.KafkaReplicaDamaged:
		if log := s.kafkaLog(event.KafkaPartition, s.brokerID(node)); log != nil {
			log.Damaged = event.Course == "stepsAside"
		}
	case trace.KafkaAcknowledged:
		if partition := s.kafkaPartition(event.KafkaPartition); partition != nil {
			acks := strconv.Itoa(int(event.Acks))
			if last, known := partition.Acknowledged[acks]; !known || event.LastOffset > last {
				partition.Acknowledged[acks] = event.LastOffset
			}
		}
	case trace.KafkaProduceRefused:
		if partition := s.kafkaPartition(event.KafkaPartition); partition != nil {
			partition.Refused[event.Error] += int64(event.Folded.Events())
		}
	case trace.KafkaLogShapeChanged:
		if log := s.kafkaLog(event.KafkaPartition, s.brokerID(node)); log != nil {
			log.take(event)
		}
	}
}

func (s *State) kafkaReplicaRoleChanged(node string, event trace.KafkaReplicaRoleChanged) {
	id := s.brokerID(node)
	if event.Role == "deleted" {
		if partition := s.kafkaPartition(event.KafkaPartition); partition != nil {
			delete(partition.Logs, id32(id))
		}
		return
	}
	s.kafkaPartitionOrNew(event.KafkaPartition)
	log := s.kafkaLog(event.KafkaPartition, id)
	log.Role, log.LeaderEpoch, log.Damaged = event.Role, event.LeaderEpoch, false
	log.LogStart, log.LEO, log.HighWatermark = event.LogStart, event.LEO, event.HighWatermark
}

// kafkaLog is a broker's log of a partition, made when it is not there yet; nil when the partition does not exist.
func (s *State) kafkaLog(name trace.KafkaPartition, broker int32) *KafkaLog {
	partition := s.kafkaPartition(name)
	if partition == nil {
		return nil
	}
	log := partition.Logs[id32(broker)]
	if log == nil {
		log = &KafkaLog{Role: "offline", LeaderEpoch: -1, Segments: []KafkaSegment{}, Epochs: []KafkaEpochStart{}}
		partition.Logs[id32(broker)] = log
	}
	return log
}
