package controllerdriver

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/controller"
	"twinlog/engine/kafka/metadata"
)

// The versions that the controller speaks to brokers: the last ones of the ZooKeeper era (inter.broker.protocol.version 3.4 and later).
const (
	leaderAndISRVersion   = 7
	updateMetadataVersion = 8
	stopReplicaVersion    = 4
)

// The types of a LeaderAndIsr request.
const (
	incremental int8 = 1
	full        int8 = 2
)

// encode turns a request of the pure package into the protocol's.
func encode(request controller.Request, id, epoch int32, listener string) kmsg.Request {
	switch request := request.(type) {
	case controller.LeaderAndISR:
		return encodeLeaderAndISR(request, id, epoch, listener)
	case controller.UpdateMetadata:
		return encodeUpdateMetadata(request, id, epoch)
	default:
		return encodeStopReplica(request.(controller.StopReplica), id, epoch)
	}
}

func encodeLeaderAndISR(request controller.LeaderAndISR, id, epoch int32, listener string) kmsg.Request {
	body := kmsg.NewLeaderAndISRRequest()
	body.Version, body.ControllerID, body.ControllerEpoch, body.BrokerEpoch = leaderAndISRVersion, id, epoch, request.Epoch
	body.Type = incremental
	if request.Full {
		body.Type = full
	}
	for _, role := range request.Partitions {
		if n := len(body.TopicStates); n == 0 || body.TopicStates[n-1].Topic != role.Partition.Topic {
			topic := kmsg.NewLeaderAndISRRequestTopicState()
			topic.Topic, topic.TopicID = role.Partition.Topic, role.TopicID
			body.TopicStates = append(body.TopicStates, topic)
		}
		p := kmsg.NewLeaderAndISRRequestTopicPartition()
		p.Partition, p.Replicas, p.AddingReplicas, p.RemovingReplicas = role.Partition.Index, role.Replicas, role.Adding, role.Removing
		p.ControllerEpoch, p.Leader, p.LeaderEpoch = role.Leadership.ControllerEpoch, role.Leadership.Leader, role.Leadership.LeaderEpoch
		p.ISR, p.ZKVersion, p.IsNew = role.Leadership.ISR, role.Leadership.PartitionEpoch, role.IsNew
		if role.Leadership.Recovering {
			p.LeaderRecoveryState = metadata.Recovering
		}
		last := &body.TopicStates[len(body.TopicStates)-1]
		last.PartitionStates = append(last.PartitionStates, p)
	}
	for _, broker := range request.LiveLeaders {
		for _, endpoint := range broker.Endpoints {
			if endpoint.Listener == listener {
				leader := kmsg.NewLeaderAndISRRequestLiveLeader()
				leader.BrokerID, leader.Host, leader.Port = broker.ID, endpoint.Host, endpoint.Port
				body.LiveLeaders = append(body.LiveLeaders, leader)
			}
		}
	}
	return &body
}

func encodeUpdateMetadata(request controller.UpdateMetadata, id, epoch int32) kmsg.Request {
	body := kmsg.NewUpdateMetadataRequest()
	body.Version, body.ControllerID, body.ControllerEpoch, body.BrokerEpoch = updateMetadataVersion, id, epoch, request.Epoch
	for _, role := range request.Partitions {
		if n := len(body.TopicStates); n == 0 || body.TopicStates[n-1].Topic != role.Partition.Topic {
			topic := kmsg.NewUpdateMetadataRequestTopicState()
			topic.Topic, topic.TopicID = role.Partition.Topic, role.TopicID
			body.TopicStates = append(body.TopicStates, topic)
		}
		p := kmsg.NewUpdateMetadataRequestTopicPartition()
		p.Partition, p.Replicas, p.OfflineReplicas = role.Partition.Index, role.Replicas, role.Offline
		p.ControllerEpoch, p.Leader, p.LeaderEpoch = role.Leadership.ControllerEpoch, role.Leadership.Leader, role.Leadership.LeaderEpoch
		p.ISR, p.ZKVersion = role.Leadership.ISR, role.Leadership.PartitionEpoch
		last := &body.TopicStates[len(body.TopicStates)-1]
		last.PartitionStates = append(last.PartitionStates, p)
	}
	for _, broker := range request.LiveBrokers {
		live := kmsg.NewUpdateMetadataRequestLiveBroker()
		live.ID = broker.ID
		if broker.Rack != "" {
			live.Rack = &broker.Rack
		}
		for _, endpoint := range broker.Endpoints {
			e := kmsg.NewUpdateMetadataRequestLiveBrokerEndpoint()
			e.ListenerName, e.Host, e.Port, e.SecurityProtocol = endpoint.Listener, endpoint.Host, endpoint.Port, metadata.PlaintextNumber
			live.Endpoints = append(live.Endpoints, e)
		}
		body.LiveBrokers = append(body.LiveBrokers, live)
	}
	return &body
}

func encodeStopReplica(request controller.StopReplica, id, epoch int32) kmsg.Request {
	body := kmsg.NewStopReplicaRequest()
	body.Version, body.ControllerID, body.ControllerEpoch, body.BrokerEpoch = stopReplicaVersion, id, epoch, request.Epoch
	for _, stopped := range request.Partitions {
		if n := len(body.Topics); n == 0 || body.Topics[n-1].Topic != stopped.Partition.Topic {
			topic := kmsg.NewStopReplicaRequestTopic()
			topic.Topic = stopped.Partition.Topic
			body.Topics = append(body.Topics, topic)
		}
		p := kmsg.NewStopReplicaRequestTopicPartitionState()
		p.Partition, p.LeaderEpoch, p.Delete = stopped.Partition.Index, stopped.LeaderEpoch, stopped.Delete
		last := &body.Topics[len(body.Topics)-1]
		last.PartitionStates = append(last.PartitionStates, p)
	}
	return &body
}
