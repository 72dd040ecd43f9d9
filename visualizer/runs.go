package visualizer

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"twinlog/engine/sentence"
	"twinlog/engine/world"
	"twinlog/visualizer/hub"
	"twinlog/visualizer/runfile"
	"twinlog/visualizer/store"
	"twinlog/visualizer/wire"
)

// Runs is the part of store.Store that the server needs.
type Runs interface {
	Runs(ctx context.Context) ([]store.Run, error)
	Run(ctx context.Context, name string) (store.Run, error)
	// Chunk returns the first chunk of a run that holds a record after n; found is false at the run's end.
	Chunk(ctx context.Context, run string, n uint64) (chunk hub.Chunk, found bool, err error)
	Save(ctx context.Context, from, name, title string) (store.Run, error)
	Import(ctx context.Context, name, title string, startedAt time.Time, chunks []hub.Chunk) (store.Run, error)
	Rename(ctx context.Context, name, title string) (store.Run, error)
	Delete(ctx context.Context, name, present string) error
}

func (s *Server) hasRuns(c *gin.Context) bool {
	if s.config.Runs == nil {
		refuse(c, http.StatusNotImplemented, "notAvailable", sentence.Of("noRuns", "this process records no runs"))
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
	c.JSON(http.StatusOK, store.RunList{Runs: runs, Present: s.config.Run})
}

// upToDate makes sure that the store holds the present run up to now, where that is the run asked for.
func (s *Server) upToDate(c *gin.Context, run string) bool {
	if run != s.config.Run {
		return true
	}
	if err := s.hub.Flush(c.Request.Context()); err != nil {
		refuseError(c, err)
		return false
	}
	return true
}

// postRun saves the present run as it is by now.
func (s *Server) postRun(c *gin.Context) {
	var wanted wire.RunTitle
	if !s.hasRuns(c) || !readBody(c, &wanted) || !titleMakesSense(c, wanted.Title) || !s.upToDate(c, s.config.Run) {
		return
	}
	run, err := s.config.Runs.Save(c.Request.Context(), s.config.Run, newKeptName(), strings.TrimSpace(wanted.Title))
	if err != nil {
		refuseError(c, err)
		return
	}
	c.JSON(http.StatusCreated, run)
}

func (s *Server) putRun(c *gin.Context) {
	var wanted wire.RunTitle
	if !s.hasRuns(c) || !readBody(c, &wanted) || !titleMakesSense(c, wanted.Title) {
		return
	}
	run, err := s.config.Runs.Rename(c.Request.Context(), c.Param("name"), strings.TrimSpace(wanted.Title))
	if err != nil {
		refuseError(c, err)
		return
	}
	c.JSON(http.StatusOK, run)
}

func (s *Server) deleteRun(c *gin.Context) {
	if !s.hasRuns(c) {
		return
	}
	if err := s.config.Runs.Delete(c.Request.Context(), c.Param("name"), s.config.Run); err != nil {
		refuseError(c, err)
		return
	}
	s.getRuns(c)
}

func titleMakesSense(c *gin.Context, title string) bool {
	if length := utf8.RuneCountInString(strings.TrimSpace(title)); length < 1 || length > runfile.LongestTitle || !utf8.ValidString(title) {
		refuse(c, http.StatusBadRequest, "badRequest", sentence.Of("notARunTitle", "a run's title has 1 to {most} characters", runfile.LongestTitle))
		return false
	}
	return true
}

// newKeptName names a run that is kept: names are links, so they say nothing that changes.
func newKeptName() string { return "kept-" + time.Now().UTC().Format("20060102T150405.000000") }

// maxRunEventsBytes bounds an answer of getRunEvents, but for its last record: those of a file that was opened can be large.
const maxRunEventsBytes = 16 << 20

// getRunEvents is getEvents on a recorded run. Where the run has a hole, records go on after it. An answer that grows too large ends early; its
// window says how far it got. Only an answer without a record is the run's end.
func (s *Server) getRunEvents(c *gin.Context) {
	if !s.hasRuns(c) {
		return
	}
	after, limit, ok := eventsAsked(c)
	if !ok || !s.upToDate(c, c.Param("name")) {
		return
	}
	answer := packedEvents{Records: []json.RawMessage{}}
	last, size := after, 0
	goesOn := func() bool { return len(answer.Records) < limit && size < maxRunEventsBytes }
	for goesOn() {
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
			if n := chunk.FirstN + uint64(i); n > after && goesOn() {
				answer.Records = append(answer.Records, line)
				last, size = n, size+len(line)
			}
		}
	}
	answer.Window = wire.Window{FirstN: after + 1, LastN: last}
	c.JSON(http.StatusOK, answer)
}

// getRunState folds a recorded run from its beginning up to a record.
func (s *Server) getRunState(c *gin.Context) {
	if !s.hasRuns(c) {
		return
	}
	upTo, ok := recordAsked(c, "n")
	if !ok {
		return
	}
	// One at a time: a long run takes seconds.
	select {
	case s.folding <- struct{}{}:
		defer func() { <-s.folding }()
	case <-c.Request.Context().Done():
		return
	}
	if !s.upToDate(c, c.Param("name")) {
		return
	}
	n, state, err := s.foldRun(c.Request.Context(), c.Param("name"), upTo)
	if err != nil {
		refuseError(c, err)
		return
	}
	answerState(c, n, state)
}

func (s *Server) foldRun(ctx context.Context, name string, upTo uint64) (n uint64, state *world.State, err error) {
	if _, err := s.config.Runs.Run(ctx, name); err != nil {
		return 0, nil, err
	}
	state = world.New()
	for n < upTo {
		chunk, found, err := s.config.Runs.Chunk(ctx, name, n)
		if err != nil {
			return 0, nil, err
		}
		if !found || chunk.FirstN > upTo {
			break
		}
		lines, err := chunk.Lines()
		if err != nil {
			return 0, nil, err
		}
		for i, line := range lines {
			if chunk.FirstN+uint64(i) > upTo {
				break
			}
			var record wire.Record
			if err := json.Unmarshal(line, &record); err != nil {
				return 0, nil, err
			}
			state.Apply(record.Record)
			n = chunk.FirstN + uint64(i)
		}
	}
	return n, state, nil
}
