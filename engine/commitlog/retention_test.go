package commitlog

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"twinlog/engine/disk"
)

func TestRetention(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	at := func(secondsAgo int) time.Time { return now.Add(-time.Duration(secondsAgo) * time.Second) }
	segments := []SegmentInfo{
		{Base: 0, Next: 10, Size: 100, MaxTime: at(50)}, {Base: 10, Next: 20, Size: 100, MaxTime: at(40)},
		{Base: 20, Next: 30, Size: 100, MaxTime: at(45)}, {Base: 30, Next: 35, Size: 50, MaxTime: at(5)},
	}
	untimed := []SegmentInfo{{Base: 0, Next: 10, Size: 100}, {Base: 10, Next: 20, Size: 100}}
	for name, c := range map[string]struct {
		retention Retention
		segments  []SegmentInfo
		want      int64
	}{
		"nothing is bounded":                {Retention{}, segments, 0},
		"bytes, just enough stay":           {Retention{Bytes: 250}, segments, 10},
		"bytes, one more than enough":       {Retention{Bytes: 251}, segments, 0},
		"bytes, the last segment stays":     {Retention{Bytes: 1}, segments, 30},
		"age, in order":                     {Retention{Age: 42 * time.Second}, segments, 10},
		"age, exactly is not older":         {Retention{Age: 50 * time.Second}, segments, 0},
		"age, the last segment stays":       {Retention{Age: time.Second}, segments, 30},
		"either bound is enough":            {Retention{Bytes: 250, Age: 30 * time.Second}, segments, 30},
		"an offset inside a segment":        {Retention{Offset: 15}, segments, 15},
		"an offset beyond the end":          {Retention{Offset: 99}, segments, 35},
		"frames without a time have no age": {Retention{Age: time.Nanosecond}, untimed, 0},
		"a log without segments":            {Retention{Bytes: 1, Offset: 3}, nil, 3},
	} {
		if got := c.retention.Start(c.segments, now); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestRetentionKeepsEnough: what stays has the bytes that must stay, and one segment more would be more than needed.
func TestRetentionKeepsEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var segments []SegmentInfo
		total, next := int64(0), int64(0)
		for range rapid.IntRange(1, 12).Draw(t, "segments") {
			s := SegmentInfo{Base: next, Next: next + rapid.Int64Range(1, 9).Draw(t, "offsets"), Size: rapid.Int64Range(0, 50).Draw(t, "size")}
			segments, total, next = append(segments, s), total+s.Size, s.Next
		}
		bytes := rapid.Int64Range(1, 400).Draw(t, "bytes")
		start := Retention{Bytes: bytes}.Start(segments, time.Now())
		kept := int64(0)
		for i, s := range segments {
			if s.Base >= start {
				kept += s.Size
			} else if i == len(segments)-1 {
				t.Fatal("the last segment went")
			}
		}
		if kept < min(bytes, total) {
			t.Fatalf("%d of %d bytes are kept, %d should be", kept, total, bytes)
		}
		for i, s := range segments[:len(segments)-1] {
			if s.Base == start && kept-s.Size >= bytes {
				t.Fatalf("segment %d could go, too", i)
			}
		}
	})
}

// TestSegmentsAreSealedByAge: by the frames' own times, or else by the clock.
func TestSegmentsAreSealedByAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, err := Open(disk.NewMemory(), "log", testFraming{}, Config{SegmentAge: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer log.Abandon()
		add := func(ms int64, wantSegments int) {
			t.Helper()
			if _, err := log.Append(makeFrame(log.Next(), 1, 10, ms)); err != nil {
				t.Fatal(err)
			}
			if got := len(log.Segments()); got != wantSegments {
				t.Fatalf("%d segments, want %d", got, wantSegments)
			}
		}
		add(1_000_000, 1)
		time.Sleep(time.Hour) // the frames' times count, not the clock
		add(1_060_000, 1)
		add(1_060_001, 2)
		add(0, 2) // has no time: the clock counts
		time.Sleep(time.Minute + time.Second)
		add(0, 3)
	})
}

func TestRollSealsWhatIsThere(t *testing.T) {
	log := openTest(t, t.TempDir(), Config{})
	if err := log.Roll(); err != nil || len(log.Segments()) != 1 {
		t.Fatal("an empty segment was sealed", err)
	}
	appendFrames(t, log, 3, 10)
	if err := log.Roll(); err != nil || len(log.Segments()) != 2 || log.Synced() != 3 {
		t.Fatal(err, log.Segments(), log.Synced())
	}
	if latest := log.Segments()[0].MaxTime; latest.UnixMilli() != 1_000_020 {
		t.Errorf("the sealed segment's largest time is %v", latest)
	}
	if err := log.DeleteBefore(Retention{Age: time.Hour}.Start(log.Segments(), time.Now())); err != nil || log.Start() != 3 {
		t.Fatal(err, log.Start())
	}
	appendFrames(t, log, 1, 10)
}
