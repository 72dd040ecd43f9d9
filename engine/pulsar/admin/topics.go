package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"twinlog/engine/pulsar/broker"
	"twinlog/engine/pulsar/managedledger"
)

func (h *handler) routeTopics(group *gin.RouterGroup, domain string) {
	ns := group.Group("/:tenant/:namespace")
	ns.GET("", func(c *gin.Context) {
		mode := broker.PersistentTopics
		if domain == broker.NonPersistent {
			mode = broker.NonPersistentTopics
		}
		topics, err := h.broker.TopicsOfNamespace(c.Request.Context(), namespaceName(c), mode)
		answer(c, topics, err)
	})
	ns.GET("/partitioned", func(c *gin.Context) {
		topics, err := h.broker.PartitionedTopics(namespaceName(c), domain)
		answer(c, topics, err)
	})
	topic := ns.Group("/:topic")
	named := func(act func(*gin.Context, broker.TopicName)) gin.HandlerFunc {
		return func(c *gin.Context) {
			name, err := topicName(c, domain)
			if err != nil {
				fail(c, err)
				return
			}
			act(c, name)
		}
	}
	owned := func(act func(*gin.Context, broker.TopicName)) gin.HandlerFunc {
		return named(func(c *gin.Context, name broker.TopicName) { h.onOwner(c, name, func() { act(c, name) }) })
	}
	h.routePartitions(topic, named)
	h.routeTopic(topic, named, owned)
	h.routeSubscriptions(topic, named, owned)
	h.routeMessages(topic, owned)
	h.routeOffload(topic, owned)
}

// routePartitions is what concerns a topic as a whole; any broker answers.
func (h *handler) routePartitions(topic *gin.RouterGroup, named topicRoute) {
	topic.PUT("/partitions", named(h.createPartitioned))
	topic.GET("/partitions", named(h.partitions))
	topic.POST("/partitions", named(h.growPartitions))
	topic.DELETE("/partitions", named(func(c *gin.Context, name broker.TopicName) {
		done(c, h.deletePartitioned(c.Request.Context(), name, flag(c, "force")))
	}))
	topic.GET("/partitioned-stats", named(h.partitionedStats))
	topic.GET("/partitioned-internalStats", named(h.partitionedInternalStats))
}

// routeTopic is what concerns one topic or partition; its owner answers.
func (h *handler) routeTopic(topic *gin.RouterGroup, named, owned topicRoute) {
	topic.PUT("", owned(h.createTopic))
	topic.DELETE("", owned(func(c *gin.Context, name broker.TopicName) {
		if err := h.refusePartitioned(name); err != nil {
			fail(c, err)
			return
		}
		done(c, h.broker.DeleteTopic(c.Request.Context(), name, flag(c, "force")))
	}))
	topic.GET("/stats", owned(func(c *gin.Context, name broker.TopicName) {
		stats, err := h.broker.TopicStats(c.Request.Context(), name)
		answer(c, without(c, stats), err)
	}))
	topic.GET("/internalStats", owned(func(c *gin.Context, name broker.TopicName) {
		stats, err := h.broker.InternalStats(c.Request.Context(), name)
		answer(c, stats, err)
	}))
	topic.GET("/properties", named(h.topicProperties))
	topic.PUT("/properties", named(h.putTopicProperties))
	topic.DELETE("/properties", named(h.deleteTopicProperty))
	topic.PUT("/unload", named(h.unload))
	topic.POST("/terminate", owned(func(c *gin.Context, name broker.TopicName) {
		last, err := h.broker.Terminate(c.Request.Context(), name)
		answer(c, messageID(last, name, -1), err)
	}))
}

// routeMessages finds and reads stored messages.
func (h *handler) routeMessages(topic *gin.RouterGroup, owned topicRoute) {
	topic.GET("/lastMessageId", owned(func(c *gin.Context, name broker.TopicName) {
		last, index, err := h.broker.LastMessage(c.Request.Context(), name)
		answer(c, messageID(last, name, index), err)
	}))
	topic.GET("/messageid/:timestamp", owned(func(c *gin.Context, name broker.TopicName) {
		at, err := number(c, "timestamp")
		var found managedledger.Position
		if err == nil {
			found, err = h.broker.MessageAt(c.Request.Context(), name, time.UnixMilli(at))
		}
		answer(c, messageID(found, name, -1), err)
	}))
	topic.GET("/subscription/:subscription/position/:index", owned(func(c *gin.Context, name broker.TopicName) {
		index, err := number(c, "index")
		var message broker.StoredMessage
		if err == nil {
			message, err = h.broker.PeekMessage(c.Request.Context(), name, c.Param("subscription"), int(index))
		}
		sendMessage(c, message, err)
	}))
	topic.GET("/ledger/:ledger/entry/:entry", owned(func(c *gin.Context, name broker.TopicName) {
		ledger, err := number(c, "ledger")
		var entry int64
		if err == nil {
			entry, err = number(c, "entry")
		}
		var message broker.StoredMessage
		if err == nil {
			message, err = h.broker.ReadMessage(c.Request.Context(), name, managedledger.Position{Ledger: ledger, Entry: entry})
		}
		sendMessage(c, message, err)
	}))
}

