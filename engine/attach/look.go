package attach

import (
	"context"
	"encoding/json"
	"net/http"

	"twinlog/engine/cluster"
	"twinlog/engine/sentence"
)

var _ cluster.Inspector = (*Remote)(nil)

// look answers a question about the node. It has a body because the name of a thing can be anything.
func (a *Agent) look(w http.ResponseWriter, r *http.Request) {
	var question cluster.Question
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&question); err != nil {
		answer(w, http.StatusBadRequest, Problem{Code: codeInvalid, Message: err.Error()})
		return
	}
	found, err := a.config.Slot.Look(r.Context(), question)
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, http.StatusOK, found)
}

// Look implements [cluster.Inspector].
func (r *Remote) Look(ctx context.Context, node string, question cluster.Question) (json.RawMessage, error) {
	a, err := r.find(node)
	if err != nil {
		return nil, err
	}
	var found json.RawMessage
	if err := a.call(ctx, http.MethodPost, "/look", question, &found); err != nil {
		return nil, sentence.Error(nil, "lookingIntoNode", "look into {node}: {why}", node, err)
	}
	return found, nil
}
