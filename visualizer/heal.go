package visualizer

import (
	"context"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"

	"twinlog/engine/cluster"
	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/visualizer/wire"
)

func (s *Server) postHeal(c *gin.Context) {
	ctx, cancel := acting(c)
	defer cancel()
	c.JSON(http.StatusOK, s.heal(ctx))
}

// heal puts everything right: links and disks first, so that nodes that go on or start find them healthy.
func (s *Server) heal(ctx context.Context) wire.Healed {
	control := s.config.Control
	healed := wire.Healed{Links: []wire.Link{}, Disks: []string{}, Resumed: []string{}, Started: []string{}, Failed: []string{}, Problems: []wire.ProblemError{}}
	for _, link := range s.links().Links {
		if err := control.SetLink(link.From, link.To, fabric.Link{}); err != nil {
			healed.Fail(problemOf(err))
			continue
		}
		healed.Links = append(healed.Links, link)
	}
	for _, rule := range control.Disks() {
		if err := control.SetDisk(ctx, rule.Node, disk.Fault{}); err != nil {
			healed.Fail(problemOf(err))
			continue
		}
		healed.Disks = append(healed.Disks, rule.Node)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, node := range control.Nodes() {
		var act func(context.Context, string) error
		var into *[]string
		switch node.State {
		case cluster.StatePaused:
			act, into = control.Resume, &healed.Resumed
		case cluster.StateStopped, cluster.StateKilled, cluster.StateFailed:
			act, into = control.Start, &healed.Started
		default:
			continue
		}
		all.Go(func() {
			err := act(ctx, node.Name)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				healed.Fail(problemOf(err))
				return
			}
			*into = append(*into, node.Name)
		})
	}
	all.Wait()
	return healed
}
