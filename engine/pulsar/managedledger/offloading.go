package managedledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"twinlog/engine/pulsar/offloaded"
	"twinlog/engine/trace"
)

// OffloadStatus is how the last offload that was asked for went.
type OffloadStatus struct {
	State string // NOT_RUN, RUNNING, SUCCESS, ERROR, as Pulsar's admin interface says it
	Error string
	// FirstInBookies is, after SUCCESS, the first position that was not offloaded.
	FirstInBookies Position
}

// The states of an offload.
const (
	OffloadNotRun  = "NOT_RUN"
	OffloadRunning = "RUNNING"
	OffloadSuccess = "SUCCESS"
	OffloadError   = "ERROR"
)

// offloadWork is what one run does, in this order.
type offloadWork struct {
	remove    []offloaded.Name // objects that nothing refers to any more
	brokenOff []LedgerInfo     // left by a predecessor
	offload   []LedgerInfo
	leave     []LedgerInfo // bookies drop their copy
	asked     bool         // for an administrator, who may ask how it went
}

// offloadRun is a run that is under way: one goroutine, which changes the list of ledgers only through the owner.
type offloadRun struct {
	work   offloadWork
	cancel context.CancelFunc
	ended  chan struct{}
	// What follows is the goroutine's until ended is closed.
	left     []offloaded.Name // of work.remove, what is still there
	progress bool
	err      error // the first one
}

// Offload begins to copy the sealed ledgers before a position to the medium, and returns at once; OffloadStatus tells how it goes.
// ErrNoMedium, ErrOffloading, ErrInvalidPosition.
func (m *ManagedLedger) Offload(ctx context.Context, before Position) error {
	return m.ask(ctx, func(answer chan<- error) {
		switch err := m.Err(); {
		case m.factory.config.Medium == nil:
			answer <- fmt.Errorf("managed ledger %s: %w", m.name, ErrNoMedium)
		case err != nil && !errors.Is(err, ErrTerminated):
			answer <- err
		case m.OffloadStatus().State == OffloadRunning:
			answer <- fmt.Errorf("managed ledger %s: %w", m.name, ErrOffloading)
		case !viewed(m, func(l ledgerList) bool { return l.reaches(before) }):
			answer <- fmt.Errorf("managed ledger %s: %w for an offload: %v", m.name, ErrInvalidPosition, before)
		default:
			m.offloadBefore = &before
			m.setOffloadStatus(OffloadStatus{State: OffloadRunning})
			m.offloadIfDue()
			answer <- nil
		}
	})
}

// reaches tells whether p is an entry or the place after the last one of a ledger.
func (l ledgerList) reaches(p Position) bool {
	return l.has(p.Ledger) && p.Entry >= 0 && p.Entry <= l[l.at(p.Ledger)].Entries
}

// OffloadStatus tells how the last offload that was asked for goes.
func (m *ManagedLedger) OffloadStatus() OffloadStatus {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.offloadStatus
}

func (m *ManagedLedger) setOffloadStatus(status OffloadStatus) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.offloadStatus = status
}

// SetOffloadPolicy takes effect at the next CheckOffload.
func (m *ManagedLedger) SetOffloadPolicy(policy OffloadPolicy) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.options.Offload = &policy
}

// CheckOffload lets the managed ledger see whether there is something to offload, or to delete from bookies, by now. It does not wait.
// A managed ledger also looks by itself, after it was opened and when a ledger is sealed; time passes without its notice.
func (m *ManagedLedger) CheckOffload() {
	m.mailbox.post(event{call: m.offloadIfDue})
}

