package managedledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/ledger"
)

// rollTask closes the current ledger, if there is one, and begins a new one.
func (m *ManagedLedger) rollTask() task {
	return task{
		quiet: true,
		run: func(ctx context.Context) error {
			closed, empty, err := m.closeCurrent(ctx)
			if err == nil {
				err = m.installLedger(closed)
			}
			if err != nil {
				return err
			}
			return m.factory.deleteLedgers(empty)
		},
		apply: func(err error) {
			m.rolling, m.broken, m.given = false, false, fill{}
			switch {
			case m.fencedBy(err):
			case m.currentWriter() == nil:
				m.failAdds(fmt.Errorf("managed ledger %s: no new ledger: %w", m.name, err))
			default:
				if err != nil {
					m.logger.Info("after a rollover", "managed ledger", m.name, "error", err)
				}
				m.send()
				m.requestTrim()
				m.offloadIfDue()
			}
		},
	}
}

// fencedBy stops everything when the error says that somebody else owns the managed ledger.
func (m *ManagedLedger) fencedBy(err error) bool {
	if errors.Is(err, ErrFenced) || errors.Is(err, ledger.ErrFenced) {
		m.stopWith(fmt.Errorf("managed ledger %s: %w (%v)", m.name, ErrFenced, err))
		return true
	}
	return false
}

// closeCurrent closes the current ledger and returns the list with its end in it, without it when it is empty. A ledger that its own
// writer could not close, because ZooKeeper was away, is recovered like one of a dead writer.
func (m *ManagedLedger) closeCurrent(ctx context.Context) (closed ledgerList, empty []int64, err error) {
	m.mu.RLock()
	writer, list := m.writer, append(ledgerList{}, m.ledgers...)
	m.mu.RUnlock()
	if len(list) == 0 {
		return list, nil, nil
	}
	last := &list[len(list)-1]
	if last.Closed.IsZero() {
		closeErr := errors.New("its writer is gone")
		if writer != nil {
			closeErr = writer.Close(ctx)
		}
		switch {
		case errors.Is(closeErr, ledger.ErrFenced):
			return nil, nil, fmt.Errorf("close ledger %d: %w", last.Ledger, closeErr)
		case closeErr != nil:
			if *last, err = m.recoverLedger(ctx, last.Ledger); err != nil {
				m.noteClosed(nil) // the writer is gone all the same
				return nil, nil, fmt.Errorf("close ledger %d (%v): %w: %w", list[len(list)-1].Ledger, closeErr, ErrStorage, err)
			}
		default:
			last.Entries, last.Closed = writer.LastAddConfirmed()+1, time.Now()
		}
	}
	m.noteClosed(list)
	if last.Entries == 0 {
		empty = append(empty, last.Ledger)
		list = list[:len(list)-1]
	}
	return list, empty, nil
}

// noteClosed: there is no current ledger now; a list that is not nil has its end.
func (m *ManagedLedger) noteClosed(list ledgerList) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writer = nil
	if list != nil {
		m.ledgers = append(ledgerList{}, list...)
	}
}

// Roll closes the current ledger when it holds entries and opens a new one.
func (m *ManagedLedger) Roll(ctx context.Context) error {
	return m.ask(ctx, func(answer chan<- error) {
		if err := m.Err(); err != nil {
			answer <- err
			return
		}
		if current, writer, _ := m.current(); m.rolling || writer != nil && current.Entries == 0 && m.sent == 0 {
			answer <- nil
			return
		}
		m.rolling = true
		t := m.rollTask()
		apply := t.apply
		t.apply = func(err error) { apply(err); answer <- err }
		m.begin(t)
	})
}

// SetProperties replaces the topic's own key-value pairs.
func (m *ManagedLedger) SetProperties(ctx context.Context, properties map[string]string) error {
	properties = maps.Clone(properties)
	return m.ask(ctx, func(answer chan<- error) {
		m.begin(task{
			run: func(context.Context) error { return m.writeInfo(func(i *info) { i.properties = properties }) },
			apply: func(err error) {
				if err == nil {
					m.mu.Lock()
					m.properties = properties
					m.mu.Unlock()
				}
				m.fencedBy(err)
				answer <- err
			},
		})
	})
}

