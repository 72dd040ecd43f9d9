package broker

import (
	"time"
)

// enforceRetention drops whole segments that are too old or too many, as the topic says. The active segment stays, and nothing at or above
// the high watermark goes.
func (p *partition) enforceRetention() {
	p.log.Producers().Expire(time.Now().Add(-producerExpiration))
	if !p.settings.DeletesOld {
		return
	}
	start := max(p.oldBefore(), p.tooManyBefore())
	if start = min(start, p.view.Load().HighWatermark); start <= p.log.Start() {
		return
	}
	// An error was reported by storageFailed; the broker ends.
	_ = p.advanceLogStart(start)
}

// producerExpiration is producer.id.expiration.ms.
const producerExpiration = 24 * time.Hour

// oldBefore is the base of the first segment that still holds a record within retention.ms.
func (p *partition) oldBefore() int64 {
	if p.settings.RetentionMS < 0 {
		return 0
	}
	segments := p.log.Records().Segments()
	cutoff := time.Now().Add(-time.Duration(min(p.settings.RetentionMS, 1<<42)) * time.Millisecond)
	offset, found, err := p.log.Records().OffsetForTime(cutoff)
	if err != nil {
		p.logger.Warn("old records cannot be found", "error", err)
		return 0
	}
	active := segments[len(segments)-1]
	if !found {
		offset = active.Base
	}
	kept := int64(0)
	for _, segment := range segments {
		if segment.Base <= offset {
			kept = segment.Base
		}
	}
	return kept
}

// tooManyBefore is the base of the first segment that is kept so that retention.bytes are left.
func (p *partition) tooManyBefore() int64 {
	if p.settings.RetentionBytes < 0 {
		return 0
	}
	segments := p.log.Records().Segments()
	excess := p.log.Records().Size() - p.settings.RetentionBytes
	kept := segments[0].Base
	for i, segment := range segments[:len(segments)-1] {
		if excess < segment.Size {
			break
		}
		excess -= segment.Size
		kept = segments[i+1].Base
	}
	return kept
}
