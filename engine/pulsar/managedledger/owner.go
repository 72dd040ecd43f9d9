package managedledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/ledger"
)

// entryOverhead is what an add costs besides its bytes, about.
const entryOverhead = 128

// pendingAdd is an add that is not done.
type pendingAdd struct {
	data     []byte
	messages int
	done     func(Position, error)
}

func (a *pendingAdd) weight() int64 { return int64(len(a.data)) + entryOverhead }

// event is one of: an add, a writer's answer, something to be done by the owner.
type event struct {
	add    *pendingAdd
	answer *addAnswer
	call   func()
	refuse func() // instead of call, when the owner has ended; may be nil
}

type addAnswer struct {
	writer *bookkeeper.Writer
	entry  int64
	err    error
}

// mailbox hands events to the owner. Posting never waits; the bytes of adds are bounded by MaxPendingBytes.
type mailbox struct {
	mu     sync.Mutex
	events []event
	closed bool
	filled chan struct{}
}

func newMailbox() *mailbox { return &mailbox{filled: make(chan struct{}, 1)} }

func (b *mailbox) post(e event) bool {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return false
	}
	b.events = append(b.events, e)
	b.mu.Unlock()
	select {
	case b.filled <- struct{}{}:
	default:
	}
	return true
}

func (b *mailbox) takeAll(empty []event, closing bool) []event {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = empty[:0]
	b.closed = b.closed || closing
	return events
}

// run owns the managed ledger until it is released and the last task has ended.
func (m *ManagedLedger) run() {
	defer close(m.ended)
	var spare []event
	for !m.finished() {
		<-m.mailbox.filled
		events := m.mailbox.takeAll(spare, false)
		confirmed := 0
		for i := range events {
			switch e := &events[i]; {
			case e.add != nil:
				m.add(e.add)
			case e.answer != nil:
				confirmed += m.answered(e.answer)
			default:
				e.call()
			}
		}
		clear(events)
		spare = events
		if confirmed > 0 {
			m.mu.Lock()
			m.tellChange()
			m.mu.Unlock()
		}
		m.rollIfDue()
		m.nextTask()
	}
	for _, e := range m.mailbox.takeAll(nil, true) {
		switch {
		case e.add != nil:
			m.adds = append(m.adds, e.add)
		case e.refuse != nil:
			e.refuse()
		}
	}
	m.failAdds(m.refusal())
}

// finished: let go of for good, and nothing is under way.
func (m *ManagedLedger) finished() bool {
	return m.released && !m.busy && len(m.tasks) == 0 && m.sent == 0
}

func (m *ManagedLedger) add(a *pendingAdd) {
	if err := m.Err(); err != nil {
		m.finish(a, Position{}, err)
		return
	}
	if m.retiring {
		m.finish(a, Position{}, fmt.Errorf("managed ledger %s: %w", m.name, ErrClosed))
		return
	}
	m.adds = append(m.adds, a)
	m.send()
}

// fill is how full a ledger is.
type fill struct{ entries, bytes int64 }

// send gives the writer what waits, until its ledger is full.
func (m *ManagedLedger) send() {
	_, writer, created := m.current()
	if m.rolling || m.broken || writer == nil {
		return
	}
	age := time.Since(created)
	for ; m.sent < len(m.adds) && !m.full(age); m.sent++ {
		data := m.adds[m.sent].data
		m.given.entries++
		m.given.bytes += int64(len(data))
		writer.Append(data, func(entry int64, err error) {
			m.mailbox.post(event{answer: &addAnswer{writer: writer, entry: entry, err: err}})
		})
	}
}

// full tells whether the current ledger, being so old, takes no more.
func (m *ManagedLedger) full(age time.Duration) bool {
	config := m.factory.config
	return m.given.entries > 0 && (m.given.bytes >= config.MaxBytesPerLedger ||
		m.given.entries >= config.MaxEntriesPerLedger && age >= config.MinRollover || age >= config.MaxRollover)
}

// answered takes the writer's answer to the first add; answers come in order. It returns how many entries were confirmed.
func (m *ManagedLedger) answered(answer *addAnswer) int {
	if answer.err != nil {
		m.sent--
		m.broken = true
		if m.sent == 0 {
			m.writerFailed(answer.err)
		}
		return 0
	}
	add := m.adds[0]
	m.adds[0] = nil
	m.adds = m.adds[1:]
	m.sent--
	p := Position{Ledger: answer.writer.ID(), Entry: answer.entry}
	m.factory.cache.put(p, add.data)
	m.mu.Lock()
	current := &m.ledgers[len(m.ledgers)-1]
	current.Entries = answer.entry + 1
	current.Bytes += int64(len(add.data))
	m.stats.EntriesAdded++
	m.stats.MessagesAdded += int64(add.messages)
	m.stats.BytesAdded += int64(len(add.data))
	m.mu.Unlock()
	m.finish(add, p, nil)
	return 1
}

