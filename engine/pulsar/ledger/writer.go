package ledger

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

var (
	// ErrFenced: somebody else recovers or has closed the ledger; this writer's day is over.
	ErrFenced = errors.New("ledger is fenced")
	// ErrUnauthorized: the password is not the ledger's.
	ErrUnauthorized = errors.New("ledger password does not match")
	// ErrNotEnoughBookies: fewer bookies are alive than the quorum needs.
	ErrNotEnoughBookies = errors.New("not enough bookies")
)

// Send tells the driver to send an entry to a bookie. The driver gives it back with the answer.
type Send struct {
	Entry      int64
	Index      int // place in the ensemble
	Bookie     string
	generation int // how often this place has changed hands: answers to older sends do not count
}

// Change asks for another ensemble: entries from FirstEntry on need other bookies at the places Failed.
type Change struct {
	FirstEntry int64
	Failed     []int
	Ensemble   []string // the ensemble that failed
}

// Writer is one writer's side of a ledger: it numbers entries, counts acknowledgements, and moves the last add confirmed (LAC).
//
// The LAC moves over an entry when an ack quorum of its write set has it, and only in order, so that "everything up to the LAC" is
// always true. While an ensemble change is under way the LAC stands still: the new segment begins at LAC+1, and an entry that was
// acknowledged by the old ensemble must not end up in the new segment.
type Writer struct {
	ensemble    []string
	generations []int
	writeQuorum int
	ackQuorum   int

	lac     int64
	next    int64
	pending []indexSet // acknowledgements of entries lac+1 … next-1, by place in the ensemble

	failed   indexSet // places whose bookie failed; not empty while a change is under way
	asked    indexSet // those of them that the change under way replaces
	changing bool
	err      error
}

// NewWriter begins at the entry after lac, on the metadata's last ensemble.
func NewWriter(metadata Metadata, lac int64) *Writer {
	segment := metadata.CurrentSegment()
	return &Writer{
		ensemble:    slices.Clone(segment.Bookies),
		generations: make([]int, len(segment.Bookies)),
		writeQuorum: metadata.WriteQuorum,
		ackQuorum:   metadata.AckQuorum,
		lac:         lac,
		next:        lac + 1,
	}
}

// LastAddConfirmed is the last entry that is acknowledged, with all entries before it.
func (w *Writer) LastAddConfirmed() int64 { return w.lac }

// Next is the number that the next entry will get.
func (w *Writer) Next() int64 { return w.next }

// Ensemble is the current ensemble; not to be changed.
func (w *Writer) Ensemble() []string { return w.ensemble }

// Err is why the writer has stopped; nil while it has not.
func (w *Writer) Err() error { return w.err }

// Changing tells whether an ensemble change is under way.
func (w *Writer) Changing() bool { return w.changing }

// Add numbers the next entry and appends what is to be sent to sends. Places that have failed are left out: they get the entry when
// they are replaced.
func (w *Writer) Add(sends []Send) (int64, []Send) {
	entry := w.next
	w.next++
	w.pending = append(w.pending, 0)
	for _, index := range WriteSet(entry, len(w.ensemble), w.writeQuorum) {
		if !w.failed.has(index) {
			sends = append(sends, w.send(entry, index))
		}
	}
	return entry, sends
}

func (w *Writer) send(entry int64, index int) Send {
	return Send{Entry: entry, Index: index, Bookie: w.ensemble[index], generation: w.generations[index]}
}

// Answer takes a bookie's answer. It returns the change to make, if the answer asks for one. The LAC may have moved; Err may be set.
func (w *Writer) Answer(send Send, outcome Outcome) *Change {
	if w.err != nil || send.generation != w.generations[send.Index] {
		return nil
	}
	switch outcome {
	case OK:
		if offset := send.Entry - w.lac - 1; offset >= 0 && offset < int64(len(w.pending)) {
			w.pending[offset] = w.pending[offset].with(send.Index)
			w.advance()
		}
		return nil
	case Fenced:
		w.err = fmt.Errorf("bookie %s: %w", send.Bookie, ErrFenced)
		return nil
	case Unauthorized:
		w.err = fmt.Errorf("bookie %s: %w", send.Bookie, ErrUnauthorized)
		return nil
	}
	w.failed = w.failed.with(send.Index)
	return w.change()
}

// change begins a change for all places that have failed by now, unless one is under way.
func (w *Writer) change() *Change {
	if w.changing || w.failed == 0 || w.err != nil {
		return nil
	}
	w.changing, w.asked = true, w.failed
	change := &Change{FirstEntry: w.lac + 1, Ensemble: slices.Clone(w.ensemble)}
	for index := range w.ensemble {
		if w.asked.has(index) {
			change.Failed = append(change.Failed, index)
		}
	}
	return change
}

// Changed ends a change: the metadata now has the given ensemble from LAC+1 on. It appends the entries that the new bookies need, and
// returns a further change when other places failed meanwhile.
func (w *Writer) Changed(ensemble []string, sends []Send) ([]Send, *Change) {
	if w.err != nil || !w.changing {
		return sends, nil
	}
	for index := range w.ensemble {
		if w.asked.has(index) {
			w.ensemble[index] = ensemble[index]
			w.generations[index]++
		}
	}
	for offset := range w.pending {
		w.pending[offset] = w.pending[offset].without(w.asked)
		entry := w.lac + 1 + int64(offset)
		for _, index := range WriteSet(entry, len(w.ensemble), w.writeQuorum) {
			if w.asked.has(index) {
				sends = append(sends, w.send(entry, index))
			}
		}
	}
	w.failed = w.failed.without(w.asked)
	w.changing, w.asked = false, 0
	w.advance()
	return sends, w.change()
}

// Stop ends the writer: nothing is acknowledged any more.
func (w *Writer) Stop(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *Writer) advance() {
	if w.changing {
		return
	}
	done := 0
	for _, acks := range w.pending {
		if bits.OnesCount64(uint64(acks)) < w.ackQuorum {
			break
		}
		done++
	}
	if done > 0 {
		w.lac += int64(done)
		w.pending = w.pending[done:]
	}
}
