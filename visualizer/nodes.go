package visualizer

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"twinlog/engine/cluster"
	"twinlog/engine/fabric"
	"twinlog/engine/sentence"
	"twinlog/visualizer/wire"
)

func (s *Server) getNodes(c *gin.Context) {
	answer := wire.Nodes{Nodes: []cluster.NodeStatus{}}
	for _, node := range s.config.Control.Nodes() {
		answer.Nodes = append(answer.Nodes, presentNode(node))
	}
	c.JSON(http.StatusOK, answer)
}

func presentNode(node cluster.NodeStatus) cluster.NodeStatus {
	if node.Addresses == nil {
		node.Addresses = map[string]string{}
	}
	return node
}

var nodeActions = []string{"crash", "kill", "pause", "resume", "start", "stop"}

func (s *Server) postNodeAction(c *gin.Context) {
	name, control := c.Param("name"), s.config.Control
	actions := map[string]func(context.Context, string) error{
		"kill": control.Kill, "stop": control.Stop, "start": control.Start, "pause": control.Pause, "resume": control.Resume,
		"crash": control.Crash,
	}
	act, known := actions[c.Param("action")]
	if !known {
		refuse(c, http.StatusNotFound, "notFound", sentence.Of("notANodeAction", `a node can crash, kill, pause, resume, start or stop, not "{given}"`, c.Param("action")))
		return
	}
	ctx, cancel := acting(c)
	defer cancel()
	if err := act(ctx, name); err != nil {
		refuseError(c, err)
		return
	}
	node, known := s.node(name)
	if !known {
		refuse(c, http.StatusNotFound, "unknownNode", sentence.Of("nodeIsGone", `there is no node "{node}" any more`, name))
		return
	}
	c.JSON(http.StatusOK, node)
}

func (s *Server) node(name string) (cluster.NodeStatus, bool) {
	for _, node := range s.config.Control.Nodes() {
		if node.Name == name {
			return presentNode(node), true
		}
	}
	return cluster.NodeStatus{}, false
}

func (s *Server) getLinks(c *gin.Context) { c.JSON(http.StatusOK, s.links()) }

func (s *Server) links() wire.Links {
	answer := wire.Links{Links: []wire.Link{}}
	for _, rule := range s.config.Control.Links() {
		answer.Links = append(answer.Links, wire.Link{From: rule.From, To: rule.To, Cut: rule.Link.Cut, DelayMS: rule.Link.Delay.Milliseconds(),
			JitterMS: rule.Link.Jitter.Milliseconds(), BytesPerSecond: rule.Link.BytesPerSecond})
	}
	return answer
}

// The bounds of a link's rule: slower is what cut is for.
const maxLinkDelayMS = 60_000

func (s *Server) putLinks(c *gin.Context) {
	var link wire.Link
	if !readBody(c, &link) {
		return
	}
	if link.DelayMS < 0 || link.DelayMS > maxLinkDelayMS || link.JitterMS < 0 || link.JitterMS > maxLinkDelayMS || link.BytesPerSecond < 0 {
		refuse(c, http.StatusBadRequest, "badRequest", sentence.Of("notALinkRule", "delayMS and jitterMS are 0 to {most}, bytesPerSecond is 0 (no limit) or more", maxLinkDelayMS))
		return
	}
	if link.From == link.To {
		refuse(c, http.StatusBadRequest, "badRequest", sentence.Of("linkToItself", "a link is between two nodes: from and to must differ"))
		return
	}
	for _, end := range []string{link.From, link.To} {
		if _, known := s.node(end); !known && end != fabric.Client {
			refuse(c, http.StatusNotFound, "unknownNode", sentence.Of("noSuchLinkEnd", `there is no node "{node}"; a program outside is "{client}"`, end, fabric.Client))
			return
		}
	}
	rule := fabric.Link{Cut: link.Cut, Delay: time.Duration(link.DelayMS) * time.Millisecond, Jitter: time.Duration(link.JitterMS) * time.Millisecond,
		BytesPerSecond: link.BytesPerSecond}
	if err := s.config.Control.SetLink(link.From, link.To, rule); err != nil {
		refuseError(c, sentence.Error(nil, "settingLink", "setting the link from {from} to {to}: {why}", link.From, link.To, err))
		return
	}
	c.JSON(http.StatusOK, s.links())
}
