// Package action does what a lab's set-up, solution and wrong runs say, with the client libraries that a student's program would use.
package action

import (
	"context"
	"fmt"

	"twinlog/labs/lab"
)

// Addresses says where the clusters are.
type Addresses struct {
	Kafka       []string // host:port of the brokers
	PulsarURL   string   // pulsar://host:port,host:port
	PulsarAdmin []string // http://host:port of the brokers, any of which will do
}

// Runner does actions, one at a time.
type Runner struct{ addresses Addresses }

// NewRunner returns a Runner for the clusters at the addresses.
func NewRunner(addresses Addresses) *Runner { return &Runner{addresses} }

// Run does the actions in order and stops at the first that fails.
func (r *Runner) Run(ctx context.Context, actions []lab.Action) error {
	for i, action := range actions {
		if err := r.run(ctx, action); err != nil {
			return fmt.Errorf("action %d: %w", i+1, err)
		}
	}
	return nil
}

func (r *Runner) run(ctx context.Context, action lab.Action) error {
	switch {
	case action.KafkaCreateTopic != nil:
		return r.kafkaCreateTopic(ctx, *action.KafkaCreateTopic)
	case action.KafkaDeleteTopic != nil:
		return r.kafkaDeleteTopic(ctx, *action.KafkaDeleteTopic)
	case action.KafkaDeleteGroup != nil:
		return r.kafkaDeleteGroup(ctx, *action.KafkaDeleteGroup)
	case action.KafkaProduce != nil:
		return r.kafkaProduce(ctx, *action.KafkaProduce)
	case action.KafkaConsume != nil:
		return r.kafkaConsume(ctx, *action.KafkaConsume)
	case action.PulsarDeleteTopic != nil:
		return r.pulsarDeleteTopic(ctx, *action.PulsarDeleteTopic)
	case action.PulsarProduce != nil:
		return r.pulsarProduce(ctx, *action.PulsarProduce)
	case action.PulsarConsume != nil:
		return r.pulsarConsume(ctx, *action.PulsarConsume)
	}
	return fmt.Errorf("an action that does nothing")
}
