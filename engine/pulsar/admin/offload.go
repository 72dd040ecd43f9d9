package admin

import (
	"github.com/gin-gonic/gin"

	"twinlog/engine/pulsar/broker"
	"twinlog/engine/pulsar/managedledger"
)

// offloadStatus is Pulsar's OffloadProcessStatus.
type offloadStatus struct {
	Status    string `json:"status"` // NOT_RUN, RUNNING, SUCCESS, ERROR
	LastError string `json:"lastError"`
	// FirstUnoffloaded is, after SUCCESS, the first message that is in bookies alone.
	FirstUnoffloaded *messageIDAnswer `json:"firstUnoffloadedMessage,omitempty"`
}

// routeOffload is tiered storage: copy what lies before a message id to the medium, and ask how it goes.
func (h *handler) routeOffload(topic *gin.RouterGroup, owned topicRoute) {
	topic.PUT("/offload", owned(func(c *gin.Context, name broker.TopicName) {
		before, given, err := positionBody(c)
		if err == nil && !given {
			err = broker.Refuse(broker.ErrBadRequest, "messageId is null")
		}
		if err == nil {
			err = h.broker.OffloadTopic(c.Request.Context(), name, before)
		}
		done(c, err)
	}))
	topic.GET("/offload", owned(func(c *gin.Context, name broker.TopicName) {
		found, err := h.broker.OffloadStatus(c.Request.Context(), name)
		status := offloadStatus{Status: found.State, LastError: found.Error}
		if found.State == managedledger.OffloadSuccess {
			first := messageID(found.FirstInBookies, name, -1)
			status.FirstUnoffloaded = &first
		}
		answer(c, status, err)
	}))
}
