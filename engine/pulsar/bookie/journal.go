package bookie

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"twinlog/engine/commitlog"
	"twinlog/engine/disk"
	"twinlog/engine/pulsar/bookkeeper/wire"
	"twinlog/engine/trace"
)

const (
	journalDir      = "journal"
	journalSegment  = 32 << 20
	journalQueue    = 32 << 20 // bytes of operations that wait for the journal
	journalBatch    = 4 << 20  // bytes that one sync covers, about
	maxLedgerStates = 1 << 14
)

// operation is a request that goes through the journal. Done is called once, by the journal's goroutine; it must not wait.
type operation struct {
	request *wire.Request
	done    func(wire.Status)
}

// ledgerState is what the journal must know of a ledger before it takes an add.
type ledgerState struct {
	key    []byte
	fenced bool
}

// journal makes operations durable, in the order in which they came, many with one sync (group commit). Its goroutine owns the
// ledgers' states, and that is what makes fencing safe: an add that came before the fence is in storage before the fence is
// answered, so that recovery will see it; one that came after is refused.
type journal struct {
	log     *commitlog.Log
	storage *storage
	space   *space
	tracer  *trace.Tracer
	damage  *damageReport
	queue   *queue[operation]

	sequence int64 // of the next record
	states   map[int64]*ledgerState
	trimmed  atomic.Int64 // entry logs have synced everything before
}

// openJournal opens the journal and gives storage what it had not synced.
func openJournal(d disk.Disk, ahead int64, s *storage, storedNext int64, tracer *trace.Tracer, damage *damageReport) (*journal, error) {
	log, err := commitlog.Open(d, journalDir, recordFraming{}, commitlog.Config{SegmentBytes: journalSegment, IndexInterval: 1 << 16, Preallocate: ahead})
	if err != nil {
		return nil, err
	}
	j := &journal{log: log, storage: s, space: s.space, tracer: tracer, damage: damage, queue: newQueue[operation](journalQueue), states: make(map[int64]*ledgerState)}
	j.sequence = max(log.Next(), storedNext)
	if from := max(storedNext, log.Start()); from < log.Next() {
		err = readRecords(log, from, func(records []byte, _ int64) error { return s.replay(records) })
	}
	if err != nil {
		log.Abandon()
		return nil, fmt.Errorf("replay journal: %w", err)
	}
	return j, nil
}

// replay stores records of the journal directly: nobody reads or writes yet.
func (s *storage) replay(records []byte) error {
	b := &batch{bytes: records}
	err := eachRecord(records, func(record []byte, at int) error {
		ledger, entry := recordIDs(record)
		b.records = append(b.records, batchRecord{ledger: ledger, entry: entry, at: at, size: len(record)})
		return nil
	})
	if err != nil {
		return err
	}
	return s.storeOrKeep(b)
}

// submit waits for room in the queue; false: the bookie is stopping.
func (j *journal) submit(o operation, done <-chan struct{}) bool {
	return j.queue.put(o, int64(len(o.request.Body))+minimumRecord, done)
}

// run commits what comes until ctx ends. An error means that the disk can no longer be trusted.
func (j *journal) run(ctx context.Context) error {
	var spare []operation
	for {
		select {
		case <-ctx.Done():
			j.refuse(j.queue.close())
			return nil
		case <-j.queue.filled:
		}
		operations := j.queue.takeAll(spare)
		for rest := operations; len(rest) > 0; {
			size := batchSize(rest)
			if err := j.commit(ctx, rest[:size]); err != nil {
				j.refuse(rest)
				j.refuse(j.queue.close())
				return err
			}
			rest = rest[size:]
		}
		clear(operations)
		spare = operations
		if err := j.trim(); err != nil {
			return err
		}
	}
}

func batchSize(operations []operation) int {
	weight := 0
	for i, o := range operations {
		if weight += len(o.request.Body); weight >= journalBatch {
			return i + 1
		}
	}
	return len(operations)
}

func (j *journal) refuse(operations []operation) {
	for _, o := range operations {
		o.done(wire.IOError)
	}
}

// commit decides on each operation, writes the records of those that are accepted, syncs once, and answers.
func (j *journal) commit(ctx context.Context, operations []operation) error {
	b, statuses, err := j.write(operations)
	if isDiskFull(err) { // once more, without the adds: a fence needs little room
		j.space.exhausted()
		b, statuses, err = j.write(operations)
	}
	if isDiskFull(err) {
		b, err = &batch{}, nil
		refuseForRoom(operations, statuses)
	}
	if err != nil {
		return err
	}
	if err := j.log.Sync(); err != nil {
		return fmt.Errorf("sync journal: %w", err)
	}
	if len(b.records) > 0 {
		j.storage.add(ctx, b)
	}
	j.tell(b, operations, statuses)
	var weight int64
	for i, o := range operations {
		weight += int64(len(o.request.Body)) + minimumRecord // as long as there is a body: done lets go of it
		o.done(statuses[i])
	}
	j.queue.release(weight)
	j.boundStates()
	return nil
}

// write decides on each operation and appends the records of those that are accepted. When the disk has no room for them, nothing has
// happened.
func (j *journal) write(operations []operation) (*batch, []wire.Status, error) {
	first := j.sequence
	b := &batch{bytes: make([]byte, 0, commitCapacity(operations))}
	statuses := make([]wire.Status, len(operations))
	for i, o := range operations {
		status, err := j.decide(b, o.request)
		if err != nil {
			return nil, nil, err
		}
		statuses[i] = status
	}
	if len(b.bytes) == 0 {
		return b, statuses, nil
	}
	if _, err := j.log.Append(b.bytes); err != nil {
		j.sequence = first
		for _, r := range b.records { // what was noted of these ledgers is not on the disk
			delete(j.states, r.ledger)
		}
		return nil, statuses, fmt.Errorf("write journal: %w", err)
	}
	return b, statuses, nil
}

