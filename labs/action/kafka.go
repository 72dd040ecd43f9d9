package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"twinlog/labs/lab"
)

func (r *Runner) kafkaClient(options ...kgo.Opt) (*kgo.Client, error) {
	options = append([]kgo.Opt{kgo.SeedBrokers(r.addresses.Kafka...), kgo.ClientID("lab")}, options...)
	return kgo.NewClient(options...)
}

// kafkaAdmin calls do with an admin client that it closes afterwards.
func (r *Runner) kafkaAdmin(do func(admin *kadm.Client) error) error {
	client, err := r.kafkaClient()
	if err != nil {
		return err
	}
	defer client.Close()
	return do(kadm.NewClient(client))
}

func (r *Runner) kafkaCreateTopic(ctx context.Context, action lab.KafkaCreateTopic) error {
	return r.kafkaAdmin(func(admin *kadm.Client) error {
		if _, err := admin.CreateTopic(ctx, action.Partitions, action.Replication, nil, action.Topic); err != nil {
			return fmt.Errorf("create Kafka topic %s: %w", action.Topic, err)
		}
		return nil
	})
}

// kafkaDeleteTopic returns once a topic of that name could be created again: Kafka answers a deletion as soon as it is decided, and the
// brokers remove their replicas afterwards.
func (r *Runner) kafkaDeleteTopic(ctx context.Context, action lab.KafkaDeleteTopic) error {
	return r.kafkaAdmin(func(admin *kadm.Client) error {
		answer, err := admin.DeleteTopic(ctx, action.Topic)
		if err == nil {
			err = answer.Err
		}
		if errors.Is(err, kerr.UnknownTopicOrPartition) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("delete Kafka topic %s: %w", action.Topic, err)
		}
		for {
			answers, err := admin.ValidateCreateTopics(ctx, 1, 1, nil, action.Topic)
			if err == nil && answers[action.Topic].Err == nil {
				return nil
			}
			if err := wait(ctx); err != nil {
				return fmt.Errorf("wait until Kafka topic %s is gone: %w", action.Topic, err)
			}
		}
	})
}

// wait lets a little time pass before something is asked again.
func wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(50 * time.Millisecond):
		return nil
	}
}

// kafkaDeleteGroup asks again while the group's coordinator is being found, which on a new cluster includes creating __consumer_offsets.
func (r *Runner) kafkaDeleteGroup(ctx context.Context, action lab.KafkaDeleteGroup) error {
	return r.kafkaAdmin(func(admin *kadm.Client) error {
		for {
			answer, err := admin.DeleteGroup(ctx, action.Group)
			if err == nil {
				err = answer.Err
			}
			switch {
			case err == nil || errors.Is(err, kerr.GroupIDNotFound):
				return nil
			case !kerr.IsRetriable(err) && !errors.Is(err, kerr.CoordinatorNotAvailable):
				return fmt.Errorf("delete consumer group %s: %w", action.Group, err)
			}
			if waited := wait(ctx); waited != nil {
				return fmt.Errorf("delete consumer group %s: %w", action.Group, err)
			}
		}
	})
}

func (r *Runner) kafkaProduce(ctx context.Context, action lab.KafkaProduce) error {
	client, err := r.kafkaClient(kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		return err
	}
	defer client.Close()
	records := make([]*kgo.Record, action.Count)
	for i := range records {
		records[i] = &kgo.Record{Topic: action.Topic, Value: fmt.Appendf(nil, "order %d", i+1)}
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("produce %d records to %s: %w", action.Count, action.Topic, err)
	}
	return nil
}

func (r *Runner) kafkaConsume(ctx context.Context, action lab.KafkaConsume) error {
	options := []kgo.Opt{kgo.ConsumeTopics(action.Topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}
	if action.Group != "" {
		options = append(options, kgo.ConsumerGroup(action.Group), kgo.DisableAutoCommit())
	}
	client, err := r.kafkaClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	for read := 0; read < action.Count; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return fmt.Errorf("consume %s: read %d of %d records: %w", action.Topic, read, action.Count, err)
		}
		read += fetches.NumRecords()
	}
	if action.Group == "" {
		return nil
	}
	if err := client.CommitUncommittedOffsets(ctx); err != nil {
		return fmt.Errorf("commit %s for group %s: %w", action.Topic, action.Group, err)
	}
	return nil
}
