package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/metadata"
	"twinlog/engine/kafka/replica"
)

// followerFetchVersion is Kafka 3.9's between brokers: topic ids (13), the replica's state as a tagged field (15).
const followerFetchVersion = 17

// fetch does one round for all partitions that are due.
func (f *fetcher) fetch(ctx context.Context, connection *brokerConnection, list []following) error {
	ctx, cancel := context.WithTimeout(ctx, f.broker.settings.replicaSocketTimeout)
	defer cancel()
	request, asked := f.request(list)
	raw, err := connection.do(ctx, request)
	if err != nil {
		return err
	}
	response := raw.(*kmsg.FetchResponse)
	switch err := kerr.ErrorForCode(response.ErrorCode); err {
	case nil:
	case kerr.FetchSessionIDNotFound, kerr.InvalidFetchSessionEpoch: // the leader needed the place, or was restarted
		f.session.reset()
		return nil
	default:
		return fmt.Errorf("fetch from broker %d: %w", f.leader, err)
	}
	f.session.answered(response.SessionID)
	for i := range response.Topics {
		topic := &response.Topics[i]
		for j := range topic.Partitions {
			result := &topic.Partitions[j]
			item, was := asked[partitionID{topic.TopicID, result.Partition}]
			if !was {
				continue
			}
			if err := f.process(ctx, connection, item, result); err != nil {
				f.reportPartition(item, err)
				f.delay(item.partition, item.epoch)
			}
		}
	}
	return nil
}

// reportPartition logs why a partition waits. That the leader does not know its role yet, or no longer has it, is the normal course of
// things; that its records are damaged is not.
func (f *fetcher) reportPartition(item following, err error) {
	level := slog.LevelWarn
	if kerr.IsRetriable(err) && !errors.Is(err, kerr.CorruptMessage) || errors.Is(err, errStaleFetch) || errors.Is(err, kerr.FencedLeaderEpoch) {
		level = slog.LevelDebug
	}
	item.partition.logger.Log(context.Background(), level, "a fetched partition waits", "leader", f.leader, "epoch", item.epoch, "reason", err)
}

// request asks for what comes at each partition's log end.
func (f *fetcher) request(list []following) (*kmsg.FetchRequest, map[partitionID]following) {
	request := kmsg.NewPtrFetchRequest()
	request.Version = followerFetchVersion
	request.ReplicaState.ID, request.ReplicaState.Epoch = f.broker.config.BrokerID, f.broker.brokerEpoch.Load()
	request.MaxWaitMillis = int32(f.broker.settings.fetchWait.Milliseconds())
	request.MinBytes, request.MaxBytes = f.broker.settings.fetchMinBytes, f.broker.settings.fetchResponseMaxBytes
	asked := make(map[partitionID]following, len(list))
	wanted := make(map[partitionID]fetchPosition, len(list))
	for _, item := range list {
		view := item.partition.view.Load()
		id := partitionID{view.topicID, item.partition.name.Partition}
		asked[id] = item
		wanted[id] = fetchPosition{
			topic: item.partition.name.Topic, leaderEpoch: item.epoch, offset: view.LEO, lastEpoch: view.epochs.Latest(), logStart: view.LogStart,
		}
	}
	f.session.fill(request, wanted, f.broker.settings.fetchMaxBytes)
	return request, asked
}

// process deals with one partition of a response.
func (f *fetcher) process(ctx context.Context, connection *brokerConnection, item following, result *kmsg.FetchResponseTopicPartition) error {
	switch err := kerr.ErrorForCode(result.ErrorCode); err {
	case nil:
	case kerr.OffsetOutOfRange:
		return f.outOfRange(ctx, connection, item)
	default:
		return err
	}
	if d := result.DivergingEpoch; d.Epoch >= 0 || d.EndOffset >= 0 {
		return f.truncate(item, replica.Divergence{Epoch: d.Epoch, End: d.EndOffset})
	}
	err := errStaleFetch
	item.partition.call(func() {
		err = item.partition.appendAsFollower(item.epoch, result.RecordBatches, result.HighWatermark, result.LogStartOffset)
	})
	return err
}

// truncate cuts the log where it parts from the leader's. The next fetch shows whether that was enough.
func (f *fetcher) truncate(item following, divergence replica.Divergence) error {
	err := errStaleFetch
	p := item.partition
	p.call(func() {
		view, is := p.followerAt(item.epoch)
		if !is {
			return
		}
		err = p.truncateTo(item.epoch, view.epochs.TruncationPoint(divergence, view.LEO, view.HighWatermark))
	})
	return err
}

