package broker

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/pulsarpb"
)

// LOOKUP: who serves a topic?
func (c *connection) handleLookup(command *pulsarpb.BaseCommand, size int) error {
	lookup := command.GetLookupTopic()
	c.traceReceived(command, size, lookup.GetTopic(), int64(lookup.GetRequestId()), -1, 0)
	listener := lookup.GetAdvertisedListenerName()
	if listener == "" {
		listener = c.listener
	}
	return c.request(func(ctx context.Context) {
		response := &pulsarpb.CommandLookupTopicResponse{RequestId: lookup.RequestId}
		name, err := ParseTopicName(lookup.GetTopic())
		var answer LookupAnswer
		if err == nil {
			answer, err = c.broker.Lookup(ctx, name, lookup.GetAuthoritative(), listener, "tcp")
		}
		switch {
		case err != nil:
			response.Response = pulsarpb.CommandLookupTopicResponse_Failed.Enum()
			response.Error = serverError(err).Enum()
			response.Message = proto.String(err.Error())
		default:
			response.Response = pulsarpb.CommandLookupTopicResponse_Connect.Enum()
			if answer.Result == LookupRedirect {
				response.Response = pulsarpb.CommandLookupTopicResponse_Redirect.Enum()
			}
			response.BrokerServiceUrl = proto.String(answer.PulsarURL)
			response.Authoritative = proto.Bool(answer.Authoritative)
		}
		reply := &pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_LOOKUP_RESPONSE.Enum(), LookupTopicResponse: response}
		sent := c.sendPayload(reply, nil)
		c.traceSent(reply, sent, lookup.GetTopic(), int64(lookup.GetRequestId()), -1, 0)
	})
}

// PARTITIONED_METADATA: how many partitions has a topic? The question may create a partitioned topic where that is the rule for
// topics that do not exist.
func (c *connection) handlePartitionedMetadata(command *pulsarpb.BaseCommand, size int) error {
	ask := command.GetPartitionMetadata()
	c.traceReceived(command, size, ask.GetTopic(), int64(ask.GetRequestId()), -1, 0)
	return c.request(func(ctx context.Context) {
		response := &pulsarpb.CommandPartitionedTopicMetadataResponse{
			RequestId: ask.RequestId, Response: pulsarpb.CommandPartitionedTopicMetadataResponse_Success.Enum(),
		}
		partitions, err := c.broker.partitionsOrCreate(ctx, ask.GetTopic(), ask.GetMetadataAutoCreationEnabled())
		if err != nil {
			response.Response = pulsarpb.CommandPartitionedTopicMetadataResponse_Failed.Enum()
			response.Error = serverError(err).Enum()
			response.Message = proto.String(err.Error())
		} else {
			response.Partitions = proto.Uint32(uint32(partitions))
		}
		c.send(&pulsarpb.BaseCommand{
			Type: pulsarpb.BaseCommand_PARTITIONED_METADATA_RESPONSE.Enum(), PartitionMetadataResponse: response,
		})
	})
}

func (b *Broker) partitionsOrCreate(ctx context.Context, topic string, create bool) (int, error) {
	name, err := ParseTopicName(topic)
	if err != nil {
		return 0, err
	}
	return b.PartitionsForClient(ctx, name, create)
}

// GET_TOPICS_OF_NAMESPACE: which topics are there? A namespace that does not exist has none.
func (c *connection) handleTopicsOfNamespace(command *pulsarpb.BaseCommand, size int) error {
	ask := command.GetGetTopicsOfNamespace()
	c.traceReceived(command, size, ask.GetNamespace(), int64(ask.GetRequestId()), -1, 0)
	return c.request(func(ctx context.Context) {
		mode := TopicsMode(ask.GetMode().String())
		topics, err := c.broker.TopicsOfNamespace(ctx, ask.GetNamespace(), mode)
		if err != nil && !errors.Is(err, ErrNotFound) {
			c.fail(ask.GetRequestId(), serverError(err), err)
			return
		}
		topics = slices.DeleteFunc(topics, isSystemTopic)
		filtered := false
		if pattern := ask.GetTopicsPattern(); pattern != "" {
			matching, err := matchTopics(topics, pattern)
			if err != nil {
				c.fail(ask.GetRequestId(), pulsarpb.ServerError_MetadataError, err)
				return
			}
			topics, filtered = matching, true
		}
		hash := topicsHash(topics)
		response := &pulsarpb.CommandGetTopicsOfNamespaceResponse{
			RequestId: ask.RequestId, Topics: topics, Filtered: proto.Bool(filtered), TopicsHash: proto.String(hash), Changed: proto.Bool(true),
		}
		if ask.TopicsHash != nil && ask.GetTopicsHash() == hash {
			response.Changed, response.Topics = proto.Bool(false), nil
		}
		c.send(&pulsarpb.BaseCommand{
			Type: pulsarpb.BaseCommand_GET_TOPICS_OF_NAMESPACE_RESPONSE.Enum(), GetTopicsOfNamespaceResponse: response,
		})
	})
}

func isSystemTopic(topic string) bool {
	local := topic[strings.LastIndex(topic, "/")+1:]
	return strings.HasPrefix(local, "__")
}

// matchTopics keeps the topics whose name, without the partition suffix, matches as a whole.
func matchTopics(topics []string, pattern string) ([]string, error) {
	const maxPattern = 1000
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("topics pattern is longer than %d characters", maxPattern)
	}
	if _, rest, found := strings.Cut(pattern, "://"); found {
		pattern = rest
	}
	expression, err := regexp.Compile("^(?:" + pattern + ")$")
	if err != nil {
		return nil, fmt.Errorf("topics pattern %q: %w", pattern, err)
	}
	return slices.DeleteFunc(topics, func(topic string) bool {
		name, err := ParseTopicName(topic)
		if err != nil {
			return true
		}
		_, bare, _ := strings.Cut(name.Parent().String(), "://")
		return !expression.MatchString(bare)
	}), nil
}

// topicsHash lets a client ask "still the same?": CRC-32C in hex of the sorted names.
func topicsHash(topics []string) string {
	sorted := slices.Sorted(slices.Values(topics))
	return fmt.Sprintf("%x", crc32.Checksum([]byte(strings.Join(sorted, ",")), castagnoli))
}
