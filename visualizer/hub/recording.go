package hub

import "log/slog"

// chunksQueued is how many chunks may wait for the recorder.
const chunksQueued = 64

// recording hands chunks to the recorder in its own goroutine, so that a slow disk does not hold up the stream.
type recording struct {
	recorder Recorder
	logger   *slog.Logger
	chunks   chan Chunk
	leftOut  uint64 // records; belongs to the goroutine that offers
}

func newRecording(recorder Recorder, logger *slog.Logger) *recording {
	return &recording{recorder: recorder, logger: logger, chunks: make(chan Chunk, chunksQueued)}
}

// offer never waits: a chunk that does not fit is missing from the recorded run.
func (r *recording) offer(chunk Chunk) {
	if r.recorder == nil {
		return
	}
	select {
	case r.chunks <- chunk:
	default:
		r.leftOut += chunk.LastN - chunk.FirstN + 1
		r.logger.Warn("the recorded run has a hole: its database is too slow", "firstN", chunk.FirstN, "lastN", chunk.LastN, "leftOut", r.leftOut)
	}
}

func (r *recording) close() { close(r.chunks) }

func (r *recording) run() {
	for chunk := range r.chunks {
		if err := r.recorder.Record(chunk); err != nil {
			r.logger.Error("the recorded run has a hole", "firstN", chunk.FirstN, "lastN", chunk.LastN, "error", err)
		}
	}
}
