package visualizer

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"twinlog/engine/sentence"
	"twinlog/engine/workload"
	"twinlog/visualizer/wire"
)

// hasWorkloads answers 501 where this process runs no demo clients.
func (s *Server) hasWorkloads(c *gin.Context) bool {
	if s.config.Workloads == nil {
		refuse(c, http.StatusNotImplemented, "notAvailable", sentence.Of("noWorkloads", "this process was started without demo workloads"))
		return false
	}
	return true
}

func (s *Server) getWorkloads(c *gin.Context) {
	if !s.hasWorkloads(c) {
		return
	}
	answer := wire.Workloads{Workloads: s.config.Workloads.List()}
	if answer.Workloads == nil {
		answer.Workloads = []workload.Status{}
	}
	c.JSON(http.StatusOK, answer)
}

func (s *Server) postWorkload(c *gin.Context) {
	var spec workload.Spec
	if !s.hasWorkloads(c) || !readBody(c, &spec) {
		return
	}
	ctx, cancel := acting(c)
	defer cancel()
	status, err := s.config.Workloads.Start(ctx, spec)
	if err != nil {
		refuseError(c, err)
		return
	}
	c.JSON(http.StatusCreated, status)
}

func (s *Server) deleteWorkload(c *gin.Context) {
	if !s.hasWorkloads(c) {
		return
	}
	ctx, cancel := acting(c)
	defer cancel()
	status, err := s.config.Workloads.Stop(ctx, c.Param("id"))
	if err != nil {
		refuseError(c, err)
		return
	}
	c.JSON(http.StatusOK, status)
}

func (s *Server) putWorkload(c *gin.Context) {
	var change workload.Change
	if !s.hasWorkloads(c) || !readBody(c, &change) {
		return
	}
	status, err := s.config.Workloads.Change(c.Request.Context(), c.Param("id"), change)
	if err != nil {
		refuseError(c, err)
		return
	}
	c.JSON(http.StatusOK, status)
}
