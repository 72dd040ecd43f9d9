package admin

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"twinlog/engine/pulsar/broker"
)

type lookupData struct {
	BrokerURL    string `json:"brokerUrl"`
	BrokerURLTLS string `json:"brokerUrlTls"`
	HTTPURL      string `json:"httpUrl"`
	HTTPURLTLS   string `json:"httpUrlTls"`
	NativeURL    string `json:"nativeUrl"`
	BrokerURLSSL string `json:"brokerUrlSsl"`
}

func (h *handler) routeLookup(group *gin.RouterGroup) {
	for _, domain := range []string{broker.Persistent, broker.NonPersistent} {
		group.GET("/topic/"+domain+"/:tenant/:namespace/:topic", func(c *gin.Context) { h.lookup(c, domain) })
		group.GET("/topic/"+domain+"/:tenant/:namespace/:topic/bundle", func(c *gin.Context) { h.bundleOf(c, domain) })
	}
}

func (h *handler) lookup(c *gin.Context, domain string) {
	name, err := topicName(c, domain)
	if err != nil {
		fail(c, err)
		return
	}
	found, err := h.broker.Lookup(c.Request.Context(), name, flag(c, "authoritative"), h.broker.ListenerOf(c.Request), "http")
	if err != nil {
		fail(c, err)
		return
	}
	if found.Result == broker.LookupRedirect {
		redirect(c, found.HTTPURL, found.Authoritative)
		return
	}
	c.JSON(http.StatusOK, lookupData{BrokerURL: found.PulsarURL, HTTPURL: found.HTTPURL, NativeURL: found.PulsarURL})
}

func (h *handler) bundleOf(c *gin.Context, domain string) {
	name, err := topicName(c, domain)
	if err != nil {
		fail(c, err)
		return
	}
	bundle, err := h.broker.BundleOf(name)
	if err != nil {
		fail(c, err)
		return
	}
	c.String(http.StatusOK, bundle.Range.String())
}
