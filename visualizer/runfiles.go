package visualizer

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"unicode"

	"github.com/gin-gonic/gin"

	"twinlog/engine/sentence"
	"twinlog/visualizer/runfile"
	"twinlog/visualizer/store"
)

// maxRunFileBytes bounds a run's file on its way in.
const maxRunFileBytes = 128 << 20

const (
	runFileType = "application/gzip"
	runFilePath = "/runs/file"
)

// getRunFile sends a recorded run as a file.
func (s *Server) getRunFile(c *gin.Context) {
	name := c.Param("name")
	if !s.hasRuns(c) || !s.upToDate(c, name) {
		return
	}
	run, err := s.config.Runs.Run(c.Request.Context(), name)
	if err != nil {
		refuseError(c, err)
		return
	}
	if run.LastN == 0 {
		refuseError(c, store.ErrEmptyRun)
		return
	}
	c.Header("Content-Type", runFileType)
	c.Header("Content-Disposition", `attachment; filename="`+fileName(run)+`"`)
	if err := s.writeRun(c.Request.Context(), c.Writer, run); err != nil {
		// The status is sent: only a connection that breaks off tells the browser that the file is not whole.
		s.config.Logger.Warn("a run's file was not sent to its end", "run", name, "error", err)
		panic(http.ErrAbortHandler)
	}
}

func (s *Server) writeRun(ctx context.Context, out http.ResponseWriter, run store.Run) error {
	file, err := runfile.NewWriter(out, run.Name, run.Title, run.StartedAt)
	if err != nil {
		return err
	}
	for last := uint64(0); last < run.LastN; {
		chunk, found, err := s.config.Runs.Chunk(ctx, run.Name, last)
		if err != nil {
			return err
		}
		if !found {
			break
		}
		if err := file.Add(chunk); err != nil {
			return err
		}
		last = chunk.LastN
	}
	return file.Close()
}

// fileName is made of what every file system takes.
func fileName(run store.Run) string {
	name := run.Title
	if name == "" {
		name = run.Name
	}
	name = strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '.') {
			return r
		}
		return '-'
	}, name)
	if name = strings.Trim(name, "-."); name == "" {
		name = run.Name
	}
	return name + runfile.Extension
}

// postRunFile keeps the run of a file. One file is read at a time: each may take some memory.
func (s *Server) postRunFile(c *gin.Context) {
	if !s.hasRuns(c) {
		return
	}
	select {
	case s.importing <- struct{}{}:
		defer func() { <-s.importing }()
	default:
		refuse(c, http.StatusConflict, "busy", sentence.Of("openingAnotherFile", "another file is being opened; try again when it is done"))
		return
	}
	read, err := runfile.Read(c.Request.Body, runfile.DefaultLimits)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge), errors.Is(err, runfile.ErrTooLarge):
		refuse(c, http.StatusRequestEntityTooLarge, "tooLarge", sentence.Of("openingFile", "opening the file: {why}", err))
		return
	case err != nil:
		refuse(c, http.StatusUnprocessableEntity, "badFile", sentence.Of("openingFile", "opening the file: {why}", err))
		return
	}
	title := read.Header.Title
	if title == "" {
		title = read.Header.Name
	}
	run, err := s.config.Runs.Import(c.Request.Context(), newKeptName(), title, read.Header.StartedAt, read.Chunks)
	if err != nil {
		refuseError(c, err)
		return
	}
	c.JSON(http.StatusCreated, run)
}
