package visualizer

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"twinlog/visualizer/wire"
)

// getCluster answers with the state now, or with an earlier one that the trace can be followed from.
func (s *Server) getCluster(c *gin.Context) {
	if from, given := c.GetQuery("from"); given {
		s.getClusterFrom(c, from)
		return
	}
	n, state, err := s.hub.Snapshot(c.Request.Context())
	if err != nil {
		refuseError(c, err)
		return
	}
	c.JSON(http.StatusOK, wire.ClusterState{N: n, State: state})
}

func (s *Server) getClusterFrom(c *gin.Context, from string) {
	wanted, err := strconv.ParseUint(from, 10, 64)
	if err != nil {
		refuse(c, http.StatusBadRequest, "badRequest", "from is the number of a record, not "+quoteShort(from))
		return
	}
	n, state, err := s.hub.StateFrom(c.Request.Context(), wanted)
	if err != nil {
		refuseError(c, err)
		return
	}
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

// packedEvents is a wire.Events whose records are JSON already.
type packedEvents struct {
	Window  wire.Window       `json:"window"`
	Records []json.RawMessage `json:"records"`
}

// eventsAsked reads what a request for records asks for, and refuses what makes no sense.
func eventsAsked(c *gin.Context) (after uint64, limit int, ok bool) {
	after, err := strconv.ParseUint(c.DefaultQuery("after", "0"), 10, 64)
	if err != nil {
		refuse(c, http.StatusBadRequest, "badRequest", "after is the n of a record, not "+quoteShort(c.Query("after")))
		return 0, 0, false
	}
	limit, err = strconv.Atoi(c.DefaultQuery("limit", strconv.Itoa(defaultEvents)))
	if err != nil || limit < 1 || limit > maxEvents {
		refuse(c, http.StatusBadRequest, "badRequest", "limit is a number from 1 to "+strconv.Itoa(maxEvents)+", not "+quoteShort(c.Query("limit")))
		return 0, 0, false
	}
	return after, limit, true
}
