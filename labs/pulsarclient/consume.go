package pulsarclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

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

// check tells what is wrong with it, before anything is done.
func (r receiving) check() error {
	_, kind := kinds[r.kind]
	_, position := positions[r.position]
	switch {
	case r.subscription == "":
		return errors.New("name the subscription with -s: its cursor remembers what has been acknowledged")
	case !kind:
		return fmt.Errorf("-t is Exclusive, Shared, Failover or Key_Shared, not %q", r.kind)
	case !position:
		return fmt.Errorf("-p is Latest or Earliest, not %q", r.position)
	case r.count < 0:
		return fmt.Errorf("-n is 0 (until Ctrl-C) or more, not %d", r.count)
	}
	return nil
}

// consume receives so many messages as was asked for. Each is acknowledged, and the broker's answer to it waited for, before the next one:
// a cursor moves as the lines appear.
func (r receiving) consume(ctx context.Context, to attaching, out io.Writer) error {
	consumer, err := attach(ctx, to, "subscribe "+r.subscription+" to", func() (pulsar.Consumer, error) {
		return to.client.Subscribe(pulsar.ConsumerOptions{
			Name:  fmt.Sprintf("pulsar-client-%d", os.Getpid()), // the page tells of it by this name
			Topic: to.topic, SubscriptionName: r.subscription, Type: kinds[r.kind], SubscriptionInitialPosition: positions[r.position], AckWithResponse: true,
		})
	})
	if err != nil {
		return err
	}
	defer consumer.Close()
	if err := printed(to.told, "%s is subscribed to %s; Ctrl-C ends this, and the subscription stays", r.subscription, to.topic); err != nil {
		return err
	}
	received := 0
	for r.count == 0 || received < r.count {
		message, err := consumer.Receive(ctx)
		if errors.Is(err, context.Canceled) {
			break // Ctrl-C
		}
		if err != nil {
			return fmt.Errorf("receive message %d from %s: %w", received+1, to.topic, err)
		}
		if err := printed(out, "%d:%d  %s", message.ID().LedgerID(), message.ID().EntryID(), message.Payload()); err != nil {
			return err
		}
		if err := consumer.Ack(message); err != nil {
			return fmt.Errorf("acknowledge message %d of %s: %w", received+1, to.topic, err)
		}
		received++
	}
	return printed(to.told, "%d messages successfully consumed", received)
}
