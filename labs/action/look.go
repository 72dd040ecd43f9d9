package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/labs/lab"
	"twinlog/labs/observe"
)

// lookPatience bounds how long one cluster may take to answer a look at it.
const lookPatience = 8 * time.Second

// Look looks at the world, with events and state since start. The clusters are asked only when one of the expressions needs it; with no
// expression, both are.
func (r *Runner) Look(ctx context.Context, start Start, needed ...*lab.Expression) (seen observe.World) {
	needsKafka, needsPulsar := len(needed) == 0, len(needed) == 0
	for _, expression := range needed {
		needsKafka, needsPulsar = needsKafka || expression.NeedsKafka, needsPulsar || expression.NeedsPulsar
	}
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	var looking sync.WaitGroup
	if needsKafka {
		looking.Go(func() {
			if seen.Kafka, seen.KafkaError = r.lookAtKafka(ctx); seen.KafkaError != nil {
				seen.KafkaError = fmt.Errorf("look at the Kafka-mode cluster: %w", seen.KafkaError)
			}
		})
	}
	if needsPulsar {
		looking.Go(func() {
			if seen.Pulsar, seen.PulsarError = r.lookAtPulsar(ctx); seen.PulsarError != nil {
				seen.PulsarError = fmt.Errorf("look at the Pulsar-mode cluster: %w", seen.PulsarError)
			}
		})
	}
	looking.Wait()
	state, _ := r.trace.World()
	seen.Trace, seen.Start = observe.FromState(state), observe.FromState(start.State)
	seen.Events = r.trace.EventsAfter(start.N)
	past := observe.Since(seen.Start, state, seen.Events)
	seen.Deaths, seen.Acknowledged, seen.Ledgers = past.Deaths, past.Acknowledged, past.Ledgers
	return seen
}

// lookAtKafka asks the cluster through the Kafka protocol, as any client could.
func (r *Runner) lookAtKafka(ctx context.Context) (seen observe.Kafka, err error) {
	seen = observe.Kafka{Topics: map[string]observe.KafkaTopic{}, Groups: map[string]observe.KafkaGroup{}}
	err = r.kafkaAdmin(func(admin *kadm.Client) error {
		metadata, err := admin.Metadata(ctx)
		if err != nil {
			return fmt.Errorf("ask for metadata: %w", err)
		}
		seen.Brokers, seen.Controller = len(metadata.Brokers), int(metadata.Controller)
		names := metadata.Topics.Names()
		if len(names) == 0 {
			return nil
		}
		starts, err := admin.ListStartOffsets(ctx, names...)
		if err = withoutLeaderless(err); err != nil {
			return fmt.Errorf("list start offsets: %w", err)
		}
		ends, err := admin.ListEndOffsets(ctx, names...)
		if err = withoutLeaderless(err); err != nil {
			return fmt.Errorf("list end offsets: %w", err)
		}
		configs, err := admin.DescribeTopicConfigs(ctx, names...)
		if err != nil {
			return fmt.Errorf("describe the topics' configuration: %w", err)
		}
		for name, detail := range metadata.Topics {
			topic := summarise(detail, starts[name], ends[name])
			topic.Config = map[string]string{}
			if config, err := configs.On(name, nil); err == nil {
				for _, entry := range config.Configs {
					topic.Config[entry.Key] = entry.MaybeValue()
				}
			}
			seen.Topics[name] = topic
		}
		return lookAtGroups(ctx, admin, starts, ends, &seen)
	})
	return seen, err
}

// withoutLeaderless is an error without that of partitions that have no leader just now: nobody can tell where their logs begin and end,
// and that is worth a look, not a failure.
func withoutLeaderless(err error) error {
	var shards *kadm.ShardErrors
	if !errors.As(err, &shards) {
		return err
	}
	for _, shard := range shards.Errs {
		if !errors.Is(shard.Err, kerr.LeaderNotAvailable) && !errors.Is(shard.Err, kerr.NotLeaderForPartition) {
			return err
		}
	}
	return nil
}

func summarise(detail kadm.TopicDetail, starts, ends map[int32]kadm.ListedOffset) (topic observe.KafkaTopic) {
	topic.Partitions = len(detail.Partitions)
	for number, partition := range detail.Partitions {
		if number == 0 {
			topic.Replicas = len(partition.Replicas)
		}
		if topic.InSync == 0 || len(partition.ISR) < topic.InSync {
			topic.InSync = len(partition.ISR)
		}
		if partition.Leader < 0 {
			topic.WithoutLeader++
		}
		if records := ends[number].Offset - starts[number].Offset; ends[number].Err == nil && starts[number].Err == nil && records > 0 {
			topic.Records += records
			topic.SpreadPartition++
		}
	}
	return topic
}

