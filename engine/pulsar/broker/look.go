package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"twinlog/engine/sentence"
)

// LookAt tells of a topic that this broker owns: thing is "topic persistent://public/default/orders". The answer is what the admin REST's
// internalStats says: the ledgers, and every cursor with its mark-delete position and the entries acknowledged beyond it. No connection is
// opened for it.
func (b *Broker) LookAt(ctx context.Context, thing string) (any, error) {
	kind, name, _ := strings.Cut(thing, " ")
	if kind != "topic" {
		return nil, sentence.Error(nil, "pulsarKnowsTopics", "a Pulsar-mode broker knows topics, not a {kind}", kind)
	}
	topic, err := ParseTopicName(name)
	if err != nil {
		return nil, err
	}
	path := "/admin/v2/" + strings.Replace(topic.String(), "://", "/", 1) + "/internalStats"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		return nil, err
	}
	var answer lookedAt
	b.config.Admin(b).ServeHTTP(&answer, request)
	switch {
	case answer.status >= 300 && answer.status < 400:
		return nil, sentence.Error(nil, "ownedByAnother", "another broker owns the topic by now")
	case answer.status >= 400:
		return nil, fmt.Errorf("%s: %s", http.StatusText(answer.status), strings.TrimSpace(answer.body.String()))
	}
	return json.RawMessage(answer.body.Bytes()), nil
}

// lookedAt keeps an answer instead of sending it.
type lookedAt struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (l *lookedAt) Header() http.Header {
	if l.header == nil {
		l.header = http.Header{}
	}
	return l.header
}

func (l *lookedAt) WriteHeader(status int) {
	if l.status == 0 {
		l.status = status
	}
}

func (l *lookedAt) Write(bytes []byte) (int, error) {
	l.WriteHeader(http.StatusOK)
	return l.body.Write(bytes)
}
