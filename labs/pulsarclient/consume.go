package pulsarclient

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/pulsar-client-go/pulsar"
)

// receiving is what `consume` was asked for.
type receiving struct {
	subscription, kind, position string
	count                        int
}

var kinds = map[string]pulsar.SubscriptionType{
	"Exclusive": pulsar.Exclusive, "Shared": pulsar.Shared, "Failover": pulsar.Failover, "Key_Shared": pulsar.KeyShared,
}

var positions = map[string]pulsar.SubscriptionInitialPosition{
	"Latest": pulsar.SubscriptionPositionLatest, "Earliest": pulsar.SubscriptionPositionEarliest,
}

// consume receives so many messages as was asked for. Each is acknowledged, and the broker's answer to it waited for, before the next one:
// a cursor moves as the lines appear.
func (r receiving) consume(ctx context.Context, client pulsar.Client, topic string, out, told io.Writer) error {
	kind, known := kinds[r.kind]
	if !known {
		return fmt.Errorf("-t is Exclusive, Shared, Failover or Key_Shared, not %q", r.kind)
	}
	position, known := positions[r.position]
	if !known {
		return fmt.Errorf("-p is Latest or Earliest, not %q", r.position)
	}
	if r.count < 0 {
		return fmt.Errorf("-n is 0 (until Ctrl-C) or more, not %d", r.count)
	}
	consumer, err := attach(ctx, "subscribe "+r.subscription+" to "+topic, func() (pulsar.Consumer, error) {
		return client.Subscribe(pulsar.ConsumerOptions{Topic: topic, SubscriptionName: r.subscription, Type: kind, SubscriptionInitialPosition: position, AckWithResponse: true})
	})
	if err != nil {
		return err
	}
	defer consumer.Close()
	if err := printed(told, "%s is subscribed to %s; Ctrl-C ends this, and the subscription stays", r.subscription, topic); err != nil {
		return err
	}
	received := 0
	for r.count == 0 || received < r.count {
		message, err := consumer.Receive(ctx)
		if errors.Is(err, context.Canceled) {
			break // Ctrl-C
		}
		if err != nil {
			return fmt.Errorf("receive message %d from %s: %w", received+1, topic, err)
		}
		if err := printed(out, "%d:%d  %s", message.ID().LedgerID(), message.ID().EntryID(), message.Payload()); err != nil {
			return err
		}
		if err := consumer.Ack(message); err != nil {
			return fmt.Errorf("acknowledge message %d of %s: %w", received+1, topic, err)
		}
		received++
	}
	return printed(told, "%d messages successfully consumed", received)
}
