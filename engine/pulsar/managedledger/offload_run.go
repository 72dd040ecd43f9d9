package managedledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/offloaded"
	"twinlog/engine/trace"
)

// mediumPatience bounds removing what an attempt has left.
const mediumPatience = 10 * time.Second

// errLedgerGone: the ledger was trimmed meanwhile, or is in another state than was expected.
var errLedgerGone = errors.New("the ledger is not there any more")

// runOffload works through a run. One ledger that cannot be offloaded does not keep the others from it.
func (m *ManagedLedger) runOffload(ctx context.Context, run *offloadRun) {
	note := func(err error) {
		switch {
		case err == nil:
			run.progress = true
		case run.err == nil:
			run.err = err
		}
	}
	for i, name := range run.work.remove {
		if err := offloaded.Remove(ctx, m.factory.config.Medium, name); err != nil {
			note(err)
			run.left = append(run.left, run.work.remove[i:]...)
			break
		}
	}
	steps := []struct {
		ledgers []LedgerInfo
		do      func(context.Context, LedgerInfo) error
	}{{run.work.brokenOff, m.cleanUp}, {run.work.offload, m.offloadLedger}, {run.work.leave, m.leaveBookies}}
	for _, step := range steps {
		for _, info := range step.ledgers {
			if ctx.Err() != nil || errors.Is(m.Err(), ErrFenced) {
				note(fmt.Errorf("managed ledger %s: the offload was broken off: %w", m.name, ErrClosed))
				return
			}
			err := step.do(ctx, info)
			if errors.Is(err, errLedgerGone) {
				continue // nobody needs it any more
			}
			note(err)
		}
	}
}

// cleanUp removes what a predecessor has left of an attempt that broke off, and then the trace of it in the metadata. Nobody completes
// that attempt any more: its owner cannot change the metadata since this one did.
func (m *ManagedLedger) cleanUp(ctx context.Context, info LedgerInfo) error {
	if err := offloaded.Remove(ctx, m.factory.config.Medium, m.objectName(info)); err != nil {
		return err
	}
	return m.changeOffload(ctx, info, nil)
}

// offloadLedger copies one ledger to the medium in two phases (see Offload).
func (m *ManagedLedger) offloadLedger(ctx context.Context, info LedgerInfo) error {
	info, found := m.ledgerInfo(info.Ledger)
	if !found || info.Offloaded() {
		return errLedgerGone
	}
	config := m.factory.config
	if info.Offload != nil { // an attempt that this owner made
		if err := offloaded.Remove(ctx, config.Medium, m.objectName(info)); err != nil {
			return err
		}
	}
	var random [16]byte
	rand.Read(random[:]) // which never fails
	prepared := &Offload{UID: offloaded.MakeUID(random), Driver: config.MediumDriver}
	if err := m.changeOffload(ctx, info, prepared); err != nil {
		return err
	}
	info.Offload = prepared
	config.Tracer.Emit(trace.PulsarLedgerOffloadStarted{ManagedLedger: m.name, Ledger: info.Ledger, Medium: config.MediumDriver})
	bytes, err := m.upload(ctx, info)
	if err == nil {
		complete := *prepared
		complete.Complete, complete.At = true, time.Now()
		err = m.changeOffload(ctx, info, &complete)
	}
	if err != nil {
		err = fmt.Errorf("managed ledger %s: offload ledger %d: %w", m.name, info.Ledger, err)
		m.giveUp(ctx, info)
		config.Tracer.Emit(trace.PulsarLedgerOffloadFailed{ManagedLedger: m.name, Ledger: info.Ledger, Detail: err.Error()})
		return err
	}
	m.readers.drop(info.Ledger)
	config.Tracer.Emit(trace.PulsarLedgerOffloaded{
		ManagedLedger: m.name, Ledger: info.Ledger, Entries: info.Entries, Bytes: bytes, Medium: config.MediumDriver, Object: m.objectName(info).String(),
	})
	return nil
}

func (m *ManagedLedger) upload(ctx context.Context, info LedgerInfo) (int64, error) {
	reader, err := m.factory.config.Bookies.OpenLedger(ctx, info.Ledger, bookkeeper.OpenOptions{})
	if err != nil {
		return 0, err
	}
	if reader.LastEntry()+1 != info.Entries {
		return 0, fmt.Errorf("it has %d entries in bookies, and %d in the list of ledgers", reader.LastEntry()+1, info.Entries)
	}
	ledger := offloaded.Ledger{ID: info.Ledger, Entries: info.Entries, Bytes: reader.Length()}
	return offloaded.Write(ctx, m.factory.config.Medium, m.objectName(info), ledger,
		func(ctx context.Context, first, last int64) ([][]byte, error) {
			entries, err := reader.Read(ctx, first, last)
			payloads := make([][]byte, len(entries))
			for i, entry := range entries {
				payloads[i] = entry.Payload
			}
			return payloads, err
		})
}

