package bookie

import (
	"errors"
	"log/slog"
	"sync"

	"twinlog/engine/commitlog"
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

// mostDamage bounds the places that a bookie remembers to have told of.
const mostDamage = 100

// damageReport tells of each damaged place once, however often clients come back for it.
type damageReport struct {
	tracer *trace.Tracer
	logger *slog.Logger

	mu   sync.Mutex
	told map[damagedPlace]struct{}
}

type damagedPlace struct {
	file     string
	position int64
}

// isNew tells whether a place was not told of yet, and takes note.
func (d *damageReport) isNew(at damagedPlace) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, told := d.told[at]; told {
		return false
	}
	if d.told == nil || len(d.told) >= mostDamage {
		d.told = map[damagedPlace]struct{}{}
	}
	d.told[at] = struct{}{}
	return true
}

// cannotRead tells why an entry is not served. A client whose bookie answers EIO asks the next one of the entry's write set.
func (d *damageReport) cannotRead(ledger, entry int64, err error) {
	var corrupt *commitlog.CorruptError
	if !errors.As(err, &corrupt) {
		d.logger.Error("bookie cannot read", "ledger", ledger, "entry", entry, "error", err)
		return
	}
	if !d.isNew(damagedPlace{corrupt.File, corrupt.Position}) {
		return
	}
	d.logger.Error("an entry is damaged and not served", "ledger", ledger, "entry", entry, "file", corrupt.File, "position", corrupt.Position, "reason", corrupt.Err)
	d.tracer.Emit(trace.DamageFound{File: corrupt.File, Position: corrupt.Position, Reason: corrupt.Err.Error(), Why: sentence.Why(corrupt.Err)})
}
