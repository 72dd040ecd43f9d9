package records

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// describedRecords bounds the records of a batch that Describe shows.
const describedRecords = 3

// Describe says in words what a whole batch holds.
func Describe(batch []byte) string {
	h, err := ParseHeader(batch)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d records, leader epoch %d, %s", h.Count, h.LeaderEpoch, time.UnixMilli(h.MaxTimestamp).UTC().Format("2006-01-02 15:04:05.000"))
	if h.ProducerID >= 0 {
		fmt.Fprintf(&b, ", producer %d epoch %d from sequence %d", h.ProducerID, h.ProducerEpoch, h.BaseSequence)
	}
	if h.Compression() != 0 {
		fmt.Fprintf(&b, ", compressed with codec %d", h.Compression())
	}
	if h.Control() {
		b.WriteString(", control batch")
	}
	shown := 0
	err = EachRecord(batch, func(r Record) bool {
		fmt.Fprintf(&b, "\n        offset %d: key %s, value %s", r.Offset, preview(r.Key), preview(r.Value))
		shown++
		return shown < describedRecords
	})
	if err != nil {
		fmt.Fprintf(&b, "\n        %v", err)
	}
	if rest := int(h.Count) - shown; rest > 0 && err == nil {
		fmt.Fprintf(&b, "\n        … and %d more", rest)
	}
	return b.String()
}

func preview(bytes []byte) string {
	const limit = 60
	switch {
	case bytes == nil:
		return "null"
	case !utf8.Valid(bytes):
		return fmt.Sprintf("%d bytes", len(bytes))
	case len(bytes) > limit:
		return fmt.Sprintf("%q… (%d bytes)", bytes[:limit], len(bytes))
	}
	return fmt.Sprintf("%q", bytes)
}
