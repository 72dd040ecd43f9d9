package broker

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/replica"
	"twinlog/engine/trace"
)

// control serves what the controller sends, one request after the other: they change which replicas there are, and their order matters.
// They have a goroutine of their own, so that neither do they wait behind clients nor do clients wait for a log that is being opened.
type control struct {
	broker *Broker
	queue  chan *reactor.Request
	// epoch is the newest controller's that was heard of. Owned by run.
	epoch int32
}

const controlQueue = 64

func newControl(b *Broker) *control {
	return &control{broker: b, queue: make(chan *reactor.Request, controlQueue)}
}

// handle is the handler of all three requests.
func (c *control) handle(r *reactor.Request) {
	select {
	case c.queue <- r:
	default:
		r.Disconnect(errors.New("more requests of the controller wait than any controller sends"))
	}
}

// run obeys once the broker knows its epoch. Before, it could not tell what was meant for its earlier life: a role from there may name an
// ISR that has changed since.
func (c *control) run(ctx context.Context) {
	select {
	case <-c.broker.coordination.registered:
	case <-ctx.Done():
		return
	}
	for {
		select {
		case r := <-c.queue:
			switch request := r.Body.(type) {
			case *kmsg.LeaderAndISRRequest:
				r.Respond(c.leaderAndISR(request))
			case *kmsg.UpdateMetadataRequest:
				r.Respond(c.updateMetadata(request))
			case *kmsg.StopReplicaRequest:
				r.Respond(c.stopReplica(request))
			}
		case <-ctx.Done():
			return
		}
	}
}

// fence refuses what an older controller sends, or what is meant for an earlier life of this broker.
func (c *control) fence(request kmsg.Request, controller, controllerEpoch int32, brokerEpoch int64) *kerr.Error {
	switch {
	case brokerEpoch >= 0 && brokerEpoch < c.broker.brokerEpoch.Load():
		return kerr.StaleBrokerEpoch
	case controllerEpoch < c.epoch:
		c.broker.config.Tracer.Emit(trace.KafkaControllerRefused{
			Controller: controller, Epoch: controllerEpoch, Newest: c.epoch, API: kmsg.NameForKey(request.Key()),
		})
		return kerr.StaleControllerEpoch
	}
	c.epoch = controllerEpoch
	return nil
}

func code(err *kerr.Error) int16 {
	if err == nil {
		return 0
	}
	return err.Code
}

// leaderAndISR gives replicas their roles.
func (c *control) leaderAndISR(request *kmsg.LeaderAndISRRequest) *kmsg.LeaderAndISRResponse {
	normalizeLeaderAndISR(request)
	response := kmsg.NewPtrLeaderAndISRResponse()
	if err := c.fence(request, request.ControllerID, request.ControllerEpoch, request.BrokerEpoch); err != nil {
		response.ErrorCode = err.Code
		return response
	}
	for _, topic := range request.TopicStates {
		c.readTopicConfig(topic)
		answer := kmsg.NewLeaderAndISRResponseTopic()
		answer.TopicID = topic.TopicID
		for _, state := range topic.PartitionStates {
			result := kmsg.NewLeaderAndISRResponseTopicPartition()
			result.Topic, result.Partition = topic.Topic, state.Partition
			result.ErrorCode = code(c.broker.replicas.become(trace.KafkaPartition{Topic: topic.Topic, Partition: state.Partition}, topic.TopicID, replica.Assignment{
				Leader: state.Leader, LeaderEpoch: state.LeaderEpoch, PartitionEpoch: state.ZKVersion,
				ISR: state.ISR, Replicas: state.Replicas, Recovering: state.LeaderRecoveryState != 0,
			}))
			if request.Version < 5 {
				response.Partitions = append(response.Partitions, result)
			}
			answer.Partitions = append(answer.Partitions, result)
		}
		response.Topics = append(response.Topics, answer)
	}
	return response
}

// configTimeout bounds the wait for a new topic's configuration; without it the log begins with the defaults and is configured later.
const configTimeout = 5 * time.Second

// readTopicConfig makes sure that a topic's configuration is known before its first log is made.
func (c *control) readTopicConfig(topic kmsg.LeaderAndISRRequestTopicState) {
	isNew := func(state kmsg.LeaderAndISRRequestTopicPartition) bool {
		return c.broker.replicas.find(topic.Topic, state.Partition) == nil
	}
	if !slices.ContainsFunc(topic.PartitionStates, isNew) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), configTimeout)
	defer cancel()
	config, err := c.broker.coordination.newTopicConfig(ctx, topic.Topic)
	if err != nil {
		c.broker.logger.Warn("a topic's configuration cannot be read", "topic", topic.Topic, "error", err)
		return
	}
	c.broker.topicConfigs.setTopic(topic.Topic, config)
}

// updateMetadata replaces what this broker tells clients about the cluster.
func (c *control) updateMetadata(request *kmsg.UpdateMetadataRequest) *kmsg.UpdateMetadataResponse {
	normalizeUpdateMetadata(request)
	response := kmsg.NewPtrUpdateMetadataResponse()
	if err := c.fence(request, request.ControllerID, request.ControllerEpoch, request.BrokerEpoch); err != nil {
		response.ErrorCode = err.Code
		return response
	}
	before := c.broker.metadata.Load()
	after := before.Apply(request)
	c.broker.metadata.Store(after)
	c.broker.metadataUpdated()
	for _, topic := range request.TopicStates {
		_, was := before.Topic(topic.Topic)
		if _, is := after.Topic(topic.Topic); was && !is {
			c.broker.groups.TopicsDeleted(topic.Topic)
		}
	}
	return response
}

// stopReplica ends replicas, and deletes them where asked to.
func (c *control) stopReplica(request *kmsg.StopReplicaRequest) *kmsg.StopReplicaResponse {
	normalizeStopReplica(request)
	response := kmsg.NewPtrStopReplicaResponse()
	if err := c.fence(request, request.ControllerID, request.ControllerEpoch, request.BrokerEpoch); err != nil {
		response.ErrorCode = err.Code
		return response
	}
	for _, topic := range request.Topics {
		for _, state := range topic.PartitionStates {
			result := kmsg.NewStopReplicaResponsePartition()
			result.Topic, result.Partition = topic.Topic, state.Partition
			result.ErrorCode = code(c.broker.replicas.stop(trace.KafkaPartition{Topic: topic.Topic, Partition: state.Partition}, state.LeaderEpoch, state.Delete))
			response.Partitions = append(response.Partitions, result)
		}
	}
	return response
}
