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

	"github.com/gin-gonic/gin"

	"twinlog/engine/pulsar/broker"
	"twinlog/engine/pulsar/bundle"
)

func (h *handler) routeNamespaces(group *gin.RouterGroup) {
	group.GET("/:tenant", func(c *gin.Context) {
		namespaces, err := h.broker.Namespaces(c.Param("tenant"))
		answer(c, namespaces, err)
	})
	ns := group.Group("/:tenant/:namespace")
	ns.GET("", func(c *gin.Context) {
		policies, err := h.broker.NamespacePolicies(namespaceName(c))
		answer(c, policies, namespaceError(err))
	})
	ns.PUT("", h.createNamespace)
	ns.DELETE("", h.deleteNamespace)
	ns.GET("/topics", h.namespaceTopics)
	ns.GET("/bundles", func(c *gin.Context) {
		policies, err := h.broker.NamespacePolicies(namespaceName(c))
		if err != nil {
			fail(c, namespaceError(err))
			return
		}
		bundles, _, err := h.broker.NamespaceBundles(namespaceName(c))
		_ = policies
		answer(c, broker.BundlesData{Boundaries: bundles.Boundaries(), NumBundles: bundles.Count()}, err)
	})
	ns.GET("/properties", h.namespaceProperties)
	ns.PUT("/properties", h.putNamespaceProperties)
	ns.DELETE("/properties", func(c *gin.Context) { done(c, h.setPolicy(namespaceName(c), "properties", nil)) })
	ns.PUT("/unload", h.unloadNamespace)
	ns.PUT("/:bundle/unload", func(c *gin.Context) {
		if h.sendTo(c) {
			h.onBundle(c, func(wanted broker.Bundle) error { return h.broker.UnloadBundle(c.Request.Context(), wanted) })
		}
	})
	ns.PUT("/:bundle/split", h.splitBundle)
	ns.GET("/:bundle/topicHashPositions", h.topicHashes)
	h.routePolicies(ns)
}

func namespaceError(err error) error {
	if errors.Is(err, broker.ErrNotFound) {
		return broker.Refuse(broker.ErrNotFound, "Namespace does not exist")
	}
	return err
}

// namespaceProperties are key-value pairs that only administrators use.
func (h *handler) namespaceProperties(c *gin.Context) {
	policies, err := h.broker.NamespacePolicies(namespaceName(c))
	properties := map[string]string{}
	if err == nil {
		if raw := policies.Field("properties"); raw != nil {
			err = json.Unmarshal(raw, &properties)
		}
	}
	answer(c, properties, namespaceError(err))
}

// putNamespaceProperties adds to the properties.
func (h *handler) putNamespaceProperties(c *gin.Context) {
	var added map[string]string
	if err := body(c, &added); err != nil {
		fail(c, err)
		return
	}
	done(c, namespaceError(h.broker.ChangePolicies(namespaceName(c), func(p *broker.Policies) error {
		properties := map[string]string{}
		if raw := p.Field("properties"); raw != nil {
			if err := json.Unmarshal(raw, &properties); err != nil {
				return err
			}
		}
		for key, value := range added {
			properties[key] = value
		}
		merged, err := json.Marshal(properties)
		if err != nil {
			return err
		}
		return p.SetField("properties", merged)
	})))
}

func (h *handler) createNamespace(c *gin.Context) {
	// The body is Policies, or the bundles alone, or nothing.
	raw, err := io.ReadAll(c.Request.Body)
	if err != nil {
		fail(c, err)
		return
	}
	var policies broker.Policies
	if text := strings.TrimSpace(string(raw)); text != "" && text != "null" {
		if err := decodeNamespace(raw, &policies); err != nil {
			fail(c, err)
			return
		}
	}
	err = h.broker.CreateNamespace(c.Param("tenant"), c.Param("namespace"), policies)
	if errors.Is(err, broker.ErrExists) {
		err = broker.Refuse(broker.ErrExists, "Namespace already exists")
	}
	done(c, err)
}

