package autorecovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/ledger"
)

// graceError: the open end of the ledger is its writer's until then.
type graceError time.Time

func (g graceError) Error() string { return "the ledger is open until " + time.Time(g).String() }

// passes bounds how often a ledger is looked at again within one attempt, because it changed or because its end was closed.
const passes = 8

// replicate makes the copies that a ledger lacks. Nil: it lacks none, or is deleted. The closed fragments are done even when the open one
// has to wait.
func (w *worker) replicate(ctx context.Context, id int64) error {
	for range passes {
		m, err := metadata.ReadLedger(w.store, id)
		if errors.Is(err, metadata.ErrNoSuchLedger) {
			return nil
		}
		if err != nil {
			return err
		}
		up, err := w.watches.bookies()
		if err != nil {
			return err
		}
		lacks := m.Lacks(func(bookie string) bool { return !up[bookie] })
		if len(lacks) == 0 {
			return nil
		}
		open := lacks[len(lacks)-1]
		if open.Open {
			lacks = lacks[:len(lacks)-1]
		}
		failed := w.copyAll(ctx, id, m, lacks)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if open.Open {
			if err := w.closeOpen(ctx, id, m, open); err != nil {
				return cmp.Or(failed, err)
			}
			continue
		}
		if failed != nil {
			return failed
		}
	}
	return fmt.Errorf("ledger %d changed %d times while it was looked at", id, passes)
}

// copyAll replicates closed fragments. One that cannot be helped does not keep the others from it. The first failure is returned.
func (w *worker) copyAll(ctx context.Context, id int64, m metadata.Versioned, lacks []ledger.Lack) (failed error) {
	for _, lack := range lacks {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var err error
		if m, err = w.client.Replicate(ctx, id, m, lack); err != nil && !errors.Is(err, bookkeeper.ErrMoved) {
			failed = cmp.Or(failed, err)
		}
	}
	return failed
}

// closeOpen closes a ledger whose open end has lacked a bookie for the whole grace. Before that, it fails with graceError, or returns when
// the metadata is not what it was: from then on a change of it wakes the worker up.
func (w *worker) closeOpen(ctx context.Context, id int64, m metadata.Versioned, open ledger.Lack) error {
	grace := w.graces[id]
	if grace == nil {
		grace = &ledger.Grace{}
		w.graces[id] = grace
	}
	if now, ends := time.Now(), grace.Ends(open, time.Now(), w.config.OpenLedgerGrace); now.Before(ends) {
		version, err := w.watches.version(metadata.LedgerPath(id))
		if err == nil && version == m.Version {
			err = graceError(ends)
		}
		return err
	}
	w.logger.Info("ledger is closed, because its writer does not replace a lost bookie", "ledger", id, "lost", open.Lost())
	_, err := w.client.OpenLedger(ctx, id, bookkeeper.OpenOptions{Password: m.Password, Recover: true})
	return err
}
