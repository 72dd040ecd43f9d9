package commitlog

import "time"

// Retention says what of a log is kept: a segment goes as soon as one of the bounds lets it go. The zero value keeps everything.
type Retention struct {
	// Bytes: the oldest segments go while the others together still have at least so many. 0: no bound.
	Bytes int64
	// Age: the oldest segments go while their newest frame is older. Frames without a time have no age. 0: no bound.
	Age time.Duration
	// Offset: everything before it goes, as users who consumed or deleted it ask for.
	Offset int64
}

// Start decides where the log should start, to be given to [Log.DeleteBefore]: never below where it starts now (the first segment's
// base), never in the last segment for the sake of bytes or age, which the owner may seal first with [Log.Roll].
func (r Retention) Start(segments []SegmentInfo, now time.Time) int64 {
	if len(segments) == 0 {
		return r.Offset
	}
	left := int64(0)
	for _, s := range segments {
		left += s.Size
	}
	start := segments[0].Base
	for i, s := range segments[:len(segments)-1] {
		tooMany := r.Bytes > 0 && left-s.Size >= r.Bytes
		tooOld := r.Age > 0 && !s.MaxTime.IsZero() && now.Sub(s.MaxTime) > r.Age
		if !tooMany && !tooOld {
			break
		}
		left -= s.Size
		start = segments[i+1].Base
	}
	return max(start, min(r.Offset, segments[len(segments)-1].Next))
}