// giveUp removes what a failed attempt has left, unless the metadata may point to it: an attempt to complete it whose answer was lost may
// have succeeded. What cannot be removed now is known by the uid in the metadata.
func (m *ManagedLedger) giveUp(ctx context.Context, info LedgerInfo) {
	removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), mediumPatience)
	defer cancel()
	stored, _, err := readInfo(m.factory.config.Store, m.name)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return
	}
	for _, now := range stored.ledgers {
		if now.Ledger == info.Ledger && now.Offloaded() && now.Offload.UID == info.Offload.UID {
			return
		}
	}
	if err := offloaded.Remove(removing, m.factory.config.Medium, m.objectName(info)); err != nil {
		m.logger.Info("rests of an offload stay on the medium until the next attempt", "managed ledger", m.name, "ledger", info.Ledger, "error", err)
		return
	}
	if err := m.changeOffload(ctx, info, nil); err != nil && !errors.Is(err, errLedgerGone) {
		m.logger.Debug("forgetting an offload that failed", "managed ledger", m.name, "ledger", info.Ledger, "error", err)
	}
}

// leaveBookies makes bookies drop an offloaded ledger, after the medium's copy was read through. A damaged copy is given up instead, so
// that the ledger is offloaded anew.
func (m *ManagedLedger) leaveBookies(ctx context.Context, info LedgerInfo) error {
	now, found := m.ledgerInfo(info.Ledger)
	if !found || now.Offload != info.Offload {
		return errLedgerGone
	}
	config := m.factory.config
	reader, err := offloaded.Open(ctx, config.Medium, m.objectName(info))
	if err == nil {
		err = reader.Verify(ctx)
	}
	if errors.Is(err, offloaded.ErrDamaged) || errors.Is(err, fs.ErrNotExist) {
		config.Tracer.Emit(trace.PulsarLedgerOffloadFailed{ManagedLedger: m.name, Ledger: info.Ledger, Detail: err.Error()})
		incomplete := *info.Offload
		incomplete.Complete, incomplete.At = false, time.Time{}
		if changeErr := m.changeOffload(ctx, info, &incomplete); changeErr != nil {
			return changeErr
		}
		m.readers.drop(info.Ledger)
	}
	if err != nil {
		return fmt.Errorf("managed ledger %s: bookies keep ledger %d: %w", m.name, info.Ledger, err)
	}
	// A crash between the two leaves a ledger that is said to be in bookies and is not: it is read from the medium all the same, and the
	// next owner comes by here again.
	if err := m.factory.deleteLedgers([]int64{info.Ledger}); err != nil {
		return err
	}
	left := *info.Offload
	left.DeletedFromBookies = true
	if err := m.changeOffload(ctx, info, &left); err != nil {
		return err
	}
	m.readers.drop(info.Ledger)
	config.Tracer.Emit(trace.PulsarLedgerDeletedFromBookies{ManagedLedger: m.name, Ledger: info.Ledger, Medium: info.Offload.Driver})
	return nil
}

func (m *ManagedLedger) objectName(info LedgerInfo) offloaded.Name { return objectName(m.name, info) }

func objectName(managedLedger string, info LedgerInfo) offloaded.Name {
	return offloaded.Name{ManagedLedger: managedLedger, Ledger: info.Ledger, UID: info.Offload.UID}
}

// Object is the name of an offloaded ledger's data on the medium.
func (i LedgerInfo) Object(managedLedger string) string { return objectName(managedLedger, i).String() }

func (m *ManagedLedger) ledgerInfo(id int64) (LedgerInfo, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if !m.ledgers.has(id) {
		return LedgerInfo{}, false
	}
	return m.ledgers[m.ledgers.at(id)], true
}

// changeOffload writes down another state of a ledger's offloading, by a task of the owner. errLedgerGone, when the ledger is not as it
// was, ErrFenced.
func (m *ManagedLedger) changeOffload(ctx context.Context, of LedgerInfo, next *Offload) error {
	return m.ask(ctx, func(answer chan<- error) {
		m.begin(task{
			run: func(context.Context) error {
				if err := m.Err(); err != nil && !errors.Is(err, ErrTerminated) {
					return err
				}
				if err := ctx.Err(); err != nil {
					return err // nobody waits for it any more, and the managed ledger may be closed
				}
				now, found := m.ledgerInfo(of.Ledger)
				if !found || now.Offload != of.Offload {
					return errLedgerGone
				}
				// Ledgers come and go only in tasks, so that this one stays where it is.
				at := viewed(m, func(l ledgerList) int { return l.at(of.Ledger) })
				if err := m.writeInfo(func(i *info) { i.ledgers[at].Offload = next }); err != nil {
					return err
				}
				m.mu.Lock()
				defer m.mu.Unlock()
				m.ledgers[at].Offload = next
				return nil
			},
			apply: func(err error) {
				m.fencedBy(err)
				answer <- err
			},
		})
	})
}