// deleteNamespace refuses a namespace with topics, unless forced; then the topics go first.
func (h *handler) deleteNamespace(c *gin.Context) {
	namespace := namespaceName(c)
	ctx := c.Request.Context()
	if flag(c, "force") {
		if err := h.deleteTopics(ctx, namespace); err != nil {
			fail(c, err)
			return
		}
	}
	if err := h.broker.RemoveNamespace(ctx, namespace); err != nil {
		fail(c, err)
		return
	}
	done(c, nil)
}

func (h *handler) deleteTopics(ctx context.Context, namespace string) error {
	for _, domain := range []string{broker.Persistent, broker.NonPersistent} {
		partitioned, err := h.broker.PartitionedTopics(namespace, domain)
		if err != nil {
			return err
		}
		for _, full := range partitioned {
			name, err := broker.ParseTopicName(full)
			if err != nil {
				continue
			}
			if err := h.deletePartitioned(ctx, name, true); err != nil {
				return err
			}
		}
	}
	topics, err := h.broker.TopicsOfNamespace(ctx, namespace, broker.PersistentTopics)
	if err != nil {
		return namespaceError(err)
	}
	for _, full := range topics {
		name, err := broker.ParseTopicName(full)
		if err != nil {
			continue
		}
		if err := h.callOwner(ctx, name, http.MethodDelete, "", url.Values{"force": {"true"}}, nil); err != nil && !errors.Is(err, broker.ErrNotFound) {
			return err
		}
	}
	return nil
}

func (h *handler) namespaceTopics(c *gin.Context) {
	mode := broker.TopicsMode(c.DefaultQuery("mode", string(broker.PersistentTopics)))
	switch mode {
	case broker.PersistentTopics, broker.NonPersistentTopics, broker.AllTopics:
	default:
		refuse(c, http.StatusBadRequest, "mode is PERSISTENT, NON_PERSISTENT or ALL")
		return
	}
	topics, err := h.broker.TopicsOfNamespace(c.Request.Context(), namespaceName(c), mode)
	answer(c, topics, err)
}

// unloadNamespace unloads every bundle, wherever it is. The leader of the load balancing does it, for it has promised bundles to brokers,
// and would send clients back there.
func (h *handler) unloadNamespace(c *gin.Context) {
	bundles, _, err := h.broker.NamespaceBundles(namespaceName(c))
	if err != nil {
		fail(c, namespaceError(err))
		return
	}
	for _, r := range bundles.Ranges() {
		one := broker.Bundle{Namespace: namespaceName(c), Range: r}
		leader, err := h.broker.PreferAny(one, h.broker.ListenerOf(c.Request))
		if err != nil {
			fail(c, err)
			return
		}
		if leader != "" && !isAuthoritative(c) {
			redirect(c, leader, true)
			return
		}
		owner, err := h.broker.BundleOwner(one, h.broker.PeerListener())
		switch {
		case err != nil:
		case owner == "":
		case owner == h.broker.HTTPURL(h.broker.PeerListener()):
			err = h.broker.UnloadBundle(c.Request.Context(), one)
		default:
			err = h.call(c.Request.Context(), http.MethodPut, owner+"/admin/v2/namespaces/"+one.Namespace+"/"+r.String()+"/unload?authoritative=true", nil)
		}
		if err != nil && !errors.Is(err, broker.ErrNotFound) {
			fail(c, err)
			return
		}
	}
	done(c, nil)
}

// isAuthoritative tells that another broker has sent the request here, and that it goes no further than to a bundle's owner: so it ends,
// even when the leader changes meanwhile.
func isAuthoritative(c *gin.Context) bool {
	is, err := strconv.ParseBool(c.Request.URL.Query().Get("authoritative"))
	return err == nil && is
}