// refuseForRoom makes refusals of what a full disk cannot hold: an add may go to another bookie, a fence must not count.
func refuseForRoom(operations []operation, statuses []wire.Status) {
	for i, o := range operations {
		switch operation := o.request.Operation; {
		case statuses[i] != wire.OK || operation == wire.ForceLedger:
		case operation == wire.ReadEntry:
			statuses[i] = wire.IOError
		default:
			statuses[i] = wire.ReadOnly
		}
	}
}

// tell records what the batch did in an order that is true: an ordinary add that was accepted came before the fence of its ledger, one
// of a recovery may have come after it.
func (j *journal) tell(b *batch, operations []operation, statuses []wire.Status) {
	stored := func(recovery bool) {
		for i, o := range operations {
			if r := o.request; statuses[i] == wire.OK && r.Operation == wire.AddEntry && r.Recovery == recovery {
				j.tracer.Emit(trace.EntryStored{Ledger: r.Ledger, Entry: r.Entry, Bytes: int64(len(r.Body)), Recovery: recovery})
			}
		}
	}
	stored(false)
	for _, ledger := range b.fenced {
		j.tracer.Emit(trace.LedgerFenced{Ledger: ledger})
	}
	stored(true)
}

func commitCapacity(operations []operation) int {
	capacity := 0
	for _, o := range operations {
		capacity += recordHeaderSize + len(o.request.Body) + minimumRecord
	}
	return capacity
}

// decide checks an operation against its ledger's state and appends the records that it needs.
func (j *journal) decide(b *batch, r *wire.Request) (wire.Status, error) {
	if r.Operation == wire.ForceLedger {
		return wire.OK, nil // everything before it is in this batch or an earlier one
	}
	if r.Operation == wire.AddEntry && j.space.isFull() {
		return wire.ReadOnly, nil
	}
	state, err := j.state(r.Ledger)
	var corrupt *commitlog.CorruptError
	switch {
	case errors.As(err, &corrupt): // it cannot be told whether this ledger is fenced; the others are well
		j.damage.cannotRead(r.Ledger, r.Entry, err)
		return wire.IOError, nil
	case err != nil:
		return wire.IOError, err
	}
	switch {
	case state.key == nil:
		state.key = bytes.Clone(r.MasterKey)
		j.append(b, r.Ledger, ledgerKeyEntry, state.key)
	case !bytes.Equal(state.key, r.MasterKey):
		return wire.Unauthorized, nil
	}
	switch r.Operation {
	case wire.ReadEntry: // with the fence flag
		if !state.fenced {
			state.fenced = true
			j.append(b, r.Ledger, fenceEntry, nil)
			b.fenced = append(b.fenced, r.Ledger)
		}
	case wire.WriteLAC:
		j.append(b, r.Ledger, explicitLACEntry, r.Body)
	case wire.AddEntry:
		if state.fenced && !r.Recovery {
			return wire.Fenced, nil
		}
		j.appendEntry(b, r)
	}
	return wire.OK, nil
}

func (j *journal) append(b *batch, ledger, entry int64, rest []byte) {
	at := len(b.bytes)
	b.bytes = appendRecord(b.bytes, j.sequence, entryIDs(ledger, entry), rest)
	j.note(b, ledger, entry, at)
}

func (j *journal) appendEntry(b *batch, r *wire.Request) {
	at := len(b.bytes)
	b.bytes = appendRecord(b.bytes, j.sequence, r.Body)
	j.note(b, r.Ledger, r.Entry, at)
}

func (j *journal) note(b *batch, ledger, entry int64, at int) {
	b.records = append(b.records, batchRecord{ledger: ledger, entry: entry, at: at, size: len(b.bytes) - at})
	j.sequence++
}

// state finds a ledger's state in memory or in storage. A ledger that nobody knows has no key yet.
func (j *journal) state(ledger int64) (*ledgerState, error) {
	if state := j.states[ledger]; state != nil {
		return state, nil
	}
	state := &ledgerState{}
	key, err := j.storage.read(ledger, ledgerKeyEntry)
	if err == nil {
		state.key = key[16:]
	} else if !errors.Is(err, errNoLedger) && !errors.Is(err, errNoEntry) {
		return nil, fmt.Errorf("read the key of ledger %d: %w", ledger, err)
	}
	switch _, err = j.storage.read(ledger, fenceEntry); {
	case err == nil:
		state.fenced = true
	case !errors.Is(err, errNoLedger) && !errors.Is(err, errNoEntry):
		return nil, fmt.Errorf("read the fence of ledger %d: %w", ledger, err)
	}
	j.states[ledger] = state
	return state, nil
}

// boundStates forgets some states; storage has them by now.
func (j *journal) boundStates() {
	for ledger := range j.states {
		if len(j.states) <= maxLedgerStates {
			return
		}
		delete(j.states, ledger)
	}
}

// trim removes whole segments that the entry logs have synced.
func (j *journal) trim() error {
	to := j.trimmed.Load()
	if segments := j.log.Segments(); len(segments) < 2 || segments[0].Next > to {
		return nil
	}
	if err := j.log.DeleteBefore(to); err != nil && !isDiskFull(err) { // then later
		return fmt.Errorf("trim journal: %w", err)
	}
	return nil
}
