package visualizer

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"twinlog/engine/cluster"
	"twinlog/engine/dump"
	"twinlog/engine/sentence"
)

// The bounds of what is asked about a node's inside.
const maxThingName = 2000

// inspectTable is the routes that look into nodes. They change nothing.
func (s *Server) inspectTable() []route {
	file := parameter{"file", "as GET disks/{node} names it", "string"}
	at := parameter{"at", "a byte of the file: 0, or where a page or a frame begins", "integer"}
	return []route{
		{method: "GET", path: "/nodes/:name/messages/:seq", about: "The message that a node's record tells of: its bytes, and the fields in them. The newest messages are kept; of others the answer is 410",
			handle: s.getMessage, status: 200, answer: cluster.Message{}, problems: []int{404, 410, 501},
			query: []parameter{{"run", "the record's run; the present one unless told", "string"}}},
		{method: "GET", path: "/nodes/:name/content", about: "A page of a file of a node: a segment's frames, or the lines that put any other file in words",
			handle: s.getContent, status: 200, answer: dump.Content{}, problems: []int{404, 409, 410, 501}, query: []parameter{file, at}},
		{method: "GET", path: "/nodes/:name/frame", about: "A frame of a segment: its bytes, and the fields in them",
			handle: s.getFrame, status: 200, answer: dump.Opened{}, problems: []int{404, 409, 410, 501}, query: []parameter{file, at}},
		{method: "GET", path: "/nodes/:name/thing", about: "What a node knows now of a thing: a znode (ensemble), a group (kafka), a topic (pulsar)",
			handle: s.getThing, status: 200, problems: []int{404, 409, 501},
			query: []parameter{{"thing", `a kind and a name, such as "znode /controller"`, "string"}}},
	}
}

func (s *Server) getMessage(c *gin.Context) {
	seq, err := strconv.ParseUint(c.Param("seq"), 10, 64)
	if err != nil || seq == 0 {
		refuse(c, http.StatusBadRequest, "badRequest", sentence.Of("notASeq", `seq is a record's own number, 1 or more, not "{given}"`, c.Param("seq")))
		return
	}
	s.look(c, cluster.Question{What: cluster.LookMessage, Run: c.Query("run"), Seq: seq})
}

func (s *Server) getContent(c *gin.Context) { s.lookAtFile(c, cluster.LookFile) }
func (s *Server) getFrame(c *gin.Context)   { s.lookAtFile(c, cluster.LookFrame) }

func (s *Server) lookAtFile(c *gin.Context, what string) {
	at, err := strconv.ParseInt(c.DefaultQuery("at", "0"), 10, 64)
	if err != nil || at < 0 || c.Query("file") == "" || len(c.Query("file")) > maxThingName {
		refuse(c, http.StatusBadRequest, "badRequest", sentence.Of("notAPlaceInAFile", "file is the name of a file, and at a byte of it, 0 or more"))
		return
	}
	s.look(c, cluster.Question{What: what, File: c.Query("file"), At: at})
}

func (s *Server) getThing(c *gin.Context) {
	thing := c.Query("thing")
	if thing == "" || len(thing) > maxThingName {
		refuse(c, http.StatusBadRequest, "badRequest", sentence.Of("notAThing", `thing is a kind and a name, such as "znode /controller"`))
		return
	}
	s.look(c, cluster.Question{What: cluster.LookThing, Thing: thing})
}

func (s *Server) look(c *gin.Context, question cluster.Question) {
	inspector, can := s.config.Control.(cluster.Inspector)
	if !can {
		refuse(c, http.StatusNotImplemented, "notAvailable", sentence.Of("noInspector", "this process cannot look into its nodes"))
		return
	}
	ctx, cancel := acting(c)
	defer cancel()
	answer, err := inspector.Look(ctx, c.Param("name"), question)
	if err != nil {
		refuseError(c, err)
		return
	}
	c.Data(http.StatusOK, "application/json; charset=utf-8", answer)
}