// sendTo has the leader of the load balancing take note of where a bundle is to go, or that it may go anywhere, and reports whether the
// bundle may be unloaded here and now. Whoever is not the leader sends the caller there; the leader sends it on to the bundle's owner,
// with the destination taken out of the request.
func (h *handler) sendTo(c *gin.Context) bool {
	query := c.Request.URL.Query()
	destination := query.Get("destinationBroker")
	r, err := bundle.ParseRange(c.Param("bundle"))
	if err != nil {
		fail(c, err)
		return false
	}
	unloaded, leader := broker.Bundle{Namespace: namespaceName(c), Range: r}, ""
	switch {
	case destination != "":
		leader, err = h.broker.Prefer(c.Request.Context(), unloaded, destination, h.broker.ListenerOf(c.Request))
	case isAuthoritative(c):
		return true
	default:
		leader, err = h.broker.PreferAny(unloaded, h.broker.ListenerOf(c.Request))
	}
	if err != nil {
		fail(c, err)
		return false
	}
	if leader != "" {
		redirect(c, leader, false)
		return false
	}
	query.Del("destinationBroker")
	query.Set("authoritative", "true")
	c.Request.URL.RawQuery = query.Encode()
	return true
}

// onBundle lets the bundle's owner act. A bundle without owner needs no action.
func (h *handler) onBundle(c *gin.Context, act func(broker.Bundle) error) {
	r, err := bundle.ParseRange(c.Param("bundle"))
	if err != nil {
		fail(c, err)
		return
	}
	wanted := broker.Bundle{Namespace: namespaceName(c), Range: r}
	bundles, _, err := h.broker.NamespaceBundles(wanted.Namespace)
	if err != nil {
		fail(c, namespaceError(err))
		return
	}
	if !bundles.Has(r) {
		fail(c, fmt.Errorf("%w: %v", bundle.ErrUnknownBundle, wanted))
		return
	}
	listener := h.broker.ListenerOf(c.Request)
	owner, err := h.broker.BundleOwner(wanted, listener)
	switch {
	case err != nil:
		fail(c, err)
	case owner == "":
		done(c, nil)
	case owner == h.broker.HTTPURL(listener):
		done(c, act(wanted))
	default:
		redirect(c, owner, isAuthoritative(c))
	}
}

func (h *handler) splitBundle(c *gin.Context) {
	var positions []int64
	if err := body(c, &positions); err != nil {
		fail(c, err)
		return
	}
	cuts := make([]uint32, 0, len(positions))
	for _, position := range positions {
		if position < 0 || position > 0xffffffff {
			refuse(c, http.StatusBadRequest, "a split position is not inside the hash space: "+strconv.FormatInt(position, 10))
			return
		}
		cuts = append(cuts, uint32(position))
	}
	h.onBundle(c, func(parent broker.Bundle) error {
		return h.broker.SplitBundle(c.Request.Context(), parent, c.Query("splitAlgorithmName"), cuts, flag(c, "unload"))
	})
}

func (h *handler) topicHashes(c *gin.Context) {
	r, err := bundle.ParseRange(c.Param("bundle"))
	if err != nil {
		fail(c, err)
		return
	}
	wanted := broker.Bundle{Namespace: namespaceName(c), Range: r}
	c.JSON(http.StatusOK, gin.H{
		"namespace": wanted.Namespace, "bundle": r.String(), "topicHashPositions": h.broker.TopicHashes(wanted),
	})
}

// callOwner asks a topic's owner, wherever it is, to do what its own admin interface does.
func (h *handler) callOwner(ctx context.Context, name broker.TopicName, method, path string, query url.Values, result any) error {
	listener := h.broker.PeerListener()
	found, err := h.broker.Lookup(ctx, name, false, listener, "")
	if err != nil {
		return err
	}
	base := found.HTTPURL
	target := base + "/admin/v2/" + name.Domain + "/" + name.NamespaceName() + "/" + url.PathEscape(name.Local) + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	return h.call(ctx, method, target, result)
}
