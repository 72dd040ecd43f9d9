package admin

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"twinlog/engine/pulsar/broker"
)

func (h *handler) routeClusters(group *gin.RouterGroup) {
	group.GET("", func(c *gin.Context) {
		clusters, err := h.broker.Clusters()
		answer(c, clusters, err)
	})
	group.GET("/:cluster", func(c *gin.Context) {
		data, err := h.broker.ClusterData(c.Param("cluster"))
		answer(c, data, err)
	})
	put := func(update bool) gin.HandlerFunc {
		return func(c *gin.Context) {
			var data broker.ClusterData
			if err := body(c, &data); err != nil {
				fail(c, err)
				return
			}
			done(c, h.broker.PutCluster(c.Param("cluster"), data, update))
		}
	}
	group.PUT("/:cluster", put(false))
	group.POST("/:cluster", put(true))
	group.DELETE("/:cluster", func(c *gin.Context) { done(c, h.broker.DeleteCluster(c.Param("cluster"))) })
}

func (h *handler) routeTenants(group *gin.RouterGroup) {
	group.GET("", func(c *gin.Context) {
		tenants, err := h.broker.Tenants()
		answer(c, tenants, err)
	})
	group.GET("/:tenant", func(c *gin.Context) {
		tenant, err := h.broker.Tenant(c.Param("tenant"))
		answer(c, tenant, err)
	})
	put := func(update bool) gin.HandlerFunc {
		return func(c *gin.Context) {
			var tenant broker.Tenant
			if err := body(c, &tenant); err != nil {
				fail(c, err)
				return
			}
			done(c, h.broker.PutTenant(c.Param("tenant"), tenant, update))
		}
	}
	group.PUT("/:tenant", put(false))
	group.POST("/:tenant", put(true))
	group.DELETE("/:tenant", func(c *gin.Context) { done(c, h.broker.DeleteTenant(c.Param("tenant"))) })
}

func (h *handler) routeBrokers(v2 *gin.RouterGroup) {
	list := func(c *gin.Context) {
		brokers, err := h.broker.Brokers()
		answer(c, brokers, err)
	}
	group := v2.Group("/brokers")
	group.GET("", list)
	group.GET("/:cluster", func(c *gin.Context) {
		if c.Param("cluster") != h.broker.Cluster() {
			refuse(c, http.StatusNotFound, "Cluster does not exist: "+c.Param("cluster"))
			return
		}
		list(c)
	})
	group.GET("/leaderBroker", func(c *gin.Context) {
		leader, err := h.broker.Leader()
		answer(c, leader, err)
	})
	group.GET("/configuration/runtime", func(c *gin.Context) { c.JSON(http.StatusOK, h.broker.RuntimeConfiguration()) })
	group.GET("/version", func(c *gin.Context) { c.String(http.StatusOK, broker.ServerVersion) })
	group.GET("/ready", func(c *gin.Context) { c.String(http.StatusOK, "ok") })
	group.GET("/health", h.health)
	group.GET("/:cluster/:broker/ownedNamespaces", h.ownedNamespaces)
	v2.GET("/broker-stats/load-report", func(c *gin.Context) {
		data, err := h.broker.BrokerData(h.broker.ID())
		answer(c, data, err)
	})
	v2.GET("/bookies/racks-info", func(c *gin.Context) { c.JSON(http.StatusOK, gin.H{}) })
}

// health is true when the broker reaches ZooKeeper and is registered there.
func (h *handler) health(c *gin.Context) {
	if _, err := h.broker.BrokerData(h.broker.ID()); err != nil {
		refuse(c, http.StatusServiceUnavailable, "the broker is not registered: "+err.Error())
		return
	}
	c.String(http.StatusOK, "ok")
}

type ownedStatus struct {
	Assignment string `json:"broker_assignment"`
	Controlled bool   `json:"is_controlled"`
	Active     bool   `json:"is_active"`
}

func (h *handler) ownedNamespaces(c *gin.Context) {
	if c.Param("broker") != h.broker.ID() {
		data, err := h.broker.BrokerData(c.Param("broker"))
		if err != nil {
			fail(c, err)
			return
		}
		redirect(c, strings.TrimSuffix(data.WebServiceURL, "/"), false)
		return
	}
	owned := map[string]ownedStatus{}
	for _, bundle := range h.broker.OwnedBundles() {
		owned[bundle.String()] = ownedStatus{Assignment: "shared", Active: true}
	}
	c.JSON(http.StatusOK, owned)
}
