package broker

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
)

// producerIDs gives out producer ids. The controller hands them to brokers in blocks of 1,000, so that no two producers of the cluster ever
// have the same one.
type producerIDs struct {
	broker  *Broker
	waiting chan *reactor.Request
	next    int64 // owned by run
	last    int64
}

const (
	maxWaitingProducers = 1024
	producerIDBackoff   = 50 * time.Millisecond
)

func newProducerIDs(b *Broker) *producerIDs {
	return &producerIDs{broker: b, waiting: make(chan *reactor.Request, maxWaitingProducers), next: 0, last: -1}
}

// handleInitProducerID gives an idempotent producer its id.
func (b *Broker) handleInitProducerID(r *reactor.Request) {
	body := r.Body.(*kmsg.InitProducerIDRequest)
	if body.TransactionalID != nil {
		// Every client takes this error as final. A coordinator error would make it try for ever.
		r.Respond(initProducerIDError(kerr.UnsupportedVersion))
		return
	}
	select {
	case b.producerIDs.waiting <- r:
	default:
		r.Respond(initProducerIDError(kerr.CoordinatorLoadInProgress)) // too many at once: the client tries again
	}
}

func initProducerIDError(err *kerr.Error) *kmsg.InitProducerIDResponse {
	response := kmsg.NewPtrInitProducerIDResponse()
	response.ErrorCode, response.ProducerID, response.ProducerEpoch = code(err), -1, -1
	return response
}

// run answers one producer after the other, and gets a new block when the old one is used up.
func (i *producerIDs) run(ctx context.Context) {
	for {
		select {
		case r := <-i.waiting:
			i.answer(ctx, r)
		case <-ctx.Done():
			return
		}
	}
}

func (i *producerIDs) answer(ctx context.Context, r *reactor.Request) {
	for i.next > i.last {
		if r.Abandoned() {
			return
		}
		if err := i.allocate(ctx); err != nil {
			i.broker.logger.Info("producer ids wait for the controller", "reason", err)
			if !pause(ctx, producerIDBackoff) {
				return
			}
			if time.Since(r.Received) > i.broker.settings.controllerTimeout/2 {
				r.Respond(initProducerIDError(kerr.CoordinatorLoadInProgress))
				return
			}
		}
	}
	response := kmsg.NewPtrInitProducerIDResponse()
	response.ProducerID, response.ProducerEpoch = i.next, 0
	i.next++
	r.Respond(response)
}

func (i *producerIDs) allocate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, i.broker.settings.controllerTimeout)
	defer cancel()
	request := kmsg.NewPtrAllocateProducerIDsRequest()
	request.BrokerID, request.BrokerEpoch = i.broker.config.BrokerID, i.broker.brokerEpoch.Load()
	raw, err := i.broker.askController(ctx, request)
	if err != nil {
		return err
	}
	response := raw.(*kmsg.AllocateProducerIDsResponse)
	if err := kerr.ErrorForCode(response.ErrorCode); err != nil {
		return err
	}
	if response.ProducerIDLen <= 0 {
		return errors.New("the controller gave an empty block")
	}
	i.next, i.last = response.ProducerIDStart, response.ProducerIDStart+int64(response.ProducerIDLen)-1
	return nil
}