func lookAtGroups(ctx context.Context, admin *kadm.Client, starts, ends kadm.ListedOffsets, seen *observe.Kafka) error {
	lags, err := admin.Lag(ctx)
	if err != nil {
		return fmt.Errorf("ask for consumer groups: %w", err)
	}
	for name, described := range lags {
		if err := errors.Join(described.DescribeErr, described.FetchErr); err != nil {
			return fmt.Errorf("ask for consumer group %s: %w", name, err)
		}
		seen.Groups[name] = progress(described, starts, ends)
	}
	return nil
}

// progress is how far a group has read.
func progress(described kadm.DescribedGroupLag, starts, ends kadm.ListedOffsets) observe.KafkaGroup {
	group := observe.KafkaGroup{State: described.State, Members: len(described.Members), Committed: map[string]int64{}, Lag: map[string]int64{}}
	for topic, partitions := range described.Lag {
		for _, partition := range partitions {
			if partition.Commit.At >= 0 { // kadm tells -1 where nothing is committed
				group.Committed[topic] += partition.Commit.At
			}
			group.Lag[topic] += max(0, partition.Lag)
		}
		group.Lag[topic] += unread(partitions, starts[topic], ends[topic])
	}
	return group
}

// unread counts the records of partitions that the group has neither committed nor assigned: nobody has read them.
func unread(group map[int32]kadm.GroupMemberLag, starts, ends map[int32]kadm.ListedOffset) (records int64) {
	for number, end := range ends {
		if _, known := group[number]; !known && end.Err == nil && starts[number].Err == nil {
			records += max(0, end.Offset-starts[number].Offset)
		}
	}
	return records
}

// lookAtPulsar asks the admin API of a broker that answers.
func (r *Runner) lookAtPulsar(ctx context.Context) (observe.Pulsar, error) {
	var failure error
	for _, base := range r.addresses.PulsarAdmin {
		seen, err := lookAtPulsarBroker(ctx, base)
		if err == nil {
			return seen, nil
		}
		failure = err
	}
	return observe.Pulsar{}, failure
}

func lookAtPulsarBroker(ctx context.Context, base string) (observe.Pulsar, error) {
	seen := observe.Pulsar{Topics: map[string]observe.PulsarTopic{}}
	var brokers, topics []string
	if _, err := get(ctx, base+"/admin/v2/brokers", &brokers); err != nil {
		return seen, err
	}
	seen.Brokers = len(brokers)
	if _, err := get(ctx, base+"/admin/v2/persistent/public/default", &topics); err != nil {
		return seen, err
	}
	for _, topic := range topics {
		var stats struct {
			In            int64 `json:"msgInCounter"`
			Subscriptions map[string]struct {
				Type    string `json:"type"`
				Backlog int64  `json:"msgBacklog"`
			} `json:"subscriptions"`
		}
		found, err := get(ctx, base+"/admin/v2/"+strings.Replace(topic, "://", "/", 1)+"/stats", &stats)
		if err != nil {
			return seen, err
		}
		if !found {
			continue
		}
		subscriptions := map[string]observe.PulsarSubscription{}
		for name, s := range stats.Subscriptions {
			subscriptions[name] = observe.PulsarSubscription{Exists: true, Type: s.Type, Backlog: s.Backlog, Acked: max(0, stats.In-s.Backlog)}
		}
		seen.Topics[topic] = observe.PulsarTopic{Exists: true, Messages: stats.In, Subscriptions: subscriptions}
	}
	return seen, nil
}

const maxAnswer = 4 << 20

// get decodes a JSON answer; found is false for 404.
func get(ctx context.Context, url string, into any) (found bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return false, fmt.Errorf("GET %s: %w", url, err)
	}
	switch response.StatusCode {
	case http.StatusNotFound:
		return false, nil
	case http.StatusOK:
		if err := json.Unmarshal(body, into); err != nil {
			return false, fmt.Errorf("GET %s: %w", url, err)
		}
		return true, nil
	}
	return false, fmt.Errorf("GET %s: %s: %.200s", url, response.Status, body)
}
