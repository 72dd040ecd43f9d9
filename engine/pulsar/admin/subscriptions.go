package admin

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"twinlog/engine/pulsar/broker"
	"twinlog/engine/pulsar/managedledger"
)

type topicRoute func(func(*gin.Context, broker.TopicName)) gin.HandlerFunc

func (h *handler) routeSubscriptions(topic *gin.RouterGroup, named, owned topicRoute) {
	topic.GET("/subscriptions", named(h.subscriptions))
	sub := topic.Group("/subscription/:subscription")
	// each applies an operation to a topic, or to every partition of it.
	each := func(act func(*gin.Context, broker.TopicName) error) gin.HandlerFunc {
		return named(func(c *gin.Context, name broker.TopicName) { h.eachPartition(c, name, act) })
	}
	sub.PUT("", each(h.createSubscription))
	sub.DELETE("", each(func(c *gin.Context, name broker.TopicName) error {
		return h.broker.DeleteSubscription(c.Request.Context(), name, c.Param("subscription"), flag(c, "force"))
	}))
	sub.POST("/resetcursor", owned(func(c *gin.Context, name broker.TopicName) {
		position, _, err := positionBody(c)
		if err == nil {
			err = h.broker.SeekSubscription(c.Request.Context(), name, c.Param("subscription"), &position, time.Time{})
		}
		done(c, err)
	}))
	sub.POST("/resetcursor/:timestamp", each(func(c *gin.Context, name broker.TopicName) error {
		at, err := number(c, "timestamp")
		if err != nil {
			return err
		}
		return h.broker.SeekSubscription(c.Request.Context(), name, c.Param("subscription"), nil, time.UnixMilli(at))
	}))
	sub.POST("/skip/:count", owned(func(c *gin.Context, name broker.TopicName) {
		count, err := number(c, "count")
		if err == nil && count < 0 {
			err = broker.Refuse(broker.ErrBadRequest, "%d messages cannot be skipped", count)
		}
		if err == nil {
			err = h.broker.SkipMessages(c.Request.Context(), name, c.Param("subscription"), count)
		}
		done(c, err)
	}))
	sub.POST("/skip_all", each(func(c *gin.Context, name broker.TopicName) error {
		return h.broker.SkipMessages(c.Request.Context(), name, c.Param("subscription"), -1)
	}))
	expire := func(c *gin.Context, name broker.TopicName) error {
		seconds, err := number(c, "seconds")
		if err != nil {
			return err
		}
		return h.broker.ExpireMessages(c.Request.Context(), name, c.Param("subscription"), time.Duration(seconds)*time.Second)
	}
	sub.POST("/expireMessages/:seconds", each(expire))
	topic.POST("/all_subscription/expireMessages/:seconds", each(expire))
}

// eachPartition applies an operation at the topic's owner, or sends the same request to the owner of each partition.
func (h *handler) eachPartition(c *gin.Context, name broker.TopicName, act func(*gin.Context, broker.TopicName) error) {
	metadata, err := h.broker.PartitionedTopic(name)
	if err != nil {
		fail(c, err)
		return
	}
	if metadata.Partitions == 0 {
		h.onOwner(c, name, func() { done(c, act(c, name)) })
		return
	}
	_, path, _ := strings.Cut(c.Request.URL.EscapedPath(), "/"+c.Param("namespace")+"/")
	_, path, _ = strings.Cut(path, "/")
	for index := range metadata.Partitions {
		err := h.callOwner(c.Request.Context(), name.PartitionName(index), c.Request.Method, "/"+path, c.Request.URL.Query(), nil)
		if err != nil {
			fail(c, err)
			return
		}
	}
	done(c, nil)
}

func (h *handler) subscriptions(c *gin.Context, name broker.TopicName) {
	metadata, err := h.broker.PartitionedTopic(name)
	if err != nil {
		fail(c, err)
		return
	}
	if metadata.Partitions == 0 {
		h.onOwner(c, name, func() {
			names, err := h.broker.Subscriptions(c.Request.Context(), name)
			answer(c, names, err)
		})
		return
	}
	var names []string
	err = h.callOwner(c.Request.Context(), name.PartitionName(0), http.MethodGet, "/subscriptions", nil, &names)
	answer(c, names, err)
}

func (h *handler) createSubscription(c *gin.Context, name broker.TopicName) error {
	position, given, err := positionBody(c)
	if err != nil {
		return err
	}
	if !given {
		position = managedledger.Latest
	}
	return h.broker.CreateSubscription(c.Request.Context(), name, c.Param("subscription"), position, nil)
}

// positionBody reads a message id: an object, or the word earliest or latest. IsExcluded means the message after it.
func positionBody(c *gin.Context) (position managedledger.Position, given bool, err error) {
	raw, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return position, false, err
	}
	switch strings.Trim(strings.TrimSpace(string(raw)), `"`) {
	case "", "null":
		return managedledger.Latest, false, nil
	case "earliest":
		return managedledger.Earliest, true, nil
	case "latest":
		return managedledger.Latest, true, nil
	}
	var id struct {
		Ledger   int64 `json:"ledgerId"`
		Entry    int64 `json:"entryId"`
		Excluded bool  `json:"isExcluded"`
	}
	if err := json.Unmarshal(raw, &id); err != nil {
		return position, false, broker.Refuse(broker.ErrBadRequest, "the body is no message id")
	}
	position = managedledger.Position{Ledger: id.Ledger, Entry: id.Entry}
	if id.Excluded && id.Ledger >= 0 && position != managedledger.Latest {
		position.Entry++
	}
	return position, true, nil
}

// sendMessage answers the stored payload, and its metadata in headers.
func sendMessage(c *gin.Context, message broker.StoredMessage, err error) {
	if err != nil {
		fail(c, err)
		return
	}
	c.Header("X-Pulsar-Message-ID", message.Position.String())
	c.Header("X-Pulsar-publish-time", message.Published.Format(time.RFC3339Nano))
	c.Header("X-Pulsar-producer-name", message.Producer)
	if message.Batch > 0 {
		c.Header("X-Pulsar-num-batch-message", strconv.Itoa(message.Batch))
	}
	if len(message.Properties) > 0 {
		if properties, err := json.Marshal(message.Properties); err == nil {
			c.Header("X-Pulsar-PROPERTY", string(properties))
		}
	}
	c.Data(http.StatusOK, "application/octet-stream", message.Payload)
}
