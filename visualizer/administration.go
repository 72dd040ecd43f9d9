package visualizer

import (
	"context"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"twinlog/engine/administration"
	"twinlog/engine/cluster"
	"twinlog/engine/sentence"
	"twinlog/visualizer/wire"
)

// Administration is the part of administration.Administrator that the server needs.
type Administration interface {
	CreateKafkaTopic(ctx context.Context, topic administration.KafkaTopic) (administration.KafkaTopic, error)
	DeleteKafkaTopic(ctx context.Context, topic string) error
	GrowKafkaTopic(ctx context.Context, topic string, partitions int) error
	ConfigureKafkaTopic(ctx context.Context, topic string, configs map[string]string) error
	Reassignments(ctx context.Context) ([]administration.MovingPartition, error)
	Reassign(ctx context.Context, wanted administration.Reassignment) ([]administration.MovingPartition, error)
	Elect(ctx context.Context, wanted administration.Election) ([]administration.Elected, error)
	ResetOffsets(ctx context.Context, group string, wanted administration.OffsetReset) ([]administration.CommittedOffset, error)
	CreatePulsarTopic(ctx context.Context, topic administration.PulsarTopic) (administration.PulsarTopic, error)
	DeletePulsarTopic(ctx context.Context, topic string) error
	ResetCursor(ctx context.Context, wanted administration.CursorReset) error
	OffloadTopic(ctx context.Context, wanted administration.Offload) (administration.Offloaded, error)
	UnloadBundle(ctx context.Context, wanted administration.PulsarBundle, destination string) error
	SplitBundle(ctx context.Context, wanted administration.PulsarBundle) error
}

func (s *Server) administrationTable() []route {
	return []route{
		{method: "POST", path: "/kafka/topics", about: "Creates a Kafka-mode topic", handle: s.postKafkaTopic, body: administration.KafkaTopic{},
			status: 201, answer: administration.KafkaTopic{}, problems: []int{409, 501}},
		{method: "PUT", path: "/kafka/topics/:name", about: "Gives a Kafka-mode topic more partitions, or other configs", handle: s.putKafkaTopic,
			body: wire.GrowTopic{}, status: 200, answer: wire.Done{}, problems: []int{404, 409, 501}},
		{method: "DELETE", path: "/kafka/topics/:name", about: "Deletes a Kafka-mode topic", handle: s.deleteKafkaTopic, status: 200,
			answer: wire.Done{}, problems: []int{404, 409, 501}},
		{method: "GET", path: "/kafka/reassignments", about: "The reassignments of partitions that are under way", handle: s.getReassignments, status: 200,
			answer: wire.Reassignments{}, problems: []int{501}},
		{method: "POST", path: "/kafka/reassignments", about: "Moves a partition to other brokers, spreads partitions evenly over brokers, or cancels a move",
			handle: s.postReassignment, body: administration.Reassignment{}, status: 202, answer: wire.Reassignments{}, problems: []int{404, 409, 501}},
		{method: "POST", path: "/kafka/elections", about: "Elects leaders: the preferred ones, or unclean ones where none else is left", handle: s.postElection,
			body: administration.Election{}, status: 200, answer: wire.Elections{}, problems: []int{404, 409, 501}},
		{method: "PUT", path: "/kafka/groups/:group/offsets", about: "Sets what a consumer group without members has committed", handle: s.putOffsets,
			body: administration.OffsetReset{}, status: 200, answer: wire.CommittedOffsets{}, problems: []int{404, 409, 501}},
		{method: "POST", path: "/pulsar/topics", about: "Creates a Pulsar-mode topic", handle: s.postPulsarTopic, body: administration.PulsarTopic{},
			status: 201, answer: administration.PulsarTopic{}, problems: []int{404, 409, 501}},
		{method: "DELETE", path: "/pulsar/topics", about: "Deletes a Pulsar-mode topic", handle: s.deletePulsarTopic,
			query:  []parameter{{"name", "orders, or persistent://public/default/orders", "string"}},
			status: 200, answer: wire.Done{}, problems: []int{404, 409, 501}},
		{method: "PUT", path: "/pulsar/cursors", about: "Moves a subscription's cursor to the beginning of what is stored, or past its end", handle: s.putCursor,
			body: administration.CursorReset{}, status: 200, answer: wire.Done{}, problems: []int{404, 409, 501}},
		{method: "POST", path: "/pulsar/offloads", about: "Copies closed ledgers of a topic to the medium of tiered storage", handle: s.postOffload,
			body: administration.Offload{}, status: 200, answer: administration.Offloaded{}, problems: []int{404, 409, 501}},
		{method: "POST", path: "/pulsar/bundles/:action", about: "unload a bundle, so that another broker owns it, or split it", handle: s.postBundleAction,
			body: administration.PulsarBundle{}, status: 200, answer: wire.Done{}, problems: []int{404, 409, 501}},
	}
}

// administer does what a request asks an administrator for. Body, when it is not nil, is read first.
func (s *Server) administer(c *gin.Context, status int, body any, do func(context.Context, Administration) (any, error)) {
	if s.config.Administration == nil {
		refuse(c, http.StatusNotImplemented, "notAvailable", sentence.Of("noAdministrator", "this process was started without an administrator of the clusters"))
		return
	}
	if body != nil && !readBody(c, body) {
		return
	}
	ctx, cancel := acting(c)
	defer cancel()
	answer, err := do(ctx, s.config.Administration)
	if err != nil {
		refuseError(c, err)
		return
	}
	c.JSON(status, answer)
}

