package visualizer

import (
	"context"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"twinlog/engine/cluster"
	"twinlog/engine/sentence"
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
		refuse(c, http.StatusNotFound, "unknownNode", sentence.Of("noSuchNode", `there is no node "{node}"`, name))
		return
	}
	ctx, cancel := acting(c)
	defer cancel()
	if force, err := strconv.ParseBool(c.DefaultQuery("force", "false")); err != nil {
		refuse(c, http.StatusBadRequest, "badRequest", sentence.Of("notForce", `force is true or false, not "{given}"`, c.Query("force")))
		return
	} else if !force {
		why, err := s.holds(ctx, node)
		if err != nil {
			refuseError(c, sentence.Error(nil, "holdsUnknown",
				"remove {node}: whether it holds data cannot be told, so it stays (force=true removes it all the same): {why}", name, err))
			return
		}
		if why.Key != "" {
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

// holds says what data a node has, and how to move it away; empty when it has none. It fails when that cannot be told.
func (s *Server) holds(ctx context.Context, node cluster.NodeStatus) (sentence.Sentence, error) {
	if err := s.hub.Settle(ctx); err != nil {
		return sentence.Sentence{}, err
	}
	state, _, err := s.hub.Observe(ctx)
	if err != nil {
		return sentence.Sentence{}, err
	}
	switch node.Role {
	case "kafka":
		if partitions := partitionsOn(state, int32(node.ID)); len(partitions) > 0 {
			return sentence.Of("holdsReplicas", "{node} holds replicas of {count} {count|partition|partitions} ({some}). Move them to the other brokers first: "+
				"POST kafka/reassignments with balance; or remove it with force=true and leave them with a replica less", node.Name, len(partitions), some(partitions)), nil
		}
	case "bookie":
		return s.bookieHolds(ctx, state, node)
	}
	return sentence.Sentence{}, nil
}

// bookieHolds asks the ensemble what a bookie is needed for, where the classroom can: what lies on its disk beside that is of ledgers that
// are deleted. Elsewhere it is what the trace told, and the disk.
func (s *Server) bookieHolds(ctx context.Context, state *world.State, node cluster.NodeStatus) (sentence.Sentence, error) {
	var ledgers []string
	finder, exact := s.config.Control.(cluster.LedgerFinder)
	if exact {
		ids, err := finder.LedgersOn(ctx, node.Name)
		if err != nil {
			return sentence.Sentence{}, err
		}
		for _, id := range ids {
			ledgers = append(ledgers, strconv.FormatInt(id, 10))
		}
	} else {
		ledgers = ledgersOn(state, node)
	}
	switch {
	case len(ledgers) > 0:
		return sentence.Of("holdsLedgers", "{node} holds entries of {count} {count|ledger|ledgers} ({some}). Without it they have a copy less. "+
			"Let retention delete them, or remove it with force=true", node.Name, len(ledgers), some(ledgers)), nil
	case exact:
		return sentence.Sentence{}, nil
	}
	return s.holdsEntries(ctx, node.Name)
}

// holdsEntries says what a bookie has that no ledger known here explains. The state knows the ledgers of topics that were loaded since the
// process started, and no others.
func (s *Server) holdsEntries(ctx context.Context, name string) (sentence.Sentence, error) {
	files, err := s.config.Control.Files(ctx, name)
	if err != nil {
		return sentence.Sentence{}, err
	}
	bytes := int64(0)
	for _, file := range files {
		if inside := strings.HasPrefix(file.Name, "entrylog/") || strings.HasPrefix(file.Name, "journal/"); inside && strings.HasSuffix(file.Name, ".log") {
			bytes += file.Bytes
		}
	}
	if bytes == 0 {
		return sentence.Sentence{}, nil
	}
	return sentence.Of("holdsEntries", "{node} has {bytes} {bytes|byte|bytes} of entries on its disk, and no ledger that this classroom has heard of since it started is known to be on it: "+
		"they are of topics that were not loaded since, or of ledgers that are deleted and not cleaned away yet. "+
		"Look a topic up to load it; when nobody needs them, remove it with force=true", name, bytes), nil
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

// ledgersOn are the ledgers that count on a bookie for entries: one of their ensembles names it, and is not known to have none. What the
// state saw it store says less: of a ledger from before the process started it saw nothing.
func ledgersOn(state *world.State, node cluster.NodeStatus) (ledgers []string) {
	isNode := func(bookie string) bool {
		known := state.Pulsar.Bookies[bookie]
		return known != nil && known.Node == node.Name || bookie == node.Addresses["bookie"] // one that is down since the start is not known
	}
	for id, ledger := range state.Pulsar.Ledgers {
		if slices.ContainsFunc(ledger.Ensembles, func(e world.LedgerEnsemble) bool {
			empty := ledger.State == "closed" && e.FirstEntry > ledger.LastEntry
			return !empty && slices.ContainsFunc(e.Bookies, isNode)
		}) {
			ledgers = append(ledgers, id)
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
