package replica

import "slices"

// Undefined is the epoch or offset that is not known.
const Undefined = -1

// EpochStart says that a leader epoch's first record has this offset.
type EpochStart struct {
	Epoch int32
	Start int64
}

// Epochs is a log's leader epoch cache: for each leader epoch that wrote to it, where that began. Two logs agree up to the end of the
// last epoch that both have, cut at the shorter of the two ends: that, and not the high watermark, decides truncation (KIP-101).
//
//	offset  0    1    2    3    4    5    6
//	epoch   0    0    0    2    2    5    5        entries: (0,0) (2,3) (5,5)
//
// Invariant: epochs and starts both grow strictly. The zero value is the cache of an empty log. Slices that Entries returned never change.
type Epochs struct {
	entries []EpochStart
}

// NewEpochs restores a cache from its entries; those that break the invariant are dropped.
func NewEpochs(entries []EpochStart) Epochs {
	var e Epochs
	for _, entry := range entries {
		e.Assign(entry.Epoch, entry.Start)
	}
	return e
}

// Entries lists the cache. The caller must not change the slice.
func (e *Epochs) Entries() []EpochStart { return e.entries }

// Latest is the last epoch, Undefined when there is none.
func (e *Epochs) Latest() int32 {
	if len(e.entries) == 0 {
		return Undefined
	}
	return e.entries[len(e.entries)-1].Epoch
}

// Assign notes that an epoch begins at an offset, and tells whether that was news. Entries that contradict it go: they describe records
// that this log no longer has.
func (e *Epochs) Assign(epoch int32, start int64) bool {
	if epoch < 0 {
		return false
	}
	if n := len(e.entries); n > 0 && e.entries[n-1].Epoch == epoch && e.entries[n-1].Start <= start {
		return false
	}
	kept := len(e.entries)
	for kept > 0 && (e.entries[kept-1].Epoch >= epoch || e.entries[kept-1].Start >= start) {
		kept--
	}
	e.entries = append(slices.Clone(e.entries[:kept]), EpochStart{epoch, start})
	return true
}

// TruncateFromEnd forgets the epochs that begin at or after the log's new end.
func (e *Epochs) TruncateFromEnd(end int64) bool {
	kept := len(e.entries)
	for kept > 0 && e.entries[kept-1].Start >= end {
		kept--
	}
	if kept == len(e.entries) {
		return false
	}
	e.entries = slices.Clone(e.entries[:kept])
	return true
}

// TruncateFromStart forgets the epochs that end at or before the log's new start; the one that holds it begins there now.
func (e *Epochs) TruncateFromStart(start int64) bool {
	first := 0
	for first+1 < len(e.entries) && e.entries[first+1].Start <= start {
		first++
	}
	if len(e.entries) == 0 || first == 0 && e.entries[0].Start >= start {
		return false
	}
	e.entries = slices.Clone(e.entries[first:])
	e.entries[0].Start = max(e.entries[0].Start, start)
	return true
}

// EndOf finds the largest epoch that this log has and that is not above the one asked for, and where it ends. Both are Undefined when the
// epoch asked for is newer than all that is known here.
func (e *Epochs) EndOf(epoch int32, logEnd int64) (found int32, end int64) {
	if epoch == Undefined {
		return Undefined, Undefined
	}
	if epoch == e.Latest() {
		return epoch, logEnd
	}
	above := slices.IndexFunc(e.entries, func(entry EpochStart) bool { return entry.Epoch > epoch })
	switch {
	case above < 0:
		return Undefined, Undefined
	case above == 0: // older than all that is left: its records end where the first one begins
		return epoch, e.entries[0].Start
	}
	return e.entries[above-1].Epoch, e.entries[above].Start
}

// Divergence is what a leader tells a follower whose log took another branch: the last epoch at or below the follower's that the leader
// has, and where it ends there.
type Divergence struct {
	Epoch int32
	End   int64
}

// Diverges compares a follower's position (the epoch of its last record and its log end) with this log, which is the leader's. Known is
// false when the leader cannot tell, which a follower must treat as an offset out of range.
func (e *Epochs) Diverges(lastFetchedEpoch int32, fetchOffset, logEnd int64) (divergence Divergence, diverges, known bool) {
	epoch, end := e.EndOf(lastFetchedEpoch, logEnd)
	if epoch == Undefined || end == Undefined {
		return Divergence{}, false, false
	}
	if epoch < lastFetchedEpoch || end < fetchOffset {
		return Divergence{epoch, end}, true, true
	}
	return Divergence{}, false, true
}

// TruncationPoint is where a follower with this cache cuts its log after the leader's answer. One cut may not be enough: when the
// follower does not have the leader's epoch it cuts to the end of its largest smaller one, and the next fetch asks again.
func (e *Epochs) TruncationPoint(d Divergence, logEnd, highWatermark int64) int64 {
	if d.End == Undefined {
		return highWatermark
	}
	if d.Epoch == Undefined {
		return min(d.End, logEnd)
	}
	epoch, end := e.EndOf(d.Epoch, logEnd)
	switch {
	case epoch == Undefined:
		return min(d.End, logEnd)
	case epoch != d.Epoch:
		return min(end, logEnd)
	}
	return min(end, d.End, logEnd)
}
