package administration

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	_ "twinlog/engine/kafka/errorname" // errors by their names of today
	"twinlog/engine/sentence"
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
		return sentence.Error(ErrConflict, "noKafka", "this classroom has no Kafka-mode brokers")
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
		return topic, sentence.Error(ErrInvalid, "notATopic", "a topic has a name, 1 to {partitions} {partitions|partition|partitions}, a replication factor from 1 to the number of brokers, "+
			"and at most {configs} configs", mostPartitions, mostConfigs)
	}
	err := a.withKafka(func(admin *kadm.Client) error {
		if topic.ReplicationFactor == 0 {
			brokers, err := admin.ListBrokers(ctx)
			if err != nil {
				return kafkaError(err, "", listingBrokers())
			}
			topic.ReplicationFactor = min(3, len(brokers))
		}
		configs := map[string]*string{}
		for name, value := range topic.Configs {
			configs[name] = &value
		}
		answer, err := admin.CreateTopic(ctx, int32(topic.Partitions), int16(topic.ReplicationFactor), configs, topic.Name)
		return kafkaError(err, answer.ErrMessage, sentence.Of("creatingTopic", `creating the topic "{topic}"`, topic.Name))
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
		return kafkaError(err, answer.ErrMessage, sentence.Of("deletingTopic", `deleting the topic "{topic}"`, topic))
	})
}

// GrowKafkaTopic gives a topic more partitions: so many in all.
func (a *Administrator) GrowKafkaTopic(ctx context.Context, topic string, partitions int) error {
	if partitions < 1 || partitions > mostPartitions {
		return sentence.Error(ErrInvalid, "notSoManyPartitions", "a topic has 1 to {most} {most|partition|partitions}, not {given}", mostPartitions, partitions)
	}
	return a.withKafka(func(admin *kadm.Client) error {
		answers, err := admin.UpdatePartitions(ctx, partitions, topic)
		if err == nil {
			err = answers[topic].Err
		}
		return kafkaError(err, answers[topic].ErrMessage, sentence.Of("growingTopic", `giving the topic "{topic}" {count} {count|partition|partitions}`, topic, partitions))
	})
}

// ConfigureKafkaTopic sets a topic's configs; an empty value takes one back to its default.
func (a *Administrator) ConfigureKafkaTopic(ctx context.Context, topic string, configs map[string]string) error {
	if len(configs) == 0 || len(configs) > mostConfigs {
		return sentence.Error(ErrInvalid, "notSoManyConfigs", "1 to {most} configs can be set at a time", mostConfigs)
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
		return kafkaError(err, message, sentence.Of("configuringTopic", `configuring the topic "{topic}"`, topic))
	})
}

func listingBrokers() sentence.Sentence {
	return sentence.Of("listingBrokers", "asking which Kafka-mode brokers there are")
}

func whereEnds(topic string, partition int32) sentence.Sentence {
	return sentence.Of("askingEnd", "asking where {topic}-{partition} ends", topic, partition)
}

// kafkaError makes an error of the protocol a sentence: what was being done, and why it was refused. Message is the broker's own.
func kafkaError(err error, message string, doing sentence.Sentence) error {
	if err == nil {
		return nil
	}
	var refused *kerr.Error
	if !errors.As(err, &refused) {
		if errors.Is(err, context.DeadlineExceeded) {
			return sentence.Error(nil, "noKafkaAnswer", "{doing}: no Kafka-mode broker answered in time; are they running? {why}", doing, err)
		}
		return sentence.Error(nil, "couldNot", "{doing}: {why}", doing, err)
	}
	kind := ErrConflict
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		kind = ErrNotFound
	case errors.Is(err, kerr.InvalidTopicException), errors.Is(err, kerr.InvalidPartitions), errors.Is(err, kerr.InvalidReplicationFactor),
		errors.Is(err, kerr.InvalidConfig), errors.Is(err, kerr.InvalidReplicaAssignment), errors.Is(err, kerr.InvalidRequest):
		kind = ErrInvalid
	}
	why, known := meaning(refused)
	switch {
	case !known:
		return sentence.Error(kind, "kafkaRefused", "{doing}: {why} ({error})", doing, cmp.Or(message, refused.Description), refused.Message)
	case message == "" || plain[refused]:
		return sentence.Error(kind, "kafkaRefused", "{doing}: {why} ({error})", doing, why, refused.Message)
	}
	return sentence.Error(kind, "kafkaRefusedSaying", "{doing}: {why} ({error}: {message})", doing, why, refused.Message, message)
}

// plain are the errors of which the broker's own message says no more than their name.
var plain = map[*kerr.Error]bool{kerr.UnknownTopicOrPartition: true, kerr.TopicAlreadyExists: true}

// meaning is what an error of the protocol means to an administrator; false: the broker's own words have to do.
func meaning(err *kerr.Error) (sentence.Sentence, bool) {
	switch err {
	case kerr.UnknownTopicOrPartition:
		return sentence.Of("noTopicOrPartition", "there is no such topic or partition"), true
	case kerr.TopicAlreadyExists:
		return sentence.Of("topicExists", "there is a topic of this name already"), true
	case kerr.InvalidTopicException:
		return sentence.Of("invalidTopic", "that is no name of a topic"), true
	case kerr.InvalidPartitions:
		return sentence.Of("invalidPartitions", "a topic cannot have this number of partitions"), true
	case kerr.InvalidReplicationFactor:
		return sentence.Of("invalidReplicationFactor", "there are not enough brokers for so many replicas"), true
	case kerr.InvalidConfig:
		return sentence.Of("invalidConfig", "the configuration is not valid"), true
	case kerr.InvalidReplicaAssignment:
		return sentence.Of("invalidReplicaAssignment", "the replicas cannot be placed so"), true
	case kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend:
		return sentence.Of("notEnoughReplicas", "the ISR has fewer replicas than min.insync.replicas asks for"), true
	case kerr.NoReassignmentInProgress:
		return sentence.Of("noReassignment", "no reassignment of it is under way"), true
	case kerr.PreferredLeaderNotAvailable:
		return sentence.Of("noPreferredLeader", "the preferred leader is not in the ISR or does not run"), true
	case kerr.EligibleLeadersNotAvailable:
		return sentence.Of("noEligibleLeader", "no replica runs that may lead"), true
	case kerr.ElectionNotNeeded:
		return sentence.Of("electionNotNeeded", "it is led so already"), true
	case kerr.NotController:
		return sentence.Of("notController", "the controller has just changed; try again"), true
	case kerr.RequestTimedOut:
		return sentence.Of("requestTimedOut", "the brokers did not do it in time"), true
	}
	return sentence.Sentence{}, false
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
		return 0, kafkaError(err, "", sentence.Of("producingTo", "producing to {topic}-{partition}", topic, partition))
	}
	return record.Offset, nil
}

// EndOffset is the high watermark of a partition.
func (a *Administrator) EndOffset(ctx context.Context, topic string, partition int32) (end int64, err error) {
	err = a.withKafka(func(admin *kadm.Client) error {
		offsets, err := admin.ListEndOffsets(ctx, topic)
		if err != nil {
			return kafkaError(err, "", whereEnds(topic, partition))
		}
		found, known := offsets.Lookup(topic, partition)
		if !known {
			return sentence.Error(ErrNotFound, "noSuchPartition", `there is no partition {partition} of "{topic}"`, partition, topic)
		}
		end = found.Offset
		return kafkaError(found.Err, "", whereEnds(topic, partition))
	})
	return end, err
}
