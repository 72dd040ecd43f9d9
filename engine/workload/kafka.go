package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	_ "twinlog/engine/kafka/errorname" // errors by their names of today
	"twinlog/engine/sentence"
)

// kafkaClient is a side's client programs on the Kafka protocol.
type kafkaClient struct {
	spec    Spec
	brokers []string
}

const (
	// kafkaGivesUp is when a producer gives a record up: long enough for any failover, short enough to be seen.
	kafkaGivesUp = 30 * time.Second
	// kafkaCommitEvery is more often than the library's 5 s, so that the committed offset is seen to move.
	kafkaCommitEvery = time.Second
	kafkaBuffered    = 1000 // records in a producer
	// kafkaSession is less than the library's 45 s, so that a member that died with its process is soon gone from the group.
	kafkaSession = 10 * time.Second
)

func (k *kafkaClient) prepare(ctx context.Context) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(k.brokers...), kgo.ClientID("demo-admin"))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	brokers, err := admin.ListBrokers(ctx)
	if err != nil {
		return sentence.Error(nil, "listingKafkaBrokers", "listing the Kafka-mode brokers: {why}", err)
	}
	partitions := max(1, k.spec.Partitions) // every Kafka-mode topic has partitions
	replicas := min(k.spec.ReplicationFactor, len(brokers))
	_, err = admin.CreateTopic(ctx, int32(partitions), int16(replicas), nil, k.spec.Topic)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return sentence.Error(nil, "createKafkaTopic", "create Kafka topic {topic}: {why}", k.spec.Topic, err)
	}
	return nil
}

func (k *kafkaClient) acks() []kgo.Opt {
	switch k.spec.Acks {
	case "0":
		return []kgo.Opt{kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite()}
	case "1":
		return []kgo.Opt{kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite()}
	}
	return []kgo.Opt{kgo.RequiredAcks(kgo.AllISRAcks())}
}

func (k *kafkaClient) produce(hurry context.Context, program string, messages *source, to *side) error {
	client, err := kgo.NewClient(append(k.acks(),
		kgo.SeedBrokers(k.brokers...), kgo.ClientID(program), kgo.DefaultProduceTopic(k.spec.Topic),
		kgo.MaxBufferedRecords(kafkaBuffered), kgo.RecordDeliveryTimeout(kafkaGivesUp), kgo.ProducerLinger(0),
		// Without a key each batch goes to another partition, as the Java client does it; the library's own default stays with one
		// partition for 64 KiB, which at the default rate is half a minute.
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
	)...)
	if err != nil {
		return fmt.Errorf("a producer: %w", err)
	}
	defer client.Close()
	for {
		next, ok := messages.next()
		if !ok {
			break
		}
		record := &kgo.Record{Value: next.value}
		if next.key != "" {
			record.Key = []byte(next.key)
		}
		// Waits when kafkaBuffered records are unanswered.
		client.Produce(hurry, record, func(_ *kgo.Record, err error) { to.answered(err) })
	}
	return client.Flush(hurry)
}

var balancers = map[string]func() kgo.GroupBalancer{
	"range": kgo.RangeBalancer, "roundrobin": kgo.RoundRobinBalancer, "sticky": kgo.StickyBalancer, "cooperative-sticky": kgo.CooperativeStickyBalancer,
}

// membership is how a consumer takes part in its group.
func (k *kafkaClient) membership(program string) []kgo.Opt {
	options := []kgo.Opt{kgo.ConsumerGroup(k.spec.Group), kgo.Balancers(balancers[k.spec.Strategy]())}
	if k.spec.Static {
		options = append(options, kgo.InstanceID(k.spec.Group+strings.TrimPrefix(program, consumerProgram)))
	}
	return options
}

func (k *kafkaClient) consume(ctx context.Context, program string, to *side) error {
	client, err := kgo.NewClient(append(k.membership(program),
		kgo.SeedBrokers(k.brokers...), kgo.ClientID(program), kgo.ConsumeTopics(k.spec.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.AutoCommitInterval(kafkaCommitEvery), kgo.SessionTimeout(kafkaSession),
	)...)
	if err != nil {
		return fmt.Errorf("a consumer: %w", err)
	}
	// Closing leaves the group, so that its other members take over at once; over a cut link it would take too long.
	defer closeWithin(client.Close, leaveWithin)
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			commit, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveWithin)
			defer cancel()
			return client.CommitUncommittedOffsets(commit)
		}
		fetches.EachError(func(topic string, partition int32, err error) {
			what := sentence.Of("consuming", "consuming")
			if topic != "" { // else it is about the group
				what = sentence.Of("consumingFrom", "consuming {topic}-{partition}", topic, partition)
			}
			to.failed(what, err)
		})
		fetches.EachRecord(func(record *kgo.Record) { to.consumed(record.Value) })
	}
}

// closeWithin calls a library's close and waits for it, but not for ever.
func closeWithin(closeClient func(), wait time.Duration) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		closeClient()
	}()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}
