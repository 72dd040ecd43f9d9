package autorecovery

import (
	"context"
	"errors"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"time"

	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/ledger"
	"twinlog/engine/trace"
)

// worker takes marked ledgers in hand, one after the other, and makes the copies that they lack. Its goroutine owns the state.
type worker struct {
	*AutoRecovery
	watches *watches
	// held are the ledgers that this worker has locked and waits with; later those that it leaves to others for a while.
	held   map[int64]*waiting
	later  map[int64]time.Time
	told   map[int64]string // why the last attempt failed: said once
	graces map[int64]*ledger.Grace
}

// waiting is a locked ledger that goes on at until; the zero time is now. One whose end is open is not let go while its writer has time,
// so that nobody else begins to count.
type waiting struct {
	until time.Time
	open  bool
}

func newWorker(a *AutoRecovery) *worker {
	return &worker{
		AutoRecovery: a, watches: newWatches(a.store), held: make(map[int64]*waiting), later: make(map[int64]time.Time),
		told: make(map[int64]string), graces: make(map[int64]*ledger.Grace),
	}
}

func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		worked, until, err := w.step(ctx)
		if err != nil {
			if ctx.Err() == nil {
				w.logger.Debug("replication worker has to try again", "bookie", w.config.Bookie, "error", err)
			}
			until = time.Now().Add(zookeeperRetry)
		}
		if worked && err == nil {
			continue
		}
		w.changed(w.watches.wait(ctx, until))
	}
}

// changed: when a bookie has come or gone, what could not be done may be possible now; a ledger's own metadata concerns it alone.
func (w *worker) changed(path string) {
	if isBookies(path) {
		clear(w.later)
	}
	for id, one := range w.held {
		if isBookies(path) || path == metadata.LedgerPath(id) {
			one.until = time.Time{}
		}
	}
}

// step works on one ledger; without one, it says until when there will be none, unless something changes.
func (w *worker) step(ctx context.Context) (worked bool, until time.Time, err error) {
	switched, err := w.watches.children(metadata.UnderreplicationPath)
	if err != nil || metadata.IsDisabled(switched) {
		return false, time.Time{}, err
	}
	if _, err := w.watches.bookies(); err != nil { // for the watches: a change wakes us up
		return false, time.Time{}, err
	}
	marked, err := w.marked(metadata.MarksPath, 0, nil)
	if err != nil {
		return false, time.Time{}, err
	}
	w.forget(marked)
	now := time.Now()
	for id, one := range w.held {
		if one.until.After(now) {
			until = earlier(until, one.until)
			continue
		}
		return true, time.Time{}, w.resume(ctx, id, one)
	}
	if len(marked) == 0 {
		return false, until, nil
	}
	id, until, err := w.lock(marked, now, until)
	if err != nil || id < 0 {
		return false, until, err
	}
	w.held[id] = &waiting{}
	return true, time.Time{}, w.attempt(ctx, id)
}

// marked lists the ledgers that are marked below a znode.
func (w *worker) marked(at string, depth int, found []int64) ([]int64, error) {
	children, err := w.watches.children(at)
	if err != nil {
		return nil, err
	}
	for _, child := range children {
		if id, isMark := metadata.MarkedLedger(child); isMark {
			found = append(found, id)
		} else if depth < 4 && !strings.Contains(child, "/") {
			if found, err = w.marked(path.Join(at, child), depth+1, found); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// forget drops what is remembered of ledgers that are not marked any more.
func (w *worker) forget(marked []int64) {
	for id := range w.told {
		if !slices.Contains(marked, id) {
			delete(w.told, id)
			delete(w.later, id)
			delete(w.graces, id)
		}
	}
}

// lock takes a ledger in hand that nobody has; -1: there is none, before until.
func (w *worker) lock(marked []int64, now, until time.Time) (int64, time.Time, error) {
	locks, err := w.watches.children(metadata.LocksPath)
	if err != nil {
		return -1, until, err
	}
	rand.Shuffle(len(marked), func(i, j int) { marked[i], marked[j] = marked[j], marked[i] }) // workers do not all want the same one
	for _, id := range marked {
		if w.held[id] != nil || slices.Contains(locks, path.Base(metadata.LockPath(id))) {
			continue
		}
		if later := w.later[id]; later.After(now) {
			until = earlier(until, later)
			continue
		}
		taken, err := metadata.LockMarked(w.store, id, w.config.Bookie)
		if err != nil || taken {
			return id, until, err
		}
	}
	return -1, until, nil
}

// earlier is the earlier one of two times, of which the zero one is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// resume goes on with a ledger whose time has come, if it is still ours: locks end with the session. One that failed is first left to
// others, who may reach bookies that this one does not.
func (w *worker) resume(ctx context.Context, id int64, one *waiting) error {
	owns, err := metadata.OwnsLock(w.store, id, w.config.Session.ID())
	if err != nil {
		return err
	}
	if !owns {
		delete(w.held, id)
		return nil
	}
	if one.open || one.until.IsZero() {
		return w.attempt(ctx, id)
	}
	w.later[id] = time.Now().Add(w.config.Retry)
	return w.release(id)
}

func (w *worker) release(id int64) error {
	if err := metadata.UnlockMarked(w.store, id, w.config.Session.ID()); err != nil {
		return err
	}
	delete(w.held, id)
	return nil
}

// attempt replicates what can be replicated of a locked ledger. What is left waits.
func (w *worker) attempt(ctx context.Context, id int64) error {
	version, found, err := metadata.MarkVersion(w.store, id)
	if err != nil {
		return err
	}
	if !found {
		return w.release(id) // somebody else was faster
	}
	err = w.replicate(ctx, id)
	var grace graceError
	switch {
	case ctx.Err() != nil:
		return nil // the lock goes with the session
	case err == nil:
		return w.finish(id, version)
	case errors.As(err, &grace):
		w.held[id].until, w.held[id].open = time.Time(grace), true
		w.tell(id, "open", "its writer has time until "+time.Time(grace).UTC().Format(time.TimeOnly)+" UTC to replace the lost bookie")
		return nil
	}
	w.held[id].until, w.held[id].open = time.Now().Add(w.config.Retry), false
	w.tell(id, reasonOf(err), err.Error())
	return nil
}

// finish deletes the mark of a ledger that lacks nothing. One that was marked again meanwhile stays marked, and is looked at again.
func (w *worker) finish(id int64, version int32) error {
	gone, err := metadata.Unmark(w.store, id, version)
	if err == nil && gone {
		w.tracer.Emit(trace.LedgerReplicated{Ledger: id})
		w.logger.Info("ledger lacks no copies any more", "ledger", id)
	}
	return errors.Join(err, w.release(id))
}

// tell says why a ledger waits, once.
func (w *worker) tell(id int64, reason, detail string) {
	if w.told[id] == reason {
		return
	}
	w.told[id] = reason
	w.logger.Warn("ledger stays under-replicated for now", "ledger", id, "reason", reason, "detail", detail)
	w.tracer.Emit(trace.ReplicationPostponed{Ledger: id, Reason: reason, Detail: detail})
}

func reasonOf(err error) string {
	switch {
	case errors.Is(err, bookkeeper.ErrNoCopy):
		return "noCopy"
	case errors.Is(err, ledger.ErrNotEnoughBookies):
		return "noBookie"
	}
	return "failed"
}
