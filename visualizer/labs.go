package visualizer

import (
	"bytes"
	"context"
	"errors"
	"html"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"twinlog/engine/sentence"
	"twinlog/engine/world"
	"twinlog/labs"
	"twinlog/labs/lab"
	"twinlog/labs/observe"
	"twinlog/visualizer/hub"
	"twinlog/visualizer/wire"
)

// Labs is what the server needs of labs.Service.
type Labs interface {
	List(ctx context.Context, student, language string) ([]labs.Summary, error)
	Show(ctx context.Context, id, student, language string) (labs.Detail, error)
	// Start begins an attempt; with a task, at that one.
	Start(ctx context.Context, id, student, task string) (labs.Attempt, error)
	Check(ctx context.Context, id, student, language string) (labs.Attempt, error)
	Solve(ctx context.Context, id, student string) (labs.Attempt, error)
	Step(ctx context.Context, id, student string, number int) (labs.Attempt, error)
	Answer(ctx context.Context, id, student, question, choice string) (labs.Attempt, error)
	Export(ctx context.Context, student string, to io.Writer) error
	Import(ctx context.Context, from io.Reader) (labs.Imported, error)
}

// defaultStudent is who works at a classroom that knows only one.
const defaultStudent = labs.Alone

var labActions = []string{"answer", "check", "reset", "solve", "start", "step"}

// labRequest is what every request about labs says in its query.
type labRequest struct{ id, student, language string }

// labTimeout bounds what a lab may take: a solution plays all its actions, and waits for what they bring about.
const labTimeout = 4 * actionTimeout

// askLabs answers with what ask says; labs go on when the browser that asked is closed.
func (s *Server) askLabs(c *gin.Context, ask func(ctx context.Context, request labRequest) (any, error)) {
	if s.labs == nil {
		refuse(c, http.StatusNotImplemented, "notAvailable", sentence.Of("noLabs", "this process was started without labs"))
		return
	}
	request := labRequest{id: c.Param("id"), student: c.DefaultQuery("student", defaultStudent), language: c.DefaultQuery("lang", "en")}
	if request.language != "en" && request.language != "zh" {
		refuse(c, http.StatusBadRequest, "badRequest", sentence.Of("notALanguage", `lang is en or zh, not "{given}"`, request.language))
		return
	}
	const longestName = 100
	if request.student == "" || len(request.student) > longestName {
		refuse(c, http.StatusBadRequest, "badRequest", sentence.Of("notAStudent", "student is a name of 1 to {bytes} {bytes|byte|bytes}", longestName))
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request.Context()), labTimeout)
	defer cancel()
	answer, err := ask(ctx, request)
	if err != nil {
		refuseError(c, err)
		return
	}
	c.JSON(http.StatusOK, answer)
}

func (s *Server) getLabs(c *gin.Context) {
	s.askLabs(c, func(ctx context.Context, request labRequest) (any, error) {
		list, err := s.labs.List(ctx, request.student, request.language)
		return wire.Labs{Labs: list}, err
	})
}

func (s *Server) getLab(c *gin.Context) {
	s.askLabs(c, func(ctx context.Context, request labRequest) (any, error) {
		detail, err := s.labs.Show(ctx, request.id, request.student, request.language)
		return withPage(detail, c.Request.Host), err
	})
}

// withPage puts the page's address into a lab, as the reader has reached it.
func withPage(detail labs.Detail, host string) labs.Detail {
	address := "http://" + host
	detail.HTML = strings.ReplaceAll(detail.HTML, lab.PagePlaceholder, html.EscapeString(address))
	detail.Solution = slices.Clone(detail.Solution)
	for i := range detail.Solution {
		detail.Solution[i].Command = strings.ReplaceAll(detail.Solution[i].Command, lab.PagePlaceholder, address)
	}
	return detail
}

func (s *Server) postLabAction(c *gin.Context) {
	s.askLabs(c, func(ctx context.Context, request labRequest) (any, error) {
		switch c.Param("action") {
		case "start", "reset":
			return s.labs.Start(ctx, request.id, request.student, c.Query("task"))
		case "check":
			return s.labs.Check(ctx, request.id, request.student, request.language)
		case "solve":
			return s.labs.Solve(ctx, request.id, request.student)
		case "step":
			number, err := strconv.Atoi(c.Query("step"))
			if err != nil {
				return nil, sentence.Error(errBadRequest, "notAStep", `step is the number of a step of the solution, the first is 0; not "{given}"`, c.Query("step"))
			}
			return s.labs.Step(ctx, request.id, request.student, number)
		case "answer":
			return s.labs.Answer(ctx, request.id, request.student, c.Query("question"), c.Query("choice"))
		}
		return nil, sentence.Error(errNotFound, "notALabAction", `a lab can answer, check, reset, solve, start or step, not "{given}"`, c.Param("action"))
	})
}

const (
	progressPath = "/progress"
	progressType = "application/x-ndjson"
)

// getProgress answers with the log of what students did, as one file.
func (s *Server) getProgress(c *gin.Context) {
	if s.labs == nil {
		refuse(c, http.StatusNotImplemented, "notAvailable", sentence.Of("noLabs", "this process was started without labs"))
		return
	}
	var file bytes.Buffer // whole before the first byte goes out: a broken log is an answer of its own
	if err := s.labs.Export(c.Request.Context(), c.Query("student"), &file); err != nil {
		refuseError(c, err)
		return
	}
	c.Header("Content-Disposition", `attachment; filename="twinlog-progress.jsonl"`)
	c.Data(http.StatusOK, progressType, file.Bytes())
}

// postProgress merges such a file.
func (s *Server) postProgress(c *gin.Context) {
	if s.labs == nil {
		refuse(c, http.StatusNotImplemented, "notAvailable", sentence.Of("noLabs", "this process was started without labs"))
		return
	}
	imported, err := s.labs.Import(c.Request.Context(), c.Request.Body)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		refuse(c, http.StatusRequestEntityTooLarge, "tooLarge", sentence.Of("progressTooLarge", "the file of progress is over {size} MiB", tooLarge.Limit>>20))
	case err != nil:
		refuseError(c, err)
	default:
		c.JSON(http.StatusOK, imported)
	}
}

// labTrace is the hub as the labs see it.
type labTrace struct {
	hub     *hub.Hub
	checked *checkedRecords
}

// World returns the state now, with everything that was recorded before the call, and the number of the last record in it; the state
// before anything happened when the hub has ended.
func (t labTrace) World() (*world.State, uint64) {
	if err := t.hub.Settle(context.Background()); err != nil {
		return world.New(), 0
	}
	state, n, err := t.hub.Observe(context.Background())
	if err != nil {
		return world.New(), 0
	}
	return state, n
}

// EventsAfter returns the records after n that are checked, the oldest first.
func (t labTrace) EventsAfter(n uint64) []observe.Event { return t.checked.after(n) }
