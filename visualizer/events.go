package visualizer

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"twinlog/engine/sentence"
	"twinlog/engine/world"
	"twinlog/visualizer/hub"
	"twinlog/visualizer/wire"
)

// getCluster answers with the state now, or with an earlier one that the trace can be followed from.
func (s *Server) getCluster(c *gin.Context) {
	if _, given := c.GetQuery("from"); given {
		s.getClusterFrom(c)
		return
	}
	n, state, err := s.hub.Snapshot(c.Request.Context())
	if err != nil {
		refuseError(c, err)
		return
	}
	c.JSON(http.StatusOK, wire.ClusterState{N: n, State: state})
}

func (s *Server) getClusterFrom(c *gin.Context) {
	wanted, ok := recordAsked(c, "from")
	if !ok {
		return
	}
	n, state, err := s.hub.StateFrom(c.Request.Context(), wanted)
	if err != nil {
		refuseError(c, err)
		return
	}
	answerState(c, n, state)
}

// answerState answers with a state and the record that it is after.
func answerState(c *gin.Context, n uint64, state *world.State) {
	text, err := json.Marshal(state)
	if err != nil {
		refuseError(c, err)
		return
	}
	c.JSON(http.StatusOK, wire.ClusterState{N: n, State: text})
}

const (
	defaultEvents = 1000
	maxEvents     = 10_000
)

func (s *Server) getEvents(c *gin.Context) {
	after, limit, ok := eventsAsked(c)
	if !ok {
		return
	}
	records, bounds, err := s.hub.Records(c.Request.Context(), after, limit)
	if err != nil {
		refuseError(c, err)
		return
	}
	c.JSON(http.StatusOK, packedEvents{bounds, records})
}

// getNotable answers with the notable records up to one.
func (s *Server) getNotable(c *gin.Context) {
	upTo, ok := recordAsked(c, "upTo")
	if !ok {
		return
	}
	if _, given := c.GetQuery("upTo"); !given {
		upTo = math.MaxUint64
	}
	records, dropped, err := s.hub.Notable(c.Request.Context(), upTo)
	if err != nil {
		refuseError(c, err)
		return
	}
	c.JSON(http.StatusOK, packedNotables{records, dropped})
}

// packedNotables is a wire.NotableRecords whose records are JSON already.
type packedNotables struct {
	Records []hub.PackedNotable `json:"records"`
	Dropped uint64              `json:"dropped"`
}

// packedEvents is a wire.Events whose records are JSON already.
type packedEvents struct {
	Window  wire.Window       `json:"window"`
	Records []json.RawMessage `json:"records"`
}

// recordAsked reads the number of a record, 0 unless it is given, and refuses what is none.
func recordAsked(c *gin.Context, parameter string) (n uint64, ok bool) {
	n, err := strconv.ParseUint(c.DefaultQuery(parameter, "0"), 10, 64)
	if err != nil {
		refuse(c, http.StatusBadRequest, "badRequest", sentence.Of("notARecord", `{parameter} is the number of a record, not "{given}"`, parameter, c.Query(parameter)))
	}
	return n, err == nil
}

// eventsAsked reads what a request for records asks for, and refuses what makes no sense.
func eventsAsked(c *gin.Context) (after uint64, limit int, ok bool) {
	if after, ok = recordAsked(c, "after"); !ok {
		return 0, 0, false
	}
	limit, err := strconv.Atoi(c.DefaultQuery("limit", strconv.Itoa(defaultEvents)))
	if err != nil || limit < 1 || limit > maxEvents {
		refuse(c, http.StatusBadRequest, "badRequest", sentence.Of("notALimit", `limit is a number from 1 to {most}, not "{given}"`, maxEvents, c.Query("limit")))
		return 0, 0, false
	}
	return after, limit, true
}
