package broker

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// controlledShutdown asks the controller to move this broker's leaderships elsewhere, and tries again while some remain: a partition whose
// only in-sync replica is here cannot move before another one has caught up.
func (b *Broker) controlledShutdown() error {
	var last error
	for attempt := 0; attempt <= b.settings.shutdownRetries; attempt++ {
		if attempt > 0 && !pause(context.Background(), b.settings.shutdownBackoff) {
			break
		}
		remaining, err := b.askToLeave()
		if err == nil && remaining == 0 {
			return nil
		}
		if last = err; err == nil {
			last = fmt.Errorf("%d partitions are still led here", remaining)
		}
		b.logger.Info("controlled shutdown is not complete", "attempt", attempt+1, "reason", last)
		if b.metadata.Load().ControllerID == b.config.BrokerID && len(b.metadata.Load().Brokers()) == 1 {
			return last // nobody is there to take over
		}
	}
	return last
}

func (b *Broker) askToLeave() (remaining int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), b.settings.controllerTimeout)
	defer cancel()
	request := kmsg.NewPtrControlledShutdownRequest()
	request.Version, request.BrokerID, request.BrokerEpoch = 3, b.config.BrokerID, b.brokerEpoch.Load()
	raw, err := b.askController(ctx, request)
	if err != nil {
		return 0, err
	}
	response := raw.(*kmsg.ControlledShutdownResponse)
	return len(response.PartitionsRemaining), kerr.ErrorForCode(response.ErrorCode)
}
