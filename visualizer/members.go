package visualizer

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"twinlog/engine/cluster"
	"twinlog/engine/world"
	"twinlog/visualizer/wire"
)

func (s *Server) postNode(c *gin.Context) {
	var wanted wire.AddNode
	if !readBody(c, &wanted) {
		return
	}
	ctx, cancel := acting(c)
	defer cancel()
	node, err := s.config.Control.Add(ctx, wanted.Role)
	if err != nil {
		refuseError(c, err)
		return
	}
	c.JSON(http.StatusCreated, presentNode(node))
}

// deleteNode removes a node. Without force it refuses what would lose data, or copies of it, without anybody noticing.
func (s *Server) deleteNode(c *gin.Context) {
	name := c.Param("name")
	node, known := s.node(name)
	if !known {
		refuse(c, http.StatusNotFound, "unknownNode", "there is no node "+quoteShort(name))
		return
	}
	ctx, cancel := acting(c)
	defer cancel()
	if force, err := strconv.ParseBool(c.DefaultQuery("force", "false")); err != nil {
		refuse(c, http.StatusBadRequest, "badRequest", "force is true or false, not "+quoteShort(c.Query("force")))
		return
	} else if !force {
		if why := s.holds(ctx, node); why != "" {
			refuse(c, http.StatusConflict, "holdsData", why)
			return
		}
	}
	if err := s.config.Control.Remove(ctx, name); err != nil {
		refuseError(c, err)
		return
	}
	node.State = cluster.StateStopped
	c.JSON(http.StatusOK, node)
}

// holds says what data a node has, and how to move it away; empty when it has none.
func (s *Server) holds(ctx context.Context, node cluster.NodeStatus) string {
	if err := s.hub.Settle(ctx); err != nil {
		return ""
	}
	state, _, err := s.hub.Observe(ctx)
	if err != nil {
		return ""
	}
	switch node.Role {
	case "kafka":
		if partitions := partitionsOn(state, int32(node.ID)); len(partitions) > 0 {
			return fmt.Sprintf("%s holds replicas of %d partitions (%s). Move them to the other brokers first: POST kafka/reassignments with balance; "+
				"or remove it with force=true and leave them with a replica less", node.Name, len(partitions), some(partitions))
		}
	case "bookie":
		if ledgers := ledgersOn(state, node.Name); len(ledgers) > 0 {
			return fmt.Sprintf("%s holds entries of %d ledgers (%s). Without it they have a copy less. Let retention delete them, or remove it with force=true",
				node.Name, len(ledgers), some(ledgers))
		}
	}
	return ""
}

// partitionsOn are the partitions that a broker is to hold a replica of.
func partitionsOn(state *world.State, broker int32) (partitions []string) {
	for name, topic := range state.Kafka.Topics {
		for number, partition := range topic.Partitions {
			if slices.Contains(partition.Replicas, broker) {
				partitions = append(partitions, name+"-"+number)
			}
		}
	}
	sort.Strings(partitions)
	return partitions
}

// ledgersOn are the ledgers of which a bookie holds entries.
func ledgersOn(state *world.State, node string) (ledgers []string) {
	for id, ledger := range state.Pulsar.Ledgers {
		for bookie, stored := range ledger.Stored {
			if known := state.Pulsar.Bookies[bookie]; known == nil || known.Node != node || stored.Entries == 0 {
				continue
			}
			if slices.ContainsFunc(ledger.Ensembles, func(e world.LedgerEnsemble) bool { return slices.Contains(e.Bookies, bookie) }) {
				ledgers = append(ledgers, id)
			}
		}
	}
	sort.Strings(ledgers)
	return ledgers
}

func some(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
