package visualizer

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"twinlog/engine/sentence"
	"twinlog/engine/situation"
	"twinlog/engine/world"
	"twinlog/visualizer/wire"
)

// Situations is the part of situation.Player that the server needs.
type Situations interface {
	List() []situation.Summary
	Last() *situation.Run
	Start(id string) (*situation.Run, error)
	Cancel(ctx context.Context) (*situation.Run, error)
}

func (s *Server) situationTable() []route {
	return []route{
		{method: "GET", path: "/situations", about: "The famous situations that can be played, and the run that is being played or was the last",
			handle: s.getSituations, status: 200, answer: wire.Situations{}, problems: []int{501}},
		{method: "POST", path: "/situations/:id", about: "Begins to play a situation; GET situations tells how far it is", handle: s.postSituation,
			status: 202, answer: situation.Run{}, problems: []int{404, 409, 501}},
		{method: "DELETE", path: "/situations", about: "Cancels the run, and puts right what it had done", handle: s.deleteSituation, status: 200,
			answer: situation.Run{}, problems: []int{409, 501}},
	}
}

func (s *Server) hasSituations(c *gin.Context) bool {
	if s.situations == nil {
		refuse(c, http.StatusNotImplemented, "notAvailable", sentence.Of("noSituations", "this process was started without situations"))
		return false
	}
	return true
}

func (s *Server) getSituations(c *gin.Context) {
	if s.hasSituations(c) {
		c.JSON(http.StatusOK, wire.Situations{Situations: s.situations.List(), Run: s.situations.Last()})
	}
}

func (s *Server) postSituation(c *gin.Context) {
	if !s.hasSituations(c) {
		return
	}
	run, err := s.situations.Start(c.Param("id"))
	if err != nil {
		refuseError(c, err)
		return
	}
	c.JSON(http.StatusAccepted, run)
}

func (s *Server) deleteSituation(c *gin.Context) {
	if !s.hasSituations(c) {
		return
	}
	ctx, cancel := acting(c)
	defer cancel()
	run, err := s.situations.Cancel(ctx)
	if err != nil {
		refuseError(c, err)
		return
	}
	c.JSON(http.StatusOK, run)
}

// observe is the state of the classroom now.
func (s *Server) observe(ctx context.Context) (*world.State, error) {
	state, _, err := s.hub.Observe(ctx)
	return state, err
}
