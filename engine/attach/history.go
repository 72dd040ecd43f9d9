package attach

import (
	"sync"

	"twinlog/engine/trace"
)

// historyRecords bounds what an agent keeps of its node's trace, for a page that comes later or again.
const historyRecords = 20_000

// history is the last records of a node. One goroutine adds; any number read.
type history struct {
	mu      sync.Mutex
	records []trace.Record // in order, at most twice historyRecords
	changed chan struct{}  // closed and replaced with every add
}

func newHistory() *history { return &history{changed: make(chan struct{})} }

func (h *history) add(records []trace.Record) {
	if len(records) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.records = append(h.records, records...)
	if excess := len(h.records) - historyRecords; excess >= historyRecords {
		h.records = append([]trace.Record(nil), h.records[excess:]...)
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// after returns at most limit records with a higher seq, and what to wait for when there are none. What is no longer kept is told of by a
// record of its own.
func (h *history) after(seq uint64, limit int) (records []trace.Record, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.records) == 0 || h.records[len(h.records)-1].Seq <= seq {
		return nil, h.changed
	}
	first := h.records[0]
	from := 0
	if seq >= first.Seq { // seqs have no gaps
		from = int(seq - first.Seq + 1)
	} else if missing := first.Seq - seq - 1; missing > 0 {
		dropped := trace.RecordsDropped{Count: int64(missing)}
		records = append(records, trace.Record{
			Run: first.Run, Node: first.Node, Seq: first.Seq - 1, At: first.At, Kind: dropped.Kind(), Data: dropped,
		})
	}
	return append(records, h.records[from:min(len(h.records), from+limit)]...), h.changed
}
