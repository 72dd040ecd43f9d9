package commitlog

import (
	"bytes"
	"errors"
	"testing"
)

// TestReadersGoOnWhileSegmentsAreReplaced: readers walk the log while compaction replaces its sealed segments again and again. They see
// whole frames in rising order, each as it was written, and never an offset out of range.
func TestReadersGoOnWhileSegmentsAreReplaced(t *testing.T) {
	log := openTest(t, t.TempDir(), Config{SegmentBytes: 1000, IndexInterval: 100})
	appendFrames(t, log, 200, 50)
	stop, done := make(chan struct{}), make(chan error, 3)
	for range 3 {
		go func() { done <- readRoundAndRound(log, stop) }()
	}
	for keep := int64(2); keep <= 64; keep *= 2 {
		segments := log.Segments()
		middle := segments[len(segments)/2].Base
		last := segments[len(segments)-1].Base
		for _, run := range [][2]int64{{0, middle}, {middle, last}} {
			if err := replaceRun(log, run[0], run[1], keep); err != nil {
				t.Fatal(err)
			}
		}
		appendFrames(t, log, 40, 50)
	}
	close(stop)
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// replaceRun keeps the frames whose offset is a multiple of keep.
func replaceRun(log *Log, from, to, keep int64) error {
	rewrite, err := log.Rewrite(from, to)
	if err != nil {
		return err
	}
	defer rewrite.Abort()
	for offset := from; offset < to; {
		section, err := log.ReadBelow(offset, to, 1)
		if err != nil {
			return err
		}
		frame, err := section.ReadAll()
		section.Close()
		if err != nil {
			return err
		}
		if len(frame) == 0 {
			break
		}
		parsed, _ := parse(testFraming{}, frame)
		if offset = parsed.LastOffset + 1; parsed.BaseOffset%keep == 0 {
			if err := rewrite.Append(frame); err != nil {
				return err
			}
		}
	}
	return rewrite.Commit()
}

func readRoundAndRound(log *Log, stop chan struct{}) error {
	for offset := int64(0); ; {
		select {
		case <-stop:
			return nil
		default:
		}
		section, err := log.Read(offset, 300)
		if err != nil {
			return err
		}
		content, err := section.ReadAll()
		section.Close()
		if err != nil {
			return err
		}
		if len(content) == 0 {
			offset = 0
			continue
		}
		for at := 0; at < len(content); {
			frame, err := parse(testFraming{}, content[at:])
			if err != nil {
				return err
			}
			if want := makeFrame(frame.BaseOffset, 1, 50, 1_000_000+frame.BaseOffset*10); frame.BaseOffset < offset || !bytes.Equal(want, content[at:at+frame.Size]) {
				return errors.New("a frame that was not written, or an old one again")
			}
			offset, at = frame.LastOffset+1, at+frame.Size
		}
	}
}

func TestAReplacementIsRefusedWhereItDoesNotFit(t *testing.T) {
	log := openTest(t, t.TempDir(), Config{SegmentBytes: 300})
	appendFrames(t, log, 30, 50)
	segments := log.Segments()
	last := segments[len(segments)-1].Base
	for name, run := range map[string][2]int64{"the active segment": {last, log.Next()}, "nothing": {0, 0}, "the middle of a segment": {1, last}, "backwards": {last, 0}} {
		if _, err := log.Rewrite(run[0], run[1]); !errors.Is(err, ErrOutOfRange) {
			t.Errorf("%s: %v", name, err)
		}
	}
	rewrite, err := log.Rewrite(0, segments[2].Base)
	if err != nil {
		t.Fatal(err)
	}
	damaged := makeFrame(0, 1, 50, 1)
	damaged[testHeader] ^= 1
	for name, frame := range map[string][]byte{"an offset beyond the run": makeFrame(last, 1, 50, 1), "a damaged frame": damaged} {
		if err := rewrite.Append(frame); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if err := log.DeleteBefore(segments[1].Base); err != nil {
		t.Fatal(err)
	}
	if err := rewrite.Commit(); !errors.Is(err, ErrOutOfRange) {
		t.Errorf("committed although retention took a segment: %v", err)
	}
	appendFrames(t, log, 1, 50)
}
