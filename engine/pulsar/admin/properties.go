package admin

import (
	"github.com/gin-gonic/gin"

	"twinlog/engine/pulsar/broker"
)

// A topic's properties are key-value pairs of its own. Those of a partitioned topic belong to the whole; those of any other are with
// its managed ledger, at its owner.

func (h *handler) topicProperties(c *gin.Context, name broker.TopicName) {
	metadata, err := h.broker.PartitionedTopic(name)
	if err != nil {
		fail(c, err)
		return
	}
	if metadata.Partitions > 0 {
		answer(c, orEmpty(metadata.Properties), nil)
		return
	}
	h.onOwner(c, name, func() {
		properties, err := h.broker.TopicProperties(c.Request.Context(), name)
		answer(c, orEmpty(properties), err)
	})
}

func orEmpty(properties map[string]string) map[string]string {
	if properties == nil {
		return map[string]string{}
	}
	return properties
}

func (h *handler) putTopicProperties(c *gin.Context, name broker.TopicName) {
	var added map[string]string
	if err := body(c, &added); err != nil {
		fail(c, err)
		return
	}
	h.changeTopicProperties(c, name, func(properties map[string]string) {
		for key, value := range added {
			properties[key] = value
		}
	})
}

func (h *handler) deleteTopicProperty(c *gin.Context, name broker.TopicName) {
	key := c.Query("key")
	h.changeTopicProperties(c, name, func(properties map[string]string) { delete(properties, key) })
}

func (h *handler) changeTopicProperties(c *gin.Context, name broker.TopicName, change func(map[string]string)) {
	metadata, err := h.broker.PartitionedTopic(name)
	if err != nil {
		fail(c, err)
		return
	}
	if metadata.Partitions > 0 {
		done(c, h.broker.ChangePartitionedProperties(name, change))
		return
	}
	h.onOwner(c, name, func() { done(c, h.broker.ChangeTopicProperties(c.Request.Context(), name, change)) })
}
