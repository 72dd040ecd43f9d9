package visualizer

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"

	"twinlog/engine/administration"
	"twinlog/engine/cluster"
	"twinlog/engine/sentence"
	"twinlog/engine/situation"
	"twinlog/engine/workload"
	"twinlog/labs"
	"twinlog/visualizer/hub"
	"twinlog/visualizer/store"
	"twinlog/visualizer/wire"
)

// refuse answers with a problem and ends the request.
func refuse(c *gin.Context, status int, code string, said sentence.Sentence) {
	c.AbortWithStatusJSON(status, wire.Problem{Error: wire.ProblemError{Code: code, Message: said.String(), Sentence: &said}})
}

var (
	// errNotFound: a request for what there is not.
	errNotFound = errors.New("there is no such thing")
	// errBadRequest: a request that makes no sense.
	errBadRequest = errors.New("that makes no sense")
)

// refuseError answers with the problem that an error is.
func refuseError(c *gin.Context, err error) {
	status, code := kindOf(err)
	c.AbortWithStatusJSON(status, wire.Problem{Error: problem(code, err)})
}

// problemOf is the problem that an error is.
func problemOf(err error) wire.ProblemError {
	_, code := kindOf(err)
	return problem(code, err)
}

func problem(code string, err error) wire.ProblemError {
	told := wire.ProblemError{Code: code, Message: err.Error()}
	if said, ok := sentence.In(err); ok {
		told.Sentence = &said
	}
	return told
}

// kindOf is the status and the code of an error.
func kindOf(err error) (status int, code string) {
	status, code = http.StatusInternalServerError, "failed"
	switch {
	case errors.Is(err, errNotFound):
		status, code = http.StatusNotFound, "notFound"
	case errors.Is(err, labs.ErrUnknownLab):
		status, code = http.StatusNotFound, "unknownLab"
	case errors.Is(err, store.ErrUnknownRun):
		status, code = http.StatusNotFound, "unknownRun"
	case errors.Is(err, store.ErrEmptyRun):
		status, code = http.StatusConflict, "emptyRun"
	case errors.Is(err, store.ErrRecording):
		status, code = http.StatusConflict, "recording"
	case errors.Is(err, store.ErrFull):
		status, code = http.StatusInsufficientStorage, "full"
	case errors.Is(err, hub.ErrBehind):
		status, code = http.StatusServiceUnavailable, "behind"
	case errors.Is(err, labs.ErrUnknownTask):
		status, code = http.StatusNotFound, "unknownTask"
	case errors.Is(err, labs.ErrAnswered):
		status, code = http.StatusConflict, "answered"
	case errors.Is(err, labs.ErrBroken):
		status, code = http.StatusUnprocessableEntity, "broken"
	case errors.Is(err, labs.ErrTooLarge):
		status, code = http.StatusRequestEntityTooLarge, "tooLarge"
	case errors.Is(err, labs.ErrNotStarted):
		status, code = http.StatusConflict, "notStarted"
	case errors.Is(err, labs.ErrBusy):
		status, code = http.StatusConflict, "busy"
	case errors.Is(err, errBadRequest):
		status, code = http.StatusBadRequest, "badRequest"
	case errors.Is(err, administration.ErrInvalid), errors.Is(err, cluster.ErrInvalid):
		status, code = http.StatusBadRequest, "badRequest"
	case errors.Is(err, administration.ErrNotFound):
		status, code = http.StatusNotFound, "notFound"
	case errors.Is(err, administration.ErrConflict):
		status, code = http.StatusConflict, "conflict"
	case errors.Is(err, cluster.ErrGone):
		status, code = http.StatusGone, "gone"
	case errors.Is(err, cluster.ErrNotThere):
		status, code = http.StatusNotFound, "notFound"
	case errors.Is(err, cluster.ErrRefused):
		status, code = http.StatusConflict, "refused"
	case errors.Is(err, situation.ErrUnknown):
		status, code = http.StatusNotFound, "unknownSituation"
	case errors.Is(err, situation.ErrBusy):
		status, code = http.StatusConflict, "busy"
	case errors.Is(err, situation.ErrIdle):
		status, code = http.StatusConflict, "notStarted"
	case errors.Is(err, cluster.ErrUnknownNode):
		status, code = http.StatusNotFound, "unknownNode"
	case errors.Is(err, cluster.ErrWrongState):
		status, code = http.StatusConflict, "wrongState"
	case errors.Is(err, workload.ErrUnknown):
		status, code = http.StatusNotFound, "unknownWorkload"
	case errors.Is(err, workload.ErrInvalid):
		status, code = http.StatusBadRequest, "badRequest"
	case errors.Is(err, workload.ErrTooMany), errors.Is(err, hub.ErrTooMany):
		status, code = http.StatusTooManyRequests, "tooMany"
	case errors.Is(err, hub.ErrGone):
		status, code = http.StatusGone, "gone"
	case errors.Is(err, hub.ErrClosed), errors.Is(err, context.Canceled):
		status, code = http.StatusServiceUnavailable, "ending"
	}
	return status, code
}

// readBody reads the JSON body into value and answers with a problem when it cannot. An empty body leaves value as it is.
func readBody(c *gin.Context, value any) bool {
	decoder := json.NewDecoder(c.Request.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(value)
	if err == nil && decoder.More() {
		err = errors.New("something follows the JSON value")
	}
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return true
	case errors.As(err, &tooLarge):
		refuse(c, http.StatusRequestEntityTooLarge, "tooLarge", sentence.Of("bodyTooLarge", "the body is over {most} {most|byte|bytes}", maxBodyBytes))
	default:
		refuse(c, http.StatusBadRequest, "badRequest", sentence.Of("notTheBody", "the body is not what this asks for: {why}", err))
	}
	return false
}

// acting is the context of what a request sets going: it goes on when the browser that asked is closed, but not for ever.
func acting(c *gin.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.Request.Context()), actionTimeout)
}
