package controllerdriver

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/interbroker"
	"twinlog/engine/kafka/controller"
	"twinlog/engine/sentence"
)

// sender brings requests to one incarnation of a broker, one after another: the order in which they were planned is the order in which
// the broker sees them.
type sender struct {
	broker     controller.Broker
	queue      chan controller.Request
	cancel     context.CancelFunc
	connection *interbroker.Connection
}

// matchSenders starts a sender for each broker that is there and ends those of brokers and incarnations that are not.
func (t *term) matchSenders() {
	for id, s := range t.senders {
		if broker, registered := t.state.Broker(id); !registered || broker.Epoch != s.broker.Epoch {
			s.stop()
			delete(t.senders, id)
		}
	}
	for _, broker := range t.state.Brokers() {
		if t.senders[broker.ID] == nil {
			t.startSender(broker)
		}
	}
}

func (s *sender) stop() { s.cancel() }

func (t *term) startSender(broker controller.Broker) {
	address := ""
	for _, endpoint := range broker.Endpoints {
		if endpoint.Listener == t.driver.config.Listener {
			address = endpoint.Address()
		}
	}
	ctx, cancel := context.WithCancel(t.ctx)
	s := &sender{
		broker: broker, queue: make(chan controller.Request, maxQueuedRequests), cancel: cancel,
		connection: interbroker.NewConnection(interbroker.Config{
			Network: t.driver.config.Network, Tracer: t.driver.config.Tracer, Broker: broker.ID, Address: address,
			ClientID: fmt.Sprintf("controller-%d", t.driver.config.BrokerID),
		}),
	}
	t.senders[broker.ID] = s
	t.goroutines.Go(func() {
		defer s.connection.Close()
		s.run(ctx, t)
	})
}

// send queues a request. One for an incarnation that is gone is void.
func (t *term) send(request controller.Request) error {
	id, epoch := request.To()
	s := t.senders[id]
	if s == nil || s.broker.Epoch != epoch {
		return nil
	}
	select {
	case s.queue <- request:
		return nil
	default:
		return sentence.Error(nil, "brokerTakesNothing", "broker {broker} has not taken {count} {count|request|requests}, though its session lives", id, maxQueuedRequests)
	}
}

func (s *sender) run(ctx context.Context, t *term) {
	epoch := t.state.Epoch() // never changes
	for {
		select {
		case request := <-s.queue:
			body := encode(request, t.driver.config.BrokerID, epoch, t.driver.config.Listener)
			response, delivered := s.deliver(ctx, t, body)
			if !delivered {
				return
			}
			t.post(fmt.Sprintf("%s answered by broker %d", kmsg.NameForKey(body.Key()), s.broker.ID), func(t *term) error {
				return t.answered(request, response)
			})
		case <-ctx.Done():
			return
		}
	}
}

// deliver tries until the broker answered or is gone. The broker ignores what it has already seen, so twice does no harm.
func (s *sender) deliver(ctx context.Context, t *term, body kmsg.Request) (kmsg.Response, bool) {
	for ctx.Err() == nil {
		attempt, cancel := context.WithTimeout(ctx, t.driver.config.SocketTimeout)
		response, err := s.connection.Do(attempt, body)
		cancel()
		if err == nil {
			return response, true
		}
		if ctx.Err() == nil {
			t.driver.logger.Debug("a broker was not reached; the request is sent again", "broker", s.broker.ID, "error", err)
		}
		t.driver.pause(ctx)
	}
	return nil, false
}

// answered draws conclusions from a broker's answer.
func (t *term) answered(request controller.Request, response kmsg.Response) error {
	id, epoch := request.To()
	if broker, registered := t.state.Broker(id); !registered || broker.Epoch != epoch {
		return nil
	}
	switch response := response.(type) {
	case *kmsg.LeaderAndISRResponse:
		if err := t.checkAnswer(id, response.ErrorCode); err != nil || response.ErrorCode != 0 {
			return err
		}
		failed, taken := t.roles(response)
		plan := t.state.ReplicasFailed(id, failed)
		plan.Append(t.state.ReplicasRestored(id, taken))
		return t.carryOut(plan)
	case *kmsg.UpdateMetadataResponse:
		return t.checkAnswer(id, response.ErrorCode)
	case *kmsg.StopReplicaResponse:
		if err := t.checkAnswer(id, response.ErrorCode); err != nil || response.ErrorCode != 0 {
			return err
		}
		deleted, failed := deletions(request.(controller.StopReplica), response)
		return t.carryOut(t.state.ReplicasDeleted(id, deleted, failed))
	}
	return nil
}

func (t *term) checkAnswer(broker int32, code int16) error {
	switch code {
	case 0:
		return nil
	case kerr.StaleControllerEpoch.Code:
		return sentence.Error(nil, "brokerKnowsNewer", "broker {broker} knows a newer controller", broker)
	default: // STALE_BROKER_EPOCH: it restarted, and its registration will tell
		t.driver.logger.Warn("a broker refused a request of the controller", "broker", broker, "error", kerr.ErrorForCode(code))
		return nil
	}
}

// roles sorts the replicas of an answer: those whose files the broker cannot use, and those that took on their roles.
func (t *term) roles(response *kmsg.LeaderAndISRResponse) (failed, taken []controller.Partition) {
	for _, topic := range response.Topics {
		name, known := t.state.TopicByID(topic.TopicID)
		if !known {
			continue
		}
		for _, p := range topic.Partitions {
			partition := controller.Partition{Topic: name, Index: p.Partition}
			switch err := kerr.ErrorForCode(p.ErrorCode); err {
			case nil:
				taken = append(taken, partition)
			case kerr.KafkaStorageError:
				failed = append(failed, partition)
			default:
				t.driver.logger.Warn("a broker did not take on a replica", "topic", name, "partition", p.Partition, "error", err)
			}
		}
	}
	return failed, taken
}

// deletions sorts the replicas that a request asked to delete by the broker's answer.
func deletions(request controller.StopReplica, response *kmsg.StopReplicaResponse) (deleted, failed []controller.Partition) {
	codes := map[controller.Partition]int16{}
	for _, p := range response.Partitions {
		codes[controller.Partition{Topic: p.Topic, Index: p.Partition}] = p.ErrorCode
	}
	for _, p := range request.Partitions {
		if !p.Delete {
			continue
		}
		if code, answered := codes[p.Partition]; answered && code == 0 {
			deleted = append(deleted, p.Partition)
		} else {
			failed = append(failed, p.Partition)
		}
	}
	return deleted, failed
}
