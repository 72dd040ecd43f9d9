package action

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsar/log"

	"twinlog/engine/sentence"
	"twinlog/labs/lab"
)

func (r *Runner) pulsarClient() (pulsar.Client, error) {
	return pulsar.NewClient(pulsar.ClientOptions{URL: r.addresses.PulsarURL, Logger: log.DefaultNopLogger()})
}

// attachPatience is how long a producer or consumer tries to be attached to a topic: while its owner is dead and the owner's session has
// not expired, lookups lead to nobody.
const attachPatience = 30 * time.Second

func attach[T any](ctx context.Context, try func() (T, error)) (attached T, err error) {
	ctx, cancel := context.WithTimeout(ctx, attachPatience)
	defer cancel()
	for {
		if attached, err = try(); err == nil {
			return attached, nil
		}
		if waited := wait(ctx); waited != nil {
			return attached, err
		}
	}
}

// pulsarAdmin sends a request to the admin API of the first broker that answers, which sends us on to the owner. Statuses in fine are as
// good as success.
func (r *Runner) pulsarAdmin(ctx context.Context, method, path, body string, fine ...int) error {
	var failure error
	for _, base := range r.addresses.PulsarAdmin {
		request, err := http.NewRequestWithContext(ctx, method, base+"/admin/v2/"+path, strings.NewReader(body))
		if err != nil {
			return err
		}
		if body != "" {
			request.Header.Set("Content-Type", "application/json")
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			failure = err
			continue
		}
		reason, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		response.Body.Close()
		if response.StatusCode < 300 || slices.Contains(fine, response.StatusCode) {
			return nil
		}
		failure = fmt.Errorf("%s: %s", response.Status, reason)
	}
	return failure
}

// adminPath is a topic's place in the admin API: persistent/public/default/orders.
func adminPath(topic string) string { return strings.Replace(topic, "://", "/", 1) }

func (r *Runner) pulsarCreateTopic(ctx context.Context, action *lab.PulsarCreateTopic) error {
	path, body := adminPath(action.Topic), ""
	if action.Partitions > 0 {
		path, body = path+"/partitions", strconv.Itoa(action.Partitions)
	}
	if err := r.pulsarAdmin(ctx, http.MethodPut, path, body); err != nil {
		return sentence.Error(nil, "createPulsarTopic", "create Pulsar topic {topic}: {why}", action.Topic, err)
	}
	return nil
}

func (r *Runner) pulsarUnloadBundle(ctx context.Context, action *lab.PulsarUnloadBundle) error {
	if err := r.pulsarAdmin(ctx, http.MethodPut, "namespaces/"+action.Namespace+"/"+action.Bundle+"/unload", ""); err != nil {
		return sentence.Error(nil, "unloadBundle", "unload bundle {bundle} of {namespace}: {why}", action.Bundle, action.Namespace, err)
	}
	return nil
}

func (r *Runner) pulsarDeleteTopic(ctx context.Context, action *lab.PulsarTopic) error {
	if err := r.pulsarAdmin(ctx, http.MethodDelete, adminPath(action.Topic)+"?force=true", "", http.StatusNotFound); err != nil {
		return sentence.Error(nil, "deletePulsarTopic", "delete Pulsar topic {topic}: {why}", action.Topic, err)
	}
	return nil
}

func (r *Runner) pulsarUnload(ctx context.Context, action *lab.PulsarUnload) error {
	if err := r.pulsarAdmin(ctx, http.MethodPut, adminPath(action.Topic)+"/unload", ""); err != nil {
		return sentence.Error(nil, "unloadTopic", "unload Pulsar topic {topic}: {why}", action.Topic, err)
	}
	return nil
}

func (r *Runner) pulsarSubscribe(ctx context.Context, action *lab.PulsarSubscribe) error {
	client, err := r.pulsarClient()
	if err != nil {
		return err
	}
	defer client.Close()
	consumer, err := attach(ctx, func() (pulsar.Consumer, error) {
		return client.Subscribe(pulsar.ConsumerOptions{
			Topic: action.Topic, SubscriptionName: action.Subscription, SubscriptionInitialPosition: pulsar.SubscriptionPositionEarliest,
		})
	})
	if err != nil {
		return sentence.Error(nil, "subscribeTo", "subscribe {subscription} to {topic}: {why}", action.Subscription, action.Topic, err)
	}
	consumer.Close() // the subscription is durable: it stays
	return nil
}

func (r *Runner) pulsarProduce(ctx context.Context, action *lab.PulsarProduce) error {
	client, err := r.pulsarClient()
	if err != nil {
		return err
	}
	defer client.Close()
	producer, err := attach(ctx, func() (pulsar.Producer, error) {
		return client.CreateProducer(pulsar.ProducerOptions{Topic: action.Topic, DisableBatching: true})
	})
	if err != nil {
		return sentence.Error(nil, "produceTo", "produce to {topic}: {why}", action.Topic, err)
	}
	defer producer.Close()
	for i := range action.Count {
		if _, err := producer.Send(ctx, &pulsar.ProducerMessage{Payload: fmt.Appendf(nil, "order %d", i+1)}); err != nil {
			return sentence.Error(nil, "publishMessage", "publish message {number} of {count} to {topic}: {why}", i+1, action.Count, action.Topic, err)
		}
	}
	return nil
}

func (r *Runner) pulsarConsume(ctx context.Context, action *lab.PulsarConsume) error {
	client, err := r.pulsarClient()
	if err != nil {
		return err
	}
	defer client.Close()
	consumer, err := attach(ctx, func() (pulsar.Consumer, error) {
		return client.Subscribe(pulsar.ConsumerOptions{
			Topic: action.Topic, SubscriptionName: action.Subscription,
			SubscriptionInitialPosition: pulsar.SubscriptionPositionEarliest, AckWithResponse: true,
		})
	})
	if err != nil {
		return sentence.Error(nil, "subscribeTo", "subscribe {subscription} to {topic}: {why}", action.Subscription, action.Topic, err)
	}
	defer consumer.Close()
	for i := range action.Count {
		message, err := consumer.Receive(ctx)
		if err != nil {
			return sentence.Error(nil, "receiveMessage", "receive message {number} of {count} from {topic}: {why}", i+1, action.Count, action.Topic, err)
		}
		if action.NoAck {
			continue
		}
		if err := consumer.Ack(message); err != nil {
			return sentence.Error(nil, "acknowledgeMessage", "acknowledge message {number} of {topic}: {why}", i+1, action.Topic, err)
		}
	}
	return nil
}
