package cluster

import (
	"errors"
	"fmt"
)

var (
	// ErrUnknownNode: no node of that name.
	ErrUnknownNode = errors.New("no such node")
	// ErrWrongState: the node's state does not allow the action.
	ErrWrongState = errors.New("the node's state does not allow that")
	// ErrRefused: what was asked for cannot be done here; the error says why and what to do instead.
	ErrRefused = errors.New("that is refused")
	// ErrInvalid: what was asked for makes no sense.
	ErrInvalid = errors.New("that makes no sense")
)

// sentence is an error of one of the kinds above, told in its own words.
type sentence struct {
	text string
	kind error
}

func (s sentence) Error() string { return s.text }
func (s sentence) Unwrap() error { return s.kind }

// Say makes an error of a kind that is a sentence for people: what could not be done, to what, why, and what to do.
func Say(kind error, format string, args ...any) error {
	return sentence{text: fmt.Sprintf(format, args...), kind: kind}
}

// wrongState says why an action on a node has to wait.
func wrongState(action, node, state string) error {
	why := map[string]string{
		StateStarting: "it is still starting; wait until it runs",
		StateRunning:  "it is running",
		StatePaused:   "it is paused; resume it first",
		StateStopped:  "it is stopped; start it first",
		StateKilled:   "it was killed; start it first",
		StateFailed:   "it has failed; start it first",
	}[state]
	if why == "" {
		why = "it is " + state
	}
	if state == StatePaused && action == "stop" {
		why = "it is paused, and what is paused cannot shut down in order; resume it first, or kill it"
	}
	return Say(ErrWrongState, "cannot %s %s: %s", action, node, why)
}
