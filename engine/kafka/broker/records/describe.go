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
	return DescribeWith(batch, func(r Record) string {
		text := fmt.Sprintf("key %s, value %s", preview(r.Key), preview(r.Value))
		for _, header := range r.Headers {
			text += fmt.Sprintf(", header %s=%s", header.Key, preview(header.Value))
		}
		return text
	})
}

var compressionNames = map[Compression]string{
	CompressionGzip: "gzip", CompressionSnappy: "snappy", CompressionLZ4: "lz4", CompressionZstd: "zstd",
}

// String is the codec's name.
func (c Compression) String() string {
	if c == CompressionNone {
		return "none"
	}
	if name, known := compressionNames[c]; known {
		return name
	}
	return fmt.Sprintf("codec %d", int8(c))
}

// DescribeWith is Describe with other words for a record.
func DescribeWith(batch []byte, describe func(Record) string) string {
	h, err := ParseHeader(batch)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	noun := "records"
	if h.Count == 1 {
		noun = "record"
	}
	fmt.Fprintf(&b, "%d %s, leader epoch %d, %s", h.Count, noun, h.LeaderEpoch, time.UnixMilli(h.MaxTimestamp).UTC().Format("2006-01-02 15:04:05.000"))
	if h.ProducerID >= 0 {
		fmt.Fprintf(&b, ", producer %d epoch %d from sequence %d", h.ProducerID, h.ProducerEpoch, h.BaseSequence)
	}
	if h.Compression() != 0 {
		fmt.Fprintf(&b, ", compressed with %s", h.Compression())
	}
	if h.Control() {
		b.WriteString(", control batch")
	}
	shown := 0
	err = EachRecord(batch, func(r Record) bool {
		fmt.Fprintf(&b, "\n        offset %d: %s", r.Offset, describe(r))
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