// outOfRange: the leader's log ends before this one's, or begins after its end. The former comes only from an unclean election.
func (f *fetcher) outOfRange(ctx context.Context, connection *brokerConnection, item following) error {
	latest, err := f.listOffset(ctx, connection, item, -1)
	if err != nil {
		return err
	}
	earliest, err := f.listOffset(ctx, connection, item, -2)
	if err != nil {
		return err
	}
	result := errStaleFetch
	p := item.partition
	p.call(func() {
		switch leo := p.view.Load().LEO; {
		case latest < leo:
			result = p.truncateTo(item.epoch, latest)
		case earliest > leo:
			result = p.resetTo(item.epoch, earliest)
		default:
			result = nil // it was true when the leader said it
		}
	})
	return result
}

func (f *fetcher) listOffset(ctx context.Context, connection *brokerConnection, item following, timestamp int64) (int64, error) {
	request := kmsg.NewPtrListOffsetsRequest()
	request.Version, request.ReplicaID = 7, f.broker.config.BrokerID
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = item.partition.name.Topic
	partition := kmsg.NewListOffsetsRequestTopicPartition()
	partition.Partition, partition.CurrentLeaderEpoch, partition.Timestamp = item.partition.name.Partition, item.epoch, timestamp
	topic.Partitions = append(topic.Partitions, partition)
	request.Topics = append(request.Topics, topic)
	raw, err := connection.do(ctx, request)
	if err != nil {
		return 0, err
	}
	for _, topic := range raw.(*kmsg.ListOffsetsResponse).Topics {
		for _, partition := range topic.Partitions {
			return partition.Offset, kerr.ErrorForCode(partition.ErrorCode)
		}
	}
	return 0, errors.New("the leader's answer to ListOffsets is empty")
}

// fetchPosition is what a session remembers of a partition: a request repeats only what changed.
type fetchPosition struct {
	topic       string
	leaderEpoch int32
	offset      int64
	lastEpoch   int32
	logStart    int64
}

// fetchSessionClient is the follower's end of a fetch session (KIP-227): the first request names all partitions, later ones those that
// changed and those that are no longer wanted.
type fetchSessionClient struct {
	id    int32
	epoch int32
	known map[partitionID]fetchPosition
}

func (s *fetchSessionClient) reset() { *s = fetchSessionClient{} }

// fill completes a request so that the leader knows the wanted partitions after it.
func (s *fetchSessionClient) fill(request *kmsg.FetchRequest, wanted map[partitionID]fetchPosition, maxBytes int32) {
	request.SessionID, request.SessionEpoch = s.id, s.epoch
	topics := map[metadata.TopicID]int{}
	for id, position := range wanted {
		if s.known[id] == position && s.epoch > 0 {
			continue
		}
		at, found := topics[id.topic]
		if !found {
			at = len(request.Topics)
			topics[id.topic] = at
			topic := kmsg.NewFetchRequestTopic()
			topic.Topic, topic.TopicID = position.topic, id.topic
			request.Topics = append(request.Topics, topic)
		}
		partition := kmsg.NewFetchRequestTopicPartition()
		partition.Partition, partition.CurrentLeaderEpoch = id.partition, position.leaderEpoch
		partition.FetchOffset, partition.LastFetchedEpoch = position.offset, position.lastEpoch
		partition.LogStartOffset, partition.PartitionMaxBytes = position.logStart, maxBytes
		request.Topics[at].Partitions = append(request.Topics[at].Partitions, partition)
	}
	for id, position := range s.known {
		if _, still := wanted[id]; !still {
			topic := kmsg.NewFetchRequestForgottenTopic()
			topic.Topic, topic.TopicID, topic.Partitions = position.topic, id.topic, []int32{id.partition}
			request.ForgottenTopics = append(request.ForgottenTopics, topic)
		}
	}
	s.known = wanted
}

// answered: the leader took the request. A session id of 0 means that it keeps no session.
func (s *fetchSessionClient) answered(id int32) {
	if id == 0 {
		s.reset()
		return
	}
	s.id = id
	s.epoch++
	if s.epoch < 0 {
		s.epoch = 1
	}
}
