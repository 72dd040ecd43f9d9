package cluster

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// lifeLog is the log of one life. From its kill on, what the node's code complains of is what a kill does: its disk and its network are
// gone, and whatever was under way fails. A process that is really killed says nothing any more, so that is kept for who looks closely
// (debug, marked as said after the kill), and is no error of anybody's.
type lifeLog struct {
	slog.Handler
	killed *atomic.Bool
}

// Enabled reports whether a record of that level would be written.
func (l lifeLog) Enabled(ctx context.Context, level slog.Level) bool {
	if l.killed.Load() {
		level = slog.LevelDebug
	}
	return l.Handler.Enabled(ctx, level)
}

// Handle writes a record, after the kill as a debug record.
func (l lifeLog) Handle(ctx context.Context, record slog.Record) error {
	if l.killed.Load() {
		if !l.Handler.Enabled(ctx, slog.LevelDebug) {
			return nil // the kill came between the question and the record
		}
		record = record.Clone()
		record.Level = slog.LevelDebug
		record.AddAttrs(slog.Bool("afterKill", true))
	}
	return l.Handler.Handle(ctx, record)
}

// WithAttrs and WithGroup keep the life's state with loggers that are made of this one.
func (l lifeLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return lifeLog{l.Handler.WithAttrs(attrs), l.killed}
}

// WithGroup is WithAttrs for a group.
func (l lifeLog) WithGroup(name string) slog.Handler {
	return lifeLog{l.Handler.WithGroup(name), l.killed}
}
