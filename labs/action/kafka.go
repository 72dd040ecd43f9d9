package action

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	_ "twinlog/engine/kafka/errorname" // errors by their names of today
	"twinlog/engine/sentence"
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

// kafkaCreateTopic returns once every broker that answers knows the topic with all its leaders: the one that is asked next may be another
// than the controller, which tells them one after the other.
func (r *Runner) kafkaCreateTopic(ctx context.Context, action *lab.KafkaCreateTopic) error {
	client, err := r.kafkaClient()
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	config := make(map[string]*string, len(action.Config))
	for name, value := range action.Config {
		config[name] = &value
	}
	if _, err := admin.CreateTopic(ctx, action.Partitions, action.Replication, config, action.Topic); err != nil {
		return sentence.Error(nil, "createKafkaTopic", "create Kafka topic {topic}: {why}", action.Topic, err)
	}
	for {
		known, err := everybodyKnows(ctx, client, action)
		if err == nil && known {
			return nil
		}
		if waited := wait(ctx); waited != nil {
			return sentence.Error(nil, "awaitKafkaTopic", "wait until every broker knows Kafka topic {topic}: {why}", action.Topic, errors.Join(waited, err))
		}
	}
}

// brokerPatience is how long one broker may take to answer.
const brokerPatience = 2 * time.Second

// everybodyKnows tells whether all brokers know a new topic with a leader of each partition, and its settings. Those that do not answer do not
// count.
func everybodyKnows(ctx context.Context, client *kgo.Client, action *lab.KafkaCreateTopic) (bool, error) {
	brokers, err := kadm.NewClient(client).ListBrokers(ctx)
	if err != nil {
		return false, err
	}
	for _, broker := range brokers {
		limited, cancel := context.WithTimeout(ctx, brokerPatience)
		knows, err := knowsTopic(limited, client.Broker(int(broker.NodeID)), action)
		cancel()
		if err == nil && !knows {
			return false, nil
		}
	}
	return true, nil
}

func knowsTopic(ctx context.Context, broker *kgo.Broker, action *lab.KafkaCreateTopic) (bool, error) {
	asked := kmsg.NewMetadataRequestTopic()
	asked.Topic = &action.Topic
	request := kmsg.NewPtrMetadataRequest()
	request.Topics = append(request.Topics, asked)
	answer, err := request.RequestWith(ctx, broker)
	if err != nil {
		return false, err
	}
	led := 0
	for _, topic := range answer.Topics {
		for _, partition := range topic.Partitions {
			if partition.Leader >= 0 {
				led++
			}
		}
	}
	if led < int(action.Partitions) {
		return false, nil
	}
	return knowsConfig(ctx, broker, action.Topic, action.Config)
}

func knowsConfig(ctx context.Context, broker *kgo.Broker, topic string, config map[string]string) (bool, error) {
	asked := kmsg.NewDescribeConfigsRequestResource()
	asked.ResourceType, asked.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	request := kmsg.NewPtrDescribeConfigsRequest()
	request.Resources = append(request.Resources, asked)
	answer, err := request.RequestWith(ctx, broker)
	if err != nil {
		return false, err
	}
	known := 0
	for _, resource := range answer.Resources {
		for _, entry := range resource.Configs {
			if value, set := config[entry.Name]; set && entry.Value != nil && *entry.Value == value {
				known++
			}
		}
	}
	return known == len(config), nil
}

// kafkaConfigure asks again while the broker that answers has only just started and knows no topic yet.
func (r *Runner) kafkaConfigure(ctx context.Context, action *lab.KafkaConfigure) error {
	return r.kafkaAdmin(func(admin *kadm.Client) error {
		var settings []kadm.AlterConfig
		for name, value := range action.Config {
			settings = append(settings, kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: &value})
		}
		ctx, cancel := context.WithTimeout(ctx, configurePatience)
		defer cancel()
		for {
			answers, err := admin.AlterTopicConfigs(ctx, settings, action.Topic)
			if err == nil {
				_, err = answers.On(action.Topic, func(answer *kadm.AlterConfigsResponse) error { return answer.Err })
			}
			if err == nil {
				return nil
			}
			if waited := wait(ctx); waited != nil || !kerr.IsRetriable(err) {
				return sentence.Error(nil, "configureKafkaTopic", "configure Kafka topic {topic}: {why}", action.Topic, err)
			}
		}
	})
}

