package ledger

import (
	"fmt"
	"math/bits"
)

// Read tells the driver to read an entry from a bookie with the fence flag. Entry is NoEntry for the bookie's last entry.
type Read struct {
	Entry  int64
	Index  int // place in the last ensemble
	Bookie string
}

// Recovery finds out where the ledger of a dead (or only believed dead) writer ends. The driver has moved the metadata from Open to
// InRecovery before, and afterwards closes the ledger at the last entry that was found, by compare and set.
//
//  1. Fence: every bookie of the last ensemble is asked for its last entry, with the fence flag. From its answer on a bookie takes no
//     add from the old writer. Enough have answered when, in every write set, fewer than an ack quorum have not: the writer then can
//     get no entry acknowledged any more, anywhere.
//  2. The highest LAC in the answers is acknowledged for certain. Entries after it may be: their acknowledgements reached the writer,
//     but no later entry told the bookies.
//  3. So read on. An entry that one bookie has may have been acknowledged: it is kept and written back until an ack quorum has it. An
//     entry that writeQuorum-ackQuorum+1 of its bookies do not have cannot have been: the ledger ends before it.
//
// A bookie that has never heard of the ledger is fenced like any other, and its answer counts.
type Recovery struct {
	ensemble    []string
	writeQuorum int
	ackQuorum   int

	fencing bool
	fenced  indexSet // answered, and fenced
	silent  indexSet // did not answer
	lac     int64

	window  int             // entries that are read ahead
	next    int64           // first entry not asked for yet
	current int64           // first entry not decided yet
	entries map[int64]*vote // current … next-1
	ended   bool
	err     error
}

// vote is what the bookies of a write set said about an entry.
type vote struct {
	absent indexSet
	failed indexSet
	sealed []byte // the entry, once a bookie had it
}

// readAhead bounds the entries that recovery asks for before the one it waits for is decided.
const readAhead = 32

// NewRecovery begins a recovery and returns the fencing reads.
func NewRecovery(metadata Metadata) (*Recovery, []Read) {
	segment := metadata.CurrentSegment()
	r := &Recovery{
		ensemble:    segment.Bookies,
		writeQuorum: metadata.WriteQuorum,
		ackQuorum:   metadata.AckQuorum,
		fencing:     true,
		lac:         segment.FirstEntry - 1,
		window:      readAhead,
		entries:     make(map[int64]*vote),
	}
	var reads []Read
	for index, bookie := range r.ensemble {
		reads = append(reads, Read{Entry: NoEntry, Index: index, Bookie: bookie})
	}
	return r, reads
}

// Err is why the recovery cannot go on; nil while it can.
func (r *Recovery) Err() error { return r.err }

// LastAddConfirmed is the highest LAC that was found; it is final once Fencing is over.
func (r *Recovery) LastAddConfirmed() int64 { return r.lac }

// Fencing tells whether step 1 is still under way.
func (r *Recovery) Fencing() bool { return r.fencing }

// Ended tells whether the last entry is known: the last one that Found returned, else LastAddConfirmed.
func (r *Recovery) Ended() bool { return r.ended }

// FenceAnswer takes the answer to a fencing read. Header is the last entry's when the outcome is OK. It returns the first reads of
// step 3 when the fencing is complete with this answer.
func (r *Recovery) FenceAnswer(read Read, outcome Outcome, header EntryHeader) []Read {
	if r.err != nil {
		return nil
	}
	switch outcome {
	case OK:
		r.fenced = r.fenced.with(read.Index)
		if r.fencing {
			r.lac = max(r.lac, header.LastAddConfirmed)
		}
	case NoSuchEntry, NoSuchLedger:
		r.fenced = r.fenced.with(read.Index)
	case Unauthorized:
		r.err = fmt.Errorf("recovery: bookie %s: %w", read.Bookie, ErrUnauthorized)
		return nil
	default:
		r.silent = r.silent.with(read.Index)
	}
	if !r.fencing {
		return nil
	}
	if r.covered() {
		r.fencing = false
		r.current, r.next = r.lac+1, r.lac+1
		return r.readOn(nil)
	}
	if answered := bits.OnesCount64(uint64(r.fenced | r.silent)); answered == len(r.ensemble) {
		r.err = fmt.Errorf("recovery: %w: %d of the ensemble %v answered, every write set of %d needs %d", ErrNotEnoughBookies,
			bits.OnesCount64(uint64(r.fenced)), r.ensemble, r.writeQuorum, r.writeQuorum-r.ackQuorum+1)
	}
	return nil
}

// covered: in every write set, fewer than an ack quorum are not fenced.
func (r *Recovery) covered() bool {
	for first := range r.ensemble {
		set := writeSetOf(int64(first), len(r.ensemble), r.writeQuorum)
		if bits.OnesCount64(uint64(set.without(r.fenced))) >= r.ackQuorum {
			return false
		}
	}
	return true
}

// EntryAnswer takes the answer to a read of step 3; sealed is the entry when the outcome is OK, its digest checked.
func (r *Recovery) EntryAnswer(read Read, outcome Outcome, sealed []byte) {
	v := r.entries[read.Entry]
	if r.err != nil || r.ended || v == nil {
		return
	}
	switch outcome {
	case OK:
		v.sealed = sealed
	case NoSuchEntry, NoSuchLedger:
		v.absent = v.absent.with(read.Index)
	default:
		v.failed = v.failed.with(read.Index)
	}
}

// Found returns the next entry that is to be written back, in order, and reads that follow from it. No entry: wait for more answers,
// unless Ended or Err says otherwise.
func (r *Recovery) Found() (entry int64, sealed []byte, reads []Read) {
	v := r.entries[r.current]
	if r.fencing || r.ended || r.err != nil || v == nil {
		return NoEntry, nil, nil
	}
	if v.sealed != nil {
		entry, sealed = r.current, v.sealed
		delete(r.entries, r.current)
		r.current++
		return entry, sealed, r.readOn(nil)
	}
	absent := bits.OnesCount64(uint64(v.absent))
	failed := bits.OnesCount64(uint64(v.failed))
	switch {
	case absent >= r.writeQuorum-r.ackQuorum+1:
		r.ended = true
	case absent+failed == r.writeQuorum:
		r.err = fmt.Errorf("recovery: entry %d: %w: %d of its %d bookies do not have it, %d did not answer", r.current, ErrNotEnoughBookies,
			absent, r.writeQuorum, failed)
	}
	return NoEntry, nil, nil
}

// readOn fills the window.
func (r *Recovery) readOn(reads []Read) []Read {
	for r.next < r.current+int64(r.window) {
		r.entries[r.next] = &vote{}
		for _, index := range WriteSet(r.next, len(r.ensemble), r.writeQuorum) {
			reads = append(reads, Read{Entry: r.next, Index: index, Bookie: r.ensemble[index]})
		}
		r.next++
	}
	return reads
}