// without leaves out what the caller does not want to see.
func without(c *gin.Context, stats broker.TopicStats) broker.TopicStats {
	if flag(c, "excludePublishers") {
		stats.Publishers = []broker.PublisherStats{}
	}
	if flag(c, "excludeConsumers") {
		for name, subscription := range stats.Subscriptions {
			subscription.Consumers = []broker.ConsumerStats{}
			stats.Subscriptions[name] = subscription
		}
	}
	return stats
}

// messageIDAnswer is Pulsar's MessageIdImpl.
type messageIDAnswer struct {
	Ledger    int64 `json:"ledgerId"`
	Entry     int64 `json:"entryId"`
	Partition int   `json:"partitionIndex"`
	Batch     *int  `json:"batchIndex,omitempty"`
}

func messageID(position managedledger.Position, name broker.TopicName, index int) messageIDAnswer {
	id := messageIDAnswer{Ledger: position.Ledger, Entry: position.Entry, Partition: name.Partition()}
	if index >= 0 {
		id.Batch = &index
	}
	return id
}

func (h *handler) createTopic(c *gin.Context, name broker.TopicName) {
	var properties map[string]string
	if err := body(c, &properties); err != nil {
		fail(c, err)
		return
	}
	if err := h.refusePartitioned(name); err != nil {
		refuse(c, http.StatusConflict, "This topic already exists")
		return
	}
	done(c, h.broker.CreateTopic(c.Request.Context(), name, properties))
}

// refusePartitioned: an operation on one topic is not for a topic with partitions.
func (h *handler) refusePartitioned(name broker.TopicName) error {
	metadata, err := h.broker.PartitionedTopic(name)
	if err != nil {
		return err
	}
	if metadata.Partitions > 0 {
		return broker.Refuse(broker.ErrPreconditionFailed, "%s is a partitioned topic", name)
	}
	return nil
}

// partitionsBody is a bare number, or an object with properties.
func partitionsBody(c *gin.Context) (broker.PartitionedTopic, error) {
	raw, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return broker.PartitionedTopic{}, err
	}
	var metadata broker.PartitionedTopic
	text := strings.TrimSpace(string(raw))
	if count, err := strconv.Atoi(text); err == nil {
		metadata.Partitions = count
		return metadata, nil
	}
	if err := json.Unmarshal(raw, &metadata); err != nil {
		return metadata, broker.Refuse(broker.ErrBadRequest, "the body is the number of partitions, or {\"partitions\", \"properties\"}")
	}
	return metadata, nil
}

func (h *handler) createPartitioned(c *gin.Context, name broker.TopicName) {
	metadata, err := partitionsBody(c)
	if err == nil {
		err = h.broker.CreatePartitioned(c.Request.Context(), name, metadata)
	}
	done(c, err)
}

func (h *handler) partitions(c *gin.Context, name broker.TopicName) {
	metadata, err := h.broker.PartitionedTopic(name)
	if err == nil && metadata.Partitions == 0 && (flag(c, "checkAllowAutoCreation")) {
		metadata.Partitions, err = h.broker.PartitionsForClient(c.Request.Context(), name, true)
	}
	answer(c, metadata, err)
}

func (h *handler) growPartitions(c *gin.Context, name broker.TopicName) {
	metadata, err := partitionsBody(c)
	if err == nil {
		err = h.broker.GrowPartitions(name, metadata.Partitions)
	}
	done(c, err)
}

// deletePartitioned deletes every partition, wherever it is, and then the topic.
func (h *handler) deletePartitioned(ctx context.Context, name broker.TopicName, force bool) error {
	metadata, err := h.broker.PartitionedTopic(name)
	if err != nil {
		return err
	}
	if metadata.Partitions == 0 {
		return broker.Refuse(broker.ErrNotFound, "Partitioned Topic not found: %s", name)
	}
	if !force {
		if err := h.refuseInUse(ctx, name, metadata.Partitions); err != nil {
			return err
		}
	}
	if err := h.broker.MarkPartitionedDeleted(name); err != nil {
		return err
	}
	query := url.Values{"force": {strconv.FormatBool(force)}}
	for index := range metadata.Partitions {
		err := h.callOwner(ctx, name.PartitionName(index), http.MethodDelete, "", query, nil)
		if err != nil && !errors.Is(err, broker.ErrNotFound) {
			return fmt.Errorf("partition %d: %w", index, err)
		}
	}
	return h.broker.RemovePartitionedMetadata(name)
}