const configurePatience = 30 * time.Second

// kafkaDeleteTopic returns once a topic of that name could be created again: Kafka answers a deletion as soon as it is decided, and the
// brokers remove their replicas afterwards.
func (r *Runner) kafkaDeleteTopic(ctx context.Context, action *lab.KafkaDeleteTopic) error {
	return r.kafkaAdmin(func(admin *kadm.Client) error {
		answer, err := admin.DeleteTopic(ctx, action.Topic)
		if err == nil {
			err = answer.Err
		}
		if errors.Is(err, kerr.UnknownTopicOrPartition) {
			return nil
		}
		if err != nil {
			return sentence.Error(nil, "deleteKafkaTopic", "delete Kafka topic {topic}: {why}", action.Topic, err)
		}
		for {
			answers, err := admin.ValidateCreateTopics(ctx, 1, 1, nil, action.Topic)
			if err == nil && answers[action.Topic].Err == nil {
				return nil
			}
			if err := wait(ctx); err != nil {
				return sentence.Error(nil, "awaitKafkaTopicGone", "wait until Kafka topic {topic} is gone: {why}", action.Topic, err)
			}
		}
	})
}

// kafkaDeleteGroup asks again while the group's coordinator is being found, which on a new cluster includes creating __consumer_offsets.
func (r *Runner) kafkaDeleteGroup(ctx context.Context, action *lab.KafkaDeleteGroup) error {
	return r.kafkaAdmin(func(admin *kadm.Client) error {
		for {
			answer, err := admin.DeleteGroup(ctx, action.Group)
			if err == nil {
				err = answer.Err
			}
			switch {
			case err == nil || errors.Is(err, kerr.GroupIDNotFound):
				return nil
			case errors.Is(err, kerr.NonEmptyGroup):
				if err := removeStaticMembers(ctx, admin, action.Group); err != nil {
					return err
				}
			case !kerr.IsRetriable(err) && !errors.Is(err, kerr.CoordinatorNotAvailable):
				return sentence.Error(nil, "deleteGroup", "delete consumer group {group}: {why}", action.Group, err)
			}
			if waited := wait(ctx); waited != nil {
				return sentence.Error(nil, "deleteGroup", "delete consumer group {group}: {why}", action.Group, err)
			}
		}
	})
}

// removeStaticMembers takes the members out of a group that do not leave by themselves. A dynamic member that is still there belongs to
// somebody, who must stop it.
func removeStaticMembers(ctx context.Context, admin *kadm.Client, group string) error {
	described, err := admin.DescribeGroups(ctx, group)
	if err != nil {
		return sentence.Error(nil, "askGroup", "ask who is in consumer group {group}: {why}", group, err)
	}
	leaving := kadm.LeaveGroup(group)
	static := 0
	for _, member := range described[group].Members {
		if member.InstanceID == nil {
			return sentence.Error(nil, "groupHasMember", "consumer group {group} still has the member {member} at {host}: stop that consumer first", group, member.ClientID, member.ClientHost)
		}
		leaving.InstanceIDs(*member.InstanceID)
		static++
	}
	if static == 0 {
		return nil
	}
	if _, err := admin.LeaveGroup(ctx, leaving); err != nil {
		return sentence.Error(nil, "removeStaticMembers", "take the static members out of consumer group {group}: {why}", group, err)
	}
	return nil
}

