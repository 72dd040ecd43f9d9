package broker

import (
	"context"
	"strings"

	"twinlog/engine/sentence"
)

// LookAt tells of a group that this broker coordinates: thing is "group readers". It is no request, and leaves no trace.
func (b *Broker) LookAt(ctx context.Context, thing string) (any, error) {
	kind, name, _ := strings.Cut(thing, " ")
	if kind != "group" {
		return nil, sentence.Error(nil, "kafkaKnowsGroups", "a Kafka-mode broker knows groups, not a {kind}", kind)
	}
	return b.groups.Look(ctx, name)
}
