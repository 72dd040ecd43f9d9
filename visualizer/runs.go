package visualizer

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"twinlog/visualizer/hub"
	"twinlog/visualizer/store"
	"twinlog/visualizer/wire"
)

// Runs is the part of store.Store that the server needs.
type Runs interface {
	Runs(ctx context.Context) ([]store.Run, error)
	// Chunk returns the first chunk of a run that holds a record after n; found is false at the run's end.
	Chunk(ctx context.Context, run string, n uint64) (chunk hub.Chunk, found bool, err error)
}

func (s *Server) hasRuns(c *gin.Context) bool {
	if s.config.Runs == nil {
		refuse(c, http.StatusNotImplemented, "notAvailable", "this process records no runs")
		return false
	}
	return true
}

func (s *Server) getRuns(c *gin.Context) {
	if !s.hasRuns(c) {
		return
	}
	runs, err := s.config.Runs.Runs(c.Request.Context())
	if err != nil {
		refuseError(c, err)
		return
	}
	c.JSON(http.StatusOK, store.RunList{Runs: runs})
}

// getRunEvents is getEvents on a recorded run. Where the run has a hole, records go on after it.
func (s *Server) getRunEvents(c *gin.Context) {
	if !s.hasRuns(c) {
		return
	}
	after, limit, ok := eventsAsked(c)
	if !ok {
		return
	}
	answer := packedEvents{Records: []json.RawMessage{}}
	last := after
	for len(answer.Records) < limit {
		chunk, found, err := s.config.Runs.Chunk(c.Request.Context(), c.Param("name"), last)
		if err != nil {
			refuseError(c, err)
			return
		}
		if !found {
			break
		}
		lines, err := chunk.Lines()
		if err != nil {
			refuseError(c, err)
			return
		}
		for i, line := range lines {
			if n := chunk.FirstN + uint64(i); n > after && len(answer.Records) < limit {
				answer.Records = append(answer.Records, line)
				last = n
			}
		}
	}
	answer.Window = wire.Window{FirstN: after + 1, LastN: last}
	c.JSON(http.StatusOK, answer)
}
