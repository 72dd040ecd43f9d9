package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"twinlog/engine/sentence"
	"twinlog/visualizer/wire"
)

// ErrTooMany: as many browsers are connected as may be.
var ErrTooMany = sentence.Error(nil, "tooManyStreams", "too many streams are open")

// framesKept is how many frames wait for one browser before it counts as too slow: about a second's worth.
const framesKept = 30

// Subscription is one browser's view of the stream.
type Subscription struct {
	hub    *Hub
	frames chan []byte
	// resynchronised belongs to the hub's goroutine.
	resynchronised int
}

// Subscribe begins a stream: the first frame is a snapshot.
func (h *Hub) Subscribe(ctx context.Context) (*Subscription, error) {
	subscription := &Subscription{hub: h, frames: make(chan []byte, framesKept)}
	full := false
	if err := h.do(ctx, func() {
		if full = len(h.subscribers) >= h.config.MaxSubscribers; full {
			return
		}
		h.subscribers[subscription] = struct{}{}
		subscription.frames <- h.snapshotFrame(subscription)
	}); err != nil {
		return nil, err
	}
	if full {
		return nil, ErrTooMany
	}
	return subscription, nil
}

// Frames yields the frames, each the JSON of a wire.Snapshot or wire.Records. It is closed when the hub ends.
func (s *Subscription) Frames() <-chan []byte { return s.frames }

// Close ends the subscription; Frames yields nothing more, but is not closed.
func (s *Subscription) Close() {
	_ = s.hub.do(context.Background(), func() { delete(s.hub.subscribers, s) }) // fails only when the hub has ended, and the subscription with it
}

// Subscribers is the number of streams that are open.
func (h *Hub) Subscribers(ctx context.Context) (count int, err error) {
	err = h.do(ctx, func() { count = len(h.subscribers) })
	return count, err
}

// publish sends records to every browser; they share one frame.
func (h *Hub) publish(records [][]byte) {
	if len(h.subscribers) == 0 {
		return
	}
	frame := recordsFrame(records)
	for subscription := range h.subscribers {
		select {
		case subscription.frames <- frame:
		default:
			h.resynchronise(subscription)
		}
	}
}

// resynchronise throws away what waits for a browser and gives it the present state in its place.
func (h *Hub) resynchronise(subscription *Subscription) {
	for {
		select {
		case <-subscription.frames:
			continue
		default:
		}
		break
	}
	subscription.resynchronised++
	// There is room: only this goroutine puts frames in.
	subscription.frames <- h.snapshotFrame(subscription)
}

func (h *Hub) snapshotFrame(subscription *Subscription) []byte {
	frame, err := json.Marshal(wire.Snapshot{Type: wire.TypeSnapshot, N: h.window.lastN, At: h.at, State: h.stateJSON(),
		Window: h.window.bounds(), Resynchronised: subscription.resynchronised})
	if err != nil {
		panic(fmt.Sprintf("hub: a snapshot holds what JSON cannot: %v", err))
	}
	return frame
}

// recordsFrame is the JSON of a wire.Records around records that are JSON already.
func recordsFrame(records [][]byte) []byte {
	size := len(`{"type":"records","records":[]}`)
	for _, record := range records {
		size += len(record) + 1
	}
	frame := bytes.NewBuffer(make([]byte, 0, size))
	frame.WriteString(`{"type":"` + wire.TypeRecords + `","records":[`)
	for i, record := range records {
		if i > 0 {
			frame.WriteByte(',')
		}
		frame.Write(record)
	}
	frame.WriteString(`]}`)
	return frame.Bytes()
}
