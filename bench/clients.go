package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsar/log"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const messageBytes = 1 << 10

func payload() []byte {
	bytes := make([]byte, messageBytes)
	state := uint32(1)
	for i := range bytes { // noise, so that no layer can compress it
		state = state*1664525 + 1013904223
		bytes[i] = byte(state >> 24)
	}
	return bytes
}

// createBenchTopic creates the topic on a classroom; the fake cluster has it from the start.
func createBenchTopic(ctx context.Context, seeds []string, partitions int32) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(seeds...))
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = kadm.NewClient(client).CreateTopic(ctx, partitions, 3, nil, "bench")
	return err
}

// produceKafka produces count records of 1 KiB and returns MB/s from the first send to the last acknowledgement.
func produceKafka(ctx context.Context, seeds []string, acks kgo.Acks, count int) (float64, error) {
	options := []kgo.Opt{kgo.SeedBrokers(seeds...), kgo.DefaultProduceTopic("bench"), kgo.RequiredAcks(acks), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(0)}
	if acks != kgo.AllISRAcks() {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	value := payload()
	if err := client.ProduceSync(ctx, &kgo.Record{Value: value}).FirstErr(); err != nil {
		return 0, err
	}
	var failure error
	var once sync.Once
	began := time.Now()
	for range count {
		client.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				once.Do(func() { failure = err })
			}
		})
	}
	if err := client.Flush(ctx); err != nil {
		return 0, err
	}
	return float64(count) * messageBytes / 1e6 / time.Since(began).Seconds(), failure
}

// publishPulsar publishes count messages of 1 KiB and returns MB/s from the first send to the last receipt.
func publishPulsar(ctx context.Context, url, topic string, count int) (float64, error) {
	client, err := pulsar.NewClient(pulsar.ClientOptions{URL: url, Logger: log.DefaultNopLogger()})
	if err != nil {
		return 0, err
	}
	defer client.Close()
	producer, err := client.CreateProducer(pulsar.ProducerOptions{Topic: topic, MaxPendingMessages: 5000, BatchingMaxMessages: 200})
	if err != nil {
		return 0, err
	}
	defer producer.Close()
	value := payload()
	if _, err := producer.Send(ctx, &pulsar.ProducerMessage{Payload: value}); err != nil {
		return 0, err
	}
	failures := make(chan error, 1)
	began := time.Now()
	for range count {
		producer.SendAsync(ctx, &pulsar.ProducerMessage{Payload: value}, func(_ pulsar.MessageID, _ *pulsar.ProducerMessage, err error) {
			if err != nil {
				select {
				case failures <- err:
				default:
				}
			}
		})
	}
	if err := producer.Flush(); err != nil {
		return 0, err
	}
	took := time.Since(began)
	select {
	case err := <-failures:
		return 0, fmt.Errorf("publish to %s: %w", topic, err)
	default:
	}
	return float64(count) * messageBytes / 1e6 / took.Seconds(), nil
}