func (m *ManagedLedger) finish(a *pendingAdd, p Position, err error) {
	m.pendingBytes.Add(-a.weight())
	m.pendingAdds.Add(-1)
	a.done(p, err)
}

// writerFailed is called when the writer has failed and has nothing under way any more. Unless somebody else owns the managed ledger
// now, it is closed at what it acknowledged, and the other adds go to a new ledger.
func (m *ManagedLedger) writerFailed(err error) {
	m.logger.Warn("ledger failed", "managed ledger", m.name, "ledger", m.currentWriter().ID(), "error", err)
	if errors.Is(err, ledger.ErrFenced) {
		m.stopWith(fmt.Errorf("managed ledger %s: %w (%v)", m.name, ErrFenced, err))
	}
}

// rollIfDue begins a new ledger when the current one is full, old, failed or missing, and nothing is under way in it. Adds wait.
func (m *ManagedLedger) rollIfDue() {
	if m.rolling || m.retiring || m.Err() != nil {
		return
	}
	_, writer, created := m.current()
	switch {
	case writer == nil:
		if len(m.adds) == 0 {
			return // the next add begins a ledger
		}
	case !m.broken && !m.full(time.Since(created)):
		return
	}
	m.rolling = true
	m.begin(m.rollTask())
}

// current is the current ledger; without a writer there is none.
func (m *ManagedLedger) current() (LedgerInfo, *bookkeeper.Writer, time.Time) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.writer == nil {
		return LedgerInfo{}, nil, time.Time{}
	}
	return m.ledgers[len(m.ledgers)-1], m.writer, m.created
}

func (m *ManagedLedger) currentWriter() *bookkeeper.Writer {
	_, writer, _ := m.current()
	return writer
}

// stopWith ends adds for good.
func (m *ManagedLedger) stopWith(err error) {
	m.mu.Lock()
	if m.err == nil || errors.Is(err, ErrClosed) {
		m.err = err
	}
	err = m.err
	m.tellChange()
	m.mu.Unlock()
	m.failAdds(err)
}

// failAdds fails the adds that the writer does not have.
func (m *ManagedLedger) failAdds(err error) {
	waiting := slices.Clone(m.adds[m.sent:])
	m.adds = m.adds[:m.sent]
	for _, a := range waiting {
		m.finish(a, Position{}, err)
	}
}

// task changes the list of ledgers. Run does the work outside the owner, when no add is under way; apply is then called by the owner.
type task struct {
	quiet bool // needs that no add is with the writer
	run   func(ctx context.Context) error
	apply func(err error)
}

// begin queues a task.
func (m *ManagedLedger) begin(t task) {
	m.tasks = append(m.tasks, t)
	m.nextTask()
}

// nextTask starts the first task when its time has come. It is called again after every answer that could be the last.
func (m *ManagedLedger) nextTask() {
	if m.busy || len(m.tasks) == 0 || m.tasks[0].quiet && m.sent > 0 {
		return
	}
	t := m.tasks[0]
	m.tasks = m.tasks[1:]
	m.busy = true
	go func() {
		err := t.run(m.factory.ctx)
		m.mailbox.post(event{call: func() {
			m.busy = false
			t.apply(err)
			m.nextTask()
		}})
	}()
}

// ask runs f on the owner and waits until f's answer comes; false: the owner has ended.
func (m *ManagedLedger) ask(ctx context.Context, f func(answer chan<- error)) error {
	answer := make(chan error, 1)
	refuse := func() { answer <- m.refusal() }
	call := func() {
		if m.released {
			refuse()
			return
		}
		f(answer)
	}
	if !m.mailbox.post(event{call: call, refuse: refuse}) {
		return m.refusal()
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *ManagedLedger) state() string {
	switch {
	case errors.Is(m.err, ErrFenced):
		return "Fenced"
	case errors.Is(m.err, ErrTerminated):
		return "Terminated"
	case errors.Is(m.err, ErrClosed):
		return "Closed"
	case m.writer == nil:
		return "ClosedLedger"
	}
	return "LedgerOpened"
}
