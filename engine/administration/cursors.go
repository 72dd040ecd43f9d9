package administration

import (
	"context"
	"net/http"
	"strings"

	"twinlog/engine/sentence"
)

// CursorReset says where a subscription is to go on reading its topic.
type CursorReset struct {
	Topic        string `json:"topic"` // orders, or persistent://public/default/orders; of a partitioned one, every partition
	Subscription string `json:"subscription"`
	To           string `json:"to"` // earliest or latest
}

// ResetCursor moves a subscription's cursor to the beginning of what is stored, as pulsar-admin topics reset-cursor does, or past its
// end, as clear-backlog does. Its consumers are disconnected, and come back by themselves.
func (a *Administrator) ResetCursor(ctx context.Context, wanted CursorReset) error {
	name, err := FullPulsarName(wanted.Topic)
	if err != nil {
		return err
	}
	if !localName.MatchString(wanted.Subscription) {
		return sentence.Error(ErrInvalid, "notASubscriptionName", `"{given}" is no name of a subscription`, wanted.Subscription)
	}
	action := map[string]string{"earliest": "resetcursor/0", "latest": "skip_all"}[wanted.To]
	if action == "" {
		return sentence.Error(ErrInvalid, "resetCursorToWhat", `a cursor is reset to earliest or latest, not "{given}"`, wanted.To)
	}
	path := "/admin/v2/" + strings.Replace(name, "://", "/", 1) + "/subscription/" + wanted.Subscription + "/" + action
	return a.pulsar(ctx, http.MethodPost, path, "", nil, sentence.Of("resettingCursor", "moving the cursor of {subscription} on {topic}", wanted.Subscription, name))
}
