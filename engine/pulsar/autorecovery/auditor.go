package autorecovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/trace"
)

// auditor stands for the auditor's place and, while it has it, marks the ledgers that counted on lost bookies. Its goroutine owns the
// state.
type auditor struct {
	*AutoRecovery
	watches *watches
	vote    string // the last one cast
	isChief bool   // it is known to be the auditor

	// Of one term.
	absences absences
	audited  []string  // lost bookies whose ledgers are marked
	nextFull time.Time // all ledgers are to be looked at then, whoever is lost
}

func newAuditor(a *AutoRecovery) *auditor {
	return &auditor{AutoRecovery: a, watches: newWatches(a.store)}
}

func (a *auditor) run(ctx context.Context) {
	for ctx.Err() == nil {
		until, err := a.step(ctx)
		if err != nil {
			if ctx.Err() == nil {
				a.logger.Debug("auditor has to try again", "bookie", a.config.Bookie, "error", err)
			}
			until = time.Now().Add(zookeeperRetry)
		}
		a.watches.wait(ctx, until)
	}
}

// step does what is to be done now, and says when there is more even if nothing changes.
func (a *auditor) step(ctx context.Context) (time.Time, error) {
	elected, err := a.elected()
	if err != nil || !elected {
		return time.Time{}, err
	}
	switched, err := a.watches.children(metadata.UnderreplicationPath)
	if err != nil {
		return time.Time{}, err
	}
	up, err := a.watches.bookies()
	if err != nil {
		return time.Time{}, err
	}
	members, _, err := a.store.Children(metadata.CookiesPath)
	if err != nil {
		return time.Time{}, fmt.Errorf("list bookies: %w", err)
	}
	delay, err := metadata.LostBookieRecoveryDelay(a.store, a.config.LostBookieRecoveryDelay)
	if err != nil {
		return time.Time{}, err
	}
	now := time.Now()
	if a.nextFull.IsZero() {
		a.nextFull = now.Add(delay) // a bookie without a cookie may be missed too
	}
	a.absences.observe(up, members, now)
	lost, next := a.absences.lost(now, delay)
	a.audited = slices.DeleteFunc(a.audited, func(bookie string) bool { return !slices.Contains(lost, bookie) })
	if metadata.IsDisabled(switched) {
		return time.Time{}, nil // the znode that goes wakes us up
	}
	full := !now.Before(a.nextFull)
	if full || len(lost) > len(a.audited) {
		if err := a.audit(ctx, lost, full); err != nil {
			return time.Time{}, err
		}
		a.audited = lost
		if full {
			a.nextFull = now.Add(a.config.BookieCheckInterval)
			if lost, next = a.absences.lost(now, delay); len(lost) > len(a.audited) {
				return now, nil
			}
		}
	}
	if next.IsZero() || a.nextFull.Before(next) {
		next = a.nextFull
	}
	return next, nil
}

// elected makes sure that there is a vote of ours, and tells whether it is the first.
func (a *auditor) elected() (bool, error) {
	votes, err := a.watches.children(metadata.ElectionPath)
	if err != nil {
		return false, err
	}
	if !slices.Contains(votes, a.vote) { // the first time, and when the session was lost
		if a.vote, err = metadata.Vote(a.store, a.config.Bookie); err != nil {
			return false, err
		}
		if votes, err = a.watches.children(metadata.ElectionPath); err != nil {
			return false, err
		}
	}
	chief := metadata.FirstVote(votes) == a.vote
	if chief && !a.isChief {
		a.absences, a.audited, a.nextFull = absences{}, nil, time.Time{}
		a.tracer.Emit(trace.AuditorElected{Bookie: a.config.Bookie})
		a.logger.Info("bookie is the auditor", "bookie", a.config.Bookie)
	}
	a.isChief = chief
	return chief, nil
}

// audit marks the ledgers that count on lost bookies. Full: a bookie that nobody knew of is missed from now on.
func (a *auditor) audit(ctx context.Context, lost []string, full bool) error {
	var ledgers []int64
	if err := metadata.ListLedgers(ctx, a.store, func(ledger int64) { ledgers = append(ledgers, ledger) }); err != nil {
		return err
	}
	slices.Sort(ledgers)
	now := time.Now()
	for _, id := range ledgers {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.look(id, lost, full, now); err != nil {
			return err
		}
	}
	return nil
}

// look marks one ledger if it lacks copies.
func (a *auditor) look(id int64, lost []string, full bool, now time.Time) error {
	m, err := metadata.ReadLedger(a.store, id)
	switch {
	case errors.Is(err, metadata.ErrNoSuchLedger):
		return nil // deleted since it was listed
	case errors.Is(err, metadata.ErrDamaged):
		a.logger.Warn("auditor passes over a ledger", "ledger", id, "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	if full {
		for _, segment := range m.Segments {
			for _, bookie := range segment.Bookies {
				if !a.absences.up[bookie] {
					a.absences.miss(bookie, now)
				}
			}
		}
	}
	var missing []string
	for _, lack := range m.Lacks(func(bookie string) bool { return slices.Contains(lost, bookie) }) {
		for _, bookie := range lack.Lost() {
			if !slices.Contains(missing, bookie) {
				missing = append(missing, bookie)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	mark, isNew, err := metadata.MarkUnderreplicated(a.store, id, missing, now)
	if err != nil {
		return err
	}
	if isNew {
		a.logger.Info("ledger is under-replicated", "ledger", id, "lost", mark.Replicas)
		a.tracer.Emit(bookkeeper.MetadataRead(id, m.Metadata))
		a.tracer.Emit(trace.LedgerUnderReplicated{Ledger: id, Missing: mark.Replicas})
	}
	return nil
}
