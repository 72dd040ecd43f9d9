package controllerdriver

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/controller"
)

// handleControlledShutdown serves ControlledShutdown v0 to v3; before v2 there is no broker epoch.
func (d *Driver) handleControlledShutdown(r *reactor.Request) {
	request := r.Body.(*kmsg.ControlledShutdownRequest)
	respond := func(code int16, remaining []controller.Partition) {
		response := kmsg.NewPtrControlledShutdownResponse()
		response.ErrorCode = code
		for _, name := range remaining {
			p := kmsg.NewControlledShutdownResponsePartitionsRemaining()
			p.Topic, p.Partition = name.Topic, name.Index
			response.PartitionsRemaining = append(response.PartitionsRemaining, p)
		}
		r.Respond(response)
	}
	d.ask("ControlledShutdown", func(t *term) error {
		epoch := request.BrokerEpoch
		if r.Version < 2 {
			epoch = -1
		}
		remaining, outcome, plan := t.state.ControlledShutdown(request.BrokerID, epoch)
		if err := t.carryOut(plan); err != nil {
			respond(kerr.NotController.Code, nil)
			return err
		}
		respond(outcomeCode(outcome), remaining)
		return nil
	}, func() { respond(kerr.NotController.Code, nil) })
}