// produceOptions: idempotence needs acks=all. Who expects an error wants to see the first one, not what comes after many attempts.
func produceOptions(action *lab.KafkaProduce) []kgo.Opt {
	options := []kgo.Opt{kgo.RecordPartitioner(kgo.RoundRobinPartitioner())}
	if action.Keys > 0 {
		options = []kgo.Opt{kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil))} // murmur2 of the key, as Kafka's own producer
	}
	// A record's bytes in the log are then those that Size asks for, as with a client that compresses nothing by itself.
	options = append(options, kgo.ProducerBatchCompression(kgo.NoCompression()))
	switch action.Acks {
	case "0":
		options = append(options, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	case "1":
		options = append(options, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	default:
		// An action ends with its time, also when nobody can tell whether the last record is stored.
		options = append(options, kgo.RequiredAcks(kgo.AllISRAcks()), kgo.AllowIdempotentProduceCancellation())
		if action.ExpectError != "" {
			options = append(options, kgo.DisableIdempotentWrite(), kgo.RecordRetries(0))
		}
	}
	return options
}

func (r *Runner) kafkaProduce(ctx context.Context, action *lab.KafkaProduce) error {
	client, err := r.kafkaClient(produceOptions(action)...)
	if err != nil {
		return err
	}
	defer client.Close()
	records := make([]*kgo.Record, action.Count)
	for i := range records {
		value := fmt.Appendf(nil, "order %d", i+1)
		if missing := action.Size - len(value); missing > 0 {
			value = append(value, bytes.Repeat([]byte("."), missing)...)
		}
		records[i] = &kgo.Record{Topic: action.Topic, Value: value}
		if action.Keys > 0 {
			records[i].Key = fmt.Appendf(nil, "key-%d", i%action.Keys+1)
		}
	}
	err = client.ProduceSync(ctx, records...).FirstErr()
	// The client may still know a leader that has died: what has not reached a leader was refused by none.
	for action.ExpectError != "" && errors.Is(err, kgo.ErrRecordRetries) && wait(ctx) == nil {
		err = client.ProduceSync(ctx, records...).FirstErr()
	}
	if action.ExpectError != "" {
		var refused *kerr.Error
		if !errors.As(err, &refused) || refused.Message != action.ExpectError {
			return sentence.Error(nil, "producedOtherwise", "produce {count} {count|record|records} to {topic}: the answer is {why}, expected is {error}", action.Count, action.Topic, fmt.Sprint(err), action.ExpectError)
		}
		return nil
	}
	if err != nil {
		return sentence.Error(nil, "produceRecords", "produce {count} {count|record|records} to {topic}: {why}", action.Count, action.Topic, err)
	}
	return nil
}

var balancers = map[string]kgo.GroupBalancer{
	"range": kgo.RangeBalancer(), "roundrobin": kgo.RoundRobinBalancer(), "sticky": kgo.StickyBalancer(), "": kgo.CooperativeStickyBalancer(),
	"cooperative-sticky": kgo.CooperativeStickyBalancer(),
}

// kafkaJoin starts a consumer that reads and commits until it is closed.
func (r *Runner) kafkaJoin(action *lab.KafkaJoin) error {
	options := []kgo.Opt{
		kgo.ClientID(action.As), kgo.ConsumeTopics(action.Topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumerGroup(action.Group), kgo.Balancers(balancers[action.Strategy]),
		kgo.SessionTimeout(20 * time.Second), kgo.HeartbeatInterval(500 * time.Millisecond), kgo.AutoCommitInterval(time.Second),
	}
	if action.Instance != "" {
		options = append(options, kgo.InstanceID(action.Instance))
	}
	client, err := r.kafkaClient(options...)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	reading.Go(func() {
		for ctx.Err() == nil {
			client.PollFetches(ctx)
		}
	})
	return r.keep(action.As, func() {
		cancel()
		reading.Wait()
		client.Close()
	})
}

func (r *Runner) kafkaConsume(ctx context.Context, action *lab.KafkaConsume) error {
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
			return sentence.Error(nil, "consumeRecords", "consume {topic}: read {read} of {count} {count|record|records}: {why}", action.Topic, read, action.Count, err)
		}
		read += fetches.NumRecords()
	}
	if action.Group == "" {
		return nil
	}
	if err := client.CommitUncommittedOffsets(ctx); err != nil {
		return sentence.Error(nil, "commitFor", "commit {topic} for group {group}: {why}", action.Topic, action.Group, err)
	}
	return nil
}

// kafkaCommit sets a committed offset, as a reset of offsets does: the group must have no members.
func (r *Runner) kafkaCommit(ctx context.Context, action *lab.KafkaCommit) error {
	return r.kafkaAdmin(func(admin *kadm.Client) error {
		var offsets kadm.Offsets
		offsets.AddOffset(action.Topic, action.Partition, action.Offset, -1)
		if err := admin.CommitAllOffsets(ctx, action.Group, offsets); err != nil {
			return sentence.Error(nil, "setOffset", "set the offset of group {group} on {topic}-{partition} to {offset}: {why}", action.Group, action.Topic, action.Partition, action.Offset, err)
		}
		return nil
	})
}
