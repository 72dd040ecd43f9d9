package hub

import (
	"context"

	"twinlog/engine/world"
)

// checkpointsKept bounds the states that are kept: with the default distance, the oldest is 40,000 to 50,000 records before the present. Who
// comes late and wants the last 40,000 gets 30,000 of them at least, and the whole run need not be folded for it.
const checkpointsKept = 5

// checkpoint is the state after record n. It never changes again.
type checkpoint struct {
	n     uint64
	state *world.State
}

// keepCheckpoint copies the state after the newest record when it is time to.
func (h *Hub) keepCheckpoint() {
	if h.window.lastN%uint64(h.config.CheckpointEvery) != 0 {
		return
	}
	if len(h.checkpoints) == checkpointsKept {
		h.checkpoints = append(h.checkpoints[:0], h.checkpoints[1:]...)
	}
	h.checkpoints = append(h.checkpoints, checkpoint{n: h.window.lastN, state: h.state.Clone()})
}

// StateFrom returns the earliest state that is at hand and is not before record n, and the record that it is after: a reader continues from
// there with Records. It is the empty state of the beginning for n = 0, as long as the window reaches back to it, and the present one when
// there is none before that.
func (h *Hub) StateFrom(ctx context.Context, n uint64) (at uint64, state *world.State, err error) {
	err = h.do(ctx, func() {
		first := h.window.bounds().FirstN
		if n == 0 && first == 1 {
			at, state = 0, world.New()
			return
		}
		for _, kept := range h.checkpoints {
			if kept.n >= n && kept.n+1 >= first {
				at, state = kept.n, kept.state
				return
			}
		}
		at, state = h.window.lastN, h.state.Clone()
	})
	return at, state, err
}