func (s *Server) postKafkaTopic(c *gin.Context) {
	var topic administration.KafkaTopic
	s.administer(c, http.StatusCreated, &topic, func(ctx context.Context, admin Administration) (any, error) {
		return admin.CreateKafkaTopic(ctx, topic)
	})
}

func (s *Server) putKafkaTopic(c *gin.Context) {
	var change wire.GrowTopic
	name := c.Param("name")
	s.administer(c, http.StatusOK, &change, func(ctx context.Context, admin Administration) (any, error) {
		if change.Partitions == 0 && len(change.Configs) == 0 {
			return nil, sentence.Error(errBadRequest, "nothingToChange", "say what is to change: partitions, configs or both")
		}
		if change.Partitions != 0 {
			if err := admin.GrowKafkaTopic(ctx, name, change.Partitions); err != nil {
				return nil, err
			}
		}
		if len(change.Configs) > 0 {
			if err := admin.ConfigureKafkaTopic(ctx, name, change.Configs); err != nil {
				return nil, err
			}
		}
		return wire.Done{Done: "changed the topic " + name}, nil
	})
}

func (s *Server) deleteKafkaTopic(c *gin.Context) {
	s.administer(c, http.StatusOK, nil, func(ctx context.Context, admin Administration) (any, error) {
		return wire.Done{Done: "deleted the topic " + c.Param("name")}, admin.DeleteKafkaTopic(ctx, c.Param("name"))
	})
}

func (s *Server) getReassignments(c *gin.Context) {
	s.administer(c, http.StatusOK, nil, func(ctx context.Context, admin Administration) (any, error) {
		moving, err := admin.Reassignments(ctx)
		return wire.Reassignments{Reassignments: moving}, err
	})
}

func (s *Server) postReassignment(c *gin.Context) {
	var wanted administration.Reassignment
	s.administer(c, http.StatusAccepted, &wanted, func(ctx context.Context, admin Administration) (any, error) {
		moving, err := admin.Reassign(ctx, wanted)
		return wire.Reassignments{Reassignments: moving}, err
	})
}

func (s *Server) postElection(c *gin.Context) {
	var wanted administration.Election
	s.administer(c, http.StatusOK, &wanted, func(ctx context.Context, admin Administration) (any, error) {
		elected, err := admin.Elect(ctx, wanted)
		return wire.Elections{Elections: elected}, err
	})
}

func (s *Server) putOffsets(c *gin.Context) {
	var wanted administration.OffsetReset
	s.administer(c, http.StatusOK, &wanted, func(ctx context.Context, admin Administration) (any, error) {
		committed, err := admin.ResetOffsets(ctx, c.Param("group"), wanted)
		return wire.CommittedOffsets{Offsets: committed}, err
	})
}

func (s *Server) putCursor(c *gin.Context) {
	var wanted administration.CursorReset
	s.administer(c, http.StatusOK, &wanted, func(ctx context.Context, admin Administration) (any, error) {
		return wire.Done{Done: "moved the cursor of " + wanted.Subscription + " on " + wanted.Topic}, admin.ResetCursor(ctx, wanted)
	})
}

func (s *Server) postOffload(c *gin.Context) {
	var wanted administration.Offload
	s.administer(c, http.StatusOK, &wanted, func(ctx context.Context, admin Administration) (any, error) {
		return admin.OffloadTopic(ctx, wanted)
	})
}

func (s *Server) postPulsarTopic(c *gin.Context) {
	var topic administration.PulsarTopic
	s.administer(c, http.StatusCreated, &topic, func(ctx context.Context, admin Administration) (any, error) {
		return admin.CreatePulsarTopic(ctx, topic)
	})
}

func (s *Server) deletePulsarTopic(c *gin.Context) {
	s.administer(c, http.StatusOK, nil, func(ctx context.Context, admin Administration) (any, error) {
		return wire.Done{Done: "deleted the topic " + c.Query("name")}, admin.DeletePulsarTopic(ctx, c.Query("name"))
	})
}

var bundleActions = []string{"split", "unload"}

func (s *Server) postBundleAction(c *gin.Context) {
	var wanted administration.PulsarBundle
	s.administer(c, http.StatusOK, &wanted, func(ctx context.Context, admin Administration) (any, error) {
		switch c.Param("action") {
		case "split":
			return wire.Done{Done: "split the bundle " + wanted.Bundle}, admin.SplitBundle(ctx, wanted)
		case "unload":
			destination, err := s.brokerID(wanted.Destination)
			if err != nil {
				return nil, err
			}
			return wire.Done{Done: "unloaded the bundle " + wanted.Bundle}, admin.UnloadBundle(ctx, wanted, destination)
		}
		return nil, sentence.Error(errNotFound, "notABundleAction", `a bundle can split or unload, not "{given}"`, c.Param("action"))
	})
}

// brokerID is what Pulsar's load balancing calls a node: host:port of its HTTP service, where it is registered.
func (s *Server) brokerID(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	node, known := s.node(name)
	if !known || node.Role != "pulsar" {
		return "", sentence.Error(cluster.ErrUnknownNode, "noSuchPulsarBroker", `there is no Pulsar-mode broker "{node}"; destination is a node such as pulsar-2`, name)
	}
	if state, _, err := s.hub.Observe(context.Background()); err == nil {
		if broker := state.Pulsar.Brokers[name]; broker != nil && broker.Registered {
			return strings.TrimPrefix(broker.Broker, "http://"), nil
		}
	}
	return "", sentence.Error(cluster.ErrWrongState, "notRegistered", "{node} is not registered, so that it can own nothing; start it first", name)
}