// Terminate waits for the adds that are pending, seals the managed ledger for ever and returns its last position.
func (m *ManagedLedger) Terminate(ctx context.Context) (Position, error) {
	err := m.ask(ctx, func(answer chan<- error) {
		switch err := m.Err(); {
		case errors.Is(err, ErrTerminated):
			answer <- nil
			return
		case err != nil:
			answer <- err
			return
		}
		m.retiring = true
		m.begin(task{
			quiet: true,
			run: func(ctx context.Context) error {
				closed, empty, err := m.closeCurrent(ctx)
				if err != nil {
					return err
				}
				last := closed.last()
				if err := m.writeInfo(func(i *info) { i.ledgers, i.terminated = closed, &last }); err != nil {
					return err
				}
				m.noteTerminated(closed, last)
				return m.factory.deleteLedgers(empty)
			},
			apply: func(err error) {
				m.retiring = false
				if m.terminatedAt() != nil {
					m.stopWith(fmt.Errorf("managed ledger %s: %w", m.name, ErrTerminated))
					err = nil
				}
				m.fencedBy(err)
				answer <- err
			},
		})
	})
	if err != nil {
		return Position{}, fmt.Errorf("terminate: %w", err)
	}
	return m.LastConfirmed(), nil
}

func (m *ManagedLedger) noteTerminated(list ledgerList, last Position) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ledgers, m.terminated = list, &last
}

func (m *ManagedLedger) terminatedAt() *Position {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.terminated
}

// Close waits for pending adds, stores the cursors and closes the current ledger. The managed ledger can then be opened elsewhere
// without recovery work. It is safe to call after fencing or a crash of the network: it then only lets go.
func (m *ManagedLedger) Close(ctx context.Context) error { return m.retire(ctx, false) }

// Delete closes and removes the managed ledger: its ledgers, its cursors, its znodes.
func (m *ManagedLedger) Delete(ctx context.Context) error { return m.retire(ctx, true) }

func (m *ManagedLedger) retire(ctx context.Context, remove bool) error {
	err := m.ask(ctx, func(answer chan<- error) {
		m.retiring = true
		m.begin(task{
			quiet: true,
			run: func(ctx context.Context) error {
				m.endOffload(ctx)
				return m.letGo(ctx, remove)
			},
			apply: func(err error) {
				m.released = true
				if m.Err() == nil || errors.Is(m.Err(), ErrTerminated) {
					m.mu.Lock()
					m.err = fmt.Errorf("managed ledger %s: %w", m.name, ErrClosed)
					m.tellChange()
					m.mu.Unlock()
				}
				m.factory.forgetLedger(m)
				answer <- err
			},
		})
	})
	if err != nil && errors.Is(err, m.Err()) && !remove {
		err = nil // it had ended before
	}
	if err != nil {
		return fmt.Errorf("close: %w", err)
	}
	select {
	case <-m.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close managed ledger %s: %w", m.name, ctx.Err())
	}
}

func (m *ManagedLedger) letGo(ctx context.Context, remove bool) error {
	var failed []error
	owned := !errors.Is(m.Err(), ErrFenced)
	for _, c := range m.Cursors() {
		if err := c.close(ctx, owned && !remove); err != nil {
			failed = append(failed, err)
		}
	}
	m.mu.RLock()
	writer := m.writer
	m.mu.RUnlock()
	if writer != nil {
		if err := writer.Close(ctx); err != nil && owned && !errors.Is(err, bookkeeper.ErrClosed) {
			failed = append(failed, fmt.Errorf("managed ledger %s: %w: %w", m.name, ErrStorage, err))
		}
	}
	if remove && owned {
		failed = append(failed, m.factory.deleteStored(m.name))
	}
	return errors.Join(failed...)
}
