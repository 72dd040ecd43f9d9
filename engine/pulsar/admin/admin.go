// Package admin is a Pulsar-mode broker's HTTP surface: topic lookup and the admin REST interface, with Pulsar's paths, bodies and
// statuses. What concerns one topic or bundle is answered by its owner; other brokers redirect to it with 307.
package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"twinlog/engine/pulsar/broker"
)

// maxBody bounds what a caller may send.
const maxBody = 1 << 20

// handler answers the requests to one broker.
type handler struct {
	broker *broker.Broker
}

// Handler is the HTTP surface of a broker; it is what broker.Config.Admin wants.
func Handler(b *broker.Broker) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.UseRawPath = true // a topic's name may hold an escaped slash
	engine.UnescapePathValues = true
	engine.RedirectTrailingSlash = false
	engine.HandleMethodNotAllowed = true
	engine.Use(gin.CustomRecoveryWithWriter(io.Discard, func(c *gin.Context, _ any) {
		refuse(c, http.StatusInternalServerError, "the request could not be answered")
	}))
	engine.NoRoute(func(c *gin.Context) { refuse(c, http.StatusNotFound, "no such resource: "+c.Request.URL.Path) })
	engine.NoMethod(func(c *gin.Context) { refuse(c, http.StatusMethodNotAllowed, "not allowed for "+c.Request.URL.Path) })
	engine.Use(func(c *gin.Context) { c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, maxBody) })
	engine.Use(refuseForeignPages)
	h := &handler{broker: b}
	h.routeLookup(engine.Group("/lookup/v2"))
	v2 := engine.Group("/admin/v2")
	h.routeClusters(v2.Group("/clusters"))
	h.routeBrokers(v2)
	h.routeTenants(v2.Group("/tenants"))
	h.routeNamespaces(v2.Group("/namespaces"))
	h.routeSchemas(v2.Group("/schemas"))
	for _, domain := range []string{broker.Persistent, broker.NonPersistent} {
		h.routeTopics(v2.Group("/"+domain), domain)
	}
	return engine
}

// refuseForeignPages refuses what a page of another site makes a browser send: there is no authentication that would tell it from a
// student. Clients that are no browser send no Origin.
func refuseForeignPages(c *gin.Context) {
	origin := c.GetHeader("Origin")
	if origin == "" {
		return
	}
	if page, err := url.Parse(origin); err != nil || page.Host != c.Request.Host {
		refuse(c, http.StatusForbidden, fmt.Sprintf("requests of pages at %q are not served", origin))
	}
}

// refuse answers an error the way Pulsar does.
func refuse(c *gin.Context, status int, reason string) {
	c.AbortWithStatusJSON(status, gin.H{"reason": reason})
}

func fail(c *gin.Context, err error) {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		refuse(c, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", tooLarge.Limit))
		return
	}
	refuse(c, broker.HTTPStatus(err), err.Error())
}

// done answers 204, or the error.
func done(c *gin.Context, err error) {
	if err != nil {
		fail(c, err)
		return
	}
	c.Status(http.StatusNoContent)
	c.Writer.WriteHeaderNow()
}

// answer sends a value as JSON, or the error.
func answer(c *gin.Context, value any, err error) {
	if err != nil {
		fail(c, err)
		return
	}
	c.JSON(http.StatusOK, value)
}

// body decodes a JSON body. An empty one, and null, leave the value as it is.
func body(c *gin.Context, value any) error {
	raw, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return fmt.Errorf("reading the body: %w", err)
	}
	if len(strings.TrimSpace(string(raw))) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw, value); err != nil {
		return fmt.Errorf("%w: the body is not the JSON that is expected: %w", broker.ErrBadRequest, err)
	}
	return nil
}

func flag(c *gin.Context, name string) bool {
	value, err := strconv.ParseBool(c.Query(name))
	return err == nil && value
}

func number(c *gin.Context, parameter string) (int64, error) {
	value, err := strconv.ParseInt(c.Param(parameter), 10, 64)
	if err != nil {
		return 0, broker.Refuse(broker.ErrBadRequest, "%q is not a number", c.Param(parameter))
	}
	return value, nil
}

// topicName is the topic of the path.
func topicName(c *gin.Context, domain string) (broker.TopicName, error) {
	return broker.ParseTopicName(domain + "://" + c.Param("tenant") + "/" + c.Param("namespace") + "/" + c.Param("topic"))
}

func namespaceName(c *gin.Context) string { return c.Param("tenant") + "/" + c.Param("namespace") }

// onOwner lets the owner of a topic's bundle act: this broker, if it is the owner or becomes it, or another one by redirect.
func (h *handler) onOwner(c *gin.Context, name broker.TopicName, act func()) {
	listener := h.broker.ListenerOf(c.Request)
	found, err := h.broker.Lookup(c.Request.Context(), name, flag(c, "authoritative"), listener, "")
	if err != nil {
		fail(c, err)
		return
	}
	if found.Result == broker.LookupConnect && found.HTTPURL == h.broker.HTTPURL(listener) {
		act()
		return
	}
	redirect(c, found.HTTPURL, found.Authoritative)
}

// redirect sends the caller to another broker with the same request.
func redirect(c *gin.Context, base string, authoritative bool) {
	query := c.Request.URL.Query()
	query.Set("authoritative", strconv.FormatBool(authoritative))
	target := base + c.Request.URL.EscapedPath() + "?" + query.Encode()
	if _, err := url.Parse(target); err != nil {
		refuse(c, http.StatusInternalServerError, err.Error())
		return
	}
	c.Header("Location", target)
	c.Status(http.StatusTemporaryRedirect)
	c.Writer.WriteHeaderNow()
}
