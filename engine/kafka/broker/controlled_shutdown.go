package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// shutdownLimit bounds the whole goodbye: when the ensemble is going down too, nobody answers it.
const shutdownLimit = 10 * time.Second

// controlledShutdown asks the controller to move this broker's leaderships elsewhere, and tries again while some remain: a partition whose
// only in-sync replica is here cannot move before another one has caught up.
func (b *Broker) controlledShutdown() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownLimit)
	defer cancel()
	var last error
	for attempt := 0; attempt <= b.settings.shutdownRetries; attempt++ {
		if attempt > 0 && !pause(ctx, b.settings.shutdownBackoff) {
			break
		}
		remaining, err := b.askToLeave(ctx)
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

func (b *Broker) askToLeave(ctx context.Context) (remaining int, err error) {
	ctx, cancel := context.WithTimeout(ctx, b.settings.controllerTimeout)
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
