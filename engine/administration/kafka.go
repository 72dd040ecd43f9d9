package administration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// KafkaTopic is a topic to be created.
type KafkaTopic struct {
	Name              string            `json:"name"`
	Partitions        int               `json:"partitions"`        // 1 unless told; at most 100
	ReplicationFactor int               `json:"replicationFactor"` // 3, or as many as there are brokers, unless told
	Configs           map[string]string `json:"configs"`           // such as min.insync.replicas
}

// The bounds of a topic that is created here.
const (
	mostPartitions = 100
	mostReplicas   = 99
	mostConfigs    = 50
)

// withKafka calls do with an admin client that it closes afterwards.
func (a *Administrator) withKafka(do func(admin *kadm.Client) error) error {
	brokers := a.addresses().Kafka
	if len(brokers) == 0 {
		return refuse(ErrConflict, "this classroom has no Kafka-mode brokers")
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ClientID("administrator"), kgo.RetryTimeout(10*time.Second))
	if err != nil {
		return err
	}
	defer client.Close()
	return do(kadm.NewClient(client))
}

// CreateKafkaTopic creates a topic and returns it with what was filled in.
func (a *Administrator) CreateKafkaTopic(ctx context.Context, topic KafkaTopic) (KafkaTopic, error) {
	if topic.Partitions == 0 {
		topic.Partitions = 1
	}
	if topic.Name == "" || topic.Partitions < 1 || topic.Partitions > mostPartitions ||
		topic.ReplicationFactor < 0 || topic.ReplicationFactor > mostReplicas || len(topic.Configs) > mostConfigs {
		return topic, refuse(ErrInvalid, "a topic has a name, 1 to %d partitions, a replication factor from 1 to the number of brokers, and at most %d configs",
			mostPartitions, mostConfigs)
	}
	err := a.withKafka(func(admin *kadm.Client) error {
		if topic.ReplicationFactor == 0 {
			brokers, err := admin.ListBrokers(ctx)
			if err != nil {
				return fmt.Errorf("asking which Kafka-mode brokers there are: %w", err)
			}
			topic.ReplicationFactor = min(3, len(brokers))
		}
		configs := map[string]*string{}
		for name, value := range topic.Configs {
			configs[name] = &value
		}
		answer, err := admin.CreateTopic(ctx, int32(topic.Partitions), int16(topic.ReplicationFactor), configs, topic.Name)
		return kafkaError(err, answer.ErrMessage, "creating the topic %q", topic.Name)
	})
	if topic.Configs == nil {
		topic.Configs = map[string]string{}
	}
	return topic, err
}

// DeleteKafkaTopic deletes a topic. The brokers remove its replicas soon afterwards.
func (a *Administrator) DeleteKafkaTopic(ctx context.Context, topic string) error {
	return a.withKafka(func(admin *kadm.Client) error {
		answer, err := admin.DeleteTopic(ctx, topic)
		return kafkaError(err, answer.ErrMessage, "deleting the topic %q", topic)
	})
}

// GrowKafkaTopic gives a topic more partitions: so many in all.
func (a *Administrator) GrowKafkaTopic(ctx context.Context, topic string, partitions int) error {
	if partitions < 1 || partitions > mostPartitions {
		return refuse(ErrInvalid, "a topic has 1 to %d partitions, not %d", mostPartitions, partitions)
	}
	return a.withKafka(func(admin *kadm.Client) error {
		answers, err := admin.UpdatePartitions(ctx, partitions, topic)
		if err == nil {
			err = answers[topic].Err
		}
		return kafkaError(err, answers[topic].ErrMessage, "giving the topic %q %d partitions", topic, partitions)
	})
}

// ConfigureKafkaTopic sets a topic's configs; an empty value takes one back to its default.
func (a *Administrator) ConfigureKafkaTopic(ctx context.Context, topic string, configs map[string]string) error {
	if len(configs) == 0 || len(configs) > mostConfigs {
		return refuse(ErrInvalid, "1 to %d configs can be set at a time", mostConfigs)
	}
	var changes []kadm.AlterConfig
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		change := kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: kadm.StringPtr(configs[name])}
		if configs[name] == "" {
			change.Op, change.Value = kadm.DeleteConfig, nil
		}
		changes = append(changes, change)
	}
	return a.withKafka(func(admin *kadm.Client) error {
		answers, err := admin.AlterTopicConfigs(ctx, changes, topic)
		message := ""
		if err == nil {
			var answer kadm.AlterConfigsResponse
			answer, err = answers.On(topic, nil)
			if err == nil {
				err, message = answer.Err, answer.ErrMessage
			}
		}
		return kafkaError(err, message, "configuring the topic %q", topic)
	})
}

// kafkaError makes an error of the protocol a sentence: what was being done, and why it was refused.
func kafkaError(err error, message, doing string, args ...any) error {
	if err == nil {
		return nil
	}
	what := fmt.Sprintf(doing, args...)
	var refused *kerr.Error
	if !errors.As(err, &refused) {
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("%s: no Kafka-mode broker answered in time; are they running? %w", what, err)
		}
		return fmt.Errorf("%s: %w", what, err)
	}
	if message == "" {
		message = refused.Description
	}
	kind := ErrConflict
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		kind, message = ErrNotFound, "there is no such topic or partition"
	case errors.Is(err, kerr.TopicAlreadyExists):
		message = "there is a topic of this name already"
	case errors.Is(err, kerr.InvalidTopicException), errors.Is(err, kerr.InvalidPartitions), errors.Is(err, kerr.InvalidReplicationFactor),
		errors.Is(err, kerr.InvalidConfig), errors.Is(err, kerr.InvalidReplicaAssignment), errors.Is(err, kerr.InvalidRequest):
		kind = ErrInvalid
	}
	return refuse(kind, "%s: %s (%s)", what, message, refused.Message)
}

// codeOf is Kafka's name of an error.
func codeOf(err error) string {
	var refused *kerr.Error
	if errors.As(err, &refused) {
		return refused.Message
	}
	return "UNKNOWN_SERVER_ERROR"
}

// ProduceKafka produces one record without a key, and returns its offset. Acks is 1 or -1 (all).
func (a *Administrator) ProduceKafka(ctx context.Context, topic string, partition int32, acks int, value string) (offset int64, err error) {
	required := kgo.RequiredAcks(kgo.AllISRAcks())
	if acks == 1 {
		required = kgo.RequiredAcks(kgo.LeaderAck())
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(a.addresses().Kafka...), kgo.ClientID("administrator"), required, kgo.DisableIdempotentWrite(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RecordDeliveryTimeout(10*time.Second))
	if err != nil {
		return 0, err
	}
	defer client.Close()
	record := &kgo.Record{Topic: topic, Partition: partition, Value: []byte(value)}
	if err := client.ProduceSync(ctx, record).FirstErr(); err != nil {
		return 0, kafkaError(err, "", "producing to %s-%d", topic, partition)
	}
	return record.Offset, nil
}

// EndOffset is the high watermark of a partition.
func (a *Administrator) EndOffset(ctx context.Context, topic string, partition int32) (end int64, err error) {
	err = a.withKafka(func(admin *kadm.Client) error {
		offsets, err := admin.ListEndOffsets(ctx, topic)
		if err != nil {
			return kafkaError(err, "", "asking where %s-%d ends", topic, partition)
		}
		found, known := offsets.Lookup(topic, partition)
		if !known {
			return refuse(ErrNotFound, "there is no partition %d of %q", partition, topic)
		}
		end = found.Offset
		return kafkaError(found.Err, "", "asking where %s-%d ends", topic, partition)
	})
	return end, err
}
