package controllerdriver

import (
	"fmt"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/metadata"
)

// handleAllocateProducerIDs serves AllocateProducerIds v0: a broker gets a block of producer ids that no other gets (KIP-730).
func (d *Driver) handleAllocateProducerIDs(r *reactor.Request) {
	request := r.Body.(*kmsg.AllocateProducerIDsRequest)
	respond := func(first int64, count int32, code int16) {
		response := kmsg.NewPtrAllocateProducerIDsResponse()
		response.ProducerIDStart, response.ProducerIDLen, response.ErrorCode = first, count, code
		r.Respond(response)
	}
	d.ask("AllocateProducerIds", func(t *term) error {
		if broker, registered := t.state.Broker(request.BrokerID); !registered || broker.Epoch != request.BrokerEpoch {
			respond(0, 0, kerr.StaleBrokerEpoch.Code)
			return nil
		}
		first, err := t.takeProducerIDs(request.BrokerID)
		if err != nil {
			respond(0, 0, kerr.NotController.Code)
			return err
		}
		respond(first, metadata.ProducerIDBlockSize, 0)
		return nil
	}, func() { respond(0, 0, kerr.NotController.Code) })
}

// takeProducerIDs moves the mark in /latest_producer_id_block on by one block.
func (t *term) takeProducerIDs(broker int32) (first int64, err error) {
	path := metadata.ProducerIDBlockPath
	data, stat, found, err := t.get(path)
	if err != nil {
		return 0, err
	}
	if found && len(data) > 0 {
		_, last, err := metadata.DecodeProducerIDBlock(data)
		if err != nil {
			return 0, err
		}
		first = last + 1
	}
	payload := metadata.NewProducerIDBlock(broker, first).Encode()
	var operation any = create(path, payload)
	if found {
		operation = &zk.SetDataRequest{Path: path, Data: payload, Version: stat.Version}
	}
	if err := t.multi([]any{operation}); err != nil {
		return 0, fmt.Errorf("taking a block of producer ids: %w", err)
	}
	return first, nil
}
