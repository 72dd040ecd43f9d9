package hub

import (
	"context"
	"log/slog"

	"twinlog/engine/sentence"
)

// ErrBehind: the recorder has more to write than may wait for it.
var ErrBehind = sentence.Error(nil, "recordingBehind", "the recorded run lags behind; ask again in a moment")

// chunksQueued is how many chunks may wait for the recorder.
const chunksQueued = 64

// recording hands chunks to the recorder in its own goroutine, so that a slow disk does not hold up the stream.
type recording struct {
	recorder Recorder
	logger   *slog.Logger
	tasks    chan recordingTask
	leftOut  uint64 // records; belongs to the goroutine that offers
}

// recordingTask is a chunk to be recorded, or a mark: closed when everything before it has been recorded.
type recordingTask struct {
	chunk Chunk
	mark  chan struct{}
}

func newRecording(recorder Recorder, logger *slog.Logger) *recording {
	return &recording{recorder: recorder, logger: logger, tasks: make(chan recordingTask, chunksQueued)}
}

// offer never waits: a chunk that does not fit is missing from the recorded run.
func (r *recording) offer(chunk Chunk) {
	if r.recorder == nil {
		return
	}
	select {
	case r.tasks <- recordingTask{chunk: chunk}:
	default:
		r.leftOut += chunk.LastN - chunk.FirstN + 1
		r.logger.Warn("the recorded run has a hole: its database is too slow", "firstN", chunk.FirstN, "lastN", chunk.LastN, "leftOut", r.leftOut)
	}
}

// mark returns what is closed when everything that was offered before has been recorded.
func (r *recording) mark() (<-chan struct{}, error) {
	mark := make(chan struct{})
	select {
	case r.tasks <- recordingTask{mark: mark}:
		return mark, nil
	default:
		return nil, ErrBehind
	}
}

func (r *recording) close() { close(r.tasks) }

func (r *recording) run() {
	for task := range r.tasks {
		if task.mark != nil {
			close(task.mark)
			continue
		}
		if err := r.recorder.Record(task.chunk); err != nil {
			r.logger.Error("the recorded run has a hole", "firstN", task.chunk.FirstN, "lastN", task.chunk.LastN, "error", err)
		}
	}
}

// Flush hands the recorder everything up to now and returns when it has been recorded.
func (h *Hub) Flush(ctx context.Context) error {
	var mark <-chan struct{}
	var behind error
	if err := h.do(ctx, func() {
		if len(h.window.open) > 0 {
			h.recording.offer(h.window.seal())
		}
		mark, behind = h.recording.mark()
	}); err != nil {
		return err
	}
	if behind != nil {
		return behind
	}
	select {
	case <-mark:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
