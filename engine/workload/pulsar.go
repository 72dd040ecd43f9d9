package workload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	pulsarlog "github.com/apache/pulsar-client-go/pulsar/log"

	"twinlog/engine/sentence"
)

// pulsarClient is a side's client programs on the Pulsar protocol.
type pulsarClient struct {
	spec   Spec
	url    string
	http   []string
	logger *slog.Logger
}

const (
	pulsarNamespace = "public/default"
	// pulsarGivesUp is when a producer gives a message up.
	pulsarGivesUp   = 30 * time.Second
	pulsarOperation = 10 * time.Second // one attempt to look up, subscribe, …
	pulsarPending   = 1000             // messages in a producer
	// pulsarBatchDelay keeps single messages single at the default rate, and lets a fast producer batch.
	pulsarBatchDelay = 5 * time.Millisecond
)

func (p *pulsarClient) topic() string { return "persistent://" + pulsarNamespace + "/" + p.spec.Topic }

// prepare creates the topic through the admin API of any broker that answers.
func (p *pulsarClient) prepare(ctx context.Context) error {
	path, body := "/admin/v2/persistent/"+pulsarNamespace+"/"+url.PathEscape(p.spec.Topic), ""
	if p.spec.Partitions > 0 {
		path, body = path+"/partitions", strconv.Itoa(p.spec.Partitions)
	}
	var failures []error
	for _, broker := range p.http {
		err := p.create(ctx, strings.TrimSuffix(broker, "/")+path, body)
		if err == nil {
			return nil
		}
		failures = append(failures, err)
	}
	return sentence.Error(nil, "createPulsarTopic", "create Pulsar topic {topic}: {why}", p.topic(), errors.Join(failures...))
}

func (p *pulsarClient) create(ctx context.Context, address, body string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, address, strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	request.Header.Set("Content-Type", "application/json")
	client := http.Client{Timeout: pulsarOperation, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10)) // only to explain a refusal
	if response.StatusCode < 300 || response.StatusCode == http.StatusConflict {
		return nil // 409: it is there already
	}
	return fmt.Errorf("%s answered %s: %s", address, response.Status, strings.TrimSpace(string(text)))
}

// connect makes a client program's own connection to the service.
func (p *pulsarClient) connect() (pulsar.Client, error) {
	client, err := pulsar.NewClient(pulsar.ClientOptions{
		URL: p.url, OperationTimeout: pulsarOperation, ConnectionTimeout: 5 * time.Second, KeepAliveInterval: 10 * time.Second,
		Logger: pulsarlog.NewLoggerWithSlog(slog.New(quiet{p.logger.Handler()})),
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", p.url, err)
	}
	return client, nil
}

func (p *pulsarClient) produce(hurry context.Context, program string, messages *source, to *side) error {
	client, err := p.connect()
	if err != nil {
		return err
	}
	defer closeWithin(client.Close, leaveWithin)
	options := pulsar.ProducerOptions{
		Topic: p.topic(), Name: program + "-" + to.name, SendTimeout: pulsarGivesUp, MaxPendingMessages: pulsarPending,
		BatchingMaxPublishDelay: pulsarBatchDelay,
	}
	if p.spec.Keys > 0 {
		// A batch goes to one consumer as a whole: with keys, it may hold messages of one key only.
		options.BatcherBuilderType = pulsar.KeyBasedBatchBuilder
	}
	producer, err := client.CreateProducer(options)
	if err != nil {
		return fmt.Errorf("attaching a producer to %s: %w", p.topic(), err)
	}
	defer closeWithin(producer.Close, leaveWithin)
	for {
		next, ok := messages.next()
		if !ok {
			break
		}
		// Waits when pulsarPending messages are unanswered.
		producer.SendAsync(hurry, &pulsar.ProducerMessage{Key: next.key, Payload: next.value},
			func(_ pulsar.MessageID, _ *pulsar.ProducerMessage, err error) { to.answered(err) })
	}
	return producer.FlushWithCtx(hurry)
}

func (p *pulsarClient) consume(ctx context.Context, program string, to *side) error {
	client, err := p.connect()
	if err != nil {
		return err
	}
	defer closeWithin(client.Close, leaveWithin)
	consumer, err := client.Subscribe(pulsar.ConsumerOptions{
		Topic: p.topic(), SubscriptionName: p.spec.Group, Type: subscriptionType(p.spec.SubscriptionType), Name: program,
		SubscriptionInitialPosition: pulsar.SubscriptionPositionEarliest,
	})
	if err != nil {
		return fmt.Errorf("subscribing %s to %s: %w", p.spec.Group, p.topic(), err)
	}
	defer closeWithin(consumer.Close, leaveWithin)
	for {
		message, err := consumer.Receive(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("receiving from %s: %w", p.topic(), err)
		}
		to.consumed(message.Payload())
		if err := consumer.Ack(message); err != nil {
			to.failed(sentence.Of("acknowledging", "acknowledging {message}", message.ID().String()), err)
		}
	}
}

func subscriptionType(name string) pulsar.SubscriptionType {
	switch name {
	case "Exclusive":
		return pulsar.Exclusive
	case "Failover":
		return pulsar.Failover
	case "Key_Shared":
		return pulsar.KeyShared
	}
	return pulsar.Shared
}

// quiet lets a library's messages through as debug messages only: a broker that was killed on purpose is no warning here.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, _ slog.Level) bool {
	return q.Handler.Enabled(ctx, slog.LevelDebug)
}

func (q quiet) Handle(ctx context.Context, record slog.Record) error {
	record.Level = slog.LevelDebug
	return q.Handler.Handle(ctx, record)
}

func (q quiet) WithAttrs(attributes []slog.Attr) slog.Handler {
	return quiet{q.Handler.WithAttrs(attributes)}
}
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
