package cluster

import (
	"errors"

	"twinlog/engine/sentence"
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

// doing says what is done to a node.
func doing(action, node string) sentence.Sentence {
	switch action {
	case "start":
		return sentence.Of("startNode", "start {node}", node)
	case "stop":
		return sentence.Of("stopNode", "stop {node}", node)
	case "kill":
		return sentence.Of("killNode", "kill {node}", node)
	case "crash":
		return sentence.Of("crashNode", "crash {node}", node)
	case "pause":
		return sentence.Of("pauseNode", "pause {node}", node)
	case "resume":
		return sentence.Of("resumeNode", "resume {node}", node)
	case "remove":
		return sentence.Of("removeNode", "remove {node}", node)
	case "corrupt":
		return sentence.Of("corruptNode", "corrupt a file of {node}", node)
	case "ask":
		return sentence.Of("askNode", "ask {node}", node)
	}
	return sentence.Of("doToNode", "{action} {node}", action, node)
}

// wrongState says why an action on a node has to wait.
func wrongState(action, node, state string) error {
	return cannot(action, node, whyNot(action, state))
}

// cannot is the error of an action that the node's state does not allow.
func cannot(action, node string, why sentence.Sentence) error {
	return sentence.Error(ErrWrongState, "cannot", "cannot {doing}: {why}", doing(action, node), why)
}

func whyNot(action, state string) sentence.Sentence {
	switch state {
	case StateStarting:
		return sentence.Of("isStarting", "it is still starting; wait until it runs")
	case StateRunning:
		return sentence.Of("isRunning", "it is running")
	case StatePaused:
		if action == "stop" {
			return sentence.Of("isPausedToStop", "it is paused, and what is paused cannot shut down in order; resume it first, or kill it")
		}
		return sentence.Of("isPaused", "it is paused; resume it first")
	case StateStopped:
		return sentence.Of("isStopped", "it is stopped; start it first")
	case StateKilled:
		return sentence.Of("isKilled", "it was killed; start it first")
	case StateFailed:
		return sentence.Of("hasFailed", "it has failed; start it first")
	}
	return sentence.Of("isIn", "it is {state}", state)
}