func (h *handler) refuseInUse(ctx context.Context, name broker.TopicName, partitions int) error {
	for index := range partitions {
		var stats broker.TopicStats
		err := h.callOwner(ctx, name.PartitionName(index), http.MethodGet, "/stats", nil, &stats)
		if errors.Is(err, broker.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if len(stats.Publishers)+len(stats.Subscriptions) > 0 {
			return broker.Refuse(broker.ErrInUse, "%v: %s", broker.ErrInUse, name.PartitionName(index))
		}
	}
	return nil
}

type partitionedStats struct {
	broker.TopicStats
	Metadata   broker.PartitionedTopic      `json:"metadata"`
	Partitions map[string]broker.TopicStats `json:"partitions"`
}

func (h *handler) partitionedStats(c *gin.Context, name broker.TopicName) {
	metadata, err := h.broker.PartitionedTopic(name)
	if err == nil && metadata.Partitions == 0 {
		err = broker.Refuse(broker.ErrNotFound, "Partitioned Topic not found: %s", name)
	}
	if err != nil {
		fail(c, err)
		return
	}
	sum := partitionedStats{Metadata: metadata, Partitions: map[string]broker.TopicStats{}}
	sum.Subscriptions = map[string]broker.SubscriptionStats{}
	sum.Publishers = []broker.PublisherStats{}
	for index := range metadata.Partitions {
		partition := name.PartitionName(index)
		var one broker.TopicStats
		err := h.callOwner(c.Request.Context(), partition, http.MethodGet, "/stats", nil, &one)
		if errors.Is(err, broker.ErrNotFound) {
			continue
		}
		if err != nil {
			fail(c, err)
			return
		}
		sum.Partitions[partition.String()] = one
		addStats(&sum.TopicStats, one)
	}
	sum.TopicStats = without(c, sum.TopicStats)
	for partition, one := range sum.Partitions {
		sum.Partitions[partition] = without(c, one)
	}
	if !flag(c, "perPartition") && c.Query("perPartition") != "" {
		sum.Partitions = map[string]broker.TopicStats{}
	}
	c.JSON(http.StatusOK, sum)
}

func addStats(sum *broker.TopicStats, one broker.TopicStats) {
	sum.MsgRateIn += one.MsgRateIn
	sum.MsgRateOut += one.MsgRateOut
	sum.MsgThroughputIn += one.MsgThroughputIn
	sum.MsgThroughputOut += one.MsgThroughputOut
	sum.BytesInCounter += one.BytesInCounter
	sum.MsgInCounter += one.MsgInCounter
	sum.BytesOutCounter += one.BytesOutCounter
	sum.MsgOutCounter += one.MsgOutCounter
	sum.StorageSize += one.StorageSize
	sum.BacklogSize += one.BacklogSize
	sum.OffloadedSize += one.OffloadedSize
	sum.Publishers = append(sum.Publishers, one.Publishers...)
	for name, subscription := range one.Subscriptions {
		total, there := sum.Subscriptions[name]
		if !there {
			sum.Subscriptions[name] = subscription
			continue
		}
		total.MsgRateOut += subscription.MsgRateOut
		total.MsgThroughputOut += subscription.MsgThroughputOut
		total.BytesOutCounter += subscription.BytesOutCounter
		total.MsgOutCounter += subscription.MsgOutCounter
		total.MsgBacklog += subscription.MsgBacklog
		total.MsgBacklogNoDelayed += subscription.MsgBacklogNoDelayed
		total.BacklogSize += subscription.BacklogSize
		total.MsgDelayed += subscription.MsgDelayed
		total.UnackedMessages += subscription.UnackedMessages
		total.Consumers = append(total.Consumers, subscription.Consumers...)
		sum.Subscriptions[name] = total
	}
}

func (h *handler) partitionedInternalStats(c *gin.Context, name broker.TopicName) {
	metadata, err := h.broker.PartitionedTopic(name)
	if err == nil && metadata.Partitions == 0 {
		err = broker.Refuse(broker.ErrNotFound, "Partitioned Topic not found: %s", name)
	}
	if err != nil {
		fail(c, err)
		return
	}
	partitions := map[string]broker.InternalStats{}
	for index := range metadata.Partitions {
		partition := name.PartitionName(index)
		var one broker.InternalStats
		err := h.callOwner(c.Request.Context(), partition, http.MethodGet, "/internalStats", nil, &one)
		if errors.Is(err, broker.ErrNotFound) {
			continue
		}
		if err != nil {
			fail(c, err)
			return
		}
		partitions[partition.String()] = one
	}
	c.JSON(http.StatusOK, gin.H{"metadata": metadata, "partitions": partitions})
}

// unload closes a topic, or every partition of it, where it is served.
func (h *handler) unload(c *gin.Context, name broker.TopicName) {
	metadata, err := h.broker.PartitionedTopic(name)
	if err != nil {
		fail(c, err)
		return
	}
	if metadata.Partitions == 0 {
		h.onOwner(c, name, func() { done(c, h.broker.UnloadTopic(c.Request.Context(), name)) })
		return
	}
	for index := range metadata.Partitions {
		err := h.callOwner(c.Request.Context(), name.PartitionName(index), http.MethodPut, "/unload", nil, nil)
		if err != nil && !errors.Is(err, broker.ErrNotFound) {
			fail(c, err)
			return
		}
	}
	done(c, nil)
}
