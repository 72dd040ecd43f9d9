package broker

import (
	"time"

	"twinlog/engine/commitlog"
	"twinlog/engine/kafka/broker/configs"
)

// enforceRetention drops whole segments that are too old or too many, as the topic says. The active segment stays, and nothing at or above
// the high watermark goes.
func (p *partition) enforceRetention() {
	now := time.Now()
	p.log.Producers().Expire(now.Add(-producerExpiration))
	if !p.settings.DeletesOld {
		return
	}
	segments := p.log.Records().Segments()
	start := retentionOf(p.settings, segments).Start(segments, now)
	if start = min(start, p.view.Load().HighWatermark); start <= p.log.Start() {
		return
	}
	// An error was reported by storageFailed; the broker ends.
	_ = p.advanceLogStart(start)
}

// producerExpiration is producer.id.expiration.ms.
const producerExpiration = 24 * time.Hour

// retentionOf says a topic's retention in the log core's words. There, 0 bounds nothing; here, it keeps nothing and -1 bounds nothing.
func retentionOf(settings configs.TopicSettings, segments []commitlog.SegmentInfo) (r commitlog.Retention) {
	switch {
	case settings.RetentionBytes > 0:
		r.Bytes = settings.RetentionBytes
	case settings.RetentionBytes == 0:
		r.Offset = segments[len(segments)-1].Base // all but the active one
	}
	if settings.RetentionMS >= 0 {
		r.Age = max(milliseconds(settings.RetentionMS), 1)
	}
	return r
}

// milliseconds is a configured number of them; so many that no clock gets there are 139 years.
func milliseconds(n int64) time.Duration { return time.Duration(min(n, 1<<42)) * time.Millisecond }