// offloadIfDue starts a run when there is something to do and none is under way. The owner calls it.
func (m *ManagedLedger) offloadIfDue() {
	err := m.Err()
	if m.factory.config.Medium == nil || m.offloading != nil || m.retiring || m.released || err != nil && !errors.Is(err, ErrTerminated) {
		return
	}
	work := m.offloadWork(time.Now())
	if len(work.remove)+len(work.brokenOff)+len(work.offload)+len(work.leave) == 0 {
		if work.asked {
			m.offloadAnswered(nil)
		}
		return
	}
	m.unwanted = nil
	ctx, cancel := context.WithCancel(m.factory.ctx)
	run := &offloadRun{work: work, cancel: cancel, ended: make(chan struct{})}
	m.offloading = run
	go func() {
		defer cancel()
		m.runOffload(ctx, run)
		close(run.ended)
		m.mailbox.post(event{call: func() { m.offloadEnded(run) }})
	}()
}

func (m *ManagedLedger) offloadWork(now time.Time) offloadWork {
	m.mu.RLock()
	defer m.mu.RUnlock()
	policy := m.options.offloadPolicy()
	work := offloadWork{
		remove: m.unwanted, brokenOff: m.ledgers.brokenOff(), offload: m.ledgers.due(policy, now),
		leave: m.ledgers.leavingBookies(policy.DeletionLag, now),
	}
	if m.offloadBefore != nil {
		work.asked = true
		if asked := m.ledgers.offloadable(m.offloadBefore.Ledger); len(asked) > len(work.offload) { // each is a beginning of the list
			work.offload = asked
		}
	}
	return work
}

func (o Options) offloadPolicy() OffloadPolicy {
	if o.Offload == nil {
		return DefaultOffloadPolicy
	}
	return *o.Offload
}

// offloadEnded is called by the owner. After progress there may be more to do; after failures alone the next check tries again.
func (m *ManagedLedger) offloadEnded(run *offloadRun) {
	m.offloading = nil
	m.unwanted = append(run.left, m.unwanted...)
	if run.err != nil {
		m.logger.Warn("offload", "managed ledger", m.name, "error", run.err)
	}
	if run.work.asked {
		m.offloadAnswered(run.err)
	}
	if run.progress || m.offloadBefore != nil {
		m.offloadIfDue()
	}
}

// offloadAnswered: what was asked for is done, or has failed.
func (m *ManagedLedger) offloadAnswered(err error) {
	m.offloadBefore = nil
	status := OffloadStatus{State: OffloadSuccess, FirstInBookies: viewed(m, ledgerList.firstInBookies)}
	if err != nil {
		status = OffloadStatus{State: OffloadError, Error: err.Error()}
	}
	m.setOffloadStatus(status)
}

// dropOffloaded has the objects of ledgers removed that were trimmed. An attempt that is under way for one of them removes its own.
func (m *ManagedLedger) dropOffloaded(dropped ledgerList) {
	for _, info := range dropped {
		if info.Offload != nil && m.factory.config.Medium != nil {
			m.unwanted = append(m.unwanted, m.objectName(info))
		}
		if info.Offloaded() {
			m.factory.config.Tracer.Emit(trace.PulsarOffloadedLedgerDeleted{ManagedLedger: m.name, Ledger: info.Ledger})
		}
	}
	m.offloadIfDue()
}

// endOffload breaks a run off and waits for its end, and removes what nothing refers to any more. It is called by the last task: the
// tasks before it, which may have trimmed something, are done.
func (m *ManagedLedger) endOffload(ctx context.Context) {
	var run *offloadRun
	var unwanted []offloaded.Name
	told := make(chan struct{})
	m.mailbox.post(event{call: func() { run, unwanted = m.offloading, m.unwanted; close(told) }})
	<-told // the owner lives as long as its tasks
	if run != nil {
		run.cancel()
		<-run.ended
		unwanted = append(run.left, unwanted...)
	}
	ctx, cancel := context.WithTimeout(ctx, mediumPatience)
	defer cancel()
	for _, name := range unwanted {
		if err := offloaded.Remove(ctx, m.factory.config.Medium, name); err != nil {
			m.logger.Info("objects that nobody needs stay on the medium", "managed ledger", m.name, "object", name.String(), "error", err)
			return
		}
	}
}
