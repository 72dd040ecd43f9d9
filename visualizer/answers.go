package visualizer

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"twinlog/engine/administration"
	"twinlog/engine/cluster"
	"twinlog/engine/situation"
	"twinlog/engine/workload"
	"twinlog/labs"
	"twinlog/visualizer/hub"
	"twinlog/visualizer/store"
	"twinlog/visualizer/wire"
)

// refuse answers with a problem and ends the request.
func refuse(c *gin.Context, status int, code, message string) {
	c.AbortWithStatusJSON(status, wire.Problem{Error: wire.ProblemError{Code: code, Message: message}})
}

// notFound is the error of a request for what there is not.
type notFound string

func (e notFound) Error() string { return string(e) }

// badRequest is the error of a request that makes no sense.
type badRequest string

func (e badRequest) Error() string { return string(e) }

// refuseError answers with the problem that an error is.
func refuseError(c *gin.Context, err error) {
	status, code := http.StatusInternalServerError, "failed"
	switch missing := notFound(""); {
	case errors.As(err, &missing):
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
	case errors.As(err, new(badRequest)):
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
	refuse(c, status, code, err.Error())
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
		refuse(c, http.StatusRequestEntityTooLarge, "tooLarge", "the body is over "+strconv.Itoa(maxBodyBytes)+" bytes")
	default:
		refuse(c, http.StatusBadRequest, "badRequest", "the body is not what this asks for: "+err.Error())
	}
	return false
}

// acting is the context of what a request sets going: it goes on when the browser that asked is closed, but not for ever.
func acting(c *gin.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.Request.Context()), actionTimeout)
}

func quoteShort(text string) string {
	const most = 80
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strconv.Quote(text)
}
