package broker

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/commitlog"
	"twinlog/engine/trace"
)

// place is where a file is damaged.
type place struct {
	file     string
	position int64
}

// mostDamage bounds the places that a partition remembers to have told of.
const mostDamage = 100

// cannotRead is what a client is told whose records cannot be read: CORRUPT_MESSAGE where they are damaged, as Apache Kafka does for a
// batch that it finds so, KAFKA_STORAGE_ERROR where the disk refuses. The log never hands out a damaged batch, and the other batches are
// served as before: the broker goes on, other than after a failed write, since nobody was promised anything about the future.
func (p *partition) cannotRead(offset int64, err error) *kerr.Error {
	var corrupt *commitlog.CorruptError
	if !errors.As(err, &corrupt) {
		p.logger.Error("records cannot be read", "offset", offset, "error", err)
		return kerr.KafkaStorageError
	}
	select { // not post: this may be the partition's own goroutine, on its way to a client that waited
	case p.mailbox <- func() { p.foundDamage(offset, corrupt) }:
	default: // somebody will come back for it
	}
	return kerr.CorruptMessage
}

// foundDamage tells of a damaged place once, however often clients come back for it.
func (p *partition) foundDamage(offset int64, corrupt *commitlog.CorruptError) {
	at := place{corrupt.File, corrupt.Position}
	if _, told := p.damage[at]; told {
		return
	}
	if p.damage == nil || len(p.damage) >= mostDamage {
		p.damage = map[place]struct{}{}
	}
	p.damage[at] = struct{}{}
	p.logger.Error("records are damaged and not served", "offset", offset, "file", corrupt.File, "position", corrupt.Position, "reason", corrupt.Err)
	p.deps.tracer.Emit(trace.DamageFound{File: corrupt.File, Position: corrupt.Position, Reason: corrupt.Err.Error()})
}
