package replica

import (
	"math"
	"time"
)

// Batch is what the header of a record batch says about its producer.
type Batch struct {
	ProducerID    int64 // -1: not idempotent
	Epoch         int16
	BaseSequence  int32
	Records       int32 // sequence numbers that the batch takes
	BaseOffset    int64 // known once it was appended
	LastOffset    int64
	Timestamp     int64 // largest in the batch, in milliseconds since 1970
	Transactional bool
	Control       bool
}

// LastSequence is the batch's last sequence number. After 2^31-1 comes 0.
func (b Batch) LastSequence() int32 { return addSequence(b.BaseSequence, b.Records-1) }

func addSequence(sequence, increment int32) int32 {
	if sequence > math.MaxInt32-increment {
		return increment - (math.MaxInt32 - sequence) - 1
	}
	return sequence + increment
}

// Verdict is what is to be done with a batch.
type Verdict int

const (
	// VerdictAppend: the batch is the producer's next one.
	VerdictAppend Verdict = iota
	// VerdictDuplicate: the batch is in the log already; the producer did not get the answer and gets it now.
	VerdictDuplicate
	// VerdictOutOfOrder: a batch before this one is missing.
	VerdictOutOfOrder
	// VerdictFenced: a newer epoch of the same producer id has written.
	VerdictFenced
)

// rememberedBatches is how many batches of a producer can be told from new ones; a client has at most five in flight.
const rememberedBatches = 5

// rememberedProducers bounds the producers of one partition; the one that wrote longest ago goes first. Its next batch is accepted with
// any sequence number, as that of a producer that was never seen.
const rememberedProducers = 10_000

// ProducerState is one idempotent producer in one partition.
type ProducerState struct {
	ID      int64
	Epoch   int16
	Batches []Batch // the last ones, oldest first; empty when only the epoch is known
	// Written is when it wrote last by the broker's clock: record timestamps are the clients' and may be anything.
	Written time.Time
}

// LastSequence is the last sequence number that was appended, -1 when none is known.
func (s ProducerState) LastSequence() int32 {
	if len(s.Batches) == 0 {
		return -1
	}
	return s.Batches[len(s.Batches)-1].LastSequence()
}

// Producers keeps the idempotent producers of one partition. The zero value is empty. One goroutine owns it.
type Producers struct {
	states map[int64]*ProducerState
}

// Check judges a batch before it is appended. For a duplicate, the first appending of the batch is returned.
func (p *Producers) Check(b Batch) (Verdict, Batch) {
	if b.ProducerID < 0 || b.Control {
		return VerdictAppend, Batch{}
	}
	state := p.states[b.ProducerID]
	if state == nil {
		return VerdictAppend, Batch{} // unknown, or forgotten: any sequence number is right
	}
	switch {
	case b.Epoch < state.Epoch:
		return VerdictFenced, Batch{}
	case b.Epoch > state.Epoch:
		if b.BaseSequence != 0 {
			return VerdictOutOfOrder, Batch{}
		}
		return VerdictAppend, Batch{}
	}
	for _, earlier := range state.Batches {
		if earlier.BaseSequence == b.BaseSequence && earlier.LastSequence() == b.LastSequence() {
			return VerdictDuplicate, earlier
		}
	}
	if len(state.Batches) > 0 && b.BaseSequence != addSequence(state.LastSequence(), 1) {
		return VerdictOutOfOrder, Batch{}
	}
	return VerdictAppend, Batch{}
}

// Appended remembers a batch that is in the log now.
func (p *Producers) Appended(b Batch, now time.Time) {
	if b.ProducerID < 0 {
		return
	}
	if p.states == nil {
		p.states = map[int64]*ProducerState{}
	}
	state := p.states[b.ProducerID]
	if state == nil {
		p.makeRoom()
		state = &ProducerState{ID: b.ProducerID}
		p.states[b.ProducerID] = state
	}
	if b.Epoch != state.Epoch {
		state.Epoch, state.Batches = b.Epoch, nil
	}
	state.Written = now
	if b.Control {
		return
	}
	if len(state.Batches) == rememberedBatches {
		state.Batches = append(state.Batches[:0], state.Batches[1:]...)
	}
	state.Batches = append(state.Batches, b)
}

func (p *Producers) makeRoom() {
	if len(p.states) < rememberedProducers {
		return
	}
	var oldest *ProducerState
	for _, state := range p.states {
		if oldest == nil || state.Written.Before(oldest.Written) {
			oldest = state
		}
	}
	delete(p.states, oldest.ID)
}

// Expire forgets the producers that have not written since a time.
func (p *Producers) Expire(before time.Time) {
	for id, state := range p.states {
		if state.Written.Before(before) {
			delete(p.states, id)
		}
	}
}

// States lists the producers in no order. The states must not be changed.
func (p *Producers) States() []ProducerState {
	list := make([]ProducerState, 0, len(p.states))
	for _, state := range p.states {
		list = append(list, *state)
	}
	return list
}

// Restore puts a producer back, from a snapshot file.
func (p *Producers) Restore(state ProducerState) {
	if p.states == nil {
		p.states = map[int64]*ProducerState{}
	}
	p.states[state.ID] = &state
}
