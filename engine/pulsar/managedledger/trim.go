package managedledger

import (
	"context"
	"time"
)

// Trim deletes the ledgers that every durable cursor has acknowledged and retention does not keep. It also runs by itself when a
// ledger is closed and when the slowest cursor leaves a ledger. Deleted ledgers are returned.
func (m *ManagedLedger) Trim(ctx context.Context) ([]int64, error) {
	var deleted []int64
	err := m.ask(ctx, func(answer chan<- error) {
		t := m.trimTask(&deleted)
		apply := t.apply
		t.apply = func(err error) { apply(err); answer <- err }
		m.begin(t)
	})
	return deleted, err
}

// requestTrim trims in the background when there is something to delete.
func (m *ManagedLedger) requestTrim() {
	m.mailbox.post(event{call: func() {
		if m.Err() == nil && len(m.deletable(time.Now())) > 0 {
			var deleted []int64
			m.begin(m.trimTask(&deleted))
		}
	}})
}

func (m *ManagedLedger) trimTask(deleted *[]int64) task {
	var dropped ledgerList
	return task{
		run: func(context.Context) error {
			*deleted = m.deletable(time.Now())
			if len(*deleted) == 0 {
				return nil
			}
			// The current ledger may grow meanwhile, but ledgers come and go only in tasks.
			count := len(*deleted)
			if err := m.writeInfo(func(i *info) { i.ledgers = i.ledgers[count:] }); err != nil {
				*deleted = nil
				return err
			}
			m.mu.Lock()
			dropped, m.ledgers = m.ledgers[:count], append(ledgerList{}, m.ledgers[count:]...)
			m.mu.Unlock()
			return m.factory.deleteLedgers(*deleted)
		},
		apply: func(err error) {
			m.dropOffloaded(dropped)
			if err != nil && !m.fencedBy(err) {
				m.logger.Info("trim", "managed ledger", m.name, "error", err)
			}
		},
	}
}

// deletable lists the ledgers from the front that nobody needs. The current ledger always stays.
func (m *ManagedLedger) deletable(now time.Time) (ids []int64) {
	slowest := Latest
	for _, c := range m.Cursors() {
		if p := c.MarkDeleted(); c.Durable() && p.Before(slowest) {
			slowest = p
		}
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	needed := m.ledgers.next(slowest).Ledger
	retention := m.retention
	var acknowledged int64 // bytes of ledgers that retention may have to keep
	for _, l := range m.ledgers {
		if l.Ledger < needed {
			acknowledged += l.Bytes
		}
	}
	for _, l := range m.ledgers {
		if l.Ledger >= needed || l.Closed.IsZero() || retention.keeps(now.Sub(l.Closed), acknowledged) {
			break
		}
		acknowledged -= l.Bytes
		ids = append(ids, l.Ledger)
	}
	if len(ids) == len(m.ledgers) {
		ids = ids[:len(ids)-1] // a terminated managed ledger keeps its last position
	}
	return ids
}

// keeps tells whether a ledger stays that was closed so long ago, the oldest of so many acknowledged bytes.
func (r Retention) keeps(age time.Duration, acknowledged int64) bool {
	if r.Time == 0 || r.Bytes == 0 {
		return false
	}
	tooOld := r.Time > 0 && age > r.Time
	tooMuch := r.Bytes > 0 && acknowledged > r.Bytes
	return !tooOld && !tooMuch
}
